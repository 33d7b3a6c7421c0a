"""Asking the rules: each is handed the facts that its parameters name, and passes, objects or is skipped."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal

from holdfast.core.document import ABSENT, Document, Unknown
from holdfast.core.finding import Finding, Fix, MissingFactError, Rule, Severity, Skip

BROKEN: Final = "the rule itself broke, which is a bug of holdfast's to report"


@dataclass(frozen=True, slots=True)
class Missing:
    """In the place of a fact: why there is none."""

    because: str


def select(rules: Iterable[Rule], *, only: tuple[str, ...] = (), ignore: tuple[str, ...] = ()) -> Iterator[Rule]:
    """Yield the rules whose code starts with a prefix in `only` and with none in `ignore`."""
    for rule in rules:
        if rule.code.startswith(only or ("",)) and not rule.code.startswith(ignore):
            yield rule


def needed_facts(rules: Iterable[Rule]) -> frozenset[str]:
    """Return the names of the facts that the rules ask for, beside the job itself."""
    return frozenset[str]().union(*(rule.needs for rule in rules)) - {"job"}


def run_rules(
    rules: Iterable[Rule], document: Document, facts: Mapping[str, object | Missing]
) -> Iterator[Finding | Skip]:
    """Ask each rule, and yield what it objects to, or why it could not be asked.

    Args:
        rules: The rules.
        document: What they are asked about.
        facts: What is known of the world outside, by the rules' parameter names.
    """
    known = {**facts, "job": Told.of(document)}
    for rule in rules:
        if document.kind in rule.kinds:
            yield from _ask(rule, document, known)


def verdict(results: Iterable[Finding | Skip]) -> Literal["pass", "fail"]:
    """Return `fail` if a finding is an error. A skip is no error, and no pass either: it is told beside."""
    errors = (severity_of(result) is Severity.ERROR for result in results if isinstance(result, Finding))
    return "fail" if any(errors) else "pass"


def severity_of(finding: Finding) -> Severity:
    """Return how bad a finding is: its own severity, else its rule's."""
    return finding.severity or (finding.rule.severity if finding.rule else Severity.ERROR)


class Told(Document):
    """A document that lets nobody guess: reading a value that its source hides raises MissingFactError."""

    __slots__ = ()

    @classmethod
    def of(cls, document: Document) -> "Told":
        """Return the same document, told so."""
        return cls(**{field.name: getattr(document, field.name) for field in fields(document)})

    def get(self, key: str, default: Any = ABSENT) -> Any:
        """Return the value under a dotted key, or the default.

        Raises:
            MissingFactError: The source sets the key, but does not say to what.
        """
        value = super().get(key, default)
        if isinstance(value, Unknown):
            raise MissingFactError(key, value.because)
        return value


def _is_written(document: Document, fix: Fix) -> bool:
    """Tell whether the text holds what a fix changes: what an override gives stays as it is, whatever the file says."""
    return not any(document.place(edit.key).origin for edit in fix.edits)


def _ask(rule: Rule, document: Document, facts: Mapping[str, object | Missing]) -> Iterator[Finding | Skip]:
    given = {name: facts.get(name, Missing("nobody looked it up")) for name in sorted(rule.needs)}
    lacking = {name: fact.because for name, fact in given.items() if isinstance(fact, Missing)}
    if lacking:
        yield Skip(rule, tuple(lacking), "; ".join(dict.fromkeys(lacking.values())))
        return
    try:
        for finding in rule.check(**given):
            place = finding.place or document.place(finding.key)
            fix = finding.fix if finding.fix and _is_written(document, finding.fix) else None
            yield replace(finding, rule=rule, place=place, document=document, fix=fix)
    except MissingFactError as missing:
        yield Skip(rule, (missing.name,), missing.because)
    except Exception as error:  # noqa: BLE001 - one rule's mistake must not take all the others' findings away
        yield Skip(rule, (), f"{BROKEN}: {type(error).__name__}: {error}")
