"""Messages that the chat template leaves out.

## What it does
Renders rows with the chat template, and checks for the text of each message in the result. If a text is missing, it
renders the row with a marker in place of that message, and reports the message only if the marker is missing too.
Also reports a number, an object or a list of parts for which the template writes nothing, as Qwen3's does for all
`content` that is not text.

## Why is this bad
A template that does not know a role may silently leave the message out. Without the answers, the model learns to
write questions; without other messages, it learns answers to what it does not see.

## Fix safety
There is no automatic fix. Rename the roles to those that the template writes, convert their `content` to text, or use
a template that writes them.
"""

from collections.abc import Iterator

from holdfast.core.check.finding import WITH_ROWS, Case, Finding, Rule, Severity
from holdfast.core.rows.scan import Lengths, RowCount, Tokens


def check(tokens: Tokens) -> Iterator[Finding]:
    """Report the rows that lose a message; an error where every row loses its last one."""
    if not tokens.omitted.count:
        return
    roles = ", ".join(f"`{role}`" for role in tokens.omitted_roles)
    verb = "loses" if tokens.omitted.count == 1 else "lose"
    every = tokens.omitted_last.count == tokens.rows
    yield Finding(
        "dataset",
        f"{tokens.omitted.among(tokens.rows)} {verb} messages of the role {roles}: the chat template leaves them out"
        f"{', and no row keeps its last message' if every else ''}",
        rows=tokens.omitted.rows,
        severity=Severity.ERROR if every else Severity.WARNING,
    )


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: sharegpt.json
"""
LENGTHS = Lengths(p50=300, p95=700, p99=900, max=1200, mean=333.0)


def _omitting(count: int, last: int, role: str) -> dict[str, object]:
    omitted, omitted_last = RowCount(count, (0, 1, 2)), RowCount(last)
    return {
        "tokens": Tokens(rows=40, lengths=LENGTHS, omitted=omitted, omitted_last=omitted_last, omitted_roles=(role,))
    }


RULE = Rule(
    code="DAT242",
    name="omitted-messages",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "Tried with trl 1.16: `SFTTrainer` and `DPOTrainer` with a template that writes system, user and assistant alone, as that of "
        "Qwen2.5 does, train on rows without the turns of `gpt` and of `observation`, and say nothing."
    ),
    bad=(
        Case(job=JOB, facts=_omitting(40, 40, "gpt"), at="dataset"),
        Case(job=JOB, facts=_omitting(7, 0, "observation"), at="dataset"),
    ),
    good=(Case(job=JOB, facts={"tokens": Tokens(rows=40, lengths=LENGTHS)}),),
    kinds=WITH_ROWS,
)
