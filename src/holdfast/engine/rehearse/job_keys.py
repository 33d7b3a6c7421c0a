"""The key of a job file that a failure of its script comes from: no person wrote the script, so no line of it is shown."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from holdfast.core.job.document import Document, Key, leaves, render_key
from holdfast.core.rehearse.rehearsal import StageName
from holdfast.core.text.places import Place
from holdfast.engine.rehearse.keywords import as_words
from holdfast.engine.rehearse.tracebacks import FailingLine

ROLES: Final = {"reward function": "rewards", "`map` function": "dataset.map"}
"""Where a job file names a function that has a role."""
NAMED: Final = ("train", "peft", "quantization", "model", "dataset")
"""Sections whose keys and values are handed on to a library, which names them where it refuses them."""
PHASES: Final = {"dataset": "dataset", "model": "model"}
"""Where a class of failure of a phase comes from."""
OF_STAGES: Final[dict[StageName, str]] = {"data": "dataset", "model": "model"}
SHORTEST: Final = 4
"""Letters of a value that is looked for in a message: shorter ones stand in any."""


def find_job_key(job: Document, error: str, line: FailingLine | None, *, stage: StageName, phase: str) -> str:
    """Return the key at fault as far as that is known; empty if it is not.

    Args:
        job: The job file.
        error: The exception.
        line: The line of a file that the job names, such as its rewards; None if none raised.
        stage: The stage that failed.
        phase: The phase of the class of failure.
    """
    by_role = [ROLES[line.role]] if line and line.role in ROLES else []
    candidates = [*by_role, *_named(job, error), PHASES.get(phase, ""), OF_STAGES.get(stage, "")]
    return next((key for key in candidates if key and job.place(key).line is not None), "")


def place_of(job: Document, key: str) -> str:
    """Return where a key stands: `job.yaml:4`, or what else gave it: `the command line`."""
    place: Place = job.place(key)
    return f"{place.path}:{place.line}" if place.line is not None else place.path


def _named(job: Document, error: str) -> Iterator[str]:
    """Yield the keys whose name a message has, the longest first, then those that it writes as words; then those whose value it has."""
    given = [(key, value) for key, value in leaves(job.values) if key and key[0] in NAMED]
    yield from _named_by_name([key for key, _ in given], error)
    for key, value in given:
        if isinstance(value, str) and len(value) >= SHORTEST and _stands_in(value, error):
            yield render_key(_setting(key))


def _named_by_name(keys: Iterable[Key], error: str) -> Iterator[str]:
    names = sorted(_names(keys), key=lambda each: (-len(each[0]), str(each[1])))
    for spelled in (str, as_words):
        for name, key in names:
            if _stands_in(spelled(name), error):
                yield render_key(_setting(key))


def _names(keys: Iterable[Key]) -> set[tuple[str, Key]]:
    """Return the parts of keys that no common word is spelled like, each with its key."""
    return {(part, key) for key in keys for part in key[1:] if isinstance(part, str) and "_" in part}


def _setting(key: Key) -> Key:
    """Return the key of a whole setting, of which a leaf may be an item."""
    return key[:2]


def _stands_in(word: str, text: str) -> bool:
    return re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w-])", text) is not None
