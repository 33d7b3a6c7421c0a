"""What one rule shows as good, no other rule refuses; and each says what it rests on."""

import re
from functools import cache

import pytest

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest
from holdfast.core.document import Document
from holdfast.core.finding import Case, Finding, Rule, Severity
from holdfast.engine.check import run_rules, severity_of
from holdfast.rules import all_rules

EXAMPLES = [
    pytest.param(rule, case, id=f"{rule.code}-{'good' if case.at is None else 'fixed'}{index}")
    for rule in all_rules()
    for index, case in enumerate((*rule.good, *(case for case in rule.bad if case.fixed)))
]


def read(kind: str, text: str) -> tuple[Document, ...]:
    return (JobFileReader().read(text, "job.yaml"),) if kind == "job" else read_script(text, "train.py")


@cache
def api_at(*versions: tuple[str, str]) -> Api:
    return Api({**newest(), **dict(versions)})


@pytest.mark.parametrize(("rule", "case"), EXAMPLES)
def test_no_rule_refuses_what_another_shows_as_good(rule: Rule, case: Case) -> None:
    """Every rule is asked about every good example, and about what each fix gives: none finds an error in it."""
    facts = {"api": api_at(*case.versions.items()), **case.facts}
    refused = {
        f"{finding.rule}: {finding.message}"
        for document in read(case.kind, case.fixed or case.source)
        for finding in run_rules(all_rules(), document, facts)
        if isinstance(finding, Finding) and finding.rule is not rule and severity_of(finding) is Severity.ERROR
    }
    assert not refused
