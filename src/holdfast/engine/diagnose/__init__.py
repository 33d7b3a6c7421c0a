"""Why a job failed: the cause that its logs tell, with the lines that say so, or what is missing to know.

A log is read and judged with the patterns of the same signatures: `diagnose(read_log(files, patterns.sought), patterns)`.
"""

from collections.abc import Sequence

from holdfast.core.diagnose.diagnosis import HEALTHY, Diagnosis
from holdfast.core.diagnose.log import Log
from holdfast.engine.diagnose.answering import answer, is_identified, with_guesses
from holdfast.engine.diagnose.attempts import LEDGER
from holdfast.engine.diagnose.declared import DeclaredTraining, ruled_out
from holdfast.engine.diagnose.endings import ENDING
from holdfast.engine.diagnose.guessing import guess
from holdfast.engine.diagnose.judging import rank
from holdfast.engine.diagnose.matching import PatternIndex
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.engine.diagnose.raised import find_raised, with_low_confidence
from holdfast.engine.diagnose.reading import read_log
from holdfast.engine.diagnose.silent import find_silent
from holdfast.engine.diagnose.subjects import subject_of
from holdfast.engine.diagnose.waits import absent_ranks

__all__ = ["PatternIndex", "diagnose", "read_log"]


def diagnose(
    log: Log, patterns: PatternIndex, beside: Sequence[ClassEvidence] = (), declared: DeclaredTraining | None = None
) -> Diagnosis:
    """Return the diagnosis of a job's log.

    Args:
        log: What `read_log` made of the job's files with these patterns.
        patterns: The signatures' patterns.
        beside: Evidence from elsewhere, such as the job's own script.
        declared: The training that was requested, where it is known: it excludes classes, and names the method.
    """
    matches = list(patterns.matches(log))
    raised = find_raised(log)
    evidence = _evidence(log, beside)
    excluded = _excluded(declared, patterns, beside)
    ranked = rank(log, matches, evidence, patterns.signatures, excluded)
    if not is_identified(ranked) and (begun := patterns.beginnings.find(log)):
        ranked = rank(log, matches, [*evidence, *begun], patterns.signatures, excluded)
    candidates = with_low_confidence(ranked, raised, patterns.signatures, log)
    echoes = [match for match in matches if match.pattern.role == "echo"]
    found = answer(log, candidates, echoes, raised, {**subject_of(log, declared), **absent_ranks(log)})
    return found if found.verdict != "unknown" else with_guesses(found, guess(log, matches, patterns))


def _evidence(log: Log, beside: Sequence[ClassEvidence]) -> list[ClassEvidence]:
    """Return the evidence of the metrics and from elsewhere. No metrics make a process healthy that is known not to have ended well."""
    died = any(line.path in (ENDING, LEDGER) for each in beside for line in each.lines)
    silent = [each for each in find_silent(log) if each.name != HEALTHY or not died]
    return [*silent, *beside]


def _excluded(
    declared: DeclaredTraining | None, patterns: PatternIndex, beside: Sequence[ClassEvidence]
) -> frozenset[str]:
    """Return the classes that the requested training excludes, and that nothing from elsewhere speaks for."""
    if declared is None:
        return frozenset()
    return ruled_out(declared, patterns.signatures) - {each.name for each in beside}
