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

from collections.abc import Iterator, Sequence
from heapq import merge
from itertools import groupby, islice

from holdfast.catalog.data.scanned import damaged, found, rows_phrase
from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import FIRST_ROWS, DamagedRows, Scan

MEANT = {"human": "user", "gpt": "assistant", "model": "assistant", "bot": "assistant", "function": "tool"}
KNOWN = ("system", "user", "assistant", "tool")


def check(job: Document, scan: Scan) -> Iterator[Finding]:
    """Report the unknown roles in each column."""
    marks = sorted(damaged(job, scan, "unknown-role"), key=lambda each: each.column)
    for column, group in groupby(marks, key=lambda each: each.column):
        roles = list(group)
        if len(roles) == 1:
            what = rows_phrase(scan, roles[0], f"{{has}} a message of {_named(roles[0])} in `{column}`")
            yield found(roles[0], f"{what}{_advice(roles)}")
        else:
            yield found(_together(roles), f"{_listed(scan, roles)}{_advice(roles)}")


def _listed(scan: Scan, roles: Sequence[DamagedRows]) -> str:
    """Return which roles there are, each with its rows."""
    counts = (f"{_named(each)} in {each.count:,}{_example(each)}" for each in roles)
    return f"`{roles[0].column}` has, in {scan.rows:,} rows, messages of {', '.join(counts)}"


def _example(marked: DamagedRows) -> str:
    """Return one of the rows, in brackets; not as the first one, since a rehearsal may shuffle them."""
    return f" (for example row {marked.rows[0]:,})" if marked.rows else ""


def _together(roles: Sequence[DamagedRows]) -> DamagedRows:
    """Return the rows of several roles as one kind of damage; the count is the least that it can be."""
    rows = tuple(islice((row for row, _ in groupby(merge(*(each.rows for each in roles)))), FIRST_ROWS))
    return DamagedRows("unknown-role", roles[0].column, max(len(rows), *(each.count for each in roles)), rows)


def _named(marked: DamagedRows) -> str:
    return "no role" if marked.detail == "null" else f"the role `{marked.detail}`"


def _advice(roles: Sequence[DamagedRows]) -> str:
    """Return how templates call these roles, as far as that is known."""
    meant = {each.detail: _meant(each.detail) for each in roles if _meant(each.detail)}
    if not meant:
        return ""
    if len(roles) == 1:
        return f"; templates know it as `{meant[roles[0].detail]}`, and may leave such messages out"
    named = " and ".join(f"`{role}` as `{name}`" for role, name in meant.items())
    return f"; templates know {named}, and may leave such messages out"


def _meant(role: str) -> str:
    lowered = role.lower().strip()
    return MEANT.get(lowered, lowered if lowered in KNOWN else "")


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: sharegpt.json
"""
HUMAN = DamagedRows("unknown-role", "conversations", 5000, (0, 1, 2), "human")
GPT = DamagedRows("unknown-role", "conversations", 4998, (0, 1, 4), "gpt")
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
        Case(job=JOB, facts={"scan": Scan(rows=5000, marked=(HUMAN, GPT))}, at="dataset"),
    ),
    good=(Case(job=JOB, facts={"scan": Scan(rows=5000)}),),
    kinds=WITH_ROWS,
)
