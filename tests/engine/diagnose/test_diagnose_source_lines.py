"""Source code that a traceback shows has the words of a message and none of its values: no answer takes one from it."""

import re
from collections.abc import Iterator
from functools import cache

import pytest

from holdfast.core.diagnose.diagnosis import Cause, Pattern, Signature
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.signatures import all_signatures
from tests.helpers.sampling import sampled

FIELDS = ("{split}", "{list(name2len)}", "{self.args.name!r}", "{sorted(names)[:3]}")
MESSAGE = re.compile(r"^(?P<error>(?:\w+\.)*\w+(?:Error|Exception)): (?P<message>.+)$")
BEFORE = (
    'Traceback (most recent call last):\n  File "/job/train.py", line 3, in <module>\n    main()\n'
    '  File "/opt/venv/lib/python3.11/site-packages/acme/reader.py", line 437, in _read\n'
)


@cache
def patterns() -> PatternIndex:
    return PatternIndex(all_signatures())


def causes(text: str) -> tuple[Cause, ...]:
    return diagnose(read_log([("x.log", [text.encode()])], patterns().sought), patterns()).causes


def raised(signature: Signature) -> Iterator[tuple[str, str]]:
    """Yield each exception of a signature's texts with the source that raises it: fields stand where its patterns take values."""
    for text in signature.seen:
        for line in text.splitlines():
            message = MESSAGE.match(line)
            found = next(filter(None, (_search(mark, line) for mark in signature.patterns)), None) if message else None
            if message and found:
                yield line, f"    raise {message['error']}(f'{_with_fields(line, found)[message.start('message') :]}')"


def _search(mark: Pattern, line: str) -> re.Match[str] | None:
    found = re.search(mark.line, line)
    return found if found and any(found.groupdict().values()) else None


def _with_fields(line: str, found: re.Match[str]) -> str:
    spans = sorted((found.span(name) for name, value in found.groupdict().items() if value), reverse=True)
    for at, (start, end) in enumerate(spans):
        line = line[:start] + FIELDS[at % len(FIELDS)] + line[end:]
    return line


RAISED = {each.name: cases for each in all_signatures() if (cases := tuple(raised(each)))}


@pytest.mark.parametrize("name", sampled(RAISED, 3))
def test_the_source_above_a_message_gives_no_value(name: str) -> None:
    """Once with the frames, and once without any; what quotes the whole line says that it is code."""
    shown = [
        (source, told)
        for message, source in RAISED[name]
        for text in (f"{BEFORE}{source}\n{message}\n", f"{source}\n{message}\n")
        for cause in causes(text)
        for told in ((cause.cause + cause.fix).replace(source.strip(), ""),)
        if any(field in told for field in FIELDS)
    ]
    assert shown == []


def test_most_signatures_that_take_values_are_tried() -> None:
    assert len(RAISED) > 60


def test_a_real_log_tells_the_splits_of_the_message() -> None:
    source = """    raise ValueError(f'Unknown split "{split}". Should be one of {list(name2len)}.')"""
    message = """ValueError: Unknown split "validation". Should be one of ['train']."""
    first = causes(f"{BEFORE}{source}\n{message}\n")[0]
    assert first.fix.startswith("Take one of those that exist: ['train'].")
    assert first.evidence[0].text == message


def test_a_message_with_braces_of_its_own_keeps_its_values() -> None:
    message = "ValueError: Target modules {'query_key_value'} not found in the base model. Please check the target modules and try again."
    assert "{'query_key_value'}" in causes(f"{BEFORE}    raise ValueError(error_msg)\n{message}\n")[0].cause
