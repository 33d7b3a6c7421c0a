"""The answer of `rehearse` as people read it: each stage, why it failed, and what was not shown."""

from collections.abc import Iterator, Mapping
from textwrap import fill
from typing import Any, Final

from click import style

Answer = Mapping[str, Any]
WIDTH: Final = 110
SIGNS: Final = {"pass": ("pass", "green"), "fail": ("FAIL", "red"), "not_rehearsed": ("not", None)}
SHOWN: Final = 4
"""Lines of evidence that are shown."""
LONGEST: Final = 200  # characters of a line of evidence


def render_rehearsal(answer: Answer) -> str:
    """Tell what became of each stage of the path."""
    return "\n".join(_lines(answer))


def _lines(answer: Answer) -> Iterator[str]:
    for stage in answer["stages"]:
        sign, colour = SIGNS[stage["status"]]
        took = f"{stage['elapsed_s']:6.2f} s" if stage["status"] != "not_rehearsed" else " " * 8
        said = f"  {style(stage['because'], dim=True)}" if stage["because"] and stage["status"] != "fail" else ""
        yield f"  {stage['name']:<9} {style(f'{sign:<5}', fg=colour)}{took}{said}"
    for failure in answer["failures"]:
        yield ""
        yield from _failure(failure)
    for each in answer["warnings"]:
        yield f"{style('warning', fg='yellow')} {each['code']} in `{each['stage']}`: {each['message']}"
    if answer["not_rehearsed"]:
        yield ""
        yield style("not rehearsed", bold=True)
        yield from (f"  {each['what']}: {each['because']}" for each in answer["not_rehearsed"])
    passed = answer["verdict"] == "pass"
    yield ""
    if passed and answer["isolated"]:
        yield "nothing failed: neither data, model nor code is to blame"
    verdict = style("pass", fg="green", bold=True) if passed else style("fail", fg="red", bold=True)
    yield f"{verdict}: {answer['path']}, rehearsed in {answer['elapsed_s']:.1f} s"


def _failure(failure: Answer) -> Iterator[str]:
    at = f" at {failure['where']}" if failure["where"] else ""
    yield f"{style(failure['class'], fg='red', bold=True)} in `{failure['stage']}`{at}: {failure['title']}"
    for each in failure["evidence"][:SHOWN]:
        yield f"  {style(each['path'], dim=True)}  {each['text'][:LONGEST]}"
    yield _paragraph("why", failure["cause"])
    yield _paragraph("fix", failure["fix"])
    if failure["blamed_because"]:
        yield f"  {style('blame', dim=True)} {failure['blame']}: {failure['blamed_because']}"
    yield f"  {style('more', dim=True)} holdfast explain {failure['class']}"


def _paragraph(label: str, text: str) -> str:
    return fill(f"{label} {text}", WIDTH, initial_indent="  ", subsequent_indent="      ")
