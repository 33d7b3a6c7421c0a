"""Every rule does what its own examples say, guesses nothing, survives anything, and its page is whole."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from holdfast.adapters.readers.command_line import read_commands
from holdfast.adapters.readers.command_line.edits import place_edits as command_edits
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.script.edits import place_edits
from holdfast.app.explain.examples import objections
from holdfast.catalog.api import Api, packages, released
from holdfast.core.check.finding import Case, Finding, Rule, Skip
from holdfast.core.job.document import Document, DocumentKind, Set, Unknown, apply_edits, leaves, render_key
from holdfast.core.text.places import TextEdit, apply_text_edits
from holdfast.engine.check.rule_runner import BROKEN, run_rules
from holdfast.engine.explain.rules import render_page
from holdfast.rules import all_rules

EXAMPLES = 1
"""Of a rule, whose values are changed in `make check`; some rules have dozens."""
MANY_EXAMPLES = [rule for rule in all_rules() if len(rule.bad) + len(rule.good) > EXAMPLES]
PAGES = Path(__file__).parents[2] / "docs" / "rules"
HEADINGS = (
    "## What it does",
    "## Why is this bad",
    "## Example",
    "## Fix safety",
    "## References",
)
# Rules that object to the name of a key, or to one variable for two keys, whatever its value.
ABOUT_NAMES = {
    "ARG101",
    "ARG103",
    "ARG104",
    "ARG105",
    "ARG106",
    "ARG107",
    "ARG108",
    "ARG111",
    "ARG126",
    "ARG114",
    "ARG117",
    "ARG122",
    "DAT114",
    "DAT128",
    "MOD139",
    "HUB108",
    "MOD105",
}
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


def ask(rule: Rule, documents: Sequence[Document], case: Case, *, decided: bool = True) -> list[Finding]:
    """What a rule says of an example, each thing once; of a script that trains several jobs, of all.

    Args:
        rule: The rule.
        documents: The example.
        case: What it is an example of.
        decided: Whether the rule has to decide; else it may be skipped for what the example does not show.
    """
    results = [result for document in documents for result in run_rules([rule], document, facts_of(case))]
    skipped = [result for result in results if isinstance(result, Skip)]
    assert not [skip for skip in skipped if decided or not skip.missing or skip.missing[0] in rule.needs]
    findings = {(result.key, result.place): result for result in results if isinstance(result, Finding)}
    return list(findings.values())


def facts_of(case: Case) -> dict[str, object]:
    """What an example tells of the outside, and the libraries at its versions: the newest, where it says nothing."""
    return {"api": api_at(*case.versions.items()), **case.known}


@cache
def api_at(*versions: tuple[str, str]) -> Api:
    newest = {package: released(package)[-1] for package in packages()}
    return Api({**newest, **dict(versions)})


def read(kind: DocumentKind, text: str) -> tuple[Document, ...]:
    """What a reader makes of an example."""
    if kind == "job":
        return (JobFileReader().read(text, "job.yaml"),)
    if kind == "script":
        return read_script(text, "train.py")
    found = (command_document(line, text, "run.sh") for line in read_commands(text, "run.sh"))
    return tuple(document for document in found if document)


def fix(documents: Sequence[Document], findings: Sequence[Finding]) -> str:
    """The text with every fix made."""
    places = {"job": JobFileReader().place_edits, "command": command_edits}.get(documents[0].kind, place_edits)
    edits: dict[TextEdit, None] = {}
    for document in documents:
        mine = [edit for each in findings if each.fix and each.document is document for edit in each.fix.edits]
        edits |= dict.fromkeys(places(document, mine))
        own = [each.fix for each in findings if each.fix and each.document is document]
        edits |= dict.fromkeys(edit for fix in own for edit in fix.text_edits)
    return apply_text_edits(documents[0].text, edits)


def changed(document: Document, key: str, value: Any) -> Document:
    """The document with another value under a key, and in the call whose argument that is."""
    values = apply_edits(document.values, [Set(key, value)])
    parent, _, name = key.rpartition(".")
    calls = tuple(
        replace(call, arguments={**call.arguments, name: value})
        if call.key == parent and name in call.arguments
        else call
        for call in document.calls
    )
    return replace(document, values=values, calls=calls)


@pytest.mark.parametrize(("rule", "case"), cases("bad"))
def test_objects_to_bad_example(rule: Rule, case: Case) -> None:
    """A bad example gets a finding at the key it names, with the place where that stands."""
    findings = ask(rule, read(case.kind, case.source), case)

    assert [finding.key for finding in findings][:1] == [case.at]
    assert findings[0].rule is rule
    assert findings[0].place is not None
    assert findings[0].place.line is not None


@pytest.mark.parametrize(("rule", "case"), cases("bad"))
def test_fix_gives_the_text_it_names(rule: Rule, case: Case) -> None:
    """The fixes of a bad example, written into its text, give the fixed text to the letter, and nothing is left to fix."""
    documents = read(case.kind, case.source)
    findings = ask(rule, documents, case)

    assert any(finding.fix for finding in findings) == (case.fixed is not None)
    if case.fixed is not None:
        fixed = fix(documents, findings)
        assert fixed == case.fixed
        assert not ask(rule, read(case.kind, fixed), case)


@pytest.mark.parametrize(("rule", "case"), cases("good"))
def test_leaves_good_example(rule: Rule, case: Case) -> None:
    """A good example gets no finding; one that does not show all is no pass either."""
    assert ask(rule, read(case.kind, case.source), case, decided=False) == []


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_guesses_nothing(rule: Rule) -> None:
    """Where the source hides a value that a rule objects to, it reports nothing but what is about the name alone."""
    for case in rule.bad:
        document = read(case.kind, case.source)[0]
        written = {render_key(path) for path, _ in leaves(document.values)}
        of_call = any(call.key == case.at for call in document.calls)  # it is there, whatever it is given
        if "job" not in rule.needs or case.at not in written or of_call:
            continue
        results = list(run_rules([rule], changed(document, case.at, Unknown()), facts_of(case)))
        about = [result.message for result in results if isinstance(result, Finding) and result.key == case.at]

        assert not about or rule.code in ABOUT_NAMES, about


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_survives_odd_values(rule: Rule) -> None:
    """Whatever stands under a key that an example has, a rule answers and does not break."""
    survive((*rule.bad, *rule.good)[:EXAMPLES], rule)


@pytest.mark.long
@pytest.mark.parametrize("rule", MANY_EXAMPLES, ids=lambda rule: rule.code)
def test_survives_odd_values_in_all_examples(rule: Rule) -> None:
    """Nor in the examples beyond those."""
    survive((*rule.bad, *rule.good)[EXAMPLES:], rule)


def survive(cases: Sequence[Case], rule: Rule) -> None:
    for case in cases:
        document = read(case.kind, case.source)[0]
        keys = {render_key(path[:depth]) for path, _ in leaves(document.values) for depth in range(1, len(path) + 1)}
        for key in keys:
            for odd in ODD:
                results = run_rules([rule], changed(document, key, odd), facts_of(case))
                broken = [each.because for each in results if isinstance(each, Skip) and BROKEN in each.because]
                assert not broken, (key, odd)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_page_is_whole(rule: Rule) -> None:
    """The page has its headings in order, the kept copy is up to date, and code, file and name agree."""
    page = render_page(rule, partial(objections, rule))
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
