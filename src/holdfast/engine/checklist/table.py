"""The three checklists that one goes through before a job is sent, as one table of verdicts.

A rule that could not be run shows nothing, and neither does the absence of findings: an item passes only if something in
the job shows that it does.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from holdfast.catalog.hub.jobs import submissions
from holdfast.core.check.finding import Finding, Rule, Severity, Skip
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.checklist.items import ITEMS, SCRIPT, Item
from holdfast.engine.checklist.states import ItemState
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
    suppressed: Iterable[Finding] = (),
    left_out: Iterable[Rule] = (),
    shown: Mapping[str, ItemState] = MappingProxyType({}),
) -> tuple[ChecklistRow, ...]:
    """Return the verdict on each item of the checklists.

    Args:
        documents: What was read: one document for each training.
        findings: What the rules object to in it.
        skips: The rules that could not be run.
        suppressed: Findings that a comment suppresses.
        left_out: The rules that were not selected.
        shown: What earlier commands have shown, by item.
    """
    kinds = {document.kind for document in documents}
    not_run = {rule.code: "not selected" for rule in left_out if kinds & rule.kinds}
    not_run |= {_code(each): "suppressed by a comment" for each in suppressed}
    not_run |= {skip.rule.code: f"skipped: {skip.because}" for skip in skips}
    objections = [each for each in findings if severity_of(each) is not Severity.INFO]
    return tuple(_row(item, documents, objections, not_run, shown) for item in ITEMS)


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
    not_run: Mapping[str, str],
    shown: Mapping[str, ItemState],
) -> ChecklistRow:
    against = [each for each in objections if _code(each) in item.codes]
    if against:
        return ChecklistRow(item, ItemVerdict.FAIL, against[0].message, tuple(map(_against, against)))
    state = _worst_state(item, documents, shown)
    silent = [code for code in item.codes if code in not_run]
    if silent and state.status is ItemVerdict.PASS:
        because = _reasons(silent, not_run)
        return ChecklistRow(item, ItemVerdict.UNKNOWN, because, tuple(map(VerdictEvidence, silent)))
    return ChecklistRow(item, state.status, state.because, _where(state))


def _worst_state(item: Item, documents: Sequence[Document], shown: Mapping[str, ItemState]) -> ItemState:
    """Return the state of an item that earlier commands have shown, or else the worst that the documents show."""
    if item.name in shown:
        return shown[item.name]
    seen = [item.look(each) for each in _judged(item, documents)]
    unread = ItemState(ItemVerdict.UNKNOWN, "nothing was read")
    return min(seen, key=lambda each: WORST_FIRST.index(each.status), default=unread)


def _against(finding: Finding) -> VerdictEvidence:
    return VerdictEvidence(_code(finding), finding.place)


def _reasons(codes: Iterable[str], not_run: Mapping[str, str]) -> str:
    """Return why rules were not run, those with the same reason together."""
    reasons: dict[str, list[str]] = {}
    for code in codes:
        reasons.setdefault(not_run[code], []).append(code)
    return "; ".join(f"{', '.join(codes)} {reason}" for reason, codes in reasons.items())


def _where(state: ItemState) -> tuple[VerdictEvidence, ...]:
    return (VerdictEvidence(place=state.place),) if state.place else ()


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
