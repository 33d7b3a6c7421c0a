"""What the Hub works out of a repository's files: its card, its configuration, the size of its weights, its tags.

Source: the fields that `ModelInfo`, `DatasetInfo` and `SpaceInfo` of huggingface_hub 2.4.0 read, and their `expand` names. `config` is an excerpt of
`config.json` with one of `tokenizer_config.json` in it; `safetensors.parameters` counts numbers by dtype from the headers of
`model.safetensors`, or of the files that its index names.
"""

import json
import math
import struct
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import yaml  # type: ignore[import-untyped] # its stubs are not installed

from tests.helpers.hub.accounts import identifier
from tests.helpers.hub.repositories import Commit, File, Repository, iso

OF_CONFIG = ("architectures", "model_type", "auto_map", "quantization_config")
OF_TOKENIZER = ("bos_token", "chat_template", "eos_token", "pad_token", "unk_token", "use_default_system_prompt")
CARD_TAGS = {"license": "license", "datasets": "dataset", "base_model": "base_model", "language": "", "tags": ""}
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"


def describe(repo: Repository, commit: Commit) -> dict[str, Any]:
    """Return everything that can be told of a repository at a commit, by the names of `expand`."""
    card = read_card(commit)
    told: dict[str, Any] = {
        "author": repo.namespace,
        "sha": commit.oid,
        "lastModified": repo.head.date,
        "createdAt": iso(repo.made_s),
        "private": repo.private,
        "disabled": repo.disabled,
        "likes": repo.likes,
        "trendingScore": repo.likes,
        "tags": tags(repo, commit, card),
        "cardData": card,
        "usedStorage": sum(len(file.content) for file in commit.files.values()),
        "siblings": [{"rfilename": path} for path in commit.files],
        "resourceGroup": None,
    }
    of_kind = {"model": _of_model, "dataset": _of_dataset, "space": _of_space}[repo.kind]
    return {key: value for key, value in (told | of_kind(repo, commit)).items() if value is not None}


def head(repo: Repository) -> dict[str, Any]:
    """Return what every answer about a repository begins with."""
    told = {"_id": identifier(repo.kind, repo.name), "id": repo.name}
    return told | ({"modelId": repo.name} if repo.kind == "model" else {})


def _of_model(repo: Repository, commit: Commit) -> dict[str, Any]:
    card, config = read_card(commit) or {}, read_config(commit)
    library = card.get("library_name") or ("peft" if "adapter_config.json" in commit.files else None)
    named = card.get("base_model") or []
    bases = [{"_id": identifier("model", name), "id": name} for name in ([named] if isinstance(named, str) else named)]
    return {
        "gated": repo.gated or False,
        "downloads": repo.downloads,
        "downloadsAllTime": repo.downloads,
        "config": config,
        "safetensors": weigh(commit),
        "library_name": library or ("transformers" if config and "model_type" in config else None),
        "pipeline_tag": card.get("pipeline_tag") or _pipeline(config),
        "model-index": card.get("model-index"),
        "baseModels": {"relation": "finetune", "models": bases} if bases else None,
        "spaces": [],
        "inference": "cold",
    }


def _of_dataset(repo: Repository, commit: Commit) -> dict[str, Any]:
    size = sum(len(file.content) for file in commit.files.values())
    return {
        "gated": repo.gated or False,
        "downloads": repo.downloads,
        "downloadsAllTime": repo.downloads,
        "mainSize": size,
        "description": "",
    }


def _of_space(repo: Repository, commit: Commit) -> dict[str, Any]:
    sdk = (read_card(commit) or {}).get("sdk", repo.sdk)
    return {"sdk": sdk, "subdomain": repo.name.replace("/", "-").lower(), "models": [], "datasets": []}


def read_card(commit: Commit) -> dict[str, Any] | None:
    """Return the YAML at the head of the README."""
    readme = commit.files.get("README.md")
    text = card_text(readme.content.decode()) if readme else None
    try:
        card = yaml.safe_load(text) if text else None
    except yaml.YAMLError:
        return None
    return card if isinstance(card, dict) else None


