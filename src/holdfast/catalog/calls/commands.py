"""What a library's command takes, as calls of the dataclasses whose fields are its flags."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final

from holdfast.catalog.api import Api, load_history
from holdfast.catalog.api.history import at
from holdfast.catalog.api.since import since
from holdfast.core.job.api import CallSignature
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document

HYPHENS: Final = "5.0.0"
"""From this release of transformers on it is known that each flag can be spelled with hyphens too."""


def calls_of(job: Document, api: Api) -> Iterator[Call]:
    """Yield a program's calls; a command such as `trl sft` as one call of each of its dataclasses, with its own flags."""
    for call in job.calls:
        yield from dataclasses_of(call, api)


def dataclasses_of(call: Call, api: Api) -> Iterator[Call]:
    """Yield the calls of its dataclasses that a command comes to; of any other call the call itself."""
    if " " in call.path:
        yield from _split(call, api)
    else:
        yield call


def is_command(job: Document, call: Call) -> bool:
    """True if a call is of a command that hands on to another program what it does not know itself."""
    return job.kind == "command" and any(" " in each.path and each.key == call.key for each in job.calls)


def ambiguous_flags(job: Document, call: Call, name: str, api: Api) -> tuple[str, ...]:
    """Return the flags that a flag which is cut short could be; none if it is whole, or short for one alone.

    A parser takes the beginning of a flag of any of its dataclasses, so they are asked together. It has `--learning-rate` beside
    `--learning_rate`, and argparse (tried with Python 3.8 to 3.13) takes no beginning of both, although they are one option.
    """
    if call.via != "parser" or name in call.defaults:
        return ()
    flags = parsed_flags(job, call, api)
    begun = _flags_with(name, flags, api)
    return begun if len(begun) > 1 and name not in flags else ()


def _flags_with(beginning: str, flags: Iterable[str], api: Api) -> tuple[str, ...]:
    """Return the flags with a beginning; of the only one both spellings."""
    begun = tuple(flag for flag in flags if flag.startswith(beginning))
    if len(begun) == 1 and since(api, "transformers", HYPHENS):
        return tuple(_spellings(begun[0], beginning))
    return begun


def _spellings(flag: str, beginning: str) -> Iterator[str]:
    """Yield a flag, and its spelling with hyphens if that is another and begins in the same way."""
    yield flag
    hyphened = flag.replace("_", "-")
    if hyphened != flag and hyphened.startswith(beginning):
        yield hyphened


def parsed_flags(job: Document, call: Call, api: Api) -> tuple[str, ...]:
    """Return the flags that the parser of a call takes, as far as its dataclasses are known."""
    together = [each for each in job.calls if each.via == "parser" and each.place == call.place]
    own = chain.from_iterable((*parsed.own, *sorted(parsed.flags)) for parsed in together)
    signatures = chain.from_iterable(_signatures_of(parsed, api) for parsed in together)
    named = chain.from_iterable((*each.parameters, *each.shims) for each in signatures)
    return tuple(dict.fromkeys([*own, *named]))


def _signatures_of(call: Call, api: Api) -> Iterator[CallSignature]:
    """Yield the signatures of a command's dataclasses; of any other call its own."""
    if " " in call.path:
        yield from _signatures(call.path, api).values()
    elif signature := api.signature(call.path):
        yield signature


def _split(call: Call, api: Api) -> Iterator[Call]:
    signatures = _signatures(call.path, api)
    if not signatures:
        return
    config = next((path for path in signatures if path.endswith("Config")), next(iter(signatures)))
    given: dict[str, dict[str, object]] = {path: {} for path in signatures}
    for name, value in call.arguments.items():
        given[_owner(name, signatures, api) or config][name] = value
    for path, arguments in given.items():
        yield replace(call, path=path, arguments=arguments)


def _signatures(command: str, api: Api) -> Mapping[str, CallSignature]:
    """Return the signatures of a command's dataclasses at these versions; empty if one of them is unknown."""
    found = {_public(home, api): api.signature(home) for home in _homes(command, api)}
    return {path: each for path, each in found.items() if each} if all(found.values()) else {}


def _homes(command: str, api: Api) -> Sequence[str]:
    """Return where the dataclasses of a command are defined at these versions; none if that is not known."""
    package = command.partition(" ")[0]
    history, version = load_history(package), api.versions.get(package)
    if history is None or not version:
        return ()
    entry, index = history.entry(f"x {command}"), history.index(version)
    return () if entry is None or index is None else at(entry["d"], index) or ()


def _public(home: str, api: Api) -> str:
    """Return the short path of a class where it has one: `trl.SFTConfig`."""
    short = f"{home.partition('.')[0]}.{home.rpartition('.')[2]}"
    return short if api.home(short) == home else home


def _owner(name: str, signatures: Mapping[str, CallSignature], api: Api) -> str | None:
    """Return the dataclass that has a flag, or the beginning of one, or had it in some other release."""
    whole = (path for path, signature in signatures.items() if name in signature.parameters)
    begun = (
        path for path, signature in signatures.items() if any(each.startswith(name) for each in signature.parameters)
    )
    once = (path for path in signatures if api.parameter_spans(path, name))
    return next(whole, None) or next(begun, None) or next(once, None)
