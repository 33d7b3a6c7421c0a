"""Model, adapter or tokenizer that does not exist on the Hub.

## What it does
Checks whether the Hub has each model, adapter and tokenizer that the job names, and looks for similar names. In a
program, a name without an owner may be a folder that an earlier program creates. If no such folder exists here, such
a model is a warning, and such an adapter or tokenizer is ignored.

## Why is this bad
The download fails: 404, after the environment is built, and often after the dataset is downloaded. A private
repository that the token cannot read looks as if it did not exist.

## Fix safety
The fix is unsafe: it writes the nearest existing name, which is another model than the requested one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from holdfast.catalog.models.chat_templates import ENDINGS
from holdfast.catalog.references import clearly_nearest, finding, found_references, nearest_instead, once
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document


def check(job: Document, models: Sequence[Lookup[ModelFacts]]) -> Iterator[Finding]:
    """Report each model, adapter and tokenizer that does not exist."""
    first: dict[str, Lookup[ModelFacts]] = {}  # one missing folder is one mistake, however often it is named
    for seen in filter(_is_absent_here, models):
        first.setdefault(seen.reference.name, seen)
    yield from map(_absent_here, first.values())
    hints = {seen.reference.name: seen.hint for seen in models}
    for reference, model in once(found_references(job, models, own_token=True)):
        if model.repo is not None and not model.repo.exists:
            yield from _absent_on_hub(job, reference, model.repo, hints[reference.name])


def _is_absent_here(seen: Lookup[ModelFacts]) -> bool:
    """True if a local file or folder was looked for and is not there."""
    local = seen.reference.local and seen.reference.certain
    return local and seen.found is not None and seen.found.files is None


def _absent_here(seen: Lookup[ModelFacts]) -> Finding:
    doubt = f", {seen.doubt}" if seen.doubt else ""
    kind = "file" if seen.reference.name.endswith(ENDINGS) else "folder"
    fault = f"there is no {kind} `{seen.reference.name}`{doubt}"
    return finding(seen.reference, fault, severity=Severity.WARNING if doubt else None)


def _absent_on_hub(job: Document, reference: Reference, repo: Repo, hint: str) -> Iterator[Finding]:
    if job.kind != "job" and "/" not in reference.name:
        yield from _absent_bare_name(job, reference)
        return
    near, fix = nearest_instead(job, reference, repo, clearly_nearest(reference.name, repo.nearest))
    fault = f"the Hub has no {reference.role} `{reference.name}` that you may see{near}{hint}"
    yield finding(reference, fault, fix, Severity.WARNING if reference.own_token else None)


def _absent_bare_name(job: Document, reference: Reference) -> Iterator[Finding]:
    """Yield the finding about a name without an owner, which may be that of a folder."""
    if reference.role == "model" and reference.name != job.get("train.output_dir", None):
        fault = f"there is no folder `{reference.name}` here, and the Hub has no model of that name that you may see"
        yield finding(reference, fault, severity=Severity.WARNING)


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
"""
SCRIPT = """from peft import PeftModel
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
model = PeftModel.from_pretrained(model, "acme/adapter", is_trainable=True)
"""
COMMAND = "trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name trl-lib/Capybara\n"
SLIP = "Qwen/Qwen2.5-0.5b-base"


def _facts(reference: Reference, repo: Repo) -> dict[str, object]:
    files = (
        frozenset({"adapter_config.json" if reference.role == "adapter" else "config.json"}) if repo.exists else None
    )
    return {"models": [Lookup(reference, ModelFacts(files=files, repo=repo))]}


def _slip(key: str) -> dict[str, object]:
    gone = Repo(name=SLIP, exists=False, commit=None, readable=False, nearest=("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2.5-7B"))
    return _facts(Reference(role="model", name=SLIP, key=key), gone)


THERE = _facts(Reference(role="model", name="Qwen/Qwen2.5-0.5B", key="model"), Repo(name="Qwen/Qwen2.5-0.5B"))
ADAPTER = Reference(role="adapter", name="acme/adapter", key="calls.1.1")
GONE = Repo(name="acme/gone", exists=False, commit=None, readable=False)

RULE = Rule(
    code="MOD108",
    name="absent-model",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23 and peft 0.21 with huggingface_hub 2.4. Tried against a Hub that answers 404: loading raises OSError, "
        "whichever of the three it is."
    ),
    bad=(
        Case(job=JOB.replace("Qwen/Qwen2.5-0.5B", SLIP), facts=_slip("model"), at="model", fixed=JOB),
        Case(
            command=COMMAND.replace("Qwen/Qwen2.5-0.5B", "acme/gone"),
            facts=_facts(Reference(role="model", name="acme/gone", key="train.model_name_or_path"), GONE),
            at="train.model_name_or_path",
        ),
        Case(
            script=SCRIPT,
            facts=_facts(ADAPTER, Repo(name="acme/adapter", exists=False, commit=None, readable=False)),
            at="calls.1.1",
        ),
        Case(
            script=SCRIPT.replace("Qwen/Qwen2.5-0.5B", "tiny"),
            facts=_facts(Reference(role="model", name="tiny", key="calls.0.0"), replace(GONE, name="tiny")),
            at="calls.0.0",
        ),
    ),
    good=(
        Case(job=JOB, facts=THERE),
        Case(script=SCRIPT, facts=_facts(ADAPTER, Repo(name="acme/adapter"))),
        Case(
            script=SCRIPT.replace("acme/adapter", "sft-out"),
            facts=_facts(Reference(role="adapter", name="sft-out", key="calls.1.1"), GONE),
        ),
    ),
    kinds=ANY_KIND,
)
