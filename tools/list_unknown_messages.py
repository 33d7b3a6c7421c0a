"""Exceptions of the libraries that no signature knows yet: for authors of signatures.

    .venv/bin/python -m tools.list_unknown_messages [PREFIX ...] [--newest] [--known]

Each message of `catalog/messages` is put at the end of a traceback through the place where it is raised, and diagnosed; told are
those that end in no class, the modules first that most jobs go through. PREFIX is the beginning of a module's path. With
`--newest`, only what the newest release still says; with `--known`, what each message is taken for instead.
"""

import argparse
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Final

from holdfast.catalog.messages import KnownMessage, MessagePlace, load_messages, packages
from holdfast.catalog.messages.templates import HOLE
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.engine.diagnose.unknown_exceptions import USER_CODE
from holdfast.signatures import all_signatures

MOST_USED: Final = (
    "trl.trainer",
    "trl.data_utils",
    "transformers.training_args",
    "transformers.trainer",
    "transformers.modeling_utils",
    "transformers.tokenization",
    "transformers.integrations",
    "transformers",
    "peft",
    "accelerate",
    "datasets",
    "huggingface_hub",
    "trl",
)
"""Beginnings of modules' paths, in the order in which they are told."""
LEVELS: Final = frozenset({"warning", "error"})
VALUE: Final = "8"
"""Stands in each hole."""


def traceback_of(said: KnownMessage, place: MessagePlace) -> str:
    """Return the end of a log in which a library raises a message."""
    file = f"/opt/venv/lib/python3.11/site-packages/{place.module.replace('.', '/')}.py"
    function = place.function.rpartition(".")[2] or "<module>"
    text = said.template.replace(HOLE, VALUE)
    return (
        'Traceback (most recent call last):\n  File "/home/me/train.py", line 31, in <module>\n    main()\n'
        f'  File "{file}", line 123, in {function}\n    raise {said.kind}(\n'
        f"{said.kind}: {repr(text) if said.kind == 'KeyError' else text}\n"
    )


def class_of(text: str) -> str:
    """Return the class of a log that marks know; empty where they know none."""
    found = diagnose(read_log([("x.log", [text.encode()])], patterns().sought), patterns())
    name = found.causes[0].signature.name if found.causes and found.verdict == "diagnosed" else ""
    return "" if name == USER_CODE else name


def messages(prefixes: Sequence[str], *, newest: bool) -> Iterator[tuple[KnownMessage, MessagePlace, str]]:
    """Yield each exception of some modules, where it is raised first, and in which releases."""
    for package in packages():
        known = load_messages(package)
        last = 1 << (len(known.versions) - 1)
        for said in known.all():
            places = [place for place in said.places if place.module.startswith(tuple(prefixes) or ("",))]
            releases = 0
            for place in places:
                releases |= place.releases
            if said.kind in LEVELS or said.kind.endswith("Warning") or not places or (newest and not releases & last):
                continue
            spans = ", ".join(
                span.first if span.last == span.first else f"{span.first}-{span.last or ''}"
                for span in known.history.spans(releases)
            )
            yield said, max(places, key=lambda place: place.releases), spans


@cache
def patterns() -> PatternIndex:
    """Return the marks of all signatures."""
    return PatternIndex(all_signatures())


def main() -> None:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("prefix", nargs="*")
    parser.add_argument("--newest", action="store_true")
    parser.add_argument("--known", action="store_true")
    asked = parser.parse_args()
    told = sorted(messages(asked.prefix, newest=asked.newest), key=lambda each: (_rank(each[1]), each[1].function))
    unknown = 0
    for said, place, spans in told:
        name = class_of(traceback_of(said, place))
        unknown += not name
        if bool(name) == asked.known:
            print(
                f"{name + ' · ' if name else ''}{place.module}:{place.function} ({spans})\n  {said.kind}: {said.template}"
            )
    print(f"{unknown} of {len(told)} exceptions are unknown")


def _rank(place: MessagePlace) -> tuple[int, str]:
    order = next((at for at, each in enumerate(MOST_USED) if place.module.startswith(each)), len(MOST_USED))
    return order, place.module


if __name__ == "__main__":
    main()
