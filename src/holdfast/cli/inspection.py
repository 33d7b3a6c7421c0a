"""The answer of `inspect` as people read it: what a dataset is, what is wrong with it, who can train on it, and what it looks like."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from click import style

from holdfast.cli.drawing import drawn
from holdfast.cli.findings import COLOURS
from holdfast.cli.inspect_pictures import draw_histogram, draw_mask
from holdfast.engine.inspection import read_samples, read_tokens
from holdfast.engine.tokens.picture import render_page, tell_figures

Answer = Mapping[str, Any]
WIDEST_TYPE: Final = 100  # characters of a column's type; those of tools go on for pages
LISTED: Final = 20
"""Columns that are listed; a table of a thousand is no help."""


def render_inspect(answer: Answer) -> str:
    """Tell everything that was found out about a dataset."""
    return "\n".join(_lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    dataset = answer["dataset"]
    yield f"{style(dataset['path'], bold=True)}, {dataset['split']}: {dataset['rows']:,} rows"
    yield from _columns(dataset["columns"])
    yield f"  {style('is', dim=True)} {_what(answer)}"
    yield ""
    yield from _methods(answer)
    if answer["problems"]:
        yield ""
    for problem in answer["problems"]:
        grade = "" if problem["severity"] == "error" else f"{problem['severity']}: "
        code = style(problem["code"], fg=COLOURS[problem["severity"]], bold=True)
        yield f"{code} {grade}{problem['message']}"
    yield from _rewards(answer["rewards"])
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


def _what(answer: Answer) -> str:
    types = " or ".join(answer["types"])
    if not types:
        return "of no type that a trainer of TRL knows as it is"
    return f"{types}, {answer['format']}" if answer["format"] != "unknown" else types


def _methods(answer: Answer) -> Iterator[str]:
    """Yield a line for each method; where one is asked about, for that alone."""
    asked = answer["method"]
    for method, found in answer["methods"].items():
        if asked and method != asked:
            continue
        if found["ready"]:
            caveat = f": {found['caveat']}" if found.get("caveat") else ""
            mapped = style("; mapping below", dim=True) if found.get("mapping") else ""
            yield f"{style('ready', fg='green')} {method}{caveat}{mapped}"
        else:
            mapped = style("; mapping below", dim=True) if found["mapping"] else ""
            yield f"{style('not', fg='yellow')}   {method}: {found['because']}{mapped}"


def _rewards(rewards: list[Answer]) -> Iterator[str]:
    """Yield a line for each reward function that could be asked; of the others a rule has told why."""
    for each in rewards:
        given = [reward for reward in each["rewards"] if reward is not None]
        if each["skipped"]:
            yield f"{style('reward', dim=True)} {each['name']}: not asked: {each['skipped']}"
        elif given:
            told = f"from {min(given):g} to {max(given):g} for {len(each['rewards'])} completions"
            yield f"{style('reward', dim=True)} {each['name']}: {told}"


def _tokens(answer: Answer) -> Iterator[str]:
    if answer["tokens"] is None:
        if answer["untold"]:
            yield f"\n{style('tokens', dim=True)} not known: {answer['untold']}"
        return
    tokens = read_tokens(answer["tokens"])
    yield ""
    yield "  ".join(f"{style(name, dim=True)} {value} {note}".rstrip() for name, value, note in tell_figures(tokens))
    yield drawn(draw_histogram(tokens))
    for row in read_samples(answer["samples"]):
        yield ""
        yield drawn(draw_mask(row))


def _mappings(answer: Answer) -> Iterator[str]:
    """Yield the code for the method that is asked about, else, where none is ready, for the first that some code makes so."""
    asked = answer["method"]
    wanting = {name: found for name, found in answer["methods"].items() if found.get("mapping")}
    ready = any(found["ready"] and name not in wanting for name, found in answer["methods"].items())
    chosen = [asked] if asked in wanting else [] if asked or ready else list(wanting)[:1]
    for method in chosen:
        found = wanting[method]
        yield f"\n{style('#', dim=True)} for {method}: dataset.map(rewrite, remove_columns={found['removes']}), tried on its first rows"
        yield found["mapping"].rstrip()


def _outcome(answer: Answer) -> Iterator[str]:
    errors = sum(problem["severity"] == "error" for problem in answer["problems"])
    asked = answer["method"]
    unready = bool(asked) and not answer["methods"][asked]["ready"]
    told = [f"{errors} error{'' if errors == 1 else 's'}"] if errors else []
    told += [f"not ready for {asked}"] if unready else []
    yield ""
    yield (
        style(", ".join(told), fg="red") if told else style("nothing in the rows keeps a trainer from them", fg="green")
    )


def render_html(answer: Answer) -> str:
    """Return the pictures of an answer as one HTML page that needs nothing beside itself."""
    return render_page(answer["dataset"]["path"], read_tokens(answer["tokens"]), read_samples(answer["samples"]))
