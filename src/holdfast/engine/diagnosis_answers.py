"""The answer of `diagnose` as JSON, to the letter of `contract.md` §2, and the page of a class of failure."""

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.core.diagnosis import Cause, Diagnosis, Evidence, Remedy, Signature

SCHEMA = 1


def answer_diagnose(found: Diagnosis, paths: Sequence[str]) -> dict[str, Any]:
    """Return what was found out from some logs."""
    return {
        "schema": SCHEMA,
        "verb": "diagnose",
        "verdict": found.verdict,
        "causes": [_cause(cause) for cause in found.causes],
        "missing": list(found.missing),
        "paths": list(paths),
        "lines": found.lines,
        "versions": dict(found.versions),
    }


def _cause(cause: Cause) -> dict[str, Any]:
    signature = cause.signature
    return {
        "class": signature.name,
        "title": signature.title,
        "phase": signature.phase,
        "confidence": cause.confidence,
        "evidence": [_evidence(each) for each in cause.evidence],
        "cause": cause.cause,
        "fix": cause.fix,
        "retry": signature.retry,
        "remedy": [_remedy(each) for each in cause.remedy] or None,
        "prevented_by": list(signature.prevented_by),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    return {"path": evidence.path, "line": evidence.line, "text": evidence.text, "rank": evidence.rank}


def _remedy(remedy: Remedy) -> dict[str, Any]:
    """Return a change; from which value to which is known only where the job is at hand."""
    return {"key": remedy.key, "action": remedy.action, "to": remedy.value}


def render_class(signature: Signature) -> str:
    """Return the page of a class of failure in Markdown: what it is, how a log shows it, what is known of it."""
    return "\n".join([*_page(signature)]).rstrip() + "\n"


def _page(signature: Signature) -> Iterator[str]:
    yield f"# {signature.name}"
    yield f"\n{signature.title}.\n"
    yield f"Strikes: {signature.phase} · another attempt helps: {signature.retry.replace('-', ' ')}"
    yield f"\n{signature.page.strip()}"
    if signature.prevented_by:
        yield f"\nFound before launch by: {', '.join(signature.prevented_by)} (`holdfast explain CODE`)."
    if signature.remedy:
        yield "\n## What can be changed without asking\n"
        yield from (_change(remedy) for remedy in signature.remedy)
    if signature.seen:
        yield "\n## How a log shows it"
        yield from (f"\n```\n{text.strip()}\n```" for text in signature.seen)
    if signature.not_seen:
        yield "\n## What looks like it, and is not"
        yield from (f"\n```\n{text.strip()}\n```" for text in signature.not_seen)
    yield f"\nSource: {signature.source}"


def _change(remedy: Remedy) -> str:
    value = f" `{remedy.value}`" if remedy.value is not None else ""
    return f"- {remedy.action} `{remedy.key}`{value}"
