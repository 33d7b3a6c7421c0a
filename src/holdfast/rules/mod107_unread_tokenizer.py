"""A tokenizer in SentencePiece's format, and nothing to read it with.

## What it does
For a model that is a folder on this machine, looks whether its vocabulary is there in SentencePiece's format alone
(`tokenizer.model`, `spiece.model`), and whether the job installs both `sentencepiece` and `protobuf`.

## Why is this bad
Transformers converts such a file when the tokenizer is loaded, and needs both packages for it. Neither comes along with it, and
what it says without them is about something else: `tiktoken is required to read a tiktoken file`.

## Fix safety
To install what the model's own files need changes nothing else: safe. `tokenizer.save_pretrained()` where both are at hand
writes a `tokenizer.json`, and then neither is needed any more.
"""

from collections.abc import Iterator

from holdfast.catalog.packages import parse_requirement
from holdfast.core.document import Document, Set
from holdfast.core.facts import Model
from holdfast.core.finding import JOB_FILES, Case, Finding, Fix, Rule, Severity

REQUIREMENTS = "environment.requirements"
FORMAT = {"tokenizer.model", "spiece.model"}
READERS = ("sentencepiece", "protobuf")
# With one of these beside it, the other format is not looked at.
OTHERS = {"tokenizer.json", "vocab.json", "vocab.txt", "tekken.json"}


def check(job: Document, model: Model) -> Iterator[Finding]:
    """Object to a vocabulary that cannot be read."""
    files = model.files or frozenset()
    if job.get("model.path", None) is None or not files & FORMAT or files & OTHERS:
        return
    declared = job.get(REQUIREMENTS, None)
    texts = [each for each in declared if isinstance(each, str)] if isinstance(declared, list) else []
    lacking = [name for name in READERS if name not in {parse_requirement(text).name for text in texts}]
    if lacking:
        fix = Fix(f"install {' and '.join(lacking)}", (Set(REQUIREMENTS, [*texts, *lacking]),))
        fault = f"its tokenizer is {min(files & FORMAT)} alone, which cannot be read without {' and '.join(lacking)}"
        yield Finding("model", fault, fix)


JOB = """
method: sft
model: ./tiny
dataset: trl-lib/Capybara
"""
READ = JOB + "environment:\n  requirements: [sentencepiece, protobuf]\n"


def _holds(*names: str) -> dict[str, object]:
    return {"model": Model(files=frozenset({"config.json", "model.safetensors", *names}))}


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
    ),
    good=(
        Case(job=JOB, facts=_holds("tokenizer.model", "tokenizer.json")),
        Case(job=JOB, facts=_holds("vocab.json", "merges.txt")),
        Case(job=READ, facts=_holds("tokenizer.model")),
    ),
    kinds=JOB_FILES,
)
