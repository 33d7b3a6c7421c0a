"""Checking the comments that suppress findings, after all other rules."""

from collections.abc import Iterable, Iterator, Sequence

from holdfast.adapters.targets import Target
from holdfast.app.check.target_request import IGNORES, INSPECTED
from holdfast.core.finding import Finding, Rule
from holdfast.engine.check.answers import UNREADABLE, CheckedTarget
from holdfast.engine.check.rule_runner import run_rules
from holdfast.engine.check.suppress import Ignore
from holdfast.engine.check.unused_ignores import IgnoreUsage, unused_ignores
from holdfast.rules import all_rules


def find_unused(
    target: Target, rules: Iterable[Rule], checked: CheckedTarget, passed: Sequence[tuple[Finding, Ignore]]
) -> list[Finding]:
    """Return the findings of the rules about ignore comments.

    Args:
        target: The target.
        rules: All rules that are checked.
        checked: What they found, but for those about comments.
        passed: What comments let pass, each with the comment.
    """
    rules = list(rules)
    known = (UNREADABLE, *(rule.code for rule in all_rules()))
    decided = IgnoreUsage(known=known, undecided=frozenset(_undecided(target, rules, checked)), passed=passed)
    facts = {IGNORES: tuple(unused_ignores(target.documents, decided))}
    judging = [rule for rule in rules if IGNORES in rule.needs]
    texts = {document.path: document for document in target.documents}.values()
    results = (result for document in texts for result in run_rules(judging, document, facts))
    return [result for result in results if isinstance(result, Finding)]


def _undecided(target: Target, rules: Sequence[Rule], checked: CheckedTarget) -> Iterator[str]:
    """Yield the codes of the rules that were not checked, so that their findings are not known."""
    decided = {rule.code for rule in rules if not rule.needs & (INSPECTED | {IGNORES})}
    kinds = {document.kind for document in target.documents}
    yield from (rule.code for rule in all_rules() if rule.code not in decided and rule.kinds & kinds)
    yield from (skip.rule.code for skip in checked.skips)
