"""Tiny vision-language models with their processors: random, no network; made of the tiny chat model's tokenizer."""

from pathlib import Path

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIDE, PATCH = 28, 14  # pixels


def make_tiny_vision(folder: Path, tiny: Path) -> None:
    """Save the model and its processor.

    Args:
        folder: Where.
        tiny: The folder of the tiny chat model.
    """
    # Seconds of imports, which only a child process is to pay.
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    tokenizer.chat_template = TEMPLATE
    image = tokenizer.convert_tokens_to_ids("<image>")
    text = transformers.AutoConfig.from_pretrained(tiny)
    text.vocab_size = len(tokenizer)
    sight = transformers.CLIPVisionConfig(
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        image_size=SIDE,
        patch_size=PATCH,
        projection_dim=32,
    )
    config = transformers.LlavaConfig(
        text_config=text,
        vision_config=sight,
        image_token_index=image,
        image_seq_length=(SIDE // PATCH) ** 2,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    transformers.LlavaForConditionalGeneration(config).save_pretrained(folder)
    kind = getattr(transformers, "CLIPImageProcessorPil", transformers.CLIPImageProcessor)  # without torchvision
    images = kind(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    transformers.LlavaProcessor(
        image_processor=images,
        tokenizer=tokenizer,
        patch_size=PATCH,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
        num_additional_image_tokens=1,
    ).save_pretrained(folder)


def make_tiny_tiles(folder: Path, tiny: Path) -> None:
    """Save an Idefics3, whose processor cuts images into tiles, as many as their shape asks for.

    Args:
        folder: Where.
        tiny: The folder of the tiny chat model.
    """
    # Seconds of imports, which only a test that needs the model is to pay.
    import torch
    import transformers

    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny)
    tokenizer.add_tokens(["<fake_token_around_image>", "<image>", "<end_of_utterance>"], special_tokens=True)
    text = transformers.AutoConfig.from_pretrained(tiny)
    text.vocab_size = len(tokenizer)
    sight = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4}
    config = transformers.Idefics3Config(
        text_config=text.to_dict(),
        vision_config={**sight, "image_size": 32, "patch_size": 16},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=tokenizer.pad_token_id,
    )
    transformers.Idefics3ForConditionalGeneration(config).save_pretrained(folder)
    transformers.Idefics3Processor(
        image_processor=transformers.Idefics3ImageProcessorPil(
            size={"longest_edge": 64}, max_image_size={"longest_edge": 32}
        ),
        tokenizer=tokenizer,
        image_seq_len=1,
        chat_template=TEMPLATE,
    ).save_pretrained(folder)
