"""Runs rules: each gets the facts that its parameters name, and reports findings, passes, or is skipped."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from holdfast.core.check.facts import HUB_FACTS
from holdfast.core.check.finding import Finding, Fix, MissingFactError, Rule, Severity, Skip
from holdfast.core.check.strict_document import StrictDocument
from holdfast.core.job.document import Document, Unknown, parse_key
from holdfast.core.outcome import Raised, outcome_of
from holdfast.core.text.places import Place

BROKEN: Final = "the rule itself broke, which is a bug of holdfast's to report"


@dataclass(frozen=True, slots=True)
class MissingFact:
    """In place of a fact: why there is none."""

    because: str


def select(rules: Iterable[Rule], *, only: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> Iterator[Rule]:
    """Yield the rules whose code starts with a prefix in `only` and with none in `ignore`."""
    for rule in rules:
        if rule.code.startswith(only or ("",)) and not rule.code.startswith(ignore):
            yield rule


def needed_facts(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the names of the facts that the rules ask for, beside the job itself."""
    return frozenset[str]().union(*(rule.needs for rule in rules)) - {"job"}


class RuleRunner:
    """Runs rules on one document, each time with other facts.

    Attributes:
        document: The document.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self._strict = StrictDocument.of(document)

    def run(self, rules: Iterable[Rule], facts: Mapping[str, object | MissingFact]) -> Iterator[Finding | Skip]:
        """Yield the findings of rules, and why others are skipped.

        Args:
            rules: The rules.
            facts: What is known of the world outside, by the rules' parameter names.
        """
        known = {**facts, "job": self._strict}
        for rule in rules:
            if self.document.kind in rule.kinds:
                self._strict.hidden_reads.clear()
                yield from _run(rule, self.document, known, self._strict.hidden_reads)


def run_rules(
    rules: Iterable[Rule], document: Document, facts: Mapping[str, object | MissingFact]
) -> Iterator[Finding | Skip]:
    """Yield the findings of rules for a document that they are run on once, and why others are skipped."""
    return RuleRunner(document).run(rules, facts)


def severity_of(finding: Finding) -> Severity:
    """Return a finding's severity: its own, else its rule's."""
    return finding.severity or (finding.rule.severity if finding.rule else Severity.ERROR)


def _given_elsewhere(document: Document, key: str) -> Place | None:
    """Return the place of a value that the command line gives to a program; None if the program writes it itself."""
    value, call = document.places.get(parse_key(key)), document.call(key.rpartition(".")[0])
    own = call is None or call.place.path != document.path or document.kind != "script"
    return value if value and not own and value.path != document.path else None


def _is_written(document: Document, fix: Fix) -> bool:
    """True if the text holds what a fix changes: what an override gives stays as it is, whatever the file says."""
    return not any(document.place(edit.key).origin for edit in fix.edits)


def _run(
    rule: Rule, document: Document, facts: Mapping[str, object | MissingFact], reads: Mapping[str, Unknown]
) -> Iterator[Finding | Skip]:
    """Yield a rule's findings, and why it was skipped if it raised, or found nothing after it read something hidden."""
    given = {name: facts.get(name, MissingFact("it was not looked up")) for name in sorted(rule.needs)}
    lacking = {name: fact.because for name, fact in given.items() if isinstance(fact, MissingFact)}
    if lacking:
        yield Skip(rule, tuple(lacking), tuple(dict.fromkeys(lacking.values())))
        return
    findings: list[Finding] = []
    ended = outcome_of(lambda: findings.extend(rule.check(**given)))  # those from before an error stay
    for finding in findings:
        yield _placed(finding, rule, document)
    yield from _skips(rule, ended, {} if findings else reads)


def _placed(finding: Finding, rule: Rule, document: Document) -> Finding:
    """Return a finding with its rule and its place; with its fix if the text holds what the fix changes."""
    elsewhere = _given_elsewhere(document, finding.key) if rule.needs & HUB_FACTS else None
    place = elsewhere or finding.place or document.place(finding.key)
    fix = finding.fix if finding.fix and _is_written(document, finding.fix) else None
    return replace(finding, rule=rule, place=place, document=document, fix=fix)


def _skips(rule: Rule, ended: Raised | None, reads: Mapping[str, Unknown]) -> Iterator[Skip]:
    """Yield why a rule is skipped: it raised, or found nothing after it read something hidden."""
    match ended:
        case Raised(MissingFactError() as missing):
            yield Skip(rule, (missing.name,), (missing.because,))
        case Raised(error):
            yield Skip(rule, (), (f"{BROKEN}: {type(error).__name__}: {error}",))
        case None:
            for key, hidden in islice(reads.items(), 1):
                yield Skip(rule, (key,), (hidden.because,))
