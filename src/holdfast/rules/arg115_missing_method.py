"""A method that the class had in earlier releases, or will have in later ones.

## What it does
Compares each method that the program calls on what a library's class made with the methods that the class has in the
versions that the job will get. Only methods that some release has, or that are known to be a mistake, are judged: any other may be an attribute.

## Why is this bad
The program ends with AttributeError where the call stands, which may be after the training. The old `PPOTrainer` had
`step()` and `generate()`; the class of that name in trl 0.12 has neither.

## Fix safety
What takes a method's place is used differently: there is no fix.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.spans import span_after, span_before
from holdfast.catalog.calls.methods import method_spans
from holdfast.catalog.calls.renames import replaced
from holdfast.core.document import Document
from holdfast.core.finding import PROGRAMS, Case, Finding, Rule, Severity


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Object to each method that the class does not have at these versions."""
    for call in job.calls:
        owner, _, name = call.path.rpartition(".")
        known = api.signature(owner) if owner.rpartition(".")[2][:1].isupper() else None
        if known is None or api.signature(call.path) is not None or call.guard.holds("AttributeError"):
            continue
        if what := _absence(api, owner, name):
            whose = f"`{owner.rpartition('.')[2]}` of {call.package} {api.versions[call.package]}"
            yield Finding(call.key, f"{whose} has no `{name}()`: {what}", place=call.name_place)


def _absence(api: Api, owner: str, name: str) -> str:
    """Return why a class has no method of that name, in words; nothing where it may be something else."""
    spans = method_spans(api, owner, name)
    change = replaced("method", f"{owner.rpartition('.')[2]}.{name}")
    if gone := span_before(api, spans):
        return f"gone since {gone.package} {gone.after}"
    if later := span_after(api, spans):
        return f"it comes with {later.package} {later.first}"
    return f"write `{change.new}()`" if change and not spans else ""


SCRIPT = """
from trl import PPOConfig, PPOTrainer

trainer = PPOTrainer(PPOConfig(), **parts)
stats = trainer.step(queries, responses, rewards)
"""
JOBS = """
from huggingface_hub import HfApi

print(HfApi().get_job(job_id="1"))
"""
RUN = SCRIPT.replace("stats = trainer.step(queries, responses, rewards)", "trainer.train()")

RULE = Rule(
    code="ARG115",
    name="missing-method",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The methods of each release, in the history in `catalog/api`; trl 0.11.4 and 0.13.0 were read in their wheels. "
        "`get_job` was run with huggingface_hub 2.4: AttributeError."
    ),
    bad=(
        Case(script=SCRIPT, versions={"trl": "0.13.0", "transformers": "4.46.3"}, at="calls.2"),
        Case(script=JOBS, at="calls.1"),
    ),
    good=(
        Case(script=JOBS.replace("get_job", "inspect_job")),
        Case(script=SCRIPT, versions={"trl": "0.11.4", "transformers": "4.44.2"}),
        Case(script=RUN, versions={"trl": "0.13.0", "transformers": "4.46.3"}),
    ),
    kinds=PROGRAMS,
)
