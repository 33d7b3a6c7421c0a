"""Split or shuffle without a seed, so it differs in every run.

## What it does
Checks for `shuffle()` and `train_test_split()` of datasets without a seed, in a script that does not seed numpy
before. A stream ignores numpy's seed, so its `shuffle()` always needs a seed of its own.

## Why is this bad
The trainer has a seed of its own, 42, by default; the split has none. So the same script trains and evaluates on
other rows each time: two runs cannot be compared, and a resumed run has seen some of its evaluation rows.

## Fix safety
The fix is safe: it uses the trainer's seed, 42, which gives one of the splits that the script could have made.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Set, Unknown

DRAWING = ("shuffle", "train_test_split")
# Calls that seed numpy, from which datasets draws if it gets no seed.
SEEDING = ("set_seed", "seed_everything", "enable_full_determinism", "numpy.random.seed")
SEEDS = ("seed", "seeds", "generator", "generators", "train_seed")
USUAL = 42


def check(job: Document) -> Iterator[Finding]:
    """Report each draw of rows without a seed."""
    seeded = any(each in job.text for each in (*SEEDING, "np.random.seed"))
    streamed = any(map(_loads_stream, job.calls))
    for call in job.calls:
        if _draws(call) and not (seeded and not _streams(call, streamed=streamed)) and not _is_given(call):
            fix = Fix(f"seed it with {USUAL}", (Set(f"{call.key}.seed", USUAL),))
            fault = f"`{call.name}` without a seed draws different rows in every run"
            yield Finding(call.key, fault, fix, place=call.name_place)


def _loads_stream(call: Call) -> bool:
    return call.path == "datasets.load_dataset" and bool(call.arguments.get("streaming"))


def _draws(call: Call) -> bool:
    return call.package == "datasets" and call.name in DRAWING and not call.open and call.via == "call"


def _streams(call: Call, *, streamed: bool) -> bool:
    """True if the rows are surely a stream's."""
    return streamed and call.name == "shuffle"


def _is_given(call: Call) -> bool:
    """True if a seed is given, or nothing is drawn."""
    kept = call.arguments.get("shuffle", True)
    given = any(call.arguments.get(name) is not None for name in SEEDS)
    return given or kept is False or isinstance(kept, Unknown) or (call.name == "shuffle" and bool(call.positional))


SCRIPT = """from datasets import load_dataset

rows = load_dataset("trl-lib/Capybara", split="train")
parts = rows.train_test_split(test_size=0.1, seed=42)
"""
UNSEEDED = SCRIPT.replace(", seed=42", "")
STREAM = """from datasets import load_dataset
from transformers import set_seed

set_seed(7)
rows = load_dataset("trl-lib/Capybara", split="train", streaming=True).shuffle(buffer_size=1000)
"""

RULE = Rule(
    code="REP101",
    name="unseeded-split",
    explain=__doc__,
    severity=Severity.INFO,
    check=check,
    source=(
        "datasets 5.2. Tried in two processes: `shuffle` and `train_test_split` differ, after `set_seed` they do not, and a "
        "stream's `shuffle` differs even then."
    ),
    bad=(
        Case(script=UNSEEDED, at="calls.1", fixed=SCRIPT),
        Case(script=STREAM, at="calls.2", fixed=STREAM.replace("1000)", "1000, seed=42)")),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=UNSEEDED.replace("rows = ", "import numpy as np\n\nnp.random.seed(7)\nrows = ")),
        Case(script=UNSEEDED.replace("test_size=0.1", "test_size=0.1, shuffle=False")),
        Case(script="import random\n\nrandom.shuffle([1, 2])\n"),
    ),
    kinds=PROGRAMS,
)
