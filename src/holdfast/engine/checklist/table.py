"""The three checklists that one goes through before a job is sent, as one table of verdicts.

A rule that could not be asked shows nothing, and neither does silence alone: an item passes only where something in the
job shows that it does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from holdfast.catalog.hub.jobs import submissions
from holdfast.core.document import Document
from holdfast.core.finding import Finding, Rule, Severity, Skip
from holdfast.core.text import Place
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.checklist.items import ITEMS, SCRIPT, Item, ItemState
from holdfast.results.check import ChecklistEvidence, ChecklistItem, ItemVerdict

WORST_FIRST: Final = (ItemVerdict.FAIL, ItemVerdict.UNKNOWN, ItemVerdict.PASS, ItemVerdict.NOT_APPLICABLE)


@dataclass(frozen=True, slots=True)
class VerdictEvidence:
    """What makes a verdict so.

    Attributes:
        code: The rule that says so; empty for what the job itself shows.
        place: Where it stands, if it stands anywhere.
    """

    code: str = ""
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class ChecklistRow:
    """The verdict on one item.

    Attributes:
        item: The item.
        status: The verdict.
        because: What makes it so, in words.
        evidence: The same for programs.
    """

    item: Item
    status: ItemVerdict
    because: str
    evidence: tuple[VerdictEvidence, ...] = ()


def checklist(
    documents: Sequence[Document],
    findings: Iterable[Finding],
    skips: Iterable[Skip],
    *,
    let_pass: Iterable[Finding] = (),
    left_out: Iterable[Rule] = (),
    shown: Mapping[str, ItemState] = MappingProxyType({}),
) -> tuple[ChecklistRow, ...]:
    """Return the verdict on each item of the checklists.

    Args:
        documents: What was read: one document for each training.
        findings: What the rules object to in it.
        skips: The rules that could not be asked.
        let_pass: Findings that a comment lets pass.
        left_out: The rules that nobody asked.
        shown: What earlier commands have shown, by item.
    """
    kinds = {document.kind for document in documents}
    unasked = {rule.code: "not selected" for rule in left_out if kinds & rule.kinds}
    unasked |= {_code(each): "suppressed by a comment" for each in let_pass}
    unasked |= {skip.rule.code: f"skipped: {skip.because}" for skip in skips}
    objections = [each for each in findings if severity_of(each) is not Severity.INFO]
    return tuple(_row(item, documents, objections, unasked, shown) for item in ITEMS)


def checklist_items(rows: Iterable[ChecklistRow]) -> list[ChecklistItem]:
    """Return the table as it stands in the result of `check`."""
    return [
        ChecklistItem(
            item=row.item.name,
            asks=row.item.asks,
            lists=list(row.item.lists),
            verdict=row.status,
            because=row.because,
            evidence=[_evidence(each) for each in row.evidence],
        )
        for row in rows
    ]


def _row(
    item: Item,
    documents: Sequence[Document],
    objections: Sequence[Finding],
    unasked: Mapping[str, str],
    shown: Mapping[str, ItemState],
) -> ChecklistRow:
    against = [each for each in objections if _code(each) in item.codes]
    if against:
        evidence = tuple(VerdictEvidence(_code(each), each.place) for each in against)
        return ChecklistRow(item, ItemVerdict.FAIL, against[0].message, evidence)
    seen = [shown[item.name]] if item.name in shown else [item.look(each) for each in _judged(item, documents)]
    worst = min(
        seen,
        key=lambda each: WORST_FIRST.index(each.status),
        default=ItemState(ItemVerdict.UNKNOWN, "nothing was read"),
    )
    silent = [code for code in item.codes if code in unasked]
    if worst.status is ItemVerdict.PASS and silent:
        reasons = {unasked[code]: [each for each in silent if unasked[each] == unasked[code]] for code in silent}
        because = "; ".join(f"{', '.join(codes)} {reason}" for reason, codes in reasons.items())
        return ChecklistRow(item, ItemVerdict.UNKNOWN, because, tuple(map(VerdictEvidence, silent)))
    return ChecklistRow(item, worst.status, worst.because, (VerdictEvidence(place=worst.place),) if worst.place else ())


def _judged(item: Item, documents: Sequence[Document]) -> Sequence[Document]:
    """Return the Documents that an item is about: of a script that submits another, for quality, the other."""
    others = [document for document in documents if not _only_sends(document)]
    return others if others and SCRIPT in item.lists else documents


def _only_sends(document: Document) -> bool:
    return not isinstance(document.get("method"), str) and any(each.call for each in submissions(document))


def _code(finding: Finding) -> str:
    return finding.rule.code if finding.rule else ""


def _evidence(evidence: VerdictEvidence) -> ChecklistEvidence:
    place, code = evidence.place, evidence.code or None
    if place is None:
        return ChecklistEvidence(code=code)
    return ChecklistEvidence(code=code, path=place.path, line=place.line, column=place.column, cell=place.cell or None)
