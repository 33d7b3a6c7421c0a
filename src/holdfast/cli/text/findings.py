"""Findings and skips as people read them, in the format of compilers."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from types import MappingProxyType

from click import style

from holdfast.cli.text.printable import one_line
from holdfast.core.check.finding import Severity
from holdfast.core.job.notebook import read_cells
from holdfast.core.text.places import LINE_BREAK
from holdfast.engine.units import render_counted
from holdfast.results.check import (
    AppliedFix,
    CheckResult,
    ReportedFinding,
    ReportedFix,
    ReportedSkip,
    RuleCount,
    SuppressedFinding,
    TargetResult,
)

COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
UNWRITABLE = ("-", "command line")
"""Targets that `--fix` cannot write: standard input, and the words after `--`."""
SHOWN = 160  # characters of a line: some lines have a million
MOST_REASONS = 5  # why rules were skipped that are shown in one line
NAMED = 5  # options at most in one line
TRAINING = ("train", "trainer")  # the parts of a document that hold the training's own settings
NO_SOURCES: Mapping[str, str] = MappingProxyType({})


def render_check(
    result: CheckResult, sources: Mapping[str, str] = NO_SOURCES, *, verbose: bool = False, quiet: bool = False
) -> str:
    """Return a result of `check` as one text, see `render_findings`."""
    return "\n".join(render_findings(result, sources, verbose=verbose, quiet=quiet))


def render_findings(
    result: CheckResult, sources: Mapping[str, str], *, verbose: bool = False, quiet: bool = False
) -> Iterator[str]:
    """Yield the text of a result of `check`: findings, skips, and the summary.

    Args:
        result: The result of `check`.
        sources: Text of the files by path; a finding in one of them shows its line.
        verbose: Name each skipped rule and each suppressed finding, instead of counting them.
        quiet: Leave out everything but the findings.
    """
    if result.statistics is not None:
        yield from _statistics(result, result.statistics)
        return
    for target in result.targets:
        if target.diff is not None:
            yield from _diff(target.diff)
            continue
        for finding in target.findings:
            yield from render_finding(finding, sources.get(finding.path, ""))
    yield from () if quiet else render_outcome(result, verbose=verbose)


def render_outcome(result: CheckResult, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines after the findings: skips, versions, and the summary."""
    yield from map(one_line, _outcome(result, verbose=verbose))


def _outcome(result: CheckResult, *, verbose: bool) -> Iterator[str]:
    targets = result.targets
    for target in targets:
        yield from _skips(target, verbose=verbose, alone=len(targets) == 1)
        if verbose:
            yield from map(_suppressed, target.suppressed)
        if target.assumed and len(targets) == 1:
            yield style(_assumed(target, verbose=verbose), dim=True)
    if not verbose:
        yield from _skips_of_others(targets)
    yield from (f"{passed.path}: not checked: {passed.because}" for passed in result.passed_over)
    yield from _versions(targets)
    yield from _fix_summary(targets)
    yield _summary(result)


def render_finding(finding: ReportedFinding, source: str) -> Iterator[str]:
    """Yield the lines of one finding: its place and message, the marked line of the source, and the fix."""
    colour = COLOURS[finding.severity]
    grade = "" if finding.severity is Severity.ERROR else f"{finding.severity}: "
    place, code = style(_place(finding), bold=True), style(finding.code, fg=colour, bold=True)
    yield f"{place}: {code} {grade}{one_line(finding.message)}"
    lines = LINE_BREAK.split(_text(finding, source))
    if finding.line and finding.line <= len(lines) and any(lines):
        yield from _excerpt(finding, lines[finding.line - 1], colour)
    if finding.fix:
        kind = "fix by hand:" if finding.fix.by_hand else "fix:" if finding.fix.safe else "unsafe fix:"
        yield f"    {style(kind, fg='green')} {finding.fix.title}"


def _statistics(result: CheckResult, counts: Sequence[RuleCount]) -> Iterator[str]:
    """Yield one line per rule, as ruff does: the count, the rule, and whether its fixes are safe; then the summary."""
    width = max((len(str(each.count)) for each in counts), default=0)
    for each in counts:
        mark = "[*]" if each.fixable else "[-]" if each.unsafe_fixable else "[ ]"
        yield f"{each.count:>{width}}  {style(each.code, bold=True)}  {style(mark, fg='green')} {each.name}"
    if counts:
        yield style("[*] fixable with --fix, [-] with --unsafe-fixes", dim=True)
    yield from _fix_summary(result.targets)
    yield _summary(result)


def _diff(diff: str) -> Iterator[str]:
    colours = {"+": "green", "-": "red", "@": "cyan"}
    yield from (style(line, fg=colours.get(line[0])) for line in diff.split("\n") if line)


def _place(finding: ReportedFinding) -> str:
    cell = f"cell {finding.cell}" if finding.cell else None
    path = f"{finding.path} ({finding.origin})" if finding.origin else finding.path
    return ":".join(str(part) for part in (one_line(path), cell, finding.line, finding.column) if part is not None)


