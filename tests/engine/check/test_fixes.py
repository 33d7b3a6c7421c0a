"""A fix is true: what it gives is right, whatever the layout of the text, and whichever other fixes are made."""

import ast
from collections.abc import Callable
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.readers.notebook_edits import apply_notebook_edits
from holdfast.adapters.readers.script.edits import can_place, place_edits
from holdfast.core.check.finding import Finding
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Document
from holdfast.core.text.places import apply_text_edits
from holdfast.engine.check.fixes import combine_fixes
from holdfast.rules import all_rules
from tests.helpers.fixes import FIXED, SCRIPTS, Example, ask, errors, fixed, one_cell, place, read, read_cells, windows

by_name = pytest.mark.parametrize("each", FIXED, ids=lambda each: each.name)


@by_name
def test_a_fix_mends_and_breaks_nothing(each: Example) -> None:
    """What it gives has no finding of its rule, and no error of any rule that was not there before."""
    before = ask(all_rules(), read(each.case, each.case.source), each.case)
    after = ask(all_rules(), read(each.case, each.case.fixed or ""), each.case)

    assert errors(after) <= errors(before)
    assert not ask([each.rule], read(each.case, each.case.fixed or ""), each.case)


@by_name
def test_all_fixes_together_come_to_an_end(each: Example) -> None:
    """Those of all rules, made in rounds, are made at last, and then there is none left to make."""
    result = fixed(each.case.source, each.case, lambda text: read(each.case, text))

    assert fixed(result, each.case, lambda text: read(each.case, text)) == result
    if each.case.kind == "script":
        ast.parse(result)


def as_it_is(text: str) -> str:
    return text


def indented(text: str) -> str:
    return "if True:\n" + "".join(f"\t{line}" if line.strip() else line for line in text.splitlines(keepends=True))


def behind_umlauts(text: str) -> str:
    return "".join(
        f"ü = 'größer'; {line}" if line.startswith(("from ", "import ")) else line
        for line in text.splitlines(keepends=True)
    )


LAYOUTS: dict[str, Callable[[str], str]] = {"windows": windows, "indented": indented, "umlauts": behind_umlauts}


@pytest.mark.parametrize("layout", [*LAYOUTS, "notebook"])
@pytest.mark.parametrize("each", [each for each in FIXED if each.case.kind == "script"], ids=lambda each: each.name)
def test_a_fix_is_the_same_in_any_layout(each: Example, layout: str) -> None:
    """With lines ended as on Windows, indented by tabs, behind other letters, in a notebook: only the fix's own part changes."""
    source, expected = each.case.source, each.case.fixed or ""
    headed = "# /// script" in source
    parted = expected.count("import ") > source.count("import ") or expected.count("\n") < source.count("\n")
    if (headed and layout in ("indented", "notebook")) or (parted and layout == "umlauts"):
        pytest.skip("a header begins its lines, and a line of its own is not shared")
    if "unused_ignores" in each.rule.needs and layout in ("indented", "notebook"):
        pytest.skip(
            "where its comments stand is a fact, of one layout: see `tests/engine/check/test_unused_ignores.py`"
        )
    if layout == "notebook":
        result = fixed(one_cell(source), each.case, read_cells, apply_notebook_edits, [each.rule])
        assert result == one_cell(expected)
    else:
        write = LAYOUTS[layout]
        assert fixed(write(source), each.case, lambda text: read(each.case, text), rules=[each.rule]) == write(expected)


@settings(deadline=None)
@given(st.sampled_from(SCRIPTS), st.data())
def test_any_of_the_fixes_leave_a_program(each: Example, data: st.DataObject) -> None:
    """Whichever of the fixes of all rules are made, the script is Python, and its comments are not code."""
    findings = [found for found in findings_of(each) if found.fix]
    chosen = data.draw(st.lists(st.sampled_from(findings), unique_by=id)) if findings else []
    write = data.draw(st.sampled_from([as_it_is, windows]))
    if write is windows:
        findings = ask(all_rules(), read(each.case, windows(each.case.source)), each.case)
        chosen = [found for found in findings if found.fix and found.key in {other.key for other in chosen}]
    made = combine_fixes(chosen, place, unsafe=True)

    ast.parse(apply_text_edits(write(each.case.source), made.edits))


@cache
def _findings_of(number: int) -> tuple[Finding, ...]:
    case = SCRIPTS[number].case
    return tuple(ask(all_rules(), read(case, case.source), case))


def findings_of(each: Example) -> tuple[Finding, ...]:
    return _findings_of(SCRIPTS.index(each))


@pytest.mark.parametrize("each", SCRIPTS, ids=lambda each: each.name)
def test_what_can_be_made_is_known_before_it_is_made(each: Example) -> None:
    """To tell whether a fix can be made, it need not be made; the answer is the same."""
    for finding in findings_of(each):
        if finding.fix and finding.document:
            assert can_place(finding.document, finding.fix.edits) == makes(finding.document, finding)


def makes(document: Document, finding: Finding) -> bool:
    try:
        place_edits(document, finding.fix.edits if finding.fix else ())
    except UsageError:
        return False
    return True
