"""SentencePiece tokenizer without the packages to load it.

## What it does
Checks whether the vocabulary of the model that is trained exists only in SentencePiece's format (`tokenizer.model`,
`spiece.model`), and whether the job, or the header of the script, installs both `sentencepiece` and `protobuf`.

## Why is this bad
Transformers converts such a file when the tokenizer is loaded, and needs both packages for it. transformers installs
neither, and its error is misleading: `tiktoken is required to read a tiktoken file`.

## Fix safety
The fix is safe: installing what the model's own files need changes nothing else. Alternatively, call
`tokenizer.save_pretrained()` where both packages are installed: it writes a `tokenizer.json`, and then neither is
needed any more.
"""

from collections.abc import Iterator

from holdfast.catalog.api import Api
from holdfast.catalog.environment.packages import REQUIREMENTS, installed
from holdfast.catalog.environment.stated import declared_names, known_installed, stated_requirements
from holdfast.catalog.models.base_models import base_of, uses_own_tokenizer
from holdfast.core.check.facts import ModelFacts
from holdfast.core.check.finding import ANY_KIND, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set

FORMAT = {"tokenizer.model", "spiece.model"}
READERS = ("sentencepiece", "protobuf")
# If one of these files exists, the SentencePiece file is not read.
OTHERS = {"tokenizer.json", "vocab.json", "vocab.txt", "tekken.json"}


def check(job: Document, api: Api, model: ModelFacts) -> Iterator[Finding]:
    """Report a vocabulary that the installed packages cannot read."""
    base, vocabulary = base_of(job, model), _vocabulary(model)
    if base is None or not uses_own_tokenizer(job, base) or not vocabulary:
        return
    texts = stated_requirements(job)
    if texts is None:
        return
    at_hand = _at_hand(job, texts, api)
    lacking = [name for name in READERS if name not in at_hand]
    if lacking:
        fix = Fix(f"install {' and '.join(lacking)}", (Set(REQUIREMENTS, [*texts, *lacking]),))
        fault = f"its tokenizer is {vocabulary} alone, which cannot be read without {' and '.join(lacking)}"
        yield base.finding(fault, fix)


def _vocabulary(model: ModelFacts) -> str:
    """Return the SentencePiece file of a model; empty if it has none, or another format beside it."""
    files = model.files or frozenset()
    return "" if files & OTHERS else min(files & FORMAT, default="")


def _at_hand(job: Document, texts: list[str], api: Api) -> frozenset[str]:
    """Return the packages that are surely installed; to those of a job file, holdfast adds its own."""
    if job.kind == "job":
        brought = installed(texts, api.versions) or frozenset()
    else:
        brought = known_installed(texts, api.versions)
    return brought | declared_names(job)


JOB = """
method: sft
model: ./tiny
dataset: trl-lib/Capybara
"""
SCRIPT = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(model="acme/old", args=SFTConfig(output_dir="out"), train_dataset=rows)
"""
INSTALLED = SCRIPT.replace('5.23.0"]', '5.23.0", "sentencepiece", "protobuf"]')
READ = JOB + "environment:\n  requirements: [sentencepiece, protobuf]\n"


def _holds(*names: str) -> dict[str, object]:
    return {"model": ModelFacts(files=frozenset({"config.json", "model.safetensors", *names}))}


RULE = Rule(
    code="MOD107",
    name="unread-tokenizer",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "transformers 5.23. Tried with small vocabularies of Llama, T5 and Gemma: with neither package, and with one of the "
        "two, `AutoTokenizer` raises ValueError; with both it loads them."
    ),
    bad=(
        Case(job=JOB, facts=_holds("tokenizer.model"), at="model", fixed=READ),
        Case(job=READ.replace(", protobuf", ""), facts=_holds("spiece.model"), at="model", fixed=READ),
        Case(script=SCRIPT, facts=_holds("tokenizer.model"), at="trainer.model", fixed=INSTALLED),
    ),
    good=(
        Case(job=JOB, facts=_holds("tokenizer.model", "tokenizer.json")),
        Case(job=JOB, facts=_holds("vocab.json", "merges.txt")),
        Case(job=READ, facts=_holds("tokenizer.model")),
        Case(script=SCRIPT.partition("# ///\n")[2], facts=_holds("tokenizer.model")),
        Case(script=INSTALLED, facts=_holds("tokenizer.model")),
    ),
    kinds=ANY_KIND,
)
