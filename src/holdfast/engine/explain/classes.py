"""The page of a class of failure in Markdown, made from its signature alone."""

from collections.abc import Iterator
from typing import Final

from holdfast.core.diagnose.diagnosis import Remedy, Signature

WIDTH: Final = 100  # characters of a log's line
SHOWN: Final = 6  # lines of a log; what fails stands last


def render_class(signature: Signature) -> str:
    """Return the page of a class of failure: what it is, what fixes it, and how a log shows it."""
    properties = f"Phase: {signature.phase} · Retry: {signature.retry.replace('-', ' ')}"
    return "\n\n".join([f"# {signature.name}", f"{signature.title}.", properties, *_sections(signature)]) + "\n"


def _sections(signature: Signature) -> Iterator[str]:
    yield signature.page.strip()
    if signature.prevented_by:
        yield f"Found before launch by: {', '.join(signature.prevented_by)} (`holdfast explain CODE`)."
    if signature.remedy:
        yield "\n".join(["## What a run may change by itself", *map(_render_remedy, signature.remedy)])
    if signature.seen:
        lines = map(_cut, signature.seen[0].strip().splitlines()[-SHOWN:])
        yield "\n".join(["## In a log", "```", *lines, "```"])
    yield f"## References\n{signature.source}"


def _render_remedy(remedy: Remedy) -> str:
    value = f" `{remedy.value}`" if remedy.value is not None else ""
    return f"- {remedy.action} `{remedy.key}`{value}"


def _cut(line: str) -> str:
    return line if len(line) <= WIDTH else f"{line[: WIDTH - 1]}…"
