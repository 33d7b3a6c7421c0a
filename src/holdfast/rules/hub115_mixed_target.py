"""Push of a model into a repository that holds an adapter, or the reverse.

## What it does
Checks what a job pushes against the content of the repository: an adapter, if the job trains one, or a whole model.

## Why is this bad
A push replaces files of the same names and leaves the others. Then the repository holds both, and `from_pretrained`
silently loads both: the old adapter on top of the new model, or the new adapter on top of the old model instead of
its own base.

## Fix safety
There is no automatic fix: push to another repository, or delete the old files first.
"""

from collections.abc import Container, Iterator, Sequence

from holdfast.catalog.references import finding, found_references, once
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Rule, Severity
from holdfast.core.check.hub import PushTarget, Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import ABSENT, Document

ADAPTER = "adapter_config.json"
WEIGHTS = ("model.safetensors", "model.safetensors.index.json", "pytorch_model.bin", "pytorch_model.bin.index.json")
TRAINED = ("output.push_to", "train.hub_model_id", "train.push_to_hub")
COMMAND = "train.use_peft"


def check(job: Document, targets: Sequence[Lookup[PushTarget]]) -> Iterator[Finding]:
    """Report each repository that would hold both a model and an adapter."""
    for reference, target in once(found_references(job, targets)):
        if reference.key not in TRAINED or target.repo is None or not target.repo.exists:
            continue
        if held := _held(target.repo.files, adapts=_adapts(job)):
            yield finding(reference, f"`{target.name}` holds {held} when it is loaded")


def _held(files: Container[str], *, adapts: bool) -> str:
    """Return the other kind of weights that a repository holds, and what would come of it; empty if it holds none."""
    adapter, model = ADAPTER in files, any(name in files for name in WEIGHTS)
    if adapts and model and not adapter:
        return "a whole model, on which this job's adapter would be put"
    if adapter and not adapts and not model:
        return "an adapter, which would be put on this job's model"
    return ""


def _adapts(job: Document) -> bool:
    """True if a job trains an adapter."""
    uses_peft = job.get(COMMAND, ABSENT)
    return job.get("peft", None) is not None if uses_peft is ABSENT else uses_peft not in (False, "False", "false")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
output:
  push_to: me/capybara-sft
"""
LORA = JOB + "peft:\n  r: 16\n"
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", push_to_hub=True, hub_model_id="me/capybara-sft")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""
OF_ADAPTER, OF_MODEL = (ADAPTER, "adapter_model.safetensors"), ("config.json", "model.safetensors")


def _facts(*files: str, key: str = "output.push_to") -> dict[str, object]:
    repo = Repo(name="me/capybara-sft", files=dict.fromkeys(files, 1))
    reference = Reference(role="target", name="me/capybara-sft", key=key)
    return {"targets": (Lookup(reference, PushTarget(name=repo.name, namespace="me", repo=repo, writable="yes")),)}


RULE = Rule(
    code="HUB115",
    name="mixed-target",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "transformers 5.23 and peft 0.21. Tried with a tiny model: of a folder with both, `AutoModelForCausalLM.from_pretrained` loads the "
        "folder's own weights, and the adapter on them, whichever was saved first."
    ),
    bad=(
        Case(job=JOB, facts=_facts(*OF_ADAPTER), at="output.push_to"),
        Case(job=LORA, facts=_facts(*OF_MODEL), at="output.push_to"),
        Case(script=SCRIPT, facts=_facts(*OF_ADAPTER, key="train.hub_model_id"), at="train.hub_model_id"),
    ),
    good=(
        Case(job=JOB, facts=_facts(*OF_MODEL)),
        Case(job=LORA, facts=_facts(*OF_ADAPTER)),
        Case(job=JOB, facts=_facts("README.md")),
    ),
    kinds=ANY_KIND,
)
