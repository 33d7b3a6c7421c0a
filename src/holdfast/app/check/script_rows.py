"""Runs the rules about rows on the small local files that a script trains on."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from holdfast.app.check.target_request import INSPECTED
from holdfast.catalog.api.since import since
from holdfast.core.check.finding import Finding, Rule, Skip
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Document
from holdfast.core.rows.scan import Scan
from holdfast.engine.check.hub_facts import ReferenceResolver
from holdfast.engine.check.program_facts import ProgramFacts, VersionContext
from holdfast.engine.check.rule_runner import MissingFact, run_rules
from holdfast.engine.script.trained_rows import TrainedRows, find_trained_rows

SCAN = "scan"
OLDEST = "1.8.0"
"""The rules about rows say what TRL does since this release."""


def rows_at_hand(document: Document, outside: ReferenceResolver) -> TrainedRows | None:
    """Return the rows that a program trains on if they are in files of this machine."""
    rows = find_trained_rows(document)
    return rows if rows and all(outside.here.path(name) for name in rows.files.values()) else None


def check_rows(
    documents: Sequence[Document], rules: Sequence[Rule], context: VersionContext
) -> Iterator[Finding | Skip]:
    """Yield the findings about the rows that a program trains on."""
    of_rows = [rule for rule in rules if SCAN in rule.needs and not rule.needs & INSPECTED]
    outside = context.outside
    if not of_rows or outside is None:
        return
    for document in documents:
        if rows := rows_at_hand(document, outside):
            rows_document = question_of_rows(document, rows)
            yield from run_rules(of_rows, rows_document, {SCAN: _scan(document, rows_document, rows, context, outside)})


def question_of_rows(document: Document, rows: TrainedRows) -> Document:
    """Return the document for the rules about rows: the data at the place where the program names it, and the trainer's settings."""
    settings = {name: document.values[name] for name in ("method", "train") if name in document.values}
    data = {"path": rows.reference.name, "split": rows.split}
    data |= {"eval_split": rows.evaluated} if rows.evaluated else {}
    place = rows.reference.place or document.place(rows.reference.key)
    return replace(
        document,
        kind="data",
        values={**settings, "dataset": data},
        places={**document.places, ("dataset",): place},
        calls=(),
    )


def _scan(
    document: Document, rows_document: Document, rows: TrainedRows, context: VersionContext, outside: ReferenceResolver
) -> Scan | MissingFact:
    facts = ProgramFacts(context, document)
    hidden = next((each.hidden for each in facts.hidden if each.key == rows.reference.key), "")
    if hidden:
        return MissingFact(hidden)
    if not since(facts.api, "trl", OLDEST):
        return MissingFact(f"what its trainers make of rows is known from trl {OLDEST} on")
    files = {split: path for split, name in rows.files.items() if (path := outside.here.path(name))}
    from holdfast.app.inspect.small import scan_small  # which imports polars

    try:
        return scan_small(rows_document, files)
    except SourceError as error:
        return MissingFact(error.what)
