"""How often each rule objects, over all targets of a check."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any


def count_findings(targets: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the findings of each rule as counts, the most frequent first.

    Args:
        targets: Of the answer of `check`.

    >>> found = {"code": "ARG101", "name": "renamed-argument", "severity": "error", "fix": {"safe": True}}
    >>> count_findings([{"findings": [found, {**found, "fix": None}]}])[0]["count"]
    2
    """
    findings = [finding for target in targets for finding in target["findings"]]
    counts = Counter((finding["code"], finding["name"]) for finding in findings)
    fixes = Counter((finding["code"], finding["fix"]["safe"]) for finding in findings if finding["fix"])
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return [
        {"code": code, "name": name, "count": count, "fixable": fixes[code, True], "unsafe_fixable": fixes[code, False]}
        for (code, name), count in ordered
    ]
