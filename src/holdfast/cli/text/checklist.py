"""The checklists as text: one table of verdicts per target."""

from collections import Counter
from collections.abc import Sequence

from click import style
from rich.table import Table
from rich.text import Text

from holdfast.cli.text.drawing import drawn
from holdfast.results.check import ChecklistEvidence, ChecklistItem, CheckResult, ItemVerdict

STYLES = {
    ItemVerdict.PASS: "green",
    ItemVerdict.FAIL: "bold red",
    ItemVerdict.UNKNOWN: "yellow",
    ItemVerdict.NOT_APPLICABLE: "dim",
}


def render_checklists(result: CheckResult) -> str:
    """Return the tables of all targets that have one, one below the other."""
    return "\n".join(render_checklist(target.path, target.checklist) for target in result.targets if target.checklist)


def render_checklist(path: str, rows: Sequence[ChecklistItem]) -> str:
    """Return the table of one target, with a heading that counts the verdicts."""
    counts = Counter(row.verdict for row in rows)
    summary = ", ".join(f"{counts[verdict]} {verdict}" for verdict in STYLES if counts[verdict])
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("verdict", no_wrap=True)
    table.add_column("item")
    table.add_column("on", style="dim")
    table.add_column("because", ratio=1)
    for row in rows:
        cells = (row.asks, ", ".join(row.lists), _because(row, path))
        table.add_row(Text(row.verdict, STYLES[row.verdict]), *map(Text, cells))
    return f"{style('checklist', bold=True)} of {path}: {summary}\n{drawn(table)}"


def _because(row: ChecklistItem, path: str) -> str:
    """Return the reason for a verdict, with the rule and the line; of several findings, the first, and how many more."""
    if not row.evidence:
        return row.because
    first = row.evidence[0]
    if row.verdict is ItemVerdict.UNKNOWN and first.code:
        return row.because  # which names the rules that were not checked
    more = f", and {len(row.evidence) - 1} more" if len(row.evidence) > 1 else ""
    label = _label(first, path)
    return f"{label}: {row.because}{more}" if label else f"{row.because}{more}"


def _label(evidence: ChecklistEvidence, path: str) -> str:
    """Return the rule and the line of a finding, as far as there are any; of another file, with its path."""
    where = f"line {evidence.line}" if evidence.path == path else f"{evidence.path}:{evidence.line}"
    return " ".join(filter(None, (evidence.code, where if evidence.line else "")))
