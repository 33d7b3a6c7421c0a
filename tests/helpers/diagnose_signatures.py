"""Small signatures to test the engine with: what it does must not hang on the words of the real ones."""

from typing import Any

from holdfast.core.diagnose.diagnosis import Diagnosis as Found
from holdfast.core.diagnose.diagnosis import Pattern, Phase, Signature
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log


def signature(name: str, *patterns: Pattern, phase: Phase = "user", **fields: Any) -> Signature:
    words: dict[str, Any] = {
        "title": name,
        "cause": f"Because of {name}.",
        "fix": "Fix it.",
        "page": "",
        "source": "a test",
    }
    return Signature(name=name, phase=phase, patterns=patterns, **words | fields)


def found(text: str | dict[str, str], *signatures: Signature) -> Found:
    patterns = PatternIndex(signatures)
    files = {"train.log": text} if isinstance(text, str) else text
    return diagnose(read_log([(name, [each.encode()]) for name, each in files.items()], patterns.sought), patterns)


def first(text: str | dict[str, str], *signatures: Signature) -> str:
    diagnosis = found(text, *signatures)
    return diagnosis.causes[0].signature.name if diagnosis.causes else diagnosis.verdict
