"""Which attributes that a program reads of its settings their class does not have at the versions at hand.

Source: the history of releases for arguments, `attributes.toml` for what else settings have.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.catalog.api.spans import comes_with, gone_since
from holdfast.catalog.calls.arguments import NEAR, names_of
from holdfast.catalog.calls.renames import Renamed, renamed
from holdfast.catalog.calls.renaming import noted, spelled_renaming, spelled_since
from holdfast.catalog.tables import load_table
from holdfast.core.check.finding import Finding, Fix
from holdfast.core.job.api import CallSignature, Span
from holdfast.core.job.calls import AttributeRead
from holdfast.core.job.document import Document, Rename
from holdfast.core.text.nearest import nearest_of_role

PLAIN: Final = "TrainingArguments"
TRAINER: Final = "transformers.trainer.Trainer"
TOKENIZER: Final = Span("transformers", "4.36.0", after="5.0.0")
"""The releases whose trainers have `tokenizer`: since 4.46.0 as a property that gives `processing_class`."""


def missing_attributes(job: Document, api: Api) -> Iterator[Finding]:
    """Yield an objection to each attribute that its class does not have."""
    for read in job.reads:
        if TRAINER in api.ancestors(read.path):
            yield from _lost_by_trainers(api, read)
            continue
        signature = api.signature(read.path) if read.path else None
        if signature is not None and not read.guard.tolerates("AttributeError") and _lacks(api, signature, read):
            yield from _judged(job, api, signature, read)


def _lost_by_trainers(api: Api, read: AttributeRead) -> Iterator[Finding]:
    """Yield an objection to `trainer.tokenizer`; trainers that are experiments may set one of their own."""
    may_exist = (
        read.exposed or read.guard.tolerates("AttributeError") or ".experimental." in (api.home(read.path) or "")
    )
    if read.name == "tokenizer" and since(api, TOKENIZER.package, "5.0.0") and not may_exist:
        what = "renamed to `processing_class` in transformers 4.46.0, removed in 5.0.0"
        yield _finding(api, read, what, _renamed(read, "processing_class", safe=True), TOKENIZER)


def _lacks(api: Api, signature: CallSignature, read: AttributeRead) -> bool:
    """True if nothing is known that would give the class such an attribute."""
    open_ = signature.kind != "class" or signature.open or signature.swallows
    there = read.name in signature.parameters or read.name in _computed() or read.name.startswith("_")
    return not open_ and not there and api.signature(f"{read.path}.{read.name}") is None


@cache
def _computed() -> frozenset[str]:
    """Return the attributes that settings have though they are no arguments."""
    return frozenset(name for names in load_table("attributes").values() for name in names)


def _judged(job: Document, api: Api, signature: CallSignature, read: AttributeRead) -> Iterator[Finding]:
    change, gone = renamed(names_of(api, read.path), read.name), gone_since(api, read.path, read.name)
    if change and change.new in signature.parameters:
        what = f"{spelled_renaming(change)}{spelled_since(api, read.path, change, gone)}"
        yield _finding(api, read, what, _renaming_fix(job, read, change), gone)
    elif gone:
        yield _removed(api, read, gone, change)
    elif comes := comes_with(api, read.path, read.name):
        yield _finding(api, read, f"it comes with {comes.package} {comes.first}", None, comes)
    elif _is_wholly_known(api, read):
        yield _unknown(job, api, signature, read)


def _removed(api: Api, read: AttributeRead, gone: Span, change: Renamed | None) -> Finding:
    note = noted(change.note if change else "")
    return _finding(api, read, f"removed in {gone.package} {gone.after}{note}", None, gone)


def _is_wholly_known(api: Api, read: AttributeRead) -> bool:
    """True if all attributes of an object are known: it is of TRL's settings or TrainingArguments, and nothing may have added one."""
    return not read.exposed and (PLAIN in names_of(api, read.path) or read.path.startswith("trl."))


def _finding(api: Api, read: AttributeRead, what: str, fix: Fix | None, span: Span | None = None) -> Finding:
    packages = dict.fromkeys((read.path.partition(".")[0], *((span.package,) if span else ())))
    versions = ", ".join(f"{package} {api.versions[package]}" for package in packages if package in api.versions)
    message = f"`{read.path.rpartition('.')[2]}` of {versions} has no attribute `{read.name}`: {what}"
    return Finding(f"{read.key}.{read.name}", message, fix, place=read.place)


def _renaming_fix(job: Document, read: AttributeRead, change: Renamed) -> Fix | None:
    """Return the edit that reads the attribute under its new name; what is given must mean the same there."""
    if change.switch is not None:
        return None
    given = [call.arguments.get(change.old) for call in job.calls if call.key in read.calls]
    safe = change.same or (bool(given) and all(map(change.keeps, given)))
    return _renamed(read, change.new, safe=safe)


def _renamed(read: AttributeRead, new: str, *, safe: bool) -> Fix:
    return Fix(f"rename `{read.name}` to `{new}`", (Rename(f"{read.key}.{read.name}", new),), safe=safe)


def _unknown(job: Document, api: Api, signature: CallSignature, read: AttributeRead) -> Finding:
    owner = next((path for path in _settings_of(job) if _has(api, path, read.name)), "")
    if owner:
        return _finding(api, read, f"it belongs to `{owner.rpartition('.')[2]}`", None)
    meant = nearest_of_role(read.name, tuple(signature.parameters), cutoff=NEAR)
    if meant:
        return _finding(api, read, f"did you mean `{meant}`?", _renamed(read, meant, safe=False))
    return _finding(api, read, "no similar name exists there", None)


def _settings_of(job: Document) -> Mapping[str, None]:
    """Return the classes of all settings that the program makes."""
    return dict.fromkeys(call.path for call in job.calls if call.name.endswith(("Config", "Arguments")))


def _has(api: Api, path: str, name: str) -> bool:
    signature = api.signature(path)
    return signature is not None and name in signature.parameters
