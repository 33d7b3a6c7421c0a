"""Failures in what real logs have around them: the cause is found first, by its lines, whoever prefixed them."""

import pytest

from holdfast.core.diagnose.diagnosis import Pattern
from tests.helpers.diagnose_cases import PREFIXES, wrap
from tests.helpers.diagnose_perturbations import PERTURBATIONS, perturb
from tests.helpers.diagnose_signatures import found, signature

SEEDS = range(24)
CASES = {
    "full": [
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 22.06 GiB.",
    ],
    "renamed": [
        '  File "/home/u/train.py", line 40, in <module>',
        "    trainer = SFTTrainer(",
        "TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'tokenizer'",
    ],
    "bus": [
        "ERROR: Unexpected bus error encountered in worker. This might be caused by insufficient shared memory (shm).",
        "RuntimeError: DataLoader worker (pid 325) is killed by signal: Bus error.",
    ],
    "killed": ["slurmstepd: error: Detected 1 oom-kill event(s) in StepId=37205392.0."],
}
SIGNATURES = (
    signature("full", Pattern(line=r"CUDA out of memory\. Tried to allocate")),
    signature("renamed", Pattern(line=r"got an unexpected keyword argument '(?P<name>\w+)'")),
    signature(
        "bus",
        Pattern(line="Unexpected bus error encountered in worker"),
        Pattern(line=r"is killed by signal: Bus error", role="echo"),
    ),
    signature("killed", Pattern(line=r"Detected \d+ oom-kill event")),
    signature(
        "died",
        Pattern(line=r"ChildFailedError", role="echo", weight=0.3),
        needs="the log of the rank that failed first",
    ),
    signature("user-code-error"),
)


@pytest.mark.parametrize("name", CASES)
def test_the_cause_is_first_and_its_lines_are_the_evidence(name: str) -> None:
    both = given = true = 0
    for seed in SEEDS:
        wrapped = wrap(CASES[name], seed)
        diagnosis = found(wrapped.text, *SIGNATURES)
        assert [cause.signature.name for cause in diagnosis.causes][:1] == [name], wrapped.text
        lines = {each.line for each in diagnosis.causes[0].evidence}
        both, given, true = both + len(lines & set(wrapped.numbers)), given + len(lines), true + len(wrapped.numbers)
    assert 2 * both / (given + true) > 0.95


TEXT = """Loading the model and the tokenizer from the hub, which takes a while
Traceback (most recent call last):
  File "/home/u/train.py", line 40, in <module>
    main()
  File "/home/u/train.py", line 30, in main
    trainer = SFTTrainer(model, tokenizer=tokenizer, train_dataset=dataset, peft_config=peft_config)
  File "/opt/venv/lib/python3.11/site-packages/trl/trainer/sft_trainer.py", line 401, in __init__
    super().__init__(**arguments)
TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'tokenizer' of the class that is given here
"""
ASKS = signature(
    "renamed",
    Pattern(line=r"^TypeError: SFTTrainer\.__init__\(\) got an unexpected keyword argument '(?P<name>\w+)'", frame="site-packages/trl/|dist-packages/trl/"),
)  # fmt: skip
LOSES_FRAMES = frozenset({"exception alone", "wrapped at words 80"})
"""Perturbations after which the last frame's file cannot be told."""
LOSES_WORDS = frozenset({"a fifth cut", "a third cut"})
"""Perturbations that take away what the mark asks for; what a signature has seen whole tells it (`test_diagnose_begun.py`)."""


@pytest.mark.parametrize("name", sorted(set(PERTURBATIONS) - LOSES_FRAMES - LOSES_WORDS))
def test_what_happens_to_a_log_on_its_way_hides_no_cause(name: str) -> None:
    """A fixed small sample: benchmarks/diagnose_perturbed.py does so with the texts of all signatures."""
    assert [cause.signature.name for cause in found(perturb(name, TEXT, 7), ASKS).causes] == ["renamed"]


def test_every_launcher_is_among_the_wrapped() -> None:
    assert {wrap(["x"], seed).style for seed in range(60)} == set(PREFIXES)


def test_what_is_wrapped_around_a_cause_is_none_itself() -> None:
    for seed in SEEDS:
        assert found(wrap([], seed).text, *SIGNATURES).verdict == "unknown"
        assert found(wrap([], seed, ends_well=True).text, *SIGNATURES).verdict == "healthy"
