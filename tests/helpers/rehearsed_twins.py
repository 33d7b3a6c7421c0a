"""Load released architectures as twins, one after another in one process, and try all that a training asks of them.

Each case has `name`, an entry of `tests/helpers/architectures.py`, and `folder`.
"""

import json
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
import transformers

import holdfast.payload.runtime
from holdfast.payload.rehearsal import twins
from holdfast.payload.rehearsal.events import EventWriter
from holdfast.payload.rehearsal.part_request import PartRequest
from holdfast.payload.rehearsal.twins.shrinking import MOST_HEADS
from tests.helpers.architectures import ALL, BOTH, SIGHTED
from tests.helpers.children import answer_each
from tests.helpers.hub.weights import weights
from tests.helpers.rehearsed_images import IMAGES, LENGTH

KEPT = ("vocab_size", "tie_word_embeddings", "sliding_window", "eos_token_id", "pad_token_id", "head_dim")


def start(folder: Path, source: str = "", **more: Any) -> PartRequest:
    """Have models be twins from now on, as a rehearsal of a script does."""
    sys.modules["holdfast_runtime_source"] = holdfast.payload.runtime
    part_request = PartRequest(script="train.py", source=source, folder=str(folder), **more)
    part_request.inside.mkdir(parents=True)
    twins.install(part_request, EventWriter(str(folder / "rehearsal.jsonl")))
    return part_request


def told(folder: Path, event: str, about: str = "") -> list[dict[str, Any]]:
    """Return what was told of an event, or of facts about something."""
    events = [json.loads(line) for line in (folder / "rehearsal.jsonl").read_text().splitlines()]
    return [each for each in events if each["event"] == event and each.get("about", "") == about]


def config_of(name: str) -> tuple[Any, Any]:
    """Return the class of a released model and its configuration."""
    title, fields = ALL[name]
    cls = getattr(transformers, title)
    config = cls.config_class(**json.loads(json.dumps(fields)))
    config.architectures = [title]
    return cls, config


def released(name: str, folder: Path, **more: Any) -> Path:
    """Make the folder of a released model, of which nothing but the configuration is true."""
    config_of(name)[1].save_pretrained(folder)
    settings = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(settings | more))
    (folder / "model.safetensors").write_bytes(weights(one=[1]))
    return folder


def bare(model: Any) -> set[str]:
    """Return the names of a model's modules without the numbers of layers and experts."""
    return {re.sub(r"([._])\d+(?=[._]|$)", r"\1#", name) for name, _ in model.named_modules()}


def speaking(config: Any) -> Any:
    return config.get_text_config(decoder=True)


def kinds(config: Any) -> list[str]:
    """Return the kinds of layers that a configuration lists."""
    return sorted({str(each) for each in getattr(config, "layer_types", None) or ()})


def ratio(config: Any) -> float:
    """Return how many heads ask for each that answers."""
    heads, keys = vars(config).get("num_attention_heads"), vars(config).get("num_key_value_heads")
    return min(heads / keys, MOST_HEADS) if heads and keys else 1.0


def invariants(config: Any) -> dict[str, Any]:
    """Return what is to be the same of the original and of the twin."""
    text = speaking(config)
    same = {name: vars(text).get(name) for name in KEPT if name != "head_dim" or "state_size" not in vars(text)}
    return same | {
        "type": config.model_type,
        "kinds": kinds(text),
        "ratio": ratio(text),
        "parts": sorted(config.sub_configs),
    }


def batch_of(name: str, model: Any) -> dict[str, Any]:
    """Return a batch of two rows, of which one begins with padding."""
    ids = torch.arange(2 * LENGTH).reshape(2, LENGTH) % 50 + 5
    mask = torch.ones_like(ids)
    mask[0, :4] = 0
    if name.startswith("whisper"):
        return {"input_features": torch.zeros(2, model.config.num_mel_bins, 3000), "labels": ids}
    if model.config.architectures[0].endswith("Classification"):
        scores = torch.tensor([0.0, 1.0]) if model.config.num_labels == 1 else torch.tensor([0, 1])
        return {"input_ids": ids, "attention_mask": mask, "labels": scores}
    return {"input_ids": ids, "attention_mask": mask, "labels": ids}


