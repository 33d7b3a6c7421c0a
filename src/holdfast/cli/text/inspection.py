"""The answer of `inspect` as people read it: what a dataset is, what is wrong with it, who can train on it, and what it looks like."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from click import style

from holdfast.cli.text.drawing import drawn
from holdfast.cli.text.findings import COLOURS
from holdfast.cli.text.inspect_pictures import draw_histogram, draw_mask
from holdfast.core.finding import Severity
from holdfast.core.scan import RewardResult
from holdfast.engine.tokens.picture import render_page, tell_figures
from holdfast.engine.units import render_counted
from holdfast.results.inspect import InspectResult, MethodReadiness, TokenReport

WIDEST_TYPE: Final = 100  # characters of a column's type; those of tools go on for pages
LISTED: Final = 20
"""Columns that are listed; a table of a thousand is no help."""


def render_inspect(answer: InspectResult) -> str:
    """Tell everything that was found out about a dataset."""
    return "\n".join(_lines(answer))


def _lines(answer: InspectResult) -> Iterator[str]:
    dataset = answer.dataset
    yield f"{style(dataset.path, bold=True)}, {dataset.split}: {dataset.rows:,} rows"
    yield from _columns(dataset.columns)
    yield f"  {style('is', dim=True)} {_what(answer)}"
    if answer.rewritten_by:
        yield f"  before `{answer.rewritten_by}` of the job rewrites the rows; `holdfast rehearse` runs it"
    if answer.method and answer.verdict == "fail":
        yield f"  judged for {answer.method}"
    yield ""
    yield from _methods(answer)
    if answer.problems:
        yield ""
    for problem in answer.problems:
        grade = "" if problem.severity is Severity.ERROR else f"{problem.severity}: "
        code = style(problem.code, fg=COLOURS[problem.severity], bold=True)
        yield f"{code} {grade}{problem.message}"
    yield from _rewards(answer.rewards)
    yield from _tokens(answer)
    yield from _mappings(answer)
    yield from _outcome(answer)


def _columns(columns: Mapping[str, str]) -> Iterator[str]:
    wide = max(map(len, list(columns)[:LISTED]), default=0)
    for name, kind in list(columns.items())[:LISTED]:
        short = kind if len(kind) <= WIDEST_TYPE else f"{kind[:WIDEST_TYPE]}…"
        yield f"  {name:{wide}}  {style(short, dim=True)}"
    if len(columns) > LISTED:
        yield f"  and {len(columns) - LISTED} more columns"


def _what(answer: InspectResult) -> str:
    types = " or ".join(answer.types)
    if not types:
        return "of no type that TRL's trainers know"
    return f"{types}, {answer.format}" if answer.format != "unknown" else types


def _methods(answer: InspectResult) -> Iterator[str]:
    """Yield a line for each method; where one is asked about, for that alone."""
    asked, shown = answer.method, _shown_mapping(answer)
    for method, found in answer.methods.items():
        if asked and method != asked:
            continue
        if found.ready:
            caveat = f": {found.caveat}" if found.caveat else ""
            yield f"{style('ready', fg='green')} {method}{caveat}{_mapped(method, found, shown)}"
        else:
            yield f"{style('not', fg='yellow')}   {method}: {found.because}{_mapped(method, found, shown)}"
            if asked and found.unmapped:
                yield f"      no mapping: {found.unmapped}"
    if not asked:
        reads = [found.unmapped for found in answer.methods.values() if found.field and found.unmapped]
        yield from (f"      {reading}" for reading in dict.fromkeys(reads))


def _mapped(method: str, found: MethodReadiness, shown: str | None) -> str:
    """Return where the mapping of a method stands: below, or in the answer about that method."""
    if not found.mapping:
        return ""
    return style("; mapping below" if method == shown else f"; `--method {method}` gives a mapping", dim=True)


def _rewards(rewards: Sequence[RewardResult]) -> Iterator[str]:
    """Yield a line for each reward function that could be asked; of the others a rule has told why."""
    for each in rewards:
        given = [reward for reward in each.rewards if reward is not None]
        if each.skipped:
            yield f"{style('reward', dim=True)} {each.name}: not asked: {each.skipped}"
        elif given:
            told = f"from {min(given):g} to {max(given):g} for {len(each.rewards)} completions"
            yield f"{style('reward', dim=True)} {each.name}: {told}"


def _tokens(answer: InspectResult) -> Iterator[str]:
    if answer.tokens is None:
        if answer.untold:
            yield f"\n{style('tokens', dim=True)} not known: {answer.untold}"
        return
    tokens = answer.tokens
    yield ""
    if answer.mapped:
        yield f"with the mapping for {answer.mapped}:"
    yield "  ".join(f"{style(name, dim=True)} {value} {note}".rstrip() for name, value, note in tell_figures(tokens))
    yield drawn(draw_histogram(tokens))
    for row in answer.samples:
        yield ""
        yield drawn(draw_mask(row))


def _mappings(answer: InspectResult) -> Iterator[str]:
    """Yield the code that makes the rows ready."""
    if method := _shown_mapping(answer):
        found = answer.methods[method]
        yield f"\n{style('#', dim=True)} for {method}: {_call(answer.dataset.path, found)}, tried on its first rows"
        yield (found.mapping or "").rstrip()


def _call(path: str, found: MethodReadiness) -> str:
    """Return the expression that applies a mapping."""
    mapped = f"map(rewrite, remove_columns={list(found.removes)})"
    if not found.field:
        return f"dataset.{mapped}"
    return f'load_dataset("json", data_files={path!r}, field={found.field!r}, split="train").{mapped}'


def _shown_mapping(answer: InspectResult) -> str | None:
    """Return the method whose mapping is printed: the one that is asked about, else, where none is ready, the first that has one."""
    asked = answer.method
    wanting = [name for name, found in answer.methods.items() if found.mapping]
    if asked:
        return asked if asked in wanting else None
    ready = any(found.ready and name not in wanting for name, found in answer.methods.items())
    return None if ready else next(iter(wanting), None)


def _outcome(answer: InspectResult) -> Iterator[str]:
    """Yield the summary: problems of the rows, and whether a method can train on them."""
    yield ""
    grades = [problem.severity for problem in answer.problems]
    counts = [render_counted(grades.count(grade), grade) for grade in COLOURS if grade in grades]
    colour = next((COLOURS[grade] for grade in COLOURS if grade in grades), "green")
    not_ready = _not_ready(answer)
    told = [style(", ".join(counts), fg=colour)] if counts else []
    told += [style(not_ready, fg="red" if answer.method else "yellow")] if not_ready else []
    yield "; ".join(told) or style("No row problems found", fg="green")


def _not_ready(answer: InspectResult) -> str:
    """Return which method is not ready: the one that is asked about, else all; empty where one is."""
    asked, methods = answer.method, answer.methods
    shown = _shown_mapping(answer)
    mapped = f"; the mapping above makes the rows ready for {shown}" if shown else ""
    if asked:
        before = f" before `{answer.rewritten_by}` rewrites the rows" if answer.rewritten_by else ""
        return "" if methods[asked].ready else f"not ready for {asked}{before}{mapped}"
    return "" if any(found.ready for found in methods.values()) else f"no method is ready{mapped}"


def render_html(answer: InspectResult, tokens: TokenReport) -> str:
    """Return the pictures of a dataset's tokens as one HTML page that loads nothing else."""
    return render_page(answer.dataset.path, tokens, answer.samples)
