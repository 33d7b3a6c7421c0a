"""What the small files of a model say, whoever read them: from a folder here, or from a repository of the Hub.

Source: transformers 5.23, tried with each file broken, doubled or left out: `chat_template.jinja` counts before the template in
`tokenizer_config.json`, several templates need one called `default`, and `chat_template.json` is read by processors alone.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.hub import Repo
from holdfast.core.text.json_text import parse_json

CONFIG: Final = "config.json"
TOKENIZER: Final = "tokenizer_config.json"
ADAPTER: Final = "adapter_config.json"
GENERATION: Final = "generation_config.json"
TEMPLATE: Final = "chat_template.jinja"
PROCESSOR_TEMPLATE: Final = "chat_template.json"
WHOLE: Final = "model.safetensors"
INDEX: Final = "model.safetensors.index.json"
PROCESSORS: Final = frozenset({"processor_config.json", "preprocessor_config.json"})
LFS: Final = "version https://git-lfs"
"""How a file begins that stands for another one in Git, until that is fetched."""
SPEAKING: Final = (CONFIG, TOKENIZER, ADAPTER, GENERATION, TEMPLATE, PROCESSOR_TEMPLATE, INDEX)
NEEDED: Final = (CONFIG, TOKENIZER, ADAPTER)
"""Of these a broken one keeps the model from being loaded; a broken `generation_config.json` does not."""
UNREADABLE: Final = "is not valid JSON"


def wanted(names: Collection[str]) -> tuple[str, ...]:
    """Return which files of a model are to be read for what `model_of` tells; none of them is large.

    >>> wanted({"config.json", "model.safetensors", "README.md"})
    ('config.json',)
    """
    return tuple(name for name in SPEAKING if name in names and not (name == INDEX and WHOLE in names))


def model_of(names: Collection[str], texts: Mapping[str, str], *, repo: Repo | None = None) -> ModelFacts:
    """Return the known facts about a model from its small files; a damaged file is its problem.

    Args:
        names: Of all its files, with their folders.
        texts: What stands in those that are `wanted`, by name; a file that could not be had is left out.
        repo: The repository that it is in.
    """
    parsed = {name: _parse(texts[name]) for name in SPEAKING if name in texts and name.endswith(".json")}
    index = parsed.get(INDEX) or {}
    return ModelFacts(
        files=frozenset(names),
        config=parsed.get(CONFIG),
        tokenizer=parsed.get(TOKENIZER),
        adapter=parsed.get(ADAPTER),
        generation=parsed.get(GENERATION),
        chat_template=_template(names, texts, parsed),
        shards=frozenset(_shards(index)),
        problem=next(_problems(texts, parsed), ""),
        repo=repo,
    )


def tensors_of(index: str) -> frozenset[str]:
    """Return the names of the weights that the text of an index lists; none if it is no index."""
    found = (_parse(index) or {}).get("weight_map")
    return frozenset(found) if isinstance(found, dict) else frozenset()


def _parse(text: str) -> dict[str, Any] | None:
    """Return the JSON object in a text; None for anything else."""
    try:
        value = parse_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _problems(texts: Mapping[str, str], parsed: Mapping[str, Any]) -> Iterator[str]:
    for name in NEEDED:
        if parsed.get(name, ()) is None:
            yield describe_damage(name, texts[name], UNREADABLE)


def describe_damage(name: str, start: str, otherwise: str) -> str:
    """Return a description of the damage of a file that is not what its name says.

    Args:
        name: Of the file.
        start: Its first characters.
        otherwise: What is wrong if it is none of the usual things.
    """
    if start.startswith(LFS):
        return f"{name} is only a pointer to a file in Git LFS: run `git lfs pull`"
    if not start.strip():
        return f"{name} is empty"
    return f"{name} {otherwise}"


def _template(names: Collection[str], texts: Mapping[str, str], parsed: Mapping[str, Any]) -> str | None:
    """Return the chat template that a trainer gets: of several that called `default`."""
    if TEMPLATE in texts:
        return texts[TEMPLATE]
    if PROCESSORS.intersection(names) and (found := _text(parsed.get(PROCESSOR_TEMPLATE))):
        return found
    return _text(parsed.get(TOKENIZER))


def _text(holder: Mapping[str, Any] | None) -> str | None:
    given = (holder or {}).get("chat_template")
    if isinstance(given, list):
        named = (each for each in given if isinstance(each, dict) and each.get("name") == "default")
        given = next((each.get("template") for each in named), None)
    return given if isinstance(given, str) else None


def _shards(index: Mapping[str, Any]) -> Iterator[str]:
    where = index.get("weight_map")
    for name in where.values() if isinstance(where, dict) else ():
        if isinstance(name, str):
            yield name
