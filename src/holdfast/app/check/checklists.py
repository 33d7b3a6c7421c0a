"""The checklists for before a job is sent, filled in for one target."""

from holdfast.adapters.targets import Target
from holdfast.app.check.earlier import find_earlier
from holdfast.app.check.target_request import TargetRequest
from holdfast.engine.check.answers import CheckedTarget
from holdfast.engine.check.rule_runner import select
from holdfast.engine.checklist.earlier import judge_earlier
from holdfast.engine.checklist.table import checklist, checklist_items
from holdfast.results.check import ChecklistItem
from holdfast.rules import all_rules


def fill_checklists(request: TargetRequest, target: Target, checked: CheckedTarget) -> list[ChecklistItem]:
    """Return the items of the checklists with their verdicts.

    Args:
        request: The request.
        target: The target.
        checked: What the rules said of it.
    """
    chosen = {rule.code for rule in select(all_rules(), only=request.only, ignore=request.ignore)}
    rows = checklist(
        target.by_default or target.documents,
        checked.findings,
        checked.skips,
        suppressed=[finding for finding, _ in checked.suppressed],
        left_out=[rule for rule in all_rules() if rule.code not in chosen],
        shown=judge_earlier(find_earlier(request, target), request.path),
    )
    return checklist_items(rows)
