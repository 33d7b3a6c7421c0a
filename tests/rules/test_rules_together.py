"""What one rule shows as good, no other rule refuses; and each says what it rests on."""

import re
from dataclasses import replace
from functools import cache, partial

import pytest

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.script import read_script
from holdfast.app.explain.examples import objections
from holdfast.catalog.api import Api, newest
from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.engine.check.rule_runner import run_rules, severity_of
from holdfast.engine.explain.rules import render_page
from holdfast.rules import all_rules

# Good examples that show where a rule is silent because another one speaks.
TOLD_BY_ANOTHER = {
    "ARG101-good3": {"ARG102", "ARG108", "CMB103"},
    "ARG115-good2": {"ARG112"},
    "CMB103-good2": {"ARG108"},
    "DAT101-good8": {"RWD101"},
    "DAT202-good1": {"DAT201"},
    "HUB120-good1": {"MOD108"},
    "MOD102-good2": {"MOD107"},
}
# A version, a day, or holdfast's own: what it holds for. And what was done to know it.
HOLDS_FOR = re.compile(r"\d+\.\d+|20\d\d-\d\d-\d\d|\bholdfast\b|[Tt]his version's own")
WAS_DONE = re.compile(r"\b(tried|run|ran|measured|read|reads|raises|given to|asked about)\b", re.IGNORECASE)


def examples() -> list[tuple[str, Rule, Case]]:
    """Every good example, and what comes of each bad one that a fix fixes."""
    return [
        (f"{rule.code}-{kind}{index}", rule, case)
        for rule in all_rules()
        for kind, cases in (("good", rule.good), ("fixed", rule.bad))
        for index, case in enumerate(cases)
        if kind == "good" or case.fixed is not None
    ]


def read(case: Case) -> tuple[Document, ...]:
    text = case.source if case.fixed is None else case.fixed
    return (JobFileReader().read(text, "job.yaml"),) if case.kind == "job" else read_script(text, "train.py")


@cache
def api_at(*versions: tuple[str, str]) -> Api:
    return Api({**newest(), **dict(versions)})


@pytest.mark.parametrize(
    ("name", "rule", "case"), [pytest.param(*each, id=each[0]) for each in examples() if each[2].kind != "command"]
)
def test_no_rule_refuses_what_another_shows_as_good(name: str, rule: Rule, case: Case) -> None:
    """Every rule is asked about every good example, and about what each fix gives: no other finds an error in it."""
    facts = {"api": api_at(*case.versions.items()), **case.known}
    refused = {
        result.rule.code: result.message
        for document in read(case)
        for result in run_rules(all_rules(), document, facts)
        if isinstance(result, Finding) and result.rule and severity_of(result) is Severity.ERROR
    }
    refused.pop(rule.code, None)  # which is its own test's to judge
    assert refused.keys() == TOLD_BY_ANOTHER.get(name, set()), refused


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_page_says_whether_its_fix_is_safe(rule: Rule) -> None:
    """The page of a rule with a fix says whether it is safe, and that of one without says that there is none."""
    safety = (rule.explain or "").partition("## Fix safety")[2].lower()
    assert ("safe" in safety) if rule.fixable else ("no automatic fix" in safety or "no fix" in safety)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_source_says_how_it_was_tried(rule: Rule) -> None:
    """What a rule rests on names versions or a day, and what was done to know it."""
    assert HOLDS_FOR.search(rule.source), rule.source
    assert WAS_DONE.search(rule.source), rule.source


def test_page_shows_what_check_says() -> None:
    """Below a bad example stands what is said of it, with the line; a version stands above, and no key or fact of ours."""
    rule = next(rule for rule in all_rules() if rule.code == "JOB104")
    page = render_page(rule, partial(objections, rule))
    assert "\n# line 3: run_uv_job sets no `timeout`" in page
    assert "# line" not in render_page(rule)  # where nobody has read the examples
    old = Case(script="import trl\n", versions={"trl": "0.19.1"})
    assert "*with trl 0.19.1*\n\n```python\nimport trl\n```" in render_page(replace(rule, good=(old,)))
