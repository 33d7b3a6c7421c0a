"""Schedule that is neither a preset nor a cron expression.

## What it does
Checks the `schedule` of calls that schedule a job on Hugging Face Jobs: it must be `@hourly`, `@daily`, `@weekly`,
`@monthly`, `@yearly` or `@annually`, or five fields of minutes, hours, days, months and weekdays.

## Why is this bad
The client sends any text. The Hub refuses the job, or runs it at other times than intended.

## Fix safety
The fix is safe: it adds a missing `@` to a preset. Other texts have no fix.
"""

from collections.abc import Iterator

from holdfast.catalog.hub.jobs import submissions
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Fix, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.run.schedule import WORDS, is_cron

SCHEDULED = frozenset({"create_scheduled_job", "create_scheduled_uv_job"})


def check(job: Document) -> Iterator[Finding]:
    """Report each schedule that is neither a preset nor a cron expression."""
    for sent in submissions(job, SCHEDULED):
        schedule = sent.given("schedule")
        if not isinstance(schedule, str) or schedule in WORDS or is_cron(schedule):
            continue
        key = sent.key("schedule")
        preset = f"@{schedule.lower().lstrip('@').strip()}"
        fix = Fix(f"write `{preset}`", (Set(key, preset),)) if preset in WORDS else None
        yield Finding(key, f"{schedule!r} is neither a preset such as `@daily` nor cron's five fields", fix)


SCRIPT = """
from huggingface_hub import HfApi

HfApi().create_scheduled_uv_job("train.py", schedule="@daily", timeout="2h")
"""

RULE = Rule(
    code="JOB115",
    name="unreadable-schedule",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "huggingface_hub 2.4, the documentation of `create_scheduled_uv_job`, which names the presets. Its code was"
        " read: it does not look at the text. That the Hub refuses it was not tried."
    ),
    kinds=PROGRAMS,
    bad=(
        Case(script=SCRIPT.replace("@daily", "daily"), at="calls.1.schedule", fixed=SCRIPT),
        Case(script=SCRIPT.replace("@daily", "every day at 9"), at="calls.1.schedule"),
        Case(script=SCRIPT.replace("@daily", "2h"), at="calls.1.schedule"),
    ),
    good=(
        Case(script=SCRIPT),
        Case(script=SCRIPT.replace("@daily", "0 9 * * 1")),
        Case(script=SCRIPT.replace("@daily", "*/5 * * * MON-FRI")),
    ),
)
