"""Messages of a role that chat templates do not know.

## What it does
Compares each message's role with those that templates write: system, user, assistant, tool, and gpt-oss's developer.

## Why is this bad
sft takes ShareGPT's `from` and `value` for `role` and `content`, and leaves the roles as they are: `human` and `gpt`. What
becomes of those is the template's to say. That of Qwen2.5 leaves such messages out without a word, and every row is its
default system message; that of Qwen3 leaves nothing, and sft trains on no rows. Others raise, or write the role as it is, a
word that the model has never seen there.

## Fix safety
There is no automatic fix. Rename the roles in a function that `dataset.map` names: `human` is `user`, `gpt` is `assistant`.
"""

from collections.abc import Iterator

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.document import Document
from holdfast.core.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.scan import DamagedRows, Scan

MEANT = {"human": "user", "gpt": "assistant", "model": "assistant", "bot": "assistant", "function": "tool"}
KNOWN = ("system", "user", "assistant", "tool")


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Object to each role."""
    for marked in damaged(job, scan, "unknown-role"):
        lowered = marked.detail.lower().strip()
        meant = MEANT.get(lowered, lowered if lowered in KNOWN else "")
        advice = f"; templates know it as `{meant}`, and may leave such messages out" if meant else ""
        named = "no role" if marked.detail == "null" else f"the role `{marked.detail}`"
        what = rows_phrase(scan, marked, f"{{has}} a message of {named} in `{marked.column}`")
        yield found(marked, f"{what}{advice}")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: sharegpt.json
"""
HUMAN = DamagedRows("unknown-role", "conversations", 5000, (0, 1, 2), "human")
CAPITAL = DamagedRows("unknown-role", "messages", 3, (17, 99, 412), "User")

RULE = Rule(
    code="DAT209",
    name="unknown-role",
    explain=__doc__,
    severity=Severity.WARNING,
    may_be_meant=True,
    check=check,
    source=(
        "Tried with trl 1.16, `maybe_convert_to_chatml`, and the 38 chat templates for text that it has: 12 leave out "
        "`human` and `gpt`, 7 raise, 19 write them as they are; `SFTTrainer` with those of Qwen2.5, Qwen3 and Llama 3.2."
    ),
    bad=(
        Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(HUMAN,))}, at="dataset"),
        Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(CAPITAL,))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=5000)}),),
    kinds=WITH_ROWS,
)
