"""How often each rule reports, over all targets of a check."""

from collections import Counter
from collections.abc import Iterable

from holdfast.results.check import ReportedFinding, RuleCount


def count_findings(findings: Iterable[ReportedFinding]) -> list[RuleCount]:
    """Return the findings of each rule as counts, the most frequent first."""
    every = list(findings)
    counts = Counter((finding.code, finding.name) for finding in every)
    fixes = Counter((finding.code, finding.fix.safe) for finding in every if finding.fix and not finding.fix.by_hand)
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        RuleCount(code=code, name=name, count=count, fixable=fixes[code, True], unsafe_fixable=fixes[code, False])
        for (code, name), count in ordered
    ]
