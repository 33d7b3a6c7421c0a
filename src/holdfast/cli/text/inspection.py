"""The result of `inspect` as text: the format of a dataset, its problems, the methods that it fits, and its tokens."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

from click import style

from holdfast.cli.text.drawing import drawn
from holdfast.cli.text.findings import COLOURS, count_by_severity
from holdfast.cli.text.inspect_pictures import draw_histogram, draw_mask
from holdfast.core.check.finding import Severity
from holdfast.core.rows.scan import SOME_ROWS, RewardResult, RowCount
from holdfast.engine.report.rows import describe_preparation
from holdfast.engine.tokens.picture import figure_lines, render_page
from holdfast.engine.units import render_counted
from holdfast.results.check import ReportedSkip
from holdfast.results.inspect import (
    DroppedRows,
    ImageReport,
    InspectedDataset,
    InspectResult,
    MethodReadiness,
    PreparedRows,
    TokenReport,
)

WIDEST_TYPE: Final = 100  # characters of a column's type; those of tools go on for pages
UNNAMED: Final = re.compile(r"Unnamed: \d+$")
"""The name that readers of tables give a column without one."""
LACKING = {"null": "null", "blank": "blank", "empty": "an empty list"}
NOTED: Final = {"json": "json, values of several types"}
"""What is said of a type that is no word of JSON or Python."""
LISTED: Final = 20
"""The most columns that are listed."""


def render_inspect(result: InspectResult) -> str:
    """Return everything that was found out about a dataset."""
    return "\n".join(_lines(result))


def _lines(result: InspectResult) -> Iterator[str]:
    dataset = result.dataset
    if _is_unread(result):
        yield style(dataset.path, bold=True)
    else:
        yield from _about(result)
    yield from _images(result.images)
    if result.problems:
        yield ""
    for problem in result.problems:
        grade = "" if problem.severity is Severity.ERROR else f"{problem.severity}: "
        code = style(problem.code, fg=COLOURS[problem.severity], bold=True)
        yield f"{code} {grade}{problem.message}"
    yield from _skips(result)
    yield from _rewards(result.rewards)
    yield from _tokens(result)
    yield from _mappings(result)
    yield from _outcome(result)


def _is_unread(result: InspectResult) -> bool:
    """True if there are no rows, but only the reason: no such split, or nothing that can be read."""
    return not result.dataset.columns and _has_errors(result)


def _has_errors(result: InspectResult) -> bool:
    return any(problem.severity is Severity.ERROR for problem in result.problems)


def _about(result: InspectResult) -> Iterator[str]:
    """Yield the dataset's columns, its format, and the methods that it fits."""
    dataset = result.dataset
    yield f"{style(dataset.path, bold=True)}, {dataset.split}: {_counted(result)}"
    yield from _columns(dataset)
    yield f"  {style('is', dim=True)} {_what(result)}"
    yield from _prepared(result.prepared)
    if result.rewritten_by:
        yield f"  these are the rows before the job's `{result.rewritten_by}` rewrites them; `holdfast rehearse` runs it"
    if result.method and result.verdict == "fail":
        yield f"  checked for {result.method}"
    yield ""
    yield from _methods(result)


def _prepared(prepared: PreparedRows | None) -> Iterator[str]:
    """Yield how rows that holdfast prepared came to be."""
    if prepared is None:
        return
    kept = {"written": "written now: ", "kept": "kept, since nothing has changed: ", None: ""}[prepared.saved]
    yield f"  {kept}{describe_preparation(prepared.sources, prepared.rewritten_by, prepared.chosen)}"
    if prepared.changed:
        yield f"  changed since they were prepared: {', '.join(prepared.changed)}"


def _counted(result: InspectResult) -> str:
    """Return how many rows there are; where some are named by number, from which number they count, since lines of files count from 1."""
    named = any(each.rows for each in result.problems) or any(result.dataset.lacking.values())
    return render_counted(result.dataset.rows, "row") + (", numbered from 0" if named else "")


def _images(images: ImageReport | None) -> Iterator[str]:
    """Yield a line about the images."""
    if images is None:
        return
    parts = [f"{count:,} {name}" for name, count in images.formats.items()]
    if images.images:
        parts.append(f"{_span(images.widths)} x {_span(images.heights)} pixels")
    if images.tokens:
        parts.append(f"{_span(images.tokens)} tokens a row")
    if images.untold:
        parts.append(f"not known: {images.untold}")
    if parts:
        yield f"\n{style('images', dim=True)} {', '.join(parts)}"


