"""Rows with images, for a vision-language model: its own processor makes the inputs, as in TRL's collator."""

import base64
import io
from dataclasses import dataclass
from typing import Any

import torch

from .loading import LoadedModel
from .rendering import is_chat

OF_TOKENS = ("token_type_ids", "mm_token_type_ids")
"""Inputs with a number for each token; all others belong to images, and are joined along their first dimension."""


@dataclass(frozen=True)
class EncodedText:
    """A text with its images, as the model takes them.

    Attributes:
        ids: The ids of its tokens, with those that images become.
        inputs: The processor's other outputs, such as `pixel_values`, each with a batch of one.
    """

    ids: list[int]
    inputs: dict[str, Any]


def encode_with_images(loaded: LoadedModel, prompt: Any, images: list[dict[str, str]]) -> EncodedText:
    """Return a prompt with its images, up to where the answer begins."""
    text = prompt
    if is_chat(prompt):
        turns = place_images(prompt, len(images))
        text = loaded.tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
    return _process(loaded, str(text), [read_image(each) for each in images], special=not is_chat(prompt))


def place_images(turns: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """Return messages whose content is parts: images without a place of their own stand before the first user's words.

    Source: trl 1.16, `prepare_multimodal_messages`.

    Raises:
        ValueError: There are more or fewer places than images.
    """
    placed, waiting = list[dict[str, Any]](), count
    for turn in turns:
        content = turn.get("content") or []
        if isinstance(content, str):
            before = waiting if turn["role"] == "user" else 0
            waiting -= before
            content = [{"type": "image"}] * before + [{"type": "text", "text": content}]
        placed.append({**turn, "content": content})
    places = sum(part.get("type") == "image" for turn in placed for part in turn["content"])
    if places != count:
        raise ValueError(f"the messages have {places} places for images, and the row has {count}")
    return placed


def read_image(source: dict[str, str]) -> Any:
    """Return an image in RGB.

    Raises:
        ValueError: It is a program, or too large.
    """
    from PIL import Image

    file = source["path"] or io.BytesIO(base64.b64decode(source["base64"]))
    with Image.open(file) as image:
        if image.format == "EPS":  # which Pillow gives to Ghostscript
            raise ValueError("an EPS image is a program, and is not run")
        if image.width * image.height > (Image.MAX_IMAGE_PIXELS or 0):  # a file of 46 bytes may be one of gigabytes
            raise ValueError(f"an image of {image.width:,} x {image.height:,} pixels would fill the memory")
        return image.convert("RGB")


def joinable(rows: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the rows of a batch in groups whose images' inputs can be joined.

    Processors that cut an image into tiles (Idefics3, SmolVLM, LLaVA-NeXT) make as many as its shape asks for.
    """
    groups: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        shapes = {name: () if name in OF_TOKENS else value.shape[1:] for name, value in row.get("inputs", {}).items()}
        groups.setdefault(tuple(shapes.items()), []).append(row)
    return list(groups.values())


def batch_inputs(rows: list[dict[str, Any]], width: int, device: torch.device) -> dict[str, Any]:
    """Return the images' inputs of a batch of rows whose tokens are padded on the left; nothing for rows of text."""
    found = [row["inputs"] for row in rows if row.get("inputs")]
    joined = {}
    for name in {name: None for inputs in found for name in inputs}:
        parts = [inputs[name] for inputs in found if name in inputs]
        if name in OF_TOKENS:
            parts = [torch.nn.functional.pad(part, (width - part.shape[1], 0)) for part in parts]
        joined[name] = torch.cat(parts).to(device)
    return joined


class VisionScoring:
    """Gives the log-likelihood of each text of a row, one after the other, with the row's images before it."""

    def __init__(self, loaded: LoadedModel) -> None:
        """Take the model."""
        self._loaded = loaded

    def prepare(self, row: dict[str, Any]) -> dict[str, Any]:
        """Return a row with the ids of its texts and of their answers, and the images' inputs."""
        images = row.get("images", [])
        texts = [self._encode(each["prompt"], each["answer"], images) for each in row["scored"]]
        return {"row": row["row"], "texts": texts}

    def _encode(self, prompt: Any, answer: Any, images: list[dict[str, str]]) -> tuple[EncodedText, list[int]]:
        tokenizer = self._loaded.tokenizer
        if not is_chat(prompt) and not is_chat(answer):
            before = encode_with_images(self._loaded, prompt or "", images)
            return before, list(tokenizer(str(answer), add_special_tokens=False)["input_ids"])
        turns = prompt if is_chat(prompt) else [{"role": "user", "content": prompt}]
        answered = answer if is_chat(answer) else [{"role": "assistant", "content": answer}]
        placed, ending = place_images(turns, len(images)), place_images(answered, 0)
        begun = str(tokenizer.apply_chat_template(placed, tokenize=False, add_generation_prompt=True))
        whole = str(tokenizer.apply_chat_template([*placed, *ending], tokenize=False))
        if not whole.startswith(begun):
            raise ValueError("the chat template writes the prompt otherwise when an answer follows")
        before = encode_with_images(self._loaded, turns, images)
        return before, list(tokenizer(whole[len(begun) :], add_special_tokens=False)["input_ids"])

    def length(self, row: dict[str, Any]) -> int:
        """Return the tokens that a prepared row needs."""
        return max((len(before.ids) + len(answer) for before, answer in row["texts"]), default=0)

    def run(self, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the scores of a batch of prepared rows."""
        return [
            {"row": row["row"], "cut": False, "scores": [self._score(*each) for each in row["texts"]]} for row in batch
        ]

    def _score(self, before: EncodedText, answer: list[int]) -> tuple[float, int]:
        """Return an answer's log-likelihood in nats, and its number of tokens."""
        device = self._loaded.device
        ids = torch.tensor([[*before.ids, *answer]], device=device)
        inputs = {name: value.to(device) for name, value in before.inputs.items() if name not in OF_TOKENS}
        for name in OF_TOKENS:
            if name in before.inputs:
                inputs[name] = torch.nn.functional.pad(before.inputs[name], (0, len(answer))).to(device)
        with torch.inference_mode():
            logits = self._loaded.model(
                input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False, **inputs
            ).logits[0]
        start = max(1, len(before.ids))
        chosen = logits[start - 1 : -1].float().log_softmax(-1).gather(1, ids[0, start:, None])
        return float(chosen.double().sum()), ids.shape[1] - start


def _process(loaded: LoadedModel, text: str, images: list[Any], *, special: bool) -> EncodedText:
    given = {"images": [images]} if images else {}
    found = dict(loaded.processor(text=[text], return_tensors="pt", add_special_tokens=special, **given))
    ids = found.pop("input_ids")[0].tolist()
    found.pop("attention_mask", None)
    return EncodedText(ids, found)
