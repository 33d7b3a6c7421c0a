"""The model card: what is known, and what is not."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from holdfast.engine.evaluate.headlines import describe_leak
from holdfast.engine.units import render_bytes
from holdfast.results.evaluate import EvaluateResult, EvaluationFigure
from holdfast.results.export import ExportedFile

UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class CardFacts:
    """What is known of a model. What is empty is not known.

    Attributes:
        name: Its name.
        base: The model that it was trained from.
        hub_base: The name of this model on the Hub; empty if it is a folder.
        method: The method of training.
        dataset: The dataset that it was trained on.
        rows: Which of its rows, in words.
        rows_digest: The hash of these rows.
        settings: The job file with all settings.
        base_licence: The licence of the base.
        data_licence: The licence of the dataset.
        evaluations: Its evaluations, the newest first.
        files: The models that were made, with their proofs.
        versions: The versions of the libraries.
        command: The command that made them.
    """

    name: str
    base: str
    hub_base: str
    method: str
    dataset: str
    rows: str
    rows_digest: str
    settings: str
    base_licence: str
    data_licence: str
    evaluations: Sequence[EvaluateResult]
    files: Sequence[ExportedFile]
    versions: Mapping[str, str]
    command: str


def render_card(facts: CardFacts) -> str:
    """Return the card, as Markdown with the metadata that the Hub reads."""
    return (
        "\n".join(
            [*_metadata(facts), "", *_origin(facts), "", *_figures(facts), "", *_files(facts), "", *_repeat(facts)]
        )
        + "\n"
    )


def _metadata(facts: CardFacts) -> Iterator[str]:
    yield "---"
    if facts.hub_base:
        yield f"base_model: {facts.hub_base}"
    if facts.base_licence:
        yield f"license: {facts.base_licence}"
    yield "library_name: transformers"
    yield (
        "tags: ["
        + ", ".join([*([facts.method] if facts.method else []), *(["gguf"] if _has_gguf(facts) else []), "holdfast"])
        + "]"
    )
    yield "---"


def _has_gguf(facts: CardFacts) -> bool:
    return any(file.format == "gguf" and file.path for file in facts.files)


def _origin(facts: CardFacts) -> Iterator[str]:
    yield f"# {facts.name}"
    yield ""
    yield f"- trained from: {facts.base or UNKNOWN}"
    yield f"- trained on: {facts.dataset or UNKNOWN}"
    if facts.rows:
        yield f"- rows: {facts.rows}{f', sha256 `{facts.rows_digest}`' if facts.rows_digest else ''}"
    yield f"- method: {facts.method or UNKNOWN}"
    yield f"- licence of the base: {facts.base_licence or UNKNOWN}"
    yield f"- licence of the data: {facts.data_licence or UNKNOWN}"


def _figures(facts: CardFacts) -> Iterator[str]:
    yield "## Figures"
    yield ""
    evaluation = _shown(facts.evaluations)
    if evaluation is None:
        without = "No evaluation of it gave figures."
        yield without if facts.evaluations else "It was not evaluated with `holdfast evaluate`."
        yield from _failures(facts.evaluations)
        return
    yield "| dataset | metric | value | 95 % interval | rows | base | verdict |"
    yield "|---|---|---|---|---|---|---|"
    for figure in evaluation.results:
        if not figure.where and figure.value is not None:
            yield _row(figure)
    yield ""
    yield from dict.fromkeys(f"- {each}" for each in _doubts(evaluation))
    yield from _failures(takewhile(lambda each: each is not evaluation, facts.evaluations))


def _shown(evaluations: Sequence[EvaluateResult]) -> EvaluateResult | None:
    """Return the newest evaluation in which no dataset failed; if there is none, the newest with figures."""
    measured = [each for each in evaluations if each.results]
    return next((each for each in measured if not each.failed), next(iter(measured), None))


def _failures(evaluations: Iterable[EvaluateResult]) -> Iterator[str]:
    """Yield the evaluations that failed and whose figures are left out."""
    for each in evaluations:
        if each.failed:
            failed = "; ".join(f"{name}: {because}" for name, because in _failed(each).items())
            yield f"- an evaluation that failed is left out: {failed}"


def _failed(evaluation: EvaluateResult) -> dict[str, str]:
    return {each.dataset: each.because for each in evaluation.failed}


def _doubts(evaluation: EvaluateResult) -> Iterator[str]:
    """Yield what a reader has to know before believing the figures; a dataset that was measured twice says it once."""
    yield from (f"{each.dataset}: {describe_leak(each)}" for each in evaluation.leaked if each.rows)
    if evaluation.leaks_unknown:
        yield f"rows were not compared with the training data: {evaluation.leaks_unknown}"
    yield from (f"{name} failed: {because}" for name, because in _failed(evaluation).items())
    yield from (f"`{each.gate}` does not hold: {each.because}" for each in evaluation.gates if not each.passed)


def _row(figure: EvaluationFigure) -> str:
    interval = UNKNOWN if figure.low is None else f"{figure.low:.4g} to {figure.high:.4g}"
    base = figure.base
    beside = (f"{base.value:.4g}" if base and base.value is not None else "", base.verdict if base else "")
    cells = (figure.dataset, figure.metric, f"{figure.value:.4g}", interval, f"{figure.rows:,}", *beside)
    return f"| {' | '.join(cells)} |"


def _files(facts: CardFacts) -> Iterator[str]:
    yield "## Files"
    yield ""
    for file in facts.files:
        if file.path:
            yield f"- {file.quantization or 'safetensors'}: {render_bytes(file.bytes)}, {render_bytes(file.memory_bytes)} of memory"
            yield from (f"  - {check.name}: {check.because}" for check in file.checks)


def _repeat(facts: CardFacts) -> Iterator[str]:
    yield "## How to repeat"
    yield ""
    if facts.settings:
        yield "    holdfast run job.yaml"
    yield f"    {facts.command}"
    yield ""
    yield f"With {', '.join(f'{name} {version}' for name, version in facts.versions.items())}."
    if facts.settings:
        yield ""
        yield "`job.yaml`, whose paths start at its own folder; of files elsewhere, it has the names alone:"
        yield ""
        yield "```yaml"
        yield facts.settings.rstrip()
        yield "```"
