"""What the script has left: is a model there, is it what was trained, does it load, and does it end its sentences."""

import json
import re
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from . import loops, predictions
from .events import EventWriter
from .libraries import torch
from .part_request import EXPORTED, PartRequest
from .trainers import saved_adapters

WORDS = 8
"""Tokens that a saved model is asked to write."""
MOST = 3
"""Folders that are looked at."""
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".gguf", ".npz", ".onnx", ".pkl", ".msgpack", ".h5")
NO_MODEL = ("training_args.bin", "optimizer.pt", "optimizer.bin", "scheduler.pt", "rng_state.pth", "scaler.pt")
TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.json", "spiece.model", "vocab.txt")
CACHED = "models--"
"""How the Hub's client begins the names of folders in a cache."""
DOWNLOADS = ".cache/huggingface"
"""What the Hub's client keeps in a folder that it downloads to."""
ADDS_TOKENS = re.compile(r"\.add_(special_)?tokens\(|\bsetup_chat_format\(|\bclone_chat_template\(")


def look(part_request: PartRequest, events: EventWriter) -> None:
    """Load what was saved at the end, merge what is an adapter, and have it write a few words."""
    folders = find_models(part_request.inside)
    events.fact("saved", folders=[str(each.relative_to(part_request.inside)) for each in folders])
    facts = read_facts(part_request)
    saved = bool(folders or _about(facts, "push")) or _has_weights(part_request.inside)
    predictions.judge()
    if not _about(facts, "trained"):
        loops.judge(part_request, events, saved=saved)
    elif _lacks_model(facts, part_request.inside, events, saved=saved):
        return
    _look_at_final(_final(folders), facts, part_request, events)


def _final(folders: Sequence[Path]) -> Sequence[Path]:
    """Return the folders that are no checkpoints; if all are, the first."""
    return [each for each in folders if not each.name.startswith("checkpoint-")] or folders[:1]


def _look_at_final(
    final: Sequence[Path], facts: Sequence[Mapping[str, Any]], part_request: PartRequest, events: EventWriter
) -> None:
    """Judge and use what was saved at the end; `facts` are all that were recorded."""
    trainings = _about(facts, "trained")
    saved_adapters.look(final, trainings or loops.adapter_trainings(), part_request, events)
    if trainings:
        look_at_bodies(final, trainings[-1], events)
    for folder in final[:MOST]:
        _use(folder, trainings, part_request, events)
    if trainings and final and not _about(facts, "push"):
        look_for_tokenizer(final, part_request, events)


def _use(folder: Path, trainings: Sequence[Mapping[str, Any]], part_request: PartRequest, events: EventWriter) -> None:
    """Load a model, have it write a few words, and keep it for the export."""
    if trainings and saved_adapters.is_for_another_task(folder, trainings[-1], events):
        return
    model = load(folder, events)
    if model is not None:
        write_words(model, folder, events)
        keep_whole(model, folder, part_request)


def keep_whole(model: Any, folder: Path, part_request: PartRequest) -> None:
    """Save what the job will export, an adapter merged into its twin: the first of what it saved, with its tokenizer."""
    kept = Path(part_request.folder, EXPORTED)
    if not part_request.exports or kept.exists():
        return
    if hasattr(model.config, "quantization_config"):
        del model.config.quantization_config  # of the base, which is loaded anew for the export
    model.save_pretrained(kept)
    for path in folder.iterdir():
        is_weight = path.suffix in WEIGHTS or path.name.startswith("adapter_")
        if path.is_file() and not is_weight and not (kept / path.name).exists():
            shutil.copyfile(path, kept / path.name)


def find_models(base: Path) -> list[Path]:
    """Return the folders of models and adapters in a folder: final ones first, then the newest checkpoint."""
    found = {path.parent for name in ("config.json", "adapter_config.json") for path in base.rglob(name)}
    found = {each for each in found if not _is_downloaded(each, base)}
    return sorted(found, key=lambda each: (each.name.startswith("checkpoint-"), -each.stat().st_mtime, str(each)))


def _is_downloaded(folder: Path, base: Path) -> bool:
    """True if a folder is what the script downloaded: within a cache of the Hub's that it keeps there (`cache_dir="cache"`), or without weights."""
    in_cache = any(part.startswith(CACHED) for part in folder.relative_to(base).parts)
    return in_cache or ((folder / DOWNLOADS).is_dir() and not any(each.suffix in WEIGHTS for each in folder.iterdir()))


