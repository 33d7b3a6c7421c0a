"""The checklists as people read them: one table of verdicts for each target."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from click import style
from rich.table import Table
from rich.text import Text

from holdfast.cli.text.drawing import drawn

Answer = Mapping[str, Any]
STYLES = {"pass": "green", "fail": "bold red", "unknown": "yellow", "not applicable": "dim"}


def render_checklists(answer: Answer) -> str:
    """Return the tables of all targets that have one, one below the other."""
    return "\n".join(render_checklist(target) for target in answer["targets"] if target.get("checklist"))


def render_checklist(target: Answer) -> str:
    """Return one target's table, and in its heading how many items come to what."""
    rows = target["checklist"]
    counts = Counter(row["verdict"] for row in rows)
    told = ", ".join(f"{counts[verdict]} {verdict}" for verdict in STYLES if counts[verdict])
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("verdict", no_wrap=True)
    table.add_column("item")
    table.add_column("on", style="dim")
    table.add_column("because", ratio=1)
    for row in rows:
        cells = (row["asks"], ", ".join(row["lists"]), _because(row, target["path"]))
        table.add_row(Text(row["verdict"], STYLES[row["verdict"]]), *map(Text, cells))
    return f"{style('checklist', bold=True)} of {target['path']}: {told}\n{drawn(table)}"


def _because(row: Answer, path: str) -> str:
    """Return what makes a verdict so, with the rule and the line; of several findings, the first, and how many more."""
    evidence = row["evidence"]
    if row["verdict"] == "unknown" and evidence and evidence[0]["code"]:
        return str(row["because"])  # which names the rules that could not be asked
    first = evidence[0] if evidence else {}
    line, place = first.get("line"), first.get("path")
    where = f"line {line}" if line and place == path else f"{place}:{line}" if line else ""
    more = f", and {len(evidence) - 1} more" if len(evidence) > 1 else ""
    told = " ".join(part for part in (first.get("code"), where) if part)
    return f"{told}: {row['because']}{more}" if told else f"{row['because']}{more}"
