"""What was found out about a dataset, and the answer of `inspect` as JSON, to the letter of `contract.md` §2."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from holdfast.catalog.formats import DEFAULTS, ColumnSettings, judge
from holdfast.core.columns import Type
from holdfast.core.finding import Finding, Severity, Skip
from holdfast.core.methods import Method
from holdfast.core.scan import Lengths, MaskedRow, RewardResult, RowCount, Scan, TokenPiece, Tokens
from holdfast.core.shape import Readiness, Shape
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.mapping import propose

SCHEMA = 1
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
        path: The dataset, as it was asked for.
        split: The split.
        shape: What TRL would take it for.
        methods: Whether each method can train on it.
        scan: What reading every row showed.
        method: The method that was asked for; None where none was.
        tokens: What a model's tokenizer makes of the rows; None where no model was named, or nobody could tell.
        untold: Why there are no tokens.
        mapped: The method whose mapping went over the rows before their tokens were counted; None where none did.
        masked: Sample rows as the model is shown them.
        rewarded: What reward functions gave for sample rows.
        findings: What the rules object to.
        skips: Those that could not be asked.
    """

    path: str
    split: str
    shape: Shape
    methods: Mapping[Method, Readiness]
    scan: Scan
    method: Method | None = None
    tokens: Tokens | None = None
    untold: str = ""
    mapped: Method | None = None
    masked: tuple[MaskedRow, ...] = ()
    rewarded: tuple[RewardResult, ...] = ()
    findings: tuple[Finding, ...] = ()
    skips: tuple[Skip, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether something is an error, or the method that was asked for is not ready."""
        errors = any(severity_of(finding) is Severity.ERROR for finding in self.findings)
        return errors or (self.method is not None and not self.methods[self.method].ready)


def usual_method(shape: Shape) -> Method | None:
    """Return the method that such a dataset is mostly used for; None where no trainer knows it.

    >>> usual_method(Shape(types=("preference",)))
    <Method.DPO: 'dpo'>
    """
    return next((USUAL[each] for each in shape.types if each in USUAL), None)


def judge_methods(
    columns: Mapping[str, Type],
    shape: Shape,
    samples: Sequence[Mapping[str, Any]],
    settings: ColumnSettings = DEFAULTS,
    methods: Sequence[Method] = tuple(Method),
) -> dict[Method, Readiness]:
    """Return for each method whether it can train on a dataset, and else the code that makes it so, where that is known."""
    return {method: _judge(method, columns, shape, samples, settings) for method in methods}


def _judge(
    method: Method,
    columns: Mapping[str, Type],
    shape: Shape,
    samples: Sequence[Mapping[str, Any]],
    settings: ColumnSettings,
) -> Readiness:
    found = judge(method, columns, shape, settings)
    if found.ready and not found.caveat:
        return found
    proposal = propose(method, columns, shape, samples, settings)
    return replace(found, mapping=proposal.source, removes=proposal.removes, unmapped=proposal.because)


def answer_inspect(found: Inspection) -> dict[str, Any]:
    """Return what was found out."""
    return {
        "schema": SCHEMA,
        "verb": "inspect",
        "verdict": "fail" if found.fails else "pass",
        "dataset": {
            "path": found.path,
            "split": found.split,
            "rows": found.scan.rows,
            "columns": {name: str(kind) for name, kind in found.scan.columns.items()},
        },
        "format": found.shape.format,
        "types": list(found.shape.types),
        "method": found.method.value if found.method else None,
        "methods": {method.value: dict(_readiness(each)) for method, each in found.methods.items()},
        "problems": [_problem(finding) for finding in found.findings],
        "skipped": [
            {"code": each.rule.code, "missing": list(each.missing), "because": each.because} for each in found.skips
        ],
        "tokens": _tokens(found.tokens) if found.tokens else None,
        "untold": found.untold,
        "mapped": found.mapped.value if found.mapped else None,
        "samples": [asdict(row) for row in found.masked],
        "rewards": [asdict(each) for each in found.rewarded],
    }


def _readiness(found: Readiness) -> Iterator[tuple[str, Any]]:
    yield "ready", found.ready
    if found.ready:
        if not found.caveat:
            return
        yield "caveat", found.caveat
    else:
        yield "because", found.because
    yield "mapping", found.mapping
    yield "removes", list(found.removes)
    if found.unmapped:
        yield "unmapped", found.unmapped


def _problem(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.rule.code if finding.rule else "",
        "name": finding.rule.name if finding.rule else "",
        "severity": severity_of(finding).value,
        "message": finding.message,
        "rows": list(finding.rows),
        "count": finding.count,
    }


def _tokens(tokens: Tokens) -> dict[str, Any]:
    told = {name: value for name, value in asdict(tokens).items() if name not in ("lengths", *COUNTS)}
    counts = {name: getattr(tokens, name).count for name in COUNTS}
    cut = round(tokens.truncated / tokens.rows, 4) if tokens.rows else 0.0
    return {**asdict(tokens.lengths), **told, **counts, "truncated_fraction": cut}


def read_tokens(told: Mapping[str, Any]) -> Tokens:
    """Return the tokens of an answer again, for pictures of them; which rows are counted is not told there."""
    lengths = Lengths(**{each.name: told[each.name] for each in fields(Lengths)})
    counts: dict[str, Any] = {name: RowCount(told[name]) for name in COUNTS}
    plain = {each.name: told[each.name] for each in fields(Tokens) if each.name not in ("lengths", *COUNTS)}
    return Tokens(lengths=lengths, **plain, **counts)


def read_samples(told: Sequence[Mapping[str, Any]]) -> tuple[MaskedRow, ...]:
    """Return the sample rows of an answer again."""
    return tuple(
        MaskedRow(row["row"], row["part"], tuple(TokenPiece(**each) for each in row["pieces"])) for row in told
    )
