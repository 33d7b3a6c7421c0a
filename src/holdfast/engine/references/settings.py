"""What a job file names, and what the file of another program does whose keys are mapped to ours."""

from collections.abc import Iterator
from typing import Any

from holdfast.catalog.hub.repositories import is_repository, may_be_repository
from holdfast.core.check.reference import Reference, ReferenceRole
from holdfast.core.job.document import Document, Unknown
from holdfast.engine.references.table import BUILDERS


def job_references(document: Document) -> Iterator[Reference]:
    """Yield the references in a job file."""
    yield from _model(document)
    yield from _dataset(document)
    yield from _mixed(document)
    template = _text(document, "model.chat_template")
    if template and may_be_repository(template):
        yield Reference(role="tokenizer", name=template, key="model.chat_template", label="chat_template")
    yield from _evaluations(document)
    yield from _written(document)


def settings_references(document: Document) -> Iterator[Reference]:
    """Yield the references under another program's own keys, or the address to which a command submits."""
    script = _text(document, "script")
    if script:
        yield Reference(role="link", name=script, key="script", label="hf jobs uv run")
    yield from _model(document)
    yield from _dataset(document)


def _text(document: Document, key: str) -> str | None:
    value = document.get(key, None)
    return value if isinstance(value, str) else None


def _hidden(document: Document, *keys: str) -> bool:
    return any(isinstance(document.get(key, None), Unknown) for key in keys)


def _key(document: Document, part: str) -> str:
    """Return where the name of a part stands: `model: x` is short for `model: {path: x}`."""
    return part if isinstance(document.values.get(part), str) else f"{part}.path"


def _model(document: Document) -> Iterator[Reference]:
    name = _text(document, "model.path")
    if name and may_be_repository(name) and not _hidden(document, "model.revision"):
        revision = _text(document, "model.revision")
        yield Reference(role="model", name=name, key=_key(document, "model"), revision=revision, label="model")


def _dataset(document: Document) -> Iterator[Reference]:
    name, config = _text(document, "dataset.path"), _text(document, "dataset.config")
    if not name or not may_be_repository(name) or name in BUILDERS or _hidden(document, "dataset.config"):
        return
    split = document.get("dataset.split", "train")
    key = _key(document, "dataset")
    yield _data("dataset", name, key, "dataset", config, split)
    evaluated = _text(document, "dataset.eval_split")
    if evaluated:
        yield _data("dataset", name, "dataset.eval_split", "eval_split", config, evaluated)


def _mixed(document: Document) -> Iterator[Reference]:
    """Yield the other datasets of a mixture."""
    listed = document.get("dataset.mix", None)
    for at, each in enumerate(listed if isinstance(listed, list) else []):
        alone = isinstance(each, str)
        key = f"dataset.mix.{at}" if alone else f"dataset.mix.{at}.path"
        name = _text(document, key)
        if name and may_be_repository(name):
            config = None if alone else _text(document, f"dataset.mix.{at}.config")
            split = "train" if alone else document.get(f"dataset.mix.{at}.split", "train")
            yield _data("dataset", name, key, "dataset.mix", config, split)


def _data(role: ReferenceRole, name: str, key: str, label: str, config: str | None, split: Any) -> Reference:
    split_name = split if isinstance(split, str) else None
    return Reference(role=role, name=name, key=key, label=label, repo_kind="dataset", config=config, split=split_name)


def _evaluations(document: Document) -> Iterator[Reference]:
    given = document.get("evaluate", None)
    for index in range(len(given) if isinstance(given, list) else 0):
        above = f"evaluate.{index}"
        listed = document.get(f"{above}.dataset", None)
        keys = (
            [f"{above}.dataset.{at}" for at in range(len(listed))] if isinstance(listed, list) else [f"{above}.dataset"]
        )
        for key in keys:
            if (name := _text(document, key)) and may_be_repository(name):
                config, split = _text(document, f"{above}.config"), _text(document, f"{above}.split")
                yield _data("dataset", name, key, "evaluate", config, split)


def _written(document: Document) -> Iterator[Reference]:
    """Yield the repository that a job pushes to, and the Space that it reports to."""
    target, space = _text(document, "output.push_to"), _text(document, "track.space")
    if target and is_repository(target):
        yield Reference(role="target", name=target, key="output.push_to", label="output.push_to")
    if space and is_repository(space) and document.get("track.with", None) == "trackio":
        yield Reference(role="space", name=space, key="track.space", label="track.space", repo_kind="space")
