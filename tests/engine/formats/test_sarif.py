"""SARIF, GitHub's annotations: what other programs read is to the letter of what they expect.

No package of the registry carries OASIS' JSON Schema of SARIF 2.1.0 (`sarif-om` and `sarif-tools` hold classes made from
it, without its constraints), and the schema itself is not ours to copy. So SUBSET holds what it says of the properties
that holdfast writes, and forbids all others; a log that fits SUBSET fits the schema. Both were tried on 2026-11-21.
"""

import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from holdfast.engine.formats.github import render_annotation, render_github
from holdfast.engine.formats.sarif import render_sarif
from holdfast.results.check import CheckResult, ReportedFinding
from holdfast.rules import all_rules
from tests.helpers.results import checked, finding, suppressed, target

Json = dict[str, Any]


def mapping(required: str, **properties: Json) -> Json:
    names = required.split()
    return {"type": "object", "additionalProperties": False, "required": names, "properties": properties}


def many(items: Json, least: int = 0) -> Json:
    return {"type": "array", "minItems": least, "items": items}


TEXT: Json = {"type": "string"}
COUNT: Json = {"type": "integer", "minimum": 1}
LEVEL: Json = {"enum": ["none", "note", "warning", "error"]}
MESSAGE = mapping("text", text=TEXT)
ARTIFACT = mapping("uri", uri={"type": "string", "format": "uri-reference", "pattern": "^[!-~]+$"})
REGION = mapping("startLine", startLine=COUNT, startColumn=COUNT, endLine=COUNT, endColumn=COUNT)
LOCATION = mapping(
    "physicalLocation",
    physicalLocation=mapping("artifactLocation", artifactLocation=ARTIFACT, region=REGION),
    logicalLocations=many(mapping("name kind", name=TEXT, kind=TEXT), 1),
)
RULE = mapping(
    "id",
    id=TEXT,
    name=TEXT,
    shortDescription=MESSAGE,
    fullDescription=MESSAGE,
    help=mapping("text", text=TEXT, markdown=TEXT),
    defaultConfiguration=mapping("level", level=LEVEL),
    properties=mapping("tags", tags=many(TEXT)),
)
FIX = mapping(
    "artifactChanges",
    description=MESSAGE,
    artifactChanges=many(
        mapping(
            "artifactLocation replacements",
            artifactLocation=ARTIFACT,
            replacements=many(mapping("deletedRegion", deletedRegion=REGION, insertedContent=MESSAGE), 1),
        ),
        1,
    ),
)
RESULT = mapping(
    "message ruleId ruleIndex level locations suppressions",
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=MESSAGE,
    locations=many(LOCATION, 1),
    fixes=many(FIX, 1),
    suppressions=many(mapping("kind", kind={"enum": ["inSource", "external"]}, justification=TEXT)),
)
NOTIFICATION = mapping("message", level=LEVEL, message=MESSAGE, locations=many(LOCATION))
RUN = mapping(
    "tool results columnKind",
    tool=mapping(
        "driver", driver=mapping("name version", name=TEXT, version=TEXT, semanticVersion=TEXT, rules=many(RULE))
    ),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=many(
        mapping(
            "executionSuccessful",
            executionSuccessful={"type": "boolean"},
            toolExecutionNotifications=many(NOTIFICATION),
        )
    ),
    results=many(RESULT),
)
SUBSET = {
    **mapping("version runs", version={"const": "2.1.0"}, runs=many(RUN)),
    "$schema": "http://json-schema.org/draft-07/schema#",
}
SUBSET["properties"]["$schema"] = {"type": "string", "format": "uri"}


def answer(*findings: ReportedFinding, **fields: Any) -> CheckResult:
    """Return the result of a check of one file."""
    return checked(target(*findings, **fields))


