"""What a library's command takes, as calls of the dataclasses whose fields are its flags."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from holdfast.catalog.api import Api, load_history
from holdfast.catalog.api.history import at
from holdfast.catalog.api.since import since
from holdfast.core.api import CallSignature
from holdfast.core.calls import Call
from holdfast.core.document import Document

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
    begun = tuple(flag for flag in flags if flag.startswith(name))
    if len(begun) == 1 and since(api, "transformers", HYPHENS):
        alias = begun[0].replace("_", "-")
        begun = begun if alias in begun or not alias.startswith(name) else (*begun, alias)
    return begun if len(begun) > 1 and name not in flags else ()


def parsed_flags(job: Document, call: Call, api: Api) -> tuple[str, ...]:
    """Return the flags that the parser of a call takes, as far as its dataclasses are known."""
    together = [each for each in job.calls if each.via == "parser" and each.place == call.place]
    found = [each for parsed in together for each in _signatures_of(parsed, api)]
    own = [name for parsed in together for name in (*parsed.own, *sorted(parsed.flags))]
    return tuple(dict.fromkeys([*own, *(name for each in found for name in (*each.parameters, *each.shims))]))


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
    package = command.partition(" ")[0]
    history, version = load_history(package), api.versions.get(package)
    entry = history.entry(f"x {command}") if history else None
    index = history.index(version) if history and version else None
    if entry is None or index is None:
        return {}
    homes = at(entry["d"], index) or []
    found = {_public(home, api): api.signature(home) for home in homes}
    return {path: each for path, each in found.items() if each} if all(found.values()) else {}


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
