"""Examples of rules with their fixes, and the making of fixes, for the tests of these."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from holdfast.adapters.readers.command_line import command_document, read_commands
from holdfast.adapters.readers.command_line.edits import place_edits as place_command_edits
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.notebook import read_notebook
from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.script.edits import place_edits
from holdfast.catalog.api import Api, packages, released
from holdfast.core.check.finding import Case, Finding, Rule, Severity
from holdfast.core.job.document import Document
from holdfast.core.text.places import TextEdit, apply_text_edits
from holdfast.engine.check.fixes import combine_fixes
from holdfast.engine.check.rule_runner import run_rules, severity_of
from holdfast.rules import all_rules

ROUNDS = 20
Read = Callable[[str], tuple[Document, ...]]


@dataclass(frozen=True)
class Example:
    """A bad example of a rule."""

    name: str
    rule: Rule
    case: Case


EXAMPLES = [
    Example(f"{rule.code}-bad{index}", rule, case) for rule in all_rules() for index, case in enumerate(rule.bad)
]
FIXED = [each for each in EXAMPLES if each.case.fixed is not None]
SCRIPTS = [each for each in EXAMPLES if each.case.kind == "script"]


def read(case: Case, text: str) -> tuple[Document, ...]:
    """What the reader of an example makes of a text."""
    if case.kind == "job":
        return (JobFileReader().read(text, "job.yaml"),)
    if case.kind == "script":
        return read_script(text, "train.py")
    found = (command_document(line, text, "run.sh") for line in read_commands(text, "run.sh"))
    return tuple(document for document in found if document)


def place(document: Document, edits: Iterable[Any]) -> tuple[TextEdit, ...]:
    """What the writer of a document makes of edits."""
    writers = {"job": JobFileReader().place_edits, "script": place_edits, "command": place_command_edits}
    return writers[document.kind](document, edits)


@cache
def api_at(*versions: tuple[str, str]) -> Api:
    return Api({package: released(package)[-1] for package in packages()} | dict(versions))


def ask(rules: Iterable[Rule], documents: Iterable[Document], case: Case) -> list[Finding]:
    facts = {"api": api_at(*case.versions.items()), **case.known}
    results = (result for document in documents for result in run_rules(rules, document, facts))
    found = (result for result in results if isinstance(result, Finding))
    return list({(str(each.rule), each.key, each.place): each for each in found}.values())


def errors(findings: Iterable[Finding]) -> set[str]:
    return {str(each.rule) for each in findings if severity_of(each) is Severity.ERROR}


def fixed(
    text: str,
    case: Case,
    reading: Read,
    apply: Callable[[str, Iterable[TextEdit]], str] = apply_text_edits,
    rules: Iterable[Rule] = (),
) -> str:
    """A text with every fix in it, as `--fix --unsafe-fixes` makes them."""
    for _ in range(ROUNDS):
        findings = ask(rules or all_rules(), reading(text), case)
        made = combine_fixes(findings, place, unsafe=True)
        if not made.edits:
            return text
        text = apply(text, made.edits)
    raise AssertionError(f"fixes without end:\n{text}")


def windows(text: str) -> str:
    return text.replace("\n", "\r\n")


def one_cell(text: str) -> str:
    lines = ("# größer\n" + text).splitlines(keepends=True)
    cell: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {},
        "source": lines,
        "outputs": [],
        "execution_count": None,
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def read_cells(text: str) -> tuple[Document, ...]:
    return read_notebook(text, "train.ipynb", beside=None)