def _span(ends: tuple[int, int]) -> str:
    """Return the least and the greatest of some numbers.

    >>> _span((32, 32)), _span((32, 1024))
    ('32', '32 to 1,024')
    """
    low, high = ends
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _skips(result: InspectResult) -> Iterator[str]:
    """Yield a line for each reason why rules about rows could not judge them."""
    reasons = dict[tuple[str, str], list[str]]()
    for skip in _skipped(result):
        reasons.setdefault((", ".join(skip.missing), skip.because), []).append(skip.code)
    if reasons and not result.problems:
        yield ""
    for (missing, because), codes in reasons.items():
        yield f"{style(', '.join(codes) + ' skipped', dim=True)}: needs {missing} ({because})"


def _skipped(result: InspectResult) -> list[ReportedSkip]:
    """Return the rules that could not judge the rows; without a model, those about tokens are not expected to."""
    return [skip for skip in result.skipped if "tokens" not in skip.missing]


def _lacking(dataset: InspectedDataset, name: str) -> Iterator[str]:
    """Yield in how many rows a column has no usable value, and the first of them."""
    for each in dataset.lacking.get(name, ()):
        yield f"{LACKING[each.kind]} in {RowCount(each.count, tuple(each.rows)).among(dataset.rows)}"


def _columns(dataset: InspectedDataset) -> Iterator[str]:
    columns = dataset.columns
    listed = [(name if name == name.strip() else repr(name), kind) for name, kind in list(columns.items())[:LISTED]]
    wide = max((len(name) for name, _ in listed), default=0)
    for name, kind in listed:
        yield f"  {name:{wide}}  {_column(name, kind, dataset)}"
    if len(columns) > LISTED:
        yield f"  and {len(columns) - LISTED} more columns"


def _column(name: str, kind: str, dataset: InspectedDataset) -> str:
    """Return the type of a column, and what is unusual about it."""
    short = NOTED.get(kind, kind) if len(kind) <= WIDEST_TYPE else f"{kind[:WIDEST_TYPE]}…"
    note = style("  an unnamed column, such as the index of a table", dim=True) if UNNAMED.match(name) else ""
    lacking = "".join(f"  {each}" for each in _lacking(dataset, name))
    return f"{style(short, dim=True)}{note}{style(lacking, fg='yellow')}"


def _what(result: InspectResult) -> str:
    types = " or ".join(result.types)
    if not types:
        return "not of a type that TRL's trainers know"
    return f"{types}, {result.format}" if result.format != "unknown" else types


def _methods(result: InspectResult) -> Iterator[str]:
    """Yield a line for each method, or only for the requested one."""
    shown = _shown_mapping(result)
    for method, found in result.methods.items():
        if not result.method or method == result.method:
            mapped = _mapped(method, found, shown)
            yield f"{_ready(method, found, result)}{mapped}" if found.ready else f"{_unready(method, found)}{mapped}"
    if result.method:
        yield from _unmapped(result.methods[result.method])
    else:
        yield from _first_reading(result.methods.values())


def _ready(method: str, found: MethodReadiness, result: InspectResult) -> str:
    faulty = _has_errors(result)
    caveat = f", but {found.caveat}" if found.caveat else ""
    once = ", once the errors below are corrected" if faulty else ""
    return f"{style('ready', fg='yellow' if faulty or caveat else 'green')} {method}{once}{caveat}"


def _unready(method: str, found: MethodReadiness) -> str:
    return f"{style('not', fg='yellow')}   {method}: {found.because}"


def _unmapped(found: MethodReadiness) -> Iterator[str]:
    """Yield why the requested method has no mapping."""
    if found.unmapped and not found.ready:
        yield f"      no mapping: {found.unmapped}"


def _first_reading(methods: Iterable[MethodReadiness]) -> Iterator[str]:
    """Yield how the rows within a column could be read, from the first method that says so."""
    reads = (found.unmapped for found in methods if found.field and found.unmapped)
    yield from (f"      {reading}" for reading in islice(reads, 1))


def _mapped(method: str, readiness: MethodReadiness, shown: str | None) -> str:
    """Return where the mapping of a method is: below, or in the answer for that method alone."""
    if not readiness.mapping:
        return ""
    return style("; mapping below" if method == shown else f"; `--method {method}` gives a mapping", dim=True)


def _rewards(rewards: Sequence[RewardResult]) -> Iterator[str]:
    """Yield a line for each reward function that was called; for the others, a rule reports why."""
    for each in rewards:
        given = [reward for reward in each.rewards if reward is not None]
        if each.skipped:
            yield f"{style('reward', dim=True)} {each.name}: not called: {each.skipped}"
        elif given:
            span = f"from {min(given):g} to {max(given):g} for {len(each.rewards)} completions"
            yield f"{style('reward', dim=True)} {each.name}: {span}"


