"""Lists of rules and of classes of failure, a line each, in Markdown."""

from collections.abc import Iterable, Iterator, Mapping

from holdfast.core.check.finding import Rule
from holdfast.core.diagnose.diagnosis import Signature


def render_area(area: str, title: str, rules: Iterable[Rule]) -> str:
    """Return the rules of an area, a line each: code, name and summary."""
    return "\n\n".join([f"# {area}: {title}", "\n".join(map(_rule_line, rules)), _MORE]) + "\n"


def render_index(areas: Mapping[str, str], rules: Iterable[Rule], signatures: Iterable[Signature]) -> str:
    """Return all rules by area and all classes of failure by phase, a line each."""
    rules, signatures = list(rules), list(signatures)
    parts = [
        "# Rules",
        *(_section(f"{area}: {title}", map(_rule_line, _area_rules(rules, area))) for area, title in areas.items()),
        "# Classes of failure",
        *(_section(phase, map(_class_line, _phase_signatures(signatures, phase))) for phase in _phases(signatures)),
        _MORE,
    ]
    return "\n\n".join(parts) + "\n"


_MORE = "`holdfast explain CODE` and `holdfast explain CLASS` give the page."


def _section(title: str, lines: Iterable[str]) -> str:
    return "\n".join([f"## {title}", *lines])


def _area_rules(rules: Iterable[Rule], area: str) -> Iterator[Rule]:
    return (rule for rule in rules if rule.code.startswith(area))


def _phase_signatures(signatures: Iterable[Signature], phase: str) -> Iterator[Signature]:
    return (each for each in signatures if each.phase == phase)


def _phases(signatures: Iterable[Signature]) -> list[str]:
    return sorted({each.phase for each in signatures})


def _rule_line(rule: Rule) -> str:
    return f"- {rule.code} {rule.name}: {rule.summary}"


def _class_line(signature: Signature) -> str:
    return f"- {signature.name}: {signature.title}."
