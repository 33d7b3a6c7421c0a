"""`map` function that does not return a dict.

## What it does
Checks the `return` statements of the functions that a program passes to `map` of a dataset. Reports functions in
which each returns a text, a list, or a number.

## Why is this bad
`map` merges the returned value into the row, or for a batch into its columns. It accepts a dict, a table, or None,
which leaves the row unchanged. Anything else raises TypeError, "Provided `function` which is applied to all elements
of table returns a variable of type".

## Fix safety
There is no automatic fix. Return a dict of columns: `return {"text": text}`.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity
from holdfast.core.job.calls import Call, LocalName
from holdfast.core.job.document import Document

FUNCTION: Final = "function"
SPELLED: Final[Mapping[str, str]] = {"list": "a list", "number": "a number", "text": "a text"}


def check(job: Document) -> Iterator[Finding]:
    """Report each function whose result `map` cannot merge into a row."""
    for call in job.calls:
        function = _mapped(call)
        if function is None or function.returns not in SPELLED or call.guard.tolerates("TypeError"):
            continue
        what = f'`{function.name}` returns {SPELLED[function.returns]}, but `map` expects a dict of columns: `return {{"text": …}}`, for example'
        given_here = None if FUNCTION in call.arguments else call.name_place
        yield Finding(f"{call.key}.{FUNCTION}", what, place=function.place or given_here)


def _mapped(call: Call) -> LocalName | None:
    """Return the program's own function that a dataset's `map` is given."""
    if call.name != "map" or not call.path.startswith("datasets."):
        return None
    given = call.arguments.get(FUNCTION, next(iter(call.positional), None))
    return given if isinstance(given, LocalName) and given.kind == "function" else None


SCRIPT = '''
from datasets import load_dataset


def write(row):
    """Write a row as one text."""
    text = f"Q: {row['question']} A: {row['answer']}"
    return {"text": text}


rows = load_dataset("json", data_files="rows.jsonl", split="train").map(write)
'''
TEXT = SCRIPT.replace('{"text": text}', "text")
INLINE = SCRIPT.replace(
    ".map(write)", '.map(lambda row: tokenizer.apply_chat_template(row["messages"], tokenize=False))'
)

RULE = Rule(
    code="DAT129",
    name="map-without-a-dict",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source=(
        "Tried with datasets 5.2, on a `Dataset`, a `DatasetDict` and an `IterableDataset`, with and without `batched`, `with_indices` and `num_proc`: "
        "texts, lists and numbers raise TypeError, or IndexError in a streamed batch."
    ),
    bad=(
        Case(script=TEXT, at="calls.1.function"),
        Case(script=TEXT.replace("return text", "return [text]"), at="calls.1.function"),
        Case(script=TEXT.replace("return text", "return len(text)"), at="calls.1.function"),
        Case(script=INLINE, at="calls.1.function"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=TEXT.replace("return text", 'return row | {"text": text}')),
        Case(script=TEXT.replace("    return text\n", "    print(text)\n")),
        Case(script=INLINE.replace(", tokenize=False", "")),
        Case(script=TEXT.replace("return text", "return text if isinstance(text, dict) else row")),
    ),
    kinds=PROGRAMS,
)