def read_facts(part_request: PartRequest) -> list[Mapping[str, Any]]:
    """Return the facts that this process has recorded about the script's requests."""
    path = Path(part_request.folder, "rehearsal.jsonl")
    records = [_object(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.is_file() else []
    return [each for each in records if each.get("event") == "fact" and "about" in each]


def _about(facts: Sequence[Mapping[str, Any]], subject: str) -> list[Mapping[str, Any]]:
    return [each for each in facts if each["about"] == subject]


def _object(line: str) -> Mapping[str, Any]:
    """Return an event; an empty one of a line that is none, which the script has written itself."""
    with suppress(ValueError, RecursionError):
        said = json.loads(line)
        return said if isinstance(said, dict) else {}
    return {}


def _has_weights(base: Path) -> bool:
    """True if anything was written that may hold weights, in whatever form."""
    return any(_weights(base))


def _weights(base: Path) -> Iterator[Path]:
    """Yield the files that may hold weights."""
    return (each for each in base.rglob("*") if each.suffix in WEIGHTS and each.name not in NO_MODEL and each.is_file())


def _lacks_model(facts: Sequence[Mapping[str, Any]], base: Path, events: EventWriter, *, saved: bool) -> bool:
    """True if nothing at all was saved of what trainers trained; report that, and a last training that was not saved."""
    trainings = _about(facts, "trained")
    if not saved:
        because = "training came to its end, and the script saved no checkpoint and no model, and pushed none"
        fix = "Call `trainer.save_model()` after `trainer.train()`, or choose a `save_strategy` that saves."
        events.fault("no-checkpoint-saved", "save", because, fix=fix)
    elif len(trainings) > 1 and not _keeps_last(facts, base):
        because = f"the script trains {len(trainings)} times, and saves or pushes nothing of the last training"
        events.warning("no-checkpoint-saved", "save", because)  # which may have been no better than one before
    folders = find_models(base)
    if len(folders) == len(list(_weights(base))) and not _about(facts, "push"):
        saved_adapters.look_for_whole(folders, trainings, events)
    return not saved


def _keeps_last(facts: Sequence[Mapping[str, Any]], base: Path) -> bool:
    """True if anything that may hold weights was written or pushed since the last training began."""
    begun = [float(each["at"]) for each in _about(facts, "trains")]
    if not begun or any(float(each["at"]) >= begun[-1] for each in _about(facts, "push")):
        return True
    return any(each.stat().st_mtime >= begun[-1] for each in _weights(base))


def look_at_bodies(final: Sequence[Path], trained: Mapping[str, Any], events: EventWriter) -> None:
    """Report a model that was saved without the head that it was trained with."""
    names = {str(folder): _architecture(folder) for folder in final if (folder / "config.json").is_file()}
    bare = [name for name in names.values() if name.endswith("Model") and not name.endswith("LMHeadModel")]
    if bare and len(bare) == len(names) == len(final) and "For" in str(trained["model"]):
        because = f"{trained['model']} was trained, and {bare[0]} was saved: the body without the head"
        fix = f"Save the model with its head: `trainer.save_model()`, and not the `{bare[0]}` within it."
        events.fault("merged-config-architecture-wrong", "export", because, fix=fix)


def _architecture(folder: Path) -> str:
    names = json.loads((folder / "config.json").read_text(encoding="utf-8")).get("architectures") or [""]
    return str(names[0])


def look_for_tokenizer(final: Sequence[Path], part_request: PartRequest, events: EventWriter) -> None:
    """Report a model that no tokenizer was saved for: an error where the script gave it tokens of its own."""
    whole = [each for each in final if (each / "config.json").is_file()]
    if any(next(part_request.inside.rglob(name), None) for name in TOKENIZERS):
        return
    if ADDS_TOKENS.search(part_request.source):
        because = f"the script adds tokens, and saves no tokenizer: {final[0].name} has embeddings that no saved tokenizer produces"
        fix = f"Call `tokenizer.save_pretrained` for the folder {final[0].name} too."
        events.fault("model-files-missing", "save", because, fix=fix)
    elif whole and not (whole[0] / "preprocessor_config.json").is_file():
        because = f"no tokenizer was saved beside {whole[0].name}: `pipeline` and servers do not load it alone"
        events.warning("model-files-missing", "save", because)


def load(folder: Path, events: EventWriter) -> Any:
    """Load what was saved, as `from_pretrained` does; an adapter is put on a twin of its base, and merged."""
    transformers = sys.modules.get("transformers")
    if transformers is None:
        return None
    if (folder / "adapter_config.json").is_file():
        return saved_adapters.merge(folder, events)
    name = _architecture(folder)
    kind = getattr(transformers, name, None) if name else None
    if kind is None or not hasattr(kind, "from_pretrained"):
        events.not_rehearsed("loading what was saved", f"its architecture {name!r} is none of transformers")
        return None
    model, info = kind.from_pretrained(str(folder), output_loading_info=True)
    look_at_names(model, info, folder, events)
    return model


def look_at_names(model: Any, info: Mapping[str, Any], folder: Path, events: EventWriter) -> None:
    """Report saved tensors that the model they are to be loaded into does not know, and lacks others for.

    Args:
        model: What was loaded.
        info: What transformers says of it: `missing_keys`, `unexpected_keys`.
        folder: Where it was saved.
        events: Receives the report.
    """
    lacking, strange = (sorted(info.get(name) or ()) for name in ("missing_keys", "unexpected_keys"))
    if not lacking:
        return
    because = f"{len(lacking)} tensors of {type(model).__name__} are not in {folder.name}, `{lacking[0]}` for one: loaded, they are random"
    if strange:
        because += f"; it holds {len(strange)} by names that nothing loads, such as `{strange[0]}`"
        fix = "Save the model that the trainer holds, with `trainer.save_model()`, or merge its adapter first and save what that returns."
        events.fault("model-config-weights-mismatch", "export", because, fix=fix)
    else:
        events.warning("model-config-weights-mismatch", "export", because)


def write_words(model: Any, folder: Path, events: EventWriter) -> None:
    """Have a model write; tell where it has no token that would end what it writes."""
    if not getattr(model, "can_generate", lambda: False)():
        return
    given = torch.ones((1, 4), dtype=torch.long)
    model.eval().generate(given, attention_mask=torch.ones_like(given), max_new_tokens=WORDS, do_sample=False)
    ends = model.generation_config.eos_token_id
    if ends is None or ends == []:
        because = f"{folder.name} names no token that ends a text: generation never ends"
        fix = "Set `model.generation_config.eos_token_id = tokenizer.eos_token_id` before the model is saved."
        events.fault("eos-never-learned", "export", because, fix=fix)
