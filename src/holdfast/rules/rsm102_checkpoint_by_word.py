"""Word such as `"latest"` as a checkpoint path.

## What it does
Checks `resume_from_checkpoint` of `trainer.train(…)` for texts such as `"latest"`, `"last"`, `"auto"` and `"True"`.

## Why is this bad
Any text is a path. The trainer finds no folder of that name and raises ValueError, "Can't find a valid checkpoint at
latest". Other tools have such words; here `True` stands for the last checkpoint in `output_dir`.

## Fix safety
The fix is safe: it writes `True`, which is what the word means, or the value that `"False"` and `"None"` name.
"""

from collections.abc import Iterator
from typing import Any, Final

from holdfast.catalog.calls.resuming import checkpoint_key, checkpoint_place, given_checkpoint, trainings
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Set

WORDS: Final = {"auto": True, "true": True, "yes": True, "false": False, "no": False, "none": None}
LIKELY: Final = {"latest": True, "last": True}
"""A folder or a link may have such a name."""


def check(job: Document) -> Iterator[Finding]:
    """Report each word that is used as a checkpoint path."""
    for call in trainings(job, "ValueError"):
        checkpoint = given_checkpoint(job, call)
        word = checkpoint.strip().lower() if isinstance(checkpoint, str) else ""
        if word in WORDS or word in LIKELY:
            yield _finding(call, str(checkpoint), (WORDS | LIKELY)[word], sure=word in WORDS)


def _finding(call: Call, word: str, meant: Any, *, sure: bool) -> Finding:
    key, place = checkpoint_key(call), checkpoint_place(call)
    return Finding(
        key,
        f"{word!r} is read as the name of a folder; write {meant} without quotes",
        Fix(f"write {meant}", (Set(key, meant),)) if place is None else None,
        None if sure else Severity.WARNING,
        place=place,
    )


SCRIPT = """
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows)
trainer.train(resume_from_checkpoint=True)
"""
KEY = "calls.2.resume_from_checkpoint"

RULE = Rule(
    code="RSM102",
    name="checkpoint-by-word",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with transformers 5.23 and trl 1.16: ValueError for `latest` and for `True` as a text; `False` and "
        "`None` without quotes train from the start."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace("=True", '="latest"'), at=KEY, fixed=SCRIPT),
        Case(script=SCRIPT.replace("=True", '="True"'), at=KEY, fixed=SCRIPT),
        Case(script=SCRIPT.replace("=True", '="None"'), at=KEY, fixed=SCRIPT.replace("=True", "=None")),
        Case(script=SCRIPT.replace("resume_from_checkpoint=True", '"auto"'), at=KEY),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("=True", '="out/checkpoint-500"')),
        Case(script=SCRIPT.replace("resume_from_checkpoint=True", "")),
    ),
)
