"""What became of an argument, or of a name, that a library refused, and which of its releases have it: a log at most guesses it by the letters."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from holdfast.catalog.api import Api, newest, released
from holdfast.catalog.api.spans import spell
from holdfast.catalog.calls.imports import LIBRARIES, instead_of
from holdfast.catalog.calls.renames import Renamed, renamed, renamed_anywhere
from holdfast.core.job.api import Span
from holdfast.core.text.nearest import SURE, nearest_of_role

CONFIG: Final = ("Config", "Arguments")
"""Ends of the names of classes whose arguments are those of `transformers.TrainingArguments` too."""
TAKES: Final = re.compile(
    r"(?<![.\w])(?P<owner>\w+)(?:\.__init__)?\(\) got an unexpected keyword argument '(?P<name>\w+)'"
)
HAS: Final = re.compile(
    r"cannot import name '(?P<import>\w+)' from '(?P<package>[\w.]+)'|module '?(?P<module>[\w.]+?)'? has no attribute '?(?P<attribute>\w+)"
    r"|No module named '(?P<above>\w+(?:\.\w+)*)\.(?P<last>\w+)'"
)
UNKNOWN: Final = "import what has taken its place in the installed release"
THERE: Final = "install a release that has it"


def renaming_of(values: Mapping[str, str | None]) -> dict[str, str]:
    """Return the new name of the argument `old` of the class `owner`, or what to write instead of the `name` of a `module`.

    Args:
        values: What the log gave.

    Returns:
        Of an argument `new`, where another took its place, and where it is an argument of a config, and every value means the same under the new
        name, `same`, the same name: with it a job file can be changed without asking. Of a name `instead`, what to do, in words. Of both, in which
        direction the installed release is wrong: `newer`, the first release that has it, where the newest still does; `older`, the last one that
        had it. Of an argument that no release had, `meant`, the one that it was misspelt for.

    >>> renaming_of({"old": "max_seq_length", "owner": "SFTConfig"})
    {'new': 'max_length', 'same': 'max_length', 'older': 'trl 0.19.1'}
    >>> renaming_of({"old": "eval_strategy", "owner": "TrainingArguments"})
    {'newer': 'transformers 4.41.0 or later'}
    >>> renaming_of({"old": "learning_rat", "owner": "SFTConfig"})
    {'meant': 'learning_rate'}
    >>> renaming_of({"name": "AdamW", "module": "transformers"})
    {'instead': 'use `torch.optim.AdamW`', 'older': 'transformers 4.49.0'}
    """
    old, owner, name, module = (values.get(key) for key in ("old", "owner", "name", "module"))
    if old:
        found = _new_argument(old, owner) | (_direction(spans_of(owner, old)) if owner else {})
        return found or (_misspelt(old, owner) if owner else {})
    return _instead(module, name) if name and module else {}


def releases_with(text: str) -> str:
    """Return which releases have what a line says is not there, in words; empty if all that are known have it, or none.

    >>> releases_with("TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_seq_length'")
    'trl 0.9.2 to 0.19.1 takes it.'
    >>> releases_with("TypeError: RewardTrainer.__init__() got an unexpected keyword argument 'tokenizer'")
    'trl 0.12.1 to 0.14.0 takes it.'
    >>> releases_with("ImportError: cannot import name 'AdamW' from 'transformers'")
    'transformers up to 4.49.0 has it.'
    """
    if found := TAKES.search(text):
        return _spelled_spans(spans_of(found["owner"], found["name"]), "takes it.")
    if found := HAS.search(text):
        module, name = (
            found["package"] or found["module"] or found["above"],
            found["import"] or found["attribute"] or found["last"],
        )
        return _spelled_spans(Api(newest()).name_spans(module, name), "has it.")
    return ""


def spans_of(owner: str, name: str) -> tuple[Span, ...]:
    """Return in which releases a class or function takes an argument, whichever library's it is."""
    api = Api(newest())
    return next(filter(None, (api.parameter_spans(f"{library}.{owner}", name) for library in LIBRARIES)), ())


def _misspelt(name: str, owner: str) -> dict[str, str]:
    """Return the argument for which one was misspelt that no release takes; nothing if none is that near."""
    api = Api(newest())
    signatures = (api.signature(f"{library}.{owner}") for library in LIBRARIES)
    taken = next((tuple(each.parameters) for each in signatures if each), ())
    meant = None if spans_of(owner, name) else nearest_of_role(name, taken, cutoff=SURE)
    return {"meant": meant} if meant else {}


def _spelled_spans(spans: tuple[Span, ...], verb: str) -> str:
    """Return the newest range of releases in words; older ranges, before a gap, are left out."""
    releases = _spell(spans[-1]) if spans else ""
    return f"{spans[-1].package} {releases} {verb}" if releases else ""


def _spell(span: Span) -> str:
    versions = released(span.package)
    return spell(versions, span.first, span.last or versions[-1])


def _new_argument(old: str, owner: str | None) -> dict[str, str]:
    change = _change(old, owner)
    if change is None or not change.new:
        return {}
    in_config = all(name.endswith(CONFIG) for name in ([owner] if owner else change.of))
    return {"new": change.new} | ({"same": change.new} if change.same and in_config else {})


def _change(old: str, owner: str | None) -> Renamed | None:
    if not owner:
        return renamed_anywhere(old)
    return renamed([owner, "TrainingArguments"] if owner.endswith(CONFIG) else [owner], old)


def _instead(module: str, name: str) -> dict[str, str]:
    api = Api(newest())
    spans = api.name_spans(module, name)
    direction = _direction(spans)
    if spans and spans[-1].last is None:
        return direction or {"instead": THERE}
    return {"instead": instead_of(api, module, name) or UNKNOWN} | direction


def _direction(spans: Sequence[Span]) -> dict[str, str]:
    """Return the release to install for what the spans are of: `newer` where the newest release has it, else `older`.

    Nothing where no release that is known has it, or each of them: then it is not the release that is wrong.
    """
    if not spans:
        return {}
    span = spans[-1]
    if span.last is not None:
        return {"older": f"{span.package} {span.last}"}
    return {} if span.first == released(span.package)[0] else {"newer": f"{span.package} {span.first} or later"}
