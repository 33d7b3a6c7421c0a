"""Call of a method that the class does not have.

## What it does
Checks the methods that the program calls on objects of a library's class against those that the class has in the
versions that the job will use. Reports only methods that some release has, or that are known mistakes: any other name
may be an attribute. For a trainer, known mistakes include methods of other libraries' trainers, such as `fit()`, and
misspelt methods. For a tokenizer or a model that `from_pretrained` loads, the rule knows the methods that all of them
have lost, such as `encode_plus()`. It reports these as a warning if the script does not show which model it loads, or
if the model brings its own code: a few keep their own.

## Why is this bad
The program ends with AttributeError at the call, which may come after the training. The old `PPOTrainer` had `step()`
and `generate()`; the class of that name in trl 0.12 has neither.

## Fix safety
There is no fix: the replacement of such a method is used differently.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.api.spans import span_after, span_before
from holdfast.catalog.calls.familiar_names import TRAINER, familiar_method
from holdfast.catalog.calls.loaded import has_own_methods, loaded_kind, lost_method_spans
from holdfast.catalog.calls.methods import method_spans
from holdfast.catalog.calls.renames import Replaced, replaced
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document


def check(job: Document, api: Api) -> Iterator[Finding]:
    """Report each method that the class does not have at these versions."""
    yield from _lost(job, api)
    for call in job.calls:
        owner, _, name = call.path.rpartition(".")
        known = api.signature(owner) if owner.rpartition(".")[2][:1].isupper() else None
        if known is None or api.signature(call.path) is not None or call.guard.tolerates("AttributeError"):
            continue
        if what := _absence(api, owner, name) or _of_trainer(job, api, call):
            whose = f"`{owner.rpartition('.')[2]}` of {call.package} {api.versions[call.package]}"
            yield Finding(call.key, f"{whose} has no `{name}()`: {what}", place=call.name_place)


def _lost(job: Document, api: Api) -> Iterator[Finding]:
    """Report each method that loaded tokenizers or models had only in other releases."""
    for call in job.calls:
        owner, _, name = call.path.rpartition(".")
        kind = loaded_kind(owner)
        gone = span_before(api, lost_method_spans(api, kind, name)) if kind else None
        if kind and gone and not call.guard.tolerates("AttributeError"):
            what = f"a {kind} has no `{name}()`: removed in {gone.package} {gone.after}"
            yield from _lost_method(job, call, what, replaced("method", f"{kind}.{name}"))


def _lost_method(job: Document, call: Call, what: str, change: Replaced | None) -> Iterator[Finding]:
    own = has_own_methods(call, job.call(call.receiver.key) if call.receiver else None)
    if not own:
        message = f"{what}; {change.note}" if change else what
        severity = Severity.WARNING if own is None else None
        yield Finding(call.key, message, place=call.name_place, severity=severity)


def _absence(api: Api, owner: str, name: str) -> str:
    """Return why a class has no method of that name; empty if the name may be an attribute."""
    spans = method_spans(api, owner, name)
    change = replaced("method", f"{owner.rpartition('.')[2]}.{name}")
    if gone := span_before(api, spans):
        return f"removed in {gone.package} {gone.after}"
    if later := span_after(api, spans):
        return f"it comes with {later.package} {later.first}"
    return f"write `{change.new}()`" if change and not spans else ""


def _of_trainer(job: Document, api: Api, call: Call) -> str:
    """Return what to call instead of a method that no trainer has; empty if the program may have added it."""
    owner, _, name = call.path.rpartition(".")
    maker = job.call(call.receiver.key) if call.receiver else None
    own = maker is None or maker.name != owner.rpartition(".")[2] or maker.label.rpartition(".")[2] != maker.name
    if own or maker is None or {name, "*"} & maker.changed or TRAINER not in api.ancestors(owner):
        return ""
    meant = familiar_method(name)
    return f"did you mean `{meant}()`?" if meant else ""


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

TOKENIZER = """
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2.5-0.5B")
ids = tokenizer.encode_plus("Two?")
"""
MODEL = """
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B").to_bettertransformer()
"""
SFT = """
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=SFTConfig(output_dir="out"), train_dataset=rows)
trainer.train()
"""
OLD = {"transformers": "4.57.6"}

RULE = Rule(
    code="ARG115",
    name="missing-method",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "The methods of each release, in the history in `catalog/api`; trl 0.11.4 and 0.13.0 were read in their wheels. "
        "`fit`, `save_pretrained` and the other names were read of a trainer of trl 1.16: AttributeError. "
        "`get_job` was run with huggingface_hub 2.4: AttributeError. Each method that tokenizers and models lost was read of one with "
        "transformers 5.23: AttributeError."
    ),
    bad=(
        Case(script=SCRIPT, versions={"trl": "0.13.0", "transformers": "4.46.3"}, at="calls.2"),
        Case(script=JOBS, at="calls.1"),
        Case(script=TOKENIZER, at="calls.1"),
        Case(script=TOKENIZER.replace('"Qwen/Qwen2.5-0.5B"', "name"), at="calls.1"),
        Case(script=MODEL, at="calls.1"),
        Case(script=SFT.replace(".train()", ".fit()"), at="calls.2"),
        Case(script=SFT + "trainer.save_pretrained('out')\n", at="calls.3"),
        Case(script=SFT.replace(".train()", ".trian()"), at="calls.2"),
    ),
    good=(
        Case(script=JOBS.replace("get_job", "inspect_job")),
        Case(script=SCRIPT, versions={"trl": "0.11.4", "transformers": "4.44.2"}),
        Case(script=RUN, versions={"trl": "0.13.0", "transformers": "4.46.3"}),
        Case(script=TOKENIZER, versions=OLD),
        Case(script=MODEL, versions=OLD),
        Case(script=SFT + "trainer.log_metrics('train', {})\ntrainer.tokenizer('x')\ntrainer.save_state()\n"),
        Case(script=SFT.replace("trainer.train", "trainer.fit = trainer.train\ntrainer.fit")),
        Case(
            script=SFT.replace("\ntrainer =", "\n\nclass Trainer(Fits, SFTTrainer):\n    pass\n\n\ntrainer =")
            .replace("= SFTTrainer(", "= Trainer(")
            .replace(".train()", ".fit()")
        ),
        Case(script=TOKENIZER.replace("tokenizer.encode_plus(", "tokenizer(")),
        Case(script=TOKENIZER.replace("Qwen/Qwen2.5-0.5B", "microsoft/layoutlmv3-base")),
        Case(script=TOKENIZER.replace("tokenizer.encode_plus", "tokenizer.build_inputs_with_special_tokens")),
        Case(script=MODEL.replace("to_bettertransformer", "get_input_embeddings")),
    ),
    kinds=PROGRAMS,
)
