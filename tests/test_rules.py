"""Every rule does what its own examples say, guesses nothing, survives anything, and its page is whole."""

import re
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.document import Document, Set, Unknown, apply_edits, leaves, render_key
from holdfast.core.finding import Case, Finding, Rule, Skip
from holdfast.core.text import apply_text_edits
from holdfast.engine.check import run_rules
from holdfast.engine.pages import render_page
from holdfast.rules import all_rules

PAGES = Path(__file__).parent.parent / "docs" / "rules"
HEADINGS = (
    "## What it does",
    "## Why is this bad",
    "## Example",
    "## Use instead",
    "## Fix safety",
    "## References",
)
READER = JobFileReader()
# Rules that object to the name of a key, whatever its value.
ABOUT_NAMES = {"ARG101", "ARG103", "ARG104"}
# Values that no setting expects, and YAML allows.
ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    7,
    0.0,
    -0.5,
    float("nan"),
    float("inf"),
    "",
    "x",
    "'",
    [],
    [None],
    {},
    {"a": None},
)


def cases(kind: str) -> list[ParameterSet]:
    return [
        pytest.param(rule, case, id=f"{rule.code}-{kind}{index}")
        for rule in all_rules()
        for index, case in enumerate(getattr(rule, kind))
    ]


def ask(rule: Rule, document: Document, case: Case) -> list[Finding]:
    results = list(run_rules([rule], document, case.facts))
    assert not [result for result in results if isinstance(result, Skip)]
    return [result for result in results if isinstance(result, Finding)]


def changed(document: Document, key: str, value: Any) -> Document:
    values = apply_edits(document.values, [Set(key, value)])
    return Document(path=document.path, kind="job", values=values)


@pytest.mark.parametrize(("rule", "case"), cases("bad"))
def test_objects_to_bad_example(rule: Rule, case: Case) -> None:
    """A bad example gets a finding at the key it names, with the place where that stands."""
    document = READER.read(case.job, "job.yaml")
    findings = ask(rule, document, case)

    assert [finding.key for finding in findings][:1] == [case.at]
    assert findings[0].rule is rule
    assert findings[0].place == document.place(findings[0].key)
    assert findings[0].place is not None
    assert findings[0].place.line is not None


@pytest.mark.parametrize(("rule", "case"), cases("bad"))
def test_fix_gives_the_text_it_names(rule: Rule, case: Case) -> None:
    """The fixes of a bad example, written into its text, give the fixed text to the letter, and nothing is left to fix."""
    document = READER.read(case.job, "job.yaml")
    edits = [edit for finding in ask(rule, document, case) if finding.fix for edit in finding.fix.edits]

    assert bool(edits) == (case.fixed is not None)
    if case.fixed is not None:
        fixed = apply_text_edits(case.job, READER.place_edits(document, edits))
        assert fixed == case.fixed
        assert not ask(rule, READER.read(fixed, "job.yaml"), case)


@pytest.mark.parametrize(("rule", "case"), cases("good"))
def test_leaves_good_example(rule: Rule, case: Case) -> None:
    """A good example gets no finding."""
    assert ask(rule, READER.read(case.job, "job.yaml"), case) == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_guesses_nothing(rule: Rule) -> None:
    """Where the source hides a value that a rule objects to, the rule is skipped, or objects to the name alone."""
    for case in rule.bad:
        document = READER.read(case.job, "job.yaml")
        written = {render_key(path) for path, _ in leaves(document.values)}
        if "job" not in rule.needs or case.at not in written:
            continue
        results = list(run_rules([rule], changed(document, case.at, Unknown()), case.facts))
        about = [result.message for result in results if isinstance(result, Finding) and result.key == case.at]

        assert not about or rule.code in ABOUT_NAMES, about


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_survives_odd_values(rule: Rule) -> None:
    """Whatever stands under a key that an example has, a rule answers and does not raise."""
    for case in (*rule.bad, *rule.good):
        document = READER.read(case.job, "job.yaml")
        keys = {render_key(path[:depth]) for path, _ in leaves(document.values) for depth in range(1, len(path) + 1)}
        for key in keys:
            for odd in ODD:
                list(run_rules([rule], changed(document, key, odd), case.facts))


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_page_is_whole(rule: Rule) -> None:
    """The page has its headings in order, the kept copy is up to date, and code, file and name agree."""
    page = render_page(rule)
    found = [page.find(heading) for heading in HEADINGS]

    assert -1 not in found
    assert found == sorted(found)
    assert re.fullmatch(r"[A-Z]{3}\d{3}", rule.code)
    assert rule.check.__module__.endswith(f".{rule.code.lower()}_{rule.name.replace('-', '_')}")
    assert rule.bad
    assert rule.good
    assert len(rule.source) > len("a link is not enough: it must say how it was tried")
    assert (PAGES / f"{rule.code}.md").read_text(encoding="utf-8") == page, "make docs"


def test_codes_and_names_differ() -> None:
    """No two rules share a code or a name, and there is a page for each rule and for nothing else."""
    rules = all_rules()

    assert len({rule.code for rule in rules}) == len({rule.name for rule in rules}) == len(rules)
    assert {page.stem for page in PAGES.glob("*.md")} == {rule.code for rule in rules}