def sarif(told: CheckResult, text: str = "a\n" * 9) -> Json:
    """Return the run of a log that was found to be valid."""
    log = render_sarif(told, all_rules(), {"train.py": text}, version="0.1.0")
    assert not [error.message for error in Draft7Validator(SUBSET).iter_errors(json.loads(json.dumps(log)))]
    run: Json = log["runs"][0]
    return run


def region(run: Json) -> Json:
    found: Json = run["results"][0]["locations"][0]["physicalLocation"]["region"]
    return found


def test_a_finding_is_a_result_of_its_rule() -> None:
    """With level, place and message; the rule brings its page, once."""
    run = sarif(
        answer(finding(), finding(line=3), finding(code="DAT101", severity="warning"), finding(severity="info"))
    )

    assert [result["ruleId"] for result in run["results"]] == ["ARG101", "ARG101", "DAT101", "ARG101"]
    assert [result["level"] for result in run["results"]] == ["error", "error", "warning", "note"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["ARG101", "DAT101"]
    assert [result["ruleIndex"] for result in run["results"]] == [0, 0, 1, 0]
    assert "## Why is this bad" in run["tool"]["driver"]["rules"][0]["help"]["markdown"]
    assert region(run) == {"startLine": 2, "startColumn": 5, "endLine": 2, "endColumn": 19}


def test_columns_count_in_utf_16_code_units() -> None:
    """A character outside the first plane counts as two, in places and in fixes alike."""
    line = "f('🤗é', a=1, b=2)"
    at = line.index("a=1") + 1
    edit = {"start": [1, at], "end": [1, at + 3], "text": "c=1"}
    place = {"line": 1, "column": at, "end_line": 1, "end_column": at + 3}
    run = sarif(answer(finding(**place, fix={"safe": True, "title": "rename", "edits": [edit]})), line + "\n")
    replaced = run["results"][0]["fixes"][0]["artifactChanges"][0]["replacements"][0]
    units = line.encode("utf-16-le")

    assert region(run) == replaced["deletedRegion"]
    assert units[2 * (region(run)["startColumn"] - 1) : 2 * (region(run)["endColumn"] - 1)].decode("utf-16-le") == "a=1"
    assert replaced["insertedContent"] == {"text": "c=1"}


@given(st.text(min_size=1).filter(lambda text: len(text.splitlines()) == 1), st.data())
def test_every_column_is_that_of_the_same_character(line: str, data: st.DataObject) -> None:
    """Whatever stands before it."""
    line = line.splitlines()[0]
    column = data.draw(st.integers(1, len(line) + 1))
    run = sarif(answer(finding(line=1, column=column, end_line=1, end_column=len(line) + 1)), line)

    assert region(run)["startColumn"] == len(line[: column - 1].encode("utf-16-le", "surrogatepass")) // 2 + 1


def test_an_unsafe_fix_says_so() -> None:
    """SARIF has no word for it but the description."""
    edits = [{"start": [1, 1], "end": [1, 1], "text": "x"}]
    told = [finding(fix={"safe": safe, "title": "rename it", "edits": edits}) for safe in (True, False)]
    run = sarif(answer(*told))

    assert [result["fixes"][0]["description"]["text"] for result in run["results"]] == [
        "rename it",
        "rename it (unsafe: it may change what the program does)",
    ]


def test_a_notebooks_finding_names_its_cell() -> None:
    """The file's own lines are JSON: there is no region, and no fix."""
    edits = [{"start": [1, 1], "end": [1, 1], "text": "x"}]
    run = sarif(answer(finding(path="n.ipynb", cell=4, fix={"safe": True, "title": "", "edits": edits})))
    (result,) = run["results"]

    assert result["message"]["text"].startswith("Cell 4, line 2: ")
    assert result["locations"][0]["logicalLocations"][0]["name"] == "cell 4"
    assert result["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "n.ipynb"}}
    assert "fixes" not in result


def test_what_a_comment_lets_pass_is_suppressed_and_not_lost() -> None:
    """With the user's reason; the others say that they are not."""
    passed = suppressed(reason="old runs", line=1)
    bare = suppressed(reason="", line=1)
    run = sarif(answer(finding(), suppressed=[passed, bare]))

    assert [result["suppressions"] for result in run["results"]] == [
        [],
        [{"kind": "inSource", "justification": "old runs"}],
        [{"kind": "inSource"}],
    ]


def test_skips_and_files_passed_over_are_notifications() -> None:
    """A skip is not a pass, and must be seen."""
    skipping = target(
        skipped=[{"code": "DAT101", "missing": ["dataset"], "because": "offline", "reasons": ["offline"]}]
    )
    run = sarif(checked(skipping, passed_over=[{"path": "big.py", "because": "is too large: 9 MB"}]))
    notes = run["invocations"][0]["toolExecutionNotifications"]

    assert "DAT101: offline" in notes[0]["message"]["text"]
    assert notes[1]["message"]["text"] == "not checked: is too large: 9 MB"


def test_a_file_that_cannot_be_read_is_a_result_too() -> None:
    """It has no rule, and perhaps no line."""
    run = sarif(answer(finding(code="SYN001", name="", line=None, column=None, end_line=None, end_column=None)))

    assert run["tool"]["driver"]["rules"][0]["id"] == "SYN001"
    assert "region" not in run["results"][0]["locations"][0]["physicalLocation"]


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        ("a b/ü#?.py", "a%20b/%C3%BC%23%3F.py"),
        ("./a.py", "a.py"),
        ("../a.py", "../a.py"),
        ("/home/me/a.py", "file:///home/me/a.py"),
        ("-", "stdin"),
    ],
)
def test_paths_are_uris(path: str, uri: str) -> None:
    """Escaped, and relative where the target was named so."""
    run = sarif(answer(finding(path=path)))

    assert run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == uri