def card_text(readme: str) -> str | None:
    """Return what stands between the first line of three dashes and the next."""
    lines = readme.lstrip("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---" or "---" not in lines[1:]:
        return None
    return "\n".join(lines[1 : lines.index("---", 1)])


def read_json(commit: Commit, path: str) -> dict[str, Any]:
    """Return a file's JSON object; an empty one where there is none, as the Hub does not stumble over a broken file."""
    try:
        value = json.loads(commit.files[path].content)
    except (KeyError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def read_config(commit: Commit) -> dict[str, Any] | None:
    """Return the excerpt of a model's configuration that the Hub tells."""
    config, tokenizer = read_json(commit, "config.json"), read_json(commit, "tokenizer_config.json")
    told = {key: config[key] for key in OF_CONFIG if key in config}
    kept = {key: _text(tokenizer[key]) for key in OF_TOKENIZER if key in tokenizer}
    if kept:
        told["tokenizer_config"] = kept
    if "chat_template.jinja" in commit.files:
        told["chat_template_jinja"] = commit.files["chat_template.jinja"].content.decode()
    if "adapter_config.json" in commit.files:
        adapter = read_json(commit, "adapter_config.json")
        told["peft"] = {
            "base_model_name_or_path": adapter.get("base_model_name_or_path"),
            "task_type": adapter.get("task_type"),
        }
    return told or None


def _text(token: Any) -> Any:
    return token["content"] if isinstance(token, dict) and "content" in token else token


def _pipeline(config: Mapping[str, Any] | None) -> str | None:
    names = (config or {}).get("architectures") or [""]
    return "text-generation" if str(names[0]).endswith("ForCausalLM") else None


def shards(commit: Commit) -> list[str]:
    """Return the paths of a model's weights."""
    if SINGLE in commit.files:
        return [SINGLE]
    named = set(read_json(commit, INDEX).get("weight_map", {}).values())
    return sorted(path for path in named if path in commit.files)


def weigh(commit: Commit) -> dict[str, Any] | None:
    """Return how many numbers the weights hold, by dtype and together; None without safetensors, and for what is none."""
    counts: Counter[str] = Counter()
    for path in shards(commit):
        for name, tensor in safetensors_header(commit.files[path]).items():
            if name != "__metadata__":
                counts[tensor["dtype"]] += math.prod(tensor["shape"])
    return {"parameters": dict(counts), "total": counts.total()} if counts else None


def safetensors_header(file: File) -> dict[str, Any]:
    """Return a safetensors file's header: its length in eight bytes, little-endian, then JSON."""
    try:
        (size,) = struct.unpack("<Q", file.content[:8])
        header = json.loads(file.content[8 : 8 + size])
    except (struct.error, ValueError):
        return {}
    return header if isinstance(header, dict) else {}


def tags(repo: Repository, commit: Commit, card: Mapping[str, Any] | None) -> list[str]:
    """Return the tags: those of the card, and what the files are."""
    found = [*repo.tags, *_card_tags(card or {})]
    if repo.kind == "model":
        config = read_config(commit) or {}
        found += ["safetensors"] * any(path.endswith(".safetensors") for path in commit.files)
        found += [config[key] for key in ("model_type",) if key in config]
        found += ["conversational"] * ("chat_template" in json.dumps(config))
        found += ["custom_code"] * ("auto_map" in config)
    return [*dict.fromkeys(found), "region:us"]


def _card_tags(card: Mapping[str, Any]) -> Iterable[str]:
    for key, prefix in CARD_TAGS.items():
        values = card.get(key) or []
        for value in [values] if isinstance(values, str) else values:
            yield f"{prefix}:{value}" if prefix else str(value)


def sibling(path: str, file: File) -> dict[str, Any]:
    """Return what `blobs=true` tells of a file."""
    told = {"rfilename": path, "blobId": file.oid, "size": len(file.content)}
    if file.large:
        told["lfs"] = {"sha256": file.sha256, "size": len(file.content), "pointerSize": len(file.pointer)}
    return told
