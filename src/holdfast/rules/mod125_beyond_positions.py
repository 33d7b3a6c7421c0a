"""`max_length` greater than the number of positions of the model.

## What it does
Checks `max_length` against the number of positions in the model's `config.json`. For models that look positions up in
a table, checks the effective `max_length`; for those that rotate positions (RoPE), only one that the job sets.

## Why is this bad
A table has no row for later positions: the first longer text raises IndexError, early or late in a run, depending on
the order of the rows. A model that rotates positions accepts any position, and generates poor text beyond those that
it has seen.

## Fix safety
The fix is unsafe: a shorter `max_length` truncates longer texts.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.calls.train_arguments import setting
from holdfast.catalog.models.base_models import Base, base_of
from holdfast.catalog.models.positions import TABLES, positions_of
from holdfast.core.check.facts import ModelFacts, Positions
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import ABSENT, Document, Set

KEY, METHODS = "train.max_length", ("sft", "dpo", "kto", "reward")


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report a length for which the model was not made."""
    base = base_of(job, model)
    if base is None or job.get("method", None) not in METHODS:
        return
    known = positions_of(model.config or {})
    if known and (length := _length(job, api, known)) > known.count:
        yield _finding(job, base, known, length)


def _length(job: Document, api: Api, known: Positions) -> int:
    """Return the length of the longest texts; 0 if it is not limited, or if the limit may be one that the model chose."""
    length = setting(job, "max_length", api) if known.raises else job.get(KEY)
    return length if type(length) is int else 0


def _finding(job: Document, base: Base, known: Positions, length: int) -> Finding:
    positions = known.count
    fix = Fix(f"cut texts at {positions} tokens", (Set(KEY, positions),), safe=False) if job.kind != "command" else None
    if not known.raises:
        fault = f"the model was made for {positions} positions, and gives poor text beyond: {length} is more"
        return Finding(KEY, fault, fix)
    fault = (
        f"a text of more than {positions} tokens, up to {length}, raises IndexError: the model has no further positions"
    )
    if job.get(KEY) is ABSENT:
        return base.finding(f"{fault}; `max_length` is {length} where nothing says otherwise", fix)
    return Finding(KEY, fault, fix)


JOB = """
method: sft
model: facebook/opt-125m
dataset: trl-lib/Capybara
train:
  max_length: 2048
"""
LONG = JOB.replace("2048", "4096")
SCRIPT = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", max_length=512)
trainer = SFTTrainer(model="acme/small-gpt2", args=args, train_dataset=rows)
"""
UNSAID = SCRIPT.replace(", max_length=512", "")


CLASSES = {"opt": "OPTForCausalLM", "gpt2": "GPT2LMHeadModel", "qwen2": "Qwen2ForCausalLM", "bloom": "BloomForCausalLM"}


def _made_for(positions: int, kind: str = "opt", **more: object) -> dict[str, object]:
    name = CLASSES.get(kind, "LlamaForCausalLM")
    config = {
        "architectures": [name],
        "model_type": kind,
        TABLES.get(kind, "max_position_embeddings"): positions,
        **more,
    }
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", "tokenizer.json"}), config=config)}


YARN = {"rope_theta": 1e6, "rope_scaling": {"type": "yarn", "factor": 4.0}}

RULE = Rule(
    code="MOD125",
    name="beyond-positions",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16, transformers 5.23 and tiny models of 64 positions: rows of 320 tokens raise IndexError with GPT-2, OPT, "
        "GPT-Neo, GPT-BigCode, BioGPT and CodeGen, RuntimeError with GPT-J and MPT; Llama, Phi, Phi 3, GPT-NeoX, Falcon and Qwen2 train."
    ),
    bad=(
        Case(job=LONG, facts=_made_for(2048), at=KEY, fixed=JOB),
        Case(job=LONG, facts=_made_for(2048, "llama", rope_theta=10000.0), at=KEY, fixed=JOB),
        Case(
            script=UNSAID,
            facts=_made_for(512, "gpt2"),
            at="trainer.model",
            fixed=SCRIPT,
        ),
    ),
    good=(
        Case(job=JOB, facts=_made_for(2048)),
        Case(job=LONG, facts=_made_for(2048, "qwen2", **YARN)),
        Case(job=LONG, facts=_made_for(2048, "bloom")),
        Case(job=LONG.replace("train:\n  max_length: 4096\n", ""), facts=_made_for(512, "llama", rope_theta=10000.0)),
        Case(script=SCRIPT, facts=_made_for(512, "gpt2")),
    ),
    kinds=ANY_KIND,
)
