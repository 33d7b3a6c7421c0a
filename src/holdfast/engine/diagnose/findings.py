"""What rules find in a job's script or file, as evidence beside its log.

A finding alone is no cause. It counts where the log tells of the same class, where it says why the log tells of another, and,
of faults that no log shows, where training ended. If a log shows nothing, what is wrong with the job is shown as a hint.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.core.check.finding import Finding, Severity
from holdfast.core.diagnose.diagnosis import HEALTHY, Diagnosis
from holdfast.core.diagnose.log import Line
from holdfast.core.text.places import Place
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.engine.diagnose.renaming import TAKES
from holdfast.signatures import all_signatures, prevented_by

AGREES: Final = 0.5
"""How much a finding says of a class that the log speaks for, too."""
EXPLAINS: Final[Mapping[str, str]] = {"pep723-header-invalid": "missing-module"}
"""Classes that are why the log tells of another: a header that no program reads installs nothing, and the first import fails."""
EXPLAINED: Final = 0.95
QUIET: Final = frozenset(
    {"DAT114", "DAT211", "DAT216", "DAT220", "DAT221", "DAT228", "DAT235", "DAT236", "HUB104", "JOB116", "MOD127"}
)
"""Rules about nothing but a class of jobs that end without a word. Other rules that prevent such a class find more."""
SURE: Final[Mapping[Severity, float]] = {Severity.ERROR: 0.8, Severity.WARNING: 0.7, Severity.INFO: 0.62}
REFUSED: Final = 0.9
"""A job that was never started for it."""
HINT: Final = 0.45
"""Below what is called a cause."""


@dataclass(frozen=True, slots=True)
class PreventiveFinding:
    """A finding, with the classes that its rule prevents."""

    finding: Finding
    classes: tuple[str, ...]

    @property
    def line(self) -> Line:
        """The line of the script that it is about, as evidence: what is written there, and what is wrong with it."""
        document = self.finding.document
        place = self.finding.place or Place(document.path if document else "")
        number = place.line or 1
        return Line(number, f"{self._written(place, number)}  [{self.code}: {self.finding.message}]", place.path)

    def _written(self, place: Place, number: int) -> str:
        """Return what is written in a line; the key if the text is not at hand, as that of a notebook's cells."""
        document = self.finding.document
        lines = document.text.splitlines() if document and not place.cell else []
        return lines[number - 1].strip() if number <= len(lines) else self.finding.key

    def is_about(self, text: str) -> bool:
        """True if a line of a log names the argument, or what else the finding is about."""
        name = self.finding.key.rpartition(".")[2]
        return bool(name) and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None

    @property
    def code(self) -> str:
        """The code of its rule; empty if no rule is known."""
        return self.finding.rule.code if self.finding.rule else ""


def findings_evidence(findings: Iterable[Finding], alone: Diagnosis, *, began: bool) -> list[ClassEvidence]:
    """Return the evidence that findings add to a log.

    Args:
        findings: The findings of rules.
        alone: What the log says by itself.
        began: Whether training took a step: then what keeps it from its first is no cause.
    """
    decisive = {cause.signature.name: cause.evidence[0].text for cause in alone.causes if cause.evidence}
    supported = list(_supported(findings, alone, began=began))
    about = {evidence.name for each, evidence in supported if each.is_about(decisive.get(evidence.name, ""))}
    return [
        evidence
        for each, evidence in supported
        if each.is_about(text := decisive.get(evidence.name, ""))
        or (evidence.name not in about and not TAKES.search(text))
    ]


def _supported(
    findings: Iterable[Finding], alone: Diagnosis, *, began: bool
) -> Iterator[tuple[PreventiveFinding, ClassEvidence]]:
    """Yield each finding with the evidence that it gives, if its rule prevents a class."""
    for finding in findings:
        named = PreventiveFinding(finding, prevented_by(finding.rule.code if finding.rule else ""))
        if named.classes:
            yield from ((named, evidence) for evidence in _finding_evidence(named, alone, began=began))


def refusal_evidence(refusals: Iterable[tuple[str, Line]]) -> list[ClassEvidence]:
    """Return the classes of the findings, and the failures of a rehearsal, for which a job was never started.

    A rule that prevents several classes does not say which one it is.

    Args:
        refusals: The code of each finding, or the class of the failure, and what it said where.
    """
    classes = {each.name for each in all_signatures()}
    named = (((code,) if code in classes else prevented_by(code), line) for code, line in refusals)
    return [ClassEvidence(name=names[0], weight=REFUSED, lines=(line,)) for names, line in named if len(names) == 1]


def _finding_evidence(named: PreventiveFinding, alone: Diagnosis, *, began: bool) -> Iterator[ClassEvidence]:
    names = [cause.signature.name for cause in alone.causes if cause.signature.name != HEALTHY]
    if agreed := _agreement(named, names):
        yield agreed
    elif _is_quiet(named.finding, alone):
        yield ClassEvidence(name=named.classes[0], weight=SURE[severity_of(named.finding)], lines=(named.line,))
    elif not names and not began and _is_hint(named, alone):
        yield ClassEvidence(name=named.classes[0], weight=HINT, lines=(named.line,), explains=True)


def _agreement(named: PreventiveFinding, names: Sequence[str]) -> ClassEvidence | None:
    """Return the evidence for the first class that a log speaks for, too, or that is why it speaks for another; None if there is none."""
    why = next((name for name in named.classes if names[:1] == [EXPLAINS.get(name)]), None)
    if why:
        return ClassEvidence(name=why, weight=EXPLAINED, lines=(named.line,), explains=True)
    agreed = next((name for name in names if name in named.classes), None)
    return ClassEvidence(name=agreed, weight=AGREES, lines=(named.line,), explains=True) if agreed else None


def _is_quiet(finding: Finding, alone: Diagnosis) -> bool:
    """True if a log is healthy, and a finding is of a fault that no log shows, and not of some rows alone."""
    if alone.verdict != "healthy" or finding.count is not None:
        return False
    return finding.rule is not None and finding.rule.code in QUIET


def _is_hint(named: PreventiveFinding, alone: Diagnosis) -> bool:
    """True if a finding may be why a log tells of nothing: an error, of one class alone."""
    return alone.verdict == "unknown" and len(named.classes) == 1 and severity_of(named.finding) is Severity.ERROR