def of_images(name: str, model: Any) -> dict[str, Any]:
    """Return a batch with an image, or nothing where none was tried."""
    if name not in IMAGES:
        return {}
    tokens, inputs = IMAGES[name]
    config = model.config
    token = getattr(config, "image_token_id", None) or getattr(config, "image_token_index", None)
    ids = torch.arange(100, 100 + LENGTH)[None]
    if tokens:
        ids = torch.cat([ids, torch.full((1, tokens), token), ids], dim=1)
    made = {
        key: torch.ones(value) if isinstance(value, tuple) else torch.tensor(value) for key, value in inputs.items()
    }
    if "image_grid_thw" in inputs:
        made["mm_token_type_ids"] = (ids == token).long()
    if name.startswith(("gemma-3", "paligemma")):
        made["token_type_ids"] = (ids == token).long()
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids, **made}


def step(model: Any, batch: dict[str, Any]) -> dict[str, Any]:
    """Go forward and back, and say how that went."""
    model.train()
    model.zero_grad()
    loss = model(**batch).loss
    loss.backward()
    slopes = [each.grad for each in model.parameters() if each.grad is not None]
    finite = bool(torch.isfinite(loss)) and all(bool(torch.isfinite(each).all()) for each in slopes)
    return {"finite": finite, "moves": any(bool(each.abs().sum() > 0) for each in slopes)}


def generates(name: str, model: Any, batch: dict[str, Any]) -> bool:
    """True if a model that generates adds tokens."""
    if not model.can_generate():
        return True
    model.eval()
    given = {key: value for key, value in batch.items() if key != "labels"}
    made = model.generate(**given, max_new_tokens=3, min_new_tokens=3, do_sample=False)
    return bool(made.shape[1] >= (3 if name in BOTH else LENGTH + 3))


@contextmanager
def default_pad(model: Any) -> Iterator[None]:
    """Have a token of padding, which classifiers of batches want and trainers set."""
    if getattr(speaking(model.config), "pad_token_id", None) is None:
        speaking(model.config).pad_token_id = model.config.pad_token_id = 0
    yield


def try_out(case: dict[str, Any]) -> dict[str, Any]:
    """Load a twin and try it."""
    name, folder = case["name"], Path(case["folder"])
    if not (folder / "rehearsal.jsonl").exists():
        start(folder)
    cls, config = config_of(name)
    with torch.device("meta"), holdfast_asleep():
        original = cls(config)
    parameters = sum(each.numel() for each in original.parameters())
    released(name, folder.parent / "released" / name, dtype="float32")
    model = cls.from_pretrained(folder.parent / "released" / name)
    answer: dict[str, Any] = {
        "names": [sorted(bare(original) - bare(model)), sorted(bare(model) - bare(original))],
        "before": invariants(config),
        "after": invariants(model.config),
        "parameters": parameters,
        "told": told(folder, "fact", "model")[-1]["parameters"],
        "twin": sum(each.numel() for each in model.parameters()),
        "depth": len(re.findall(r"\n", str(model))),
    }
    with default_pad(model):
        batch = batch_of(name, model)
        answer["step"] = step(model, batch)
        answer["generates"] = generates(name, model, batch)
    if name in SIGHTED and (seen := of_images(name, model)):
        answer["image"] = step(model, seen)
    saved = folder / "saved" / name
    model.save_pretrained(saved)
    again = cls.from_pretrained(saved)
    ours, theirs = model.state_dict(), again.state_dict()
    answer["same"] = set(ours) == set(theirs) and all(torch.equal(ours[key], theirs[key]) for key in ours)
    return answer


@contextmanager
def holdfast_asleep() -> Iterator[None]:
    """Make a model as it is."""
    kept = transformers.PreTrainedModel.__new__
    transformers.PreTrainedModel.__new__ = lambda cls, *_, **__: object.__new__(cls)
    try:
        yield
    finally:
        transformers.PreTrainedModel.__new__ = kept


if __name__ == "__main__":
    answer_each(try_out)
