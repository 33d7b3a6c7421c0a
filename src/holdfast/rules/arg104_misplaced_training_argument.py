"""Argument under `train` that belongs elsewhere in a job file.

## What it does
Checks for arguments under `train` that TRL's config classes take, but that have keys of their own in a job file: the
output folder, the name of the run, the tracker, and the repository to push the model to.

## Why is this bad
The run's folder, name and tracker come from those keys, and the script that holdfast renders would contradict itself.
`holdfast run` refuses such a job. `resume_from_checkpoint` never had an effect there: the trainer does not read it.

## Fix safety
The fix is safe: it moves a value to its key if that key is not set, and removes a value that has no effect. If the
key is already set, it is unknown which of the two values is meant, and there is no fix.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import ABSENT, Document, Remove, Set

KEYS = {
    "hub_model_id": "output.push_to",
    "report_to": "track.with",
    "run_name": "track.run",
}
# Without an effect, or said by the keys above.
HINTS = {
    "output_dir": "the run's folder holds the results, and `output.folder` all runs",
    "push_to_hub": "name the repository in `output.push_to`",
    "resume_from_checkpoint": "the trainer does not read it: `holdfast resume` continues a run",
}


def check(job: Document) -> Iterator[Finding]:
    """Report each argument under `train` that belongs elsewhere."""
    for name, target in KEYS.items():
        key = f"train.{name}"
        if job.get(key) is not ABSENT:
            move = Fix(f"move it to `{target}`", (Remove(key), Set(target, job.get(key))))
            what = f"a job file has no `{name}` under `train`: write `{target}`"
            yield Finding(key, what, move if job.get(target) is ABSENT else None)
    for name, hint in HINTS.items():
        key = f"train.{name}"
        if job.get(key) is not ABSENT:
            named = name != "push_to_hub" or job.get("output.push_to", None) or job.get("train.hub_model_id", None)
            yield Finding(
                key,
                f"a job file has no `{name}` under `train`: {hint}",
                Fix(f"remove `{name}`", (Remove(key),)) if named else None,
            )


PUSHED = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
train:
  learning_rate: 2.0e-5
  output_dir: out
  push_to_hub: true
  hub_model_id: me/capybara-sft
"""
PLAIN = PUSHED.partition("  output_dir")[0]
TRACKED = PLAIN + "  report_to: trackio\n"

RULE = Rule(
    code="ARG104",
    name="misplaced-training-argument",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "What `holdfast render` writes, and transformers 5.23, `Trainer.train`, which takes `resume_from_checkpoint` as its "
        "own argument only. Tried: `SFTConfig(resume_from_checkpoint=…)` trains from step 0."
    ),
    bad=(
        Case(job=PUSHED, at="train.hub_model_id", fixed=PLAIN + "output:\n  push_to: me/capybara-sft\n"),
        Case(job=TRACKED, at="train.report_to", fixed=PLAIN + "track:\n  with: trackio\n"),
        Case(job=TRACKED + "track: {with: wandb}\n", at="train.report_to"),
        Case(job=PLAIN + "  push_to_hub: true\n", at="train.push_to_hub"),
        Case(job=PLAIN + "  resume_from_checkpoint: out\n", at="train.resume_from_checkpoint", fixed=PLAIN),
    ),
    good=(
        Case(job=PLAIN),
        Case(job=PLAIN + "output: {push_to: me/capybara-sft}\ntrack: {with: trackio, run: first}\n"),
    ),
)
