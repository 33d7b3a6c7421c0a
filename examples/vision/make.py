"""Makes a tiny vision-language model and pictures of coloured shapes, next to this file. Nothing is downloaded.

    python examples/vision/make.py

    tiny-vlm/                    Llava's architecture with random weights, and its processor
    pictures/                    circles, squares and triangles in four colours
    train.jsonl, test.jsonl      for each picture its path, a question and the answer

It needs `pip install 'holdfast[train,vision]'`, and takes about ten seconds on top of the imports.
"""

import json
import random
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SIDE, PATCH = 32, 8  # pixels
COLOURS = ("red", "green", "blue", "yellow")
SHAPES = ("circle", "square", "triangle")
QUESTION = "What is in the picture?"
PICTURES = {"train": 480, "test": 60}
END, PADDING, IMAGE = "<|im_end|>", "<|endoftext|>", "<image>"
TEMPLATE = """\
{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\\n' }}
{%- if message['content'] is string %}
{{- message['content'] }}
{%- else %}
{%- for part in message['content'] %}
{{- '<image>' if part['type'] == 'image' else part['text'] }}
{%- endfor %}
{%- endif %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""


def draw_picture(colour: str, shape: str, dice: random.Random) -> Any:
    """Return a picture of one shape, of any size and anywhere in it."""
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (SIDE, SIDE), "white")
    pen, size = ImageDraw.Draw(picture), dice.randint(20, 26)
    left, top = dice.randint(1, SIDE - size - 2), dice.randint(1, SIDE - size - 2)
    box = (left, top, left + size, top + size)
    if shape == "circle":
        pen.ellipse(box, fill=colour)
    elif shape == "square":
        pen.rectangle(box, fill=colour)
    else:
        pen.polygon([(left, top + size), (left + size, top + size), (left + size // 2, top)], fill=colour)
    return picture


def make_pictures(split: str, count: int) -> None:
    """Save the pictures of a split, and their rows."""
    dice = random.Random(split)  # noqa: S311 - draws pictures, guards nothing
    (HERE / "pictures").mkdir(exist_ok=True)
    with (HERE / f"{split}.jsonl").open("w", encoding="utf-8") as file:
        for number in range(count):
            colour, shape = dice.choice(COLOURS), dice.choice(SHAPES)
            path = f"pictures/{split}-{number}.png"
            draw_picture(colour, shape, dice).save(HERE / path)
            row = {
                "image": path,
                "prompt": [{"role": "user", "content": QUESTION}],
                "completion": [{"role": "assistant", "content": f"A {colour} {shape}."}],
            }
            file.write(json.dumps(row) + "\n")


def make_tokenizer() -> Any:
    """Return a byte-level tokenizer that knows the words of the answers."""
    from transformers import Qwen2Tokenizer

    texts = [QUESTION, "user\nassistant\nsystem\n"] + [f"A {colour} {shape}." for colour in COLOURS for shape in SHAPES]
    tokenizer = Qwen2Tokenizer(
        eos_token=END, pad_token=PADDING, extra_special_tokens=["<|im_start|>", IMAGE], model_max_length=256
    ).train_new_from_iterator(texts * 10, 400, show_progress=False)
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def make_model() -> None:
    """Save a Llava model with random weights, and its processor."""
    import torch
    import transformers

    tokenizer = make_tokenizer()
    text = transformers.Qwen2Config(
        vocab_size=len(tokenizer),
        hidden_size=96,
        intermediate_size=256,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=256,
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    vision = transformers.CLIPVisionConfig(
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=SIDE,
        patch_size=PATCH,
        projection_dim=64,
    )
    config = transformers.LlavaConfig(
        text_config=text,
        vision_config=vision,
        image_token_index=tokenizer.convert_tokens_to_ids(IMAGE),
        image_seq_length=(SIDE // PATCH) ** 2,
        vision_feature_layer=-1,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    torch.manual_seed(0)
    transformers.LlavaForConditionalGeneration(config).save_pretrained(HERE / "tiny-vlm")
    transformers.LlavaProcessor(
        image_processor=transformers.CLIPImageProcessorPil(
            size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE}
        ),
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,  # CLIP's class token, which the strategy leaves out
        chat_template=TEMPLATE,
    ).save_pretrained(HERE / "tiny-vlm")


if __name__ == "__main__":
    for split, count in PICTURES.items():
        make_pictures(split, count)
    make_model()