def _text(finding: ReportedFinding, source: str) -> str:
    if not finding.cell:
        return source
    return read_cells(source).get(finding.cell, "")


def _excerpt(finding: ReportedFinding, line: str, colour: str) -> Iterator[str]:
    number, column = str(finding.line), finding.column or 1
    ends_here = finding.end_line in (None, finding.line)
    end = (finding.end_column if ends_here else None) or len(line) + 1
    cut = max(0, column - 1 - SHOWN // 2) if len(line) > SHOWN else 0
    line, column, end = line[cut : cut + SHOWN], column - cut, min(end - cut, SHOWN + 1)
    yield f"    {style(number + ' |', dim=True)} {line}"
    # A tab before the place stays one, so that the mark stands under it whatever its width.
    margin = "".join("\t" if character == "\t" else " " for character in line[: column - 1])
    mark = style("^" * max(end - column, 1), fg=colour)
    yield f"    {style(' ' * len(number) + ' |', dim=True)} {margin}{mark}"


def count_by_severity(severities: Sequence[Severity]) -> tuple[list[str], str]:
    """Return how many findings there are of each severity, in words, and the colour of the most severe."""
    present = [grade for grade in COLOURS if grade in severities]
    counts = [render_counted(severities.count(grade), grade) for grade in present]
    return counts, COLOURS[present[0]] if present else "green"


def _skips(target: TargetResult, *, verbose: bool, alone: bool) -> Iterator[str]:
    """Yield the rules that were not checked: each by name, or in one line; of many targets, only those with findings.

    A rule that several jobs of a target, or several reasons, keep from being checked counts once, with the first reason.
    """
    skipped = _distinct(target.skipped)
    if verbose or len(skipped) == 1:
        yield from dict.fromkeys(map(partial(_skip, path=target.path), target.skipped))
    elif skipped and (alone or target.findings):
        count = style(f"{len(skipped)} rules skipped", dim=True)
        yield f"{target.path}: {count}: {_counted_reasons(skipped)}; --verbose names them"


def _skips_of_others(targets: Sequence[TargetResult]) -> Iterator[str]:
    """Yield one line about the rules that were not checked in those of many targets that have no findings, with the reasons.

    A rule counts once, with the first reason. A target with one such rule has a line of its own.
    """
    others = [_distinct(each.skipped) for each in targets if not each.findings]
    counted = [skipped for skipped in others if len(skipped) > 1] if len(targets) > 1 else []
    if counted:
        skips = _distinct([*chain.from_iterable(counted)])
        count = style(f"{len(skips)} rules skipped{' in at least one' if len(counted) > 1 else ''}", dim=True)
        yield f"{render_counted(len(counted), 'file')} without findings: {count}: {_counted_reasons(skips)}; --verbose names them"


def _counted_reasons(skips: Sequence[ReportedSkip]) -> str:
    """Return the most frequent reasons, each with the number of rules."""
    reasons = Counter(skip.reasons[0] for skip in skips).most_common()
    rest = sum(count for _, count in reasons[MOST_REASONS:])
    shown = [f"{because} ({count})" for because, count in reasons[:MOST_REASONS]]
    return "; ".join([*shown, f"other reasons ({rest})"] if rest else shown)


def _distinct(skips: Sequence[ReportedSkip]) -> list[ReportedSkip]:
    """Return the first skip of each rule."""
    return list({skip.code: skip for skip in reversed(skips)}.values())[::-1]


def _skip(skip: ReportedSkip, path: str) -> str:
    needs = f" needs {', '.join(skip.missing)}" if skip.missing else ""
    return f"{path}: {style(skip.code + ' skipped', dim=True)}:{needs} ({skip.because})"


def _suppressed(finding: SuppressedFinding) -> str:
    by = finding.suppressed_by
    reason = f": {by.reason}" if by.reason else ""
    text = style(f"{finding.code} suppressed by the comment in line {by.line}", dim=True)
    return f"{_place(finding)}: {text}{reason}"


def _assumed(target: TargetResult, *, verbose: bool) -> str:
    """Return the options that were taken to have their defaults; all of them where everything is to be named."""
    names = target.assumed or ()
    shown = names if verbose or len(names) <= NAMED else names[:NAMED]
    more = f" and {len(names) - len(shown)} more" if names[len(shown) :] else ""
    return f"{target.path}: checked with the defaults of {', '.join(shown)}{more}; arguments after `--` override them"


def _versions(targets: Sequence[TargetResult]) -> Iterator[str]:
    """Yield the versions that targets were checked against; targets with the same versions, for the same reason, share a line."""
    return (style(group.render(), dim=True) for group in _shared_versions(targets))


def _shared_versions(targets: Sequence[TargetResult]) -> "list[_SharedVersions]":
    """Return the targets in groups that agree on their versions."""
    groups: list[_SharedVersions] = []
    for target in targets:
        if target.resolved:
            group = next((each for each in groups if each.carries(target.because, target.resolved)), None)
            if group is None:
                groups.append(group := _SharedVersions(target.because))
            group.versions.update(target.resolved)
            group.paths.append(target.path)
    return groups


@dataclass
class _SharedVersions:
    """Versions on which several targets agree, and where they come from."""

    because: str
    versions: dict[str, str] = field(default_factory=dict[str, str])
    paths: list[str] = field(default_factory=list[str])

    def carries(self, because: str, versions: Mapping[str, str]) -> bool:
        return self.because == because and all(self.versions.get(name, it) == it for name, it in versions.items())

    def render(self) -> str:
        which = self.paths[0] if len(self.paths) == 1 else render_counted(len(self.paths), "file")
        versions = ", ".join(f"{name} {version}" for name, version in self.versions.items())
        return f"{which}: checked against {versions}" + (f" ({self.because})" if self.because else "")


def _fix_summary(targets: Sequence[TargetResult]) -> Iterator[str]:
    fixed = [target.fixed for target in targets if target.fixed is not None]
    return _fixed(targets, list(chain.from_iterable(fixed))) if fixed else _fixable(targets)


def _fixed(targets: Sequence[TargetResult], fixed: Sequence[AppliedFix]) -> Iterator[str]:
    """Yield how many findings were fixed, or would be, and of which rules."""
    verb = "Fixed" if all(target.diff is None for target in targets) else "Would fix"
    counts = Counter(finding.code for finding in fixed)
    which = ", ".join(f"{count} {code}" for code, count in sorted(counts.items()))
    what = f"{verb} {render_counted(len(fixed), 'finding')}"
    yield style(f"{what} ({which})", fg="green") if fixed else style(what)


def _fixable(targets: Sequence[TargetResult]) -> Iterator[str]:
    """Yield how many fixes there are, and which options apply them."""
    fixes = list(_fixes(targets))
    writable = [fix.safe for path, fix in fixes if path not in UNWRITABLE]
    safe, unsafe = writable.count(True), writable.count(False)
    applicable = [f"{safe} with --fix"] * bool(safe) + [f"{unsafe} with --unsafe-fixes"] * bool(unsafe)
    if fixes:
        counted = f"{render_counted(len(fixes), 'fix')}{': ' if applicable else ''}{', '.join(applicable)}"
        yield f"{counted}; --diff shows what changes"


def _fixes(targets: Sequence[TargetResult]) -> Iterator[tuple[str, ReportedFix]]:
    """Yield the fixes that can be applied, each with the path of its target."""
    for target in targets:
        for finding in target.findings:
            if finding.fix and not finding.fix.by_hand:
                yield target.path, finding.fix


def _summary(result: CheckResult) -> str:
    summary, colour = _outcome_in_words(result.targets)
    files = render_counted(len(result.targets), "file")
    return "; ".join([f"{style(summary, fg=colour, bold=True)} in {files}", *_beside(result)])


def _outcome_in_words(targets: Sequence[TargetResult]) -> tuple[str, str]:
    """Return the counts of findings in words, or that there are none, with a colour."""
    if not targets:
        return "nothing to check", "yellow"
    findings = chain.from_iterable(target.findings for target in targets)
    counts, colour = count_by_severity([finding.severity for finding in findings])
    if counts:
        return ", ".join(counts), colour
    if any(map(_lacks_settings, targets)):
        return "no problems found in what was checked", "yellow"
    return "no problems found", colour


def _lacks_settings(target: TargetResult) -> bool:
    return any(map(_is_about_training, target.skipped))


def _is_about_training(skip: ReportedSkip) -> bool:
    """True if a rule was not checked because settings of the training itself are unknown."""
    return any(name.partition(".")[0] in TRAINING for name in skip.missing)


def _beside(result: CheckResult) -> Iterator[str]:
    """Yield the facts that the counts of findings leave out."""
    targets = result.targets
    yield from _unchecked_rules(targets)
    if any(target.unasked for target in targets):
        yield "the Hub was not contacted: only files that you name are checked against it"
    if suppressed := sum(len(target.suppressed) for target in targets):
        yield f"{render_counted(suppressed, 'finding')} suppressed by comments"
    yield from _unchecked_files(result)


def _unchecked_rules(targets: Sequence[TargetResult]) -> Iterator[str]:
    skipped = _count_rules(target.skipped for target in targets)
    about_training = _count_rules(filter(_is_about_training, target.skipped) for target in targets)
    of_these = f", {about_training} of them about settings of the training" if about_training else ""
    if skipped:
        yield f"{render_counted(skipped, 'rule')} not checked{of_these}"


def _count_rules(skips: Iterable[Iterable[ReportedSkip]]) -> int:
    """The number of rules that were skipped in any target."""
    return len({skip.code for skip in chain.from_iterable(skips)})


def _unchecked_files(result: CheckResult) -> Iterator[str]:
    if passed := len(result.passed_over):
        yield f"{render_counted(passed, 'file')} not checked"
    if others := result.others:
        yield f"{render_counted(others, 'other file')} use{'s' if others == 1 else ''} none of the libraries"
