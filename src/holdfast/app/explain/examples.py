"""What a rule says of its own examples, as `check` would tell it."""

from holdfast.adapters.readers.command_line import command_document, read_commands
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest
from holdfast.core.check.finding import Case, Finding, Rule
from holdfast.core.job.document import Document
from holdfast.engine.check.rule_runner import run_rules


def objections(rule: Rule, case: Case) -> tuple[str, ...]:
    """Return a rule's distinct findings for an example, with their lines."""
    facts = {"api": Api({**newest(), **case.versions}), **case.known}
    found = (result for document in _read(case) for result in run_rules([rule], document, facts))
    rendered = (_rendered_finding(result) for result in found if isinstance(result, Finding))
    return tuple(dict.fromkeys(rendered))


def _rendered_finding(finding: Finding) -> str:
    """Return a finding's line and message; an example begins with an empty line that its page leaves out."""
    line = finding.place.line if finding.place else None
    blank = finding.document is not None and finding.document.text.startswith("\n")
    return f"line {line - blank}: {finding.message}" if line else finding.message


def _read(case: Case) -> tuple[Document, ...]:
    if case.kind == "job":
        return (JobFileReader().read(case.job, "job.yaml"),)
    if case.kind == "script":
        return read_script(case.script, "train.py")
    lines = read_commands(case.command, "run.sh")
    return tuple(document for line in lines if (document := command_document(line, case.command, "run.sh")))