def test_every_rule_can_be_described() -> None:
    """Each has a page, a name and a level that SARIF takes."""
    run = sarif(answer(*(finding(code=rule.code) for rule in all_rules())))

    assert len(run["tool"]["driver"]["rules"]) == len(all_rules())


def test_github_gets_one_command_for_each_finding() -> None:
    """With its level and place; ends are inclusive there."""
    told = list(
        render_github(answer(finding(), finding(severity="warning", line=None), finding(severity="info", end_line=4)))
    )

    assert told[0].startswith("::error file=train.py,line=2,endLine=2,col=5,endColumn=18,title=ARG101::")
    assert told[1].startswith("::warning file=train.py,title=ARG101::")
    assert told[2].startswith("::notice file=train.py,line=2,endLine=4,title=ARG101::")


def test_a_notebooks_annotation_names_its_cell_in_words() -> None:
    """GitHub counts the lines of the file."""
    assert render_annotation(finding(path="n.ipynb", cell=4)).startswith(
        "::error file=n.ipynb,title=ARG101::cell 4, line 2: "
    )


@given(st.text(), st.text())
@example("50%2C.py", "50%0A::error::")
def test_no_text_can_break_out_of_its_annotation(path: str, message: str) -> None:
    """Whatever a file or a message holds, it stays one command, and can be read back."""
    told = render_annotation(finding(path=path, message=message))
    properties, _, said = told.removeprefix("::error ").partition("::")
    escapes = [("%2C", ","), ("%3A", ":"), ("%0A", "\n"), ("%0D", "\r"), ("%25", "%")]

    def back(text: str) -> str:
        for code, character in escapes:
            text = text.replace(code, character)
        return text

    assert not {"\n", "\r"} & set(told)
    assert back(properties.partition(",")[0]) == f"file={path}"
    assert back(said) == message


def test_a_fix_is_named_in_the_annotation() -> None:
    """So that who reads a pull request knows what to do."""
    assert render_annotation(finding(fix={"safe": True, "title": "rename it", "edits": []})).endswith(
        " Fix: rename it."
    )
