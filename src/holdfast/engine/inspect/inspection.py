"""What was found out about a dataset, and the result of `inspect` made from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from holdfast.catalog.formats import DEFAULTS, ColumnSettings, judge
from holdfast.core.check.finding import Finding, Severity, Skip
from holdfast.core.job.methods import Method
from holdfast.core.rows.columns import Type
from holdfast.core.rows.image_scan import ImageScan
from holdfast.core.rows.scan import MaskedRow, RewardResult, RowCount, Scan, Tokens
from holdfast.core.rows.shape import Readiness, Shape
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.mapping import Proposal, propose, strange_rows
from holdfast.results.check import ReportedSkip
from holdfast.results.inspect import (
    DroppedRows,
    ImageReport,
    InspectedDataset,
    InspectResult,
    LackingValues,
    MethodReadiness,
    RowProblem,
    TokenReport,
)

USUAL: Mapping[str, Method] = {
    "language modeling": Method.SFT,
    "prompt-completion": Method.SFT,
    "preference": Method.DPO,
    "unpaired preference": Method.KTO,
    "prompt-only": Method.GRPO,
}
"""The method that a dataset of each type is mostly used for."""
COUNTS = (
    "masked", "dropped", "without_end", "doubled_start", "beyond", "unmarked", "failed", "diverged", "omitted", "omitted_last",
    "spelled", "beyond_positions",
)  # fmt: skip
"""Of tokens, what is counted together with the first rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Inspection:
    """What was found out about one split of a dataset.

    Attributes:
        path: The dataset, as it was requested.
        split: The split.
        shape: What TRL would take it for.
        methods: Whether each method can train on it.
        scan: What reading every row showed.
        method: The method that was requested; None if none was.
        tokens: What a model's tokenizer makes of the rows; None if no model was named, or they could not be counted.
        no_tokens_because: Why there are no tokens.
        mapped: The method whose mapping went over the rows before their tokens were counted; None if none did.
        masked: Sample rows as the model is shown them.
        rewarded: What reward functions gave for sample rows.
        rewritten_by: The job's function that rewrites the rows before a trainer reads them; empty if there is none.
        images: What reading the images showed; None if there are none.
        findings: What the rules object to.
        skips: Those that could not be run.
    """

    path: str
    split: str
    shape: Shape
    methods: Mapping[Method, Readiness]
    scan: Scan
    method: Method | None = None
    tokens: Tokens | None = None
    no_tokens_because: str = ""
    mapped: Method | None = None
    masked: tuple[MaskedRow, ...] = ()
    rewarded: tuple[RewardResult, ...] = ()
    rewritten_by: str = ""
    images: ImageScan | None = None
    findings: tuple[Finding, ...] = ()
    skips: tuple[Skip, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether something is an error, or the method that was requested is not ready and nothing rewrites the rows for it."""
        errors = any(severity_of(finding) is Severity.ERROR for finding in self.findings)
        unready = self.method is not None and not self.methods[self.method].ready
        return errors or (unready and not self.rewritten_by)


def usual_method(shape: Shape) -> Method | None:
    """Return the method that such a dataset is mostly used for; None if no trainer knows it.

    >>> usual_method(Shape(types=("preference",)))
    <Method.DPO: 'dpo'>
    """
    return next((USUAL[each] for each in shape.types if each in USUAL), None)


def judge_methods(
    columns: Mapping[str, Type],
    shape: Shape,
    samples: Sequence[Mapping[str, Any]],
    settings: ColumnSettings = DEFAULTS,
    scan: Scan | None = None,
) -> dict[Method, Readiness]:
    """Return for each method whether it can train on a dataset, and else the code that makes it so, where that is known."""
    found = {method: judge(method, columns, shape, settings) for method in Method}
    lacking = replace(scan.lacking, strange=strange_rows(scan.marked)) if scan else None
    return {
        method: _mapped(each, propose(method, columns, shape, samples, settings, lacking))
        for method, each in found.items()
    }


def _mapped(found: Readiness, proposal: Proposal) -> Readiness:
    return replace(
        found,
        mapping=proposal.source,
        removes=proposal.removes,
        casts=proposal.casts,
        drops=proposal.drops,
        field=proposal.field,
        unmapped=proposal.because,
    )


def inspect_result(inspection: Inspection) -> InspectResult:
    """Return the result of an inspection."""
    return InspectResult(
        verb="inspect",
        verdict="fail" if inspection.fails else "pass",
        dataset=InspectedDataset(
            path=inspection.path,
            split=inspection.split,
            rows=inspection.scan.rows,
            columns={name: str(kind) for name, kind in inspection.scan.columns.items()},
            lacking=_lacking(inspection.scan),
        ),
        format=inspection.shape.format,
        types=inspection.shape.types,
        method=inspection.method,
        methods={method.value: _readiness(each) for method, each in inspection.methods.items()},
        problems=[_problem(finding) for finding in inspection.findings],
        skipped=[
            ReportedSkip(code=each.rule.code, missing=each.missing, because=each.because, reasons=each.reasons)
            for each in inspection.skips
        ],
        tokens=report_tokens(inspection.tokens) if inspection.tokens else None,
        untold=inspection.no_tokens_because,
        mapped=inspection.mapped,
        samples=inspection.masked,
        rewards=inspection.rewarded,
        rewritten_by=inspection.rewritten_by,
        images=_images(inspection.images) if inspection.images else None,
    )


def _images(scan: ImageScan) -> ImageReport:
    return ImageReport(
        images=scan.images,
        formats=scan.formats,
        widths=scan.widths,
        heights=scan.heights,
        tokens=scan.tokens,
        untold=scan.unread or scan.uncounted,
    )


def _lacking(scan: Scan) -> dict[str, list[LackingValues]]:
    """Return the rows without a usable value, by column."""
    counts: tuple[tuple[Literal["null", "blank", "empty"], Mapping[str, RowCount]], ...] = (
        ("null", scan.lacking.nulls),
        ("blank", scan.lacking.blanks),
        ("empty", scan.lacking.empties),
    )
    every = {
        name: [
            LackingValues(kind=kind, count=found[name].count, rows=found[name].rows)
            for kind, found in counts
            if name in found
        ]
        for name in scan.columns
    }
    return {name: values for name, values in every.items() if values}


def _readiness(readiness: Readiness) -> MethodReadiness:
    return MethodReadiness(
        ready=readiness.ready,
        because=readiness.because,
        caveat=readiness.caveat,
        mapping=readiness.mapping,
        removes=readiness.removes,
        casts=readiness.casts,
        drops={name: DroppedRows(count=each.count, rows=each.rows) for name, each in readiness.drops.items()},
        field=readiness.field,
        unmapped=readiness.unmapped,
    )


def _problem(finding: Finding) -> RowProblem:
    return RowProblem(
        code=finding.rule.code if finding.rule else "",
        name=finding.rule.name if finding.rule else "",
        severity=severity_of(finding),
        message=finding.message,
        rows=finding.rows,
        count=finding.count,
    )


def report_tokens(tokens: Tokens) -> TokenReport:
    """Return the token counts for a report, without row numbers."""
    counted: dict[str, Any] = {name: getattr(tokens, name).count for name in COUNTS}
    plain = {each.name: getattr(tokens, each.name) for each in fields(tokens)}
    lengths = {each.name: getattr(tokens.lengths, each.name) for each in fields(tokens.lengths)}
    cut = round(tokens.truncated / tokens.rows, 4) if tokens.rows else 0.0
    del plain["lengths"], plain["problems"]
    return TokenReport(**{**lengths, "problem": tokens.problem, **plain, **counted, "truncated_fraction": cut})
