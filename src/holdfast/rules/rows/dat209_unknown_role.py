"""Messages with a role that chat templates do not know.

## What it does
Checks each message's role against those that templates write: system, user, assistant, tool, and gpt-oss's developer.

## Why is this bad
sft renames ShareGPT's `from` and `value` to `role` and `content`, and keeps the roles as they are: `human` and `gpt`.
The chat template decides what happens to these. Qwen2.5's silently leaves such messages out, and every row is its
default system message; Qwen3's leaves nothing, and sft trains on no rows. Others raise, or write the role unchanged,
a word that the model has never seen there.

## Fix safety
There is no automatic fix. Rename the roles in a function that `dataset.map` names: `human` is `user`, `gpt` is
`assistant`.
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
