"""Push to a repository name that the Hub does not accept.

## What it does
Checks whether `output.push_to`, `hub_model_id` in a config, and the name passed to `push_to_hub()` of a model, a
tokenizer or a dataset are valid repository names. A name without an owner is valid: it means a repository of your
own.

## Why is this bad
huggingface_hub refuses the name when the trainer creates the repository: after the model and the data are loaded.

## Fix safety
There is no automatic fix: the name is yours to choose.
"""

from collections.abc import Iterator

from holdfast.catalog.hub.repositories import is_repository
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place

FAULT = "is not a name for a repository: write `owner/name`, of letters, digits, `-`, `_` and `.`"


def check(job: Document) -> Iterator[Finding]:
    """Report each repository name that the Hub does not accept."""
    for key, name, place in _pushed_to(job):
        if isinstance(name, str) and not is_repository(name):
            yield Finding(key, f"{name!r} {FAULT}", place=place)


def _pushed_to(job: Document) -> Iterator[tuple[str, object, Place | None]]:
    """Yield the key of each target of a push, its name, and its place if a call names it."""
    for key in ("output.push_to", "train.hub_model_id"):
        yield key, job.get(key, None), None
    for call in job.calls:
        trainers = call.path.endswith("Trainer.push_to_hub")  # whose first argument is a message
        if call.name == "push_to_hub" and not trainers and not call.guard.because:
            yield call.key, call.arguments.get("repo_id", next(iter(call.positional), None)), call.name_place


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
output:
  push_to: me/capybara-sft
"""

SCRIPT = """from transformers import AutoModelForCausalLM
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="me/capybara-sft")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.push_to_hub("the end of training: it works")
AutoModelForCausalLM.from_pretrained("out").push_to_hub("capybara")
"""

RULE = Rule(
    code="HUB101",
    name="illegal-repository-name",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="huggingface_hub 2.4, `validate_repo_id`, which was asked about each name here.",
    bad=(
        Case(job=JOB.replace("me/capybara-sft", "me/capybara sft"), at="output.push_to"),
        Case(job=JOB.replace("me/capybara-sft", "hub/me/capybara"), at="output.push_to"),
        Case(job=JOB.replace("me/capybara-sft", "me/capybara--sft"), at="output.push_to"),
        Case(script=SCRIPT.replace("me/capybara-sft", "me/capybara sft"), at="train.hub_model_id"),
        Case(script=SCRIPT.replace('"capybara"', '"me/my capybara"'), at="calls.4"),
    ),
    good=(
        Case(job=JOB),
        Case(script=SCRIPT),
        Case(job=JOB.replace("me/capybara-sft", "capybara.sft_2")),
        Case(job=JOB.partition("output")[0]),
    ),
    kinds=ANY_KIND,
)