def _tokens(result: InspectResult) -> Iterator[str]:
    if result.tokens is None:
        if result.untold:
            yield f"\n{style('tokens', dim=True)} not known: {result.untold}"
        return
    tokens = result.tokens
    if tokens.rows and tokens.failed == tokens.rows:  # there is no length that half of none have
        yield f"\n{style('tokens', dim=True)} not known: no row can be tokenized"
        return
    yield ""
    if result.mapped:
        yield f"with the mapping for {result.mapped}:"
    yield "  ".join(f"{style(name, dim=True)} {value} {note}".rstrip() for name, value, note in figure_lines(tokens))
    yield drawn(draw_histogram(tokens))
    for row in result.samples:
        yield ""
        yield drawn(draw_mask(row))


def _mappings(result: InspectResult) -> Iterator[str]:
    """Yield the code that makes the rows ready."""
    if method := _shown_mapping(result):
        found = result.methods[method]
        yield f"\n{style('#', dim=True)} for {method}: {render_call(result.dataset.path, found)}, tested on its first rows"
        for columns, dropped in _drops(found.drops):
            rows = f"{', '.join(map(str, dropped.rows[:SOME_ROWS]))}{', …' if dropped.count > SOME_ROWS else ''}"
            counted = render_counted(dropped.count, "row")
            yield f"{style('#', dim=True)} `keep` leaves out {counted} without a usable value in {columns}: {rows}"
        yield (found.mapping or "").rstrip()


def _drops(drops: Mapping[str, DroppedRows]) -> list[tuple[str, DroppedRows]]:
    """Return the rows that a mapping leaves out, with the columns: those of several columns once."""
    columns = dict[tuple[int, ...], list[str]]()
    for column, dropped in drops.items():
        columns.setdefault((dropped.count, *dropped.rows), []).append(f"`{column}`")
    return [(" and ".join(names), DroppedRows(count=key[0], rows=key[1:])) for key, names in columns.items()]


def render_call(path: str, readiness: MethodReadiness) -> str:
    """Return the expression that applies a mapping."""
    cast = "".join(f'cast_column({name!r}, Value("string")).' for name in readiness.casts)
    kept = "filter(keep)." if readiness.drops else ""
    removed = f", remove_columns={list(readiness.removes)}" if readiness.removes else ""
    mapped = f"{cast}{kept}map(rewrite{removed})"
    if not readiness.field:
        return f"dataset.{mapped}"
    return f'load_dataset("json", data_files={path!r}, field={readiness.field!r}, split="train").{mapped}'


def _shown_mapping(result: InspectResult) -> str | None:
    """Return the method whose mapping is printed: the requested one, or, if no method is ready, the first that has a mapping."""
    method_wanted = result.method
    wanting = [name for name, found in result.methods.items() if found.mapping]
    if method_wanted:
        return method_wanted if method_wanted in wanting else None
    ready = any(found.ready and name not in wanting for name, found in result.methods.items())
    return None if ready else next(iter(wanting), None)


def _outcome(result: InspectResult) -> Iterator[str]:
    """Yield the summary: problems of the rows, and whether a method can train on them."""
    yield ""
    parts = [*_outcome_parts(result)] or [style("No row problems found", fg="green")]
    if result.untold:
        parts.append(style("tokens not counted", fg="yellow"))
    yield "; ".join(parts)


def _outcome_parts(result: InspectResult) -> Iterator[str]:
    counts, colour = count_by_severity([problem.severity for problem in result.problems])
    if counts:
        yield style(", ".join(counts), fg=colour)
    if not_ready := _not_ready(result):
        yield style(not_ready, fg="red" if result.method else "yellow")
    yield from _skipped_parts(result)


def _skipped_parts(result: InspectResult) -> Iterator[str]:
    if skipped := len(_skipped(result)):
        yield style(f"{render_counted(skipped, 'rule')} skipped", fg="yellow")
        if not result.problems:
            yield "no other row problems found"


def _not_ready(result: InspectResult) -> str:
    """The sentence that the requested method, or every method, is not ready; empty otherwise."""
    if result.method:
        return _requested_not_ready(result, result.method)
    ready = [found for found in result.methods.values() if found.ready]
    if not ready:
        return f"no method is ready{_mapping_above(result)}"
    return "no method is ready without the caveat above" if all(found.caveat for found in ready) else ""


def _requested_not_ready(result: InspectResult, method: str) -> str:
    if result.methods[method].ready:
        return ""
    before = f" before `{result.rewritten_by}` rewrites the rows" if result.rewritten_by else ""
    return f"not ready for {method}{before}{_mapping_above(result)}"


def _mapping_above(result: InspectResult) -> str:
    """The sentence that the printed mapping makes the rows ready; empty if none is printed."""
    shown = _shown_mapping(result)
    but = ", except for the errors" if _has_errors(result) else ""
    return f"; the mapping above makes the rows ready for {shown}{but}" if shown else ""


def render_html(result: InspectResult, tokens: TokenReport) -> str:
    """Return the pictures of a dataset's tokens as one HTML page that loads nothing else."""
    return render_page(result.dataset.path, tokens, result.samples)
