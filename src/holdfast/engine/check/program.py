"""Checking a program against the versions that it will get, and against the oldest that it allows.

What is wrong with the versions that its requirements come to is wrong. What is wrong only with others that they admit is
a warning, with the floor that would be right. Where nothing says which versions there will be, nothing is certain.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from holdfast.catalog.api import released
from holdfast.core.check.finding import Finding, Rule, Severity, Skip
from holdfast.core.job.document import Document
from holdfast.engine.check.guarded import undecided
from holdfast.engine.check.passes import Passes, Results
from holdfast.engine.check.program_facts import VersionContext
from holdfast.engine.check.renamed import identity
from holdfast.engine.check.rule_runner import severity_of

TRAINING = ("trl", "transformers")


def check_program(rules: Iterable[Rule], documents: Sequence[Document], context: VersionContext) -> Results:
    """Return the rules' findings for a program, each once, and the rules that could not be checked.

    Args:
        rules: The rules.
        documents: What the program says of each job that it trains.
        context: What it is checked against.
    """
    rules, passes = list(rules), Passes(context)
    results = passes.run(rules, documents, context.versions)
    guessed = _resting_on_guesses(results, documents, passes)
    results = [
        _unsure(result, context) if isinstance(result, Finding) and identity(result) in guessed else result
        for result in results
    ]
    results += _rules_not_checked(rules, documents, context)
    codes = {result.rule.code for result in results if result.rule}
    silent = [rule for rule in rules if rule.code not in codes]
    results += undecided(documents, lambda each: passes.run_one(silent, each, context.versions))
    reported = {identity(result) for result in results}
    return [*results, *(each for each in _older(rules, documents, passes) if identity(each) not in reported)]


def _resting_on_guesses(
    results: Sequence[Finding | Skip], documents: Sequence[Document], passes: Passes
) -> frozenset[object]:
    """Return the identities of the findings that depend on guessed versions.

    What is found with other releases in place of those that are assumed does not depend on them.
    """
    context, every = passes.context, frozenset(map(identity, results))
    if not context.firm:
        return every
    certain = every
    findings = [result for result in results if isinstance(result, Finding)]
    rules = list({finding.rule.code: finding.rule for finding in findings if finding.rule}.values())
    for sample in _other_releases(context.assumed):
        certain &= frozenset(map(identity, passes.run(rules, documents, {**context.versions, **sample})))
    return (every - certain).union(identity(each) for each in findings if _mentioned(each, context.assumed))


def _mentioned(finding: Finding, versions: Mapping[str, str]) -> dict[str, str]:
    """Return those of some versions that the message of a finding mentions, by package."""
    return {package: version for package, version in versions.items() if f"{package} {version}" in finding.message}


def _other_releases(assumed: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield releases to try in place of assumed ones: the oldest, and those in the middle."""
    for part in (0, 2) if assumed else ():
        yield {name: released(name)[len(released(name)) // part if part else 0] for name in assumed}


def _rules_not_checked(rules: Sequence[Rule], documents: Sequence[Document], context: VersionContext) -> Iterator[Skip]:
    """Yield the rules that could not judge a library that the program trains with."""
    unknown = {name: because for name, because in context.unknown.items() if name in TRAINING}
    for rule in rules if unknown else ():
        if "api" in rule.needs and any(document.kind in rule.kinds for document in documents):
            yield Skip(rule, tuple(unknown), tuple(dict.fromkeys(unknown.values())))


def _unsure(finding: Finding, context: VersionContext) -> Finding:
    """Return a finding that depends on guessed versions as a warning."""
    if not finding.rule or "api" not in finding.rule.needs or severity_of(finding) is not Severity.ERROR:
        return finding
    concerned = _concerned(finding, context)
    newest = ", ".join(f"{package} {version}" for package, version in concerned.items())
    fits = "" if all(version == released(package)[-1] for package, version in concerned.items()) else " that fits"
    because = context.declared.unsure or f"nothing pins {' or '.join(concerned)}"
    message = f"{finding.message} ({because}: checked against the newest{fits}, {newest})"
    return replace(finding, severity=Severity.WARNING, message=message)


def _concerned(finding: Finding, context: VersionContext) -> Mapping[str, str]:
    """Return the versions that a finding mentions and nothing pins; if there is none, those of the libraries that train."""
    versions = context.assumed if context.firm else context.versions
    training = {package: version for package, version in versions.items() if package in TRAINING}
    return _mentioned(finding, versions) or training or versions


def _older(rules: Sequence[Rule], documents: Sequence[Document], passes: Passes) -> Iterator[Finding]:
    """Yield the findings for the oldest versions that the requirements admit, as warnings."""
    lowest = passes.context.resolution.lowest
    if not lowest:
        return
    bound = [rule for rule in rules if "api" in rule.needs]
    floors = _Floors(passes, lowest)
    for finding in passes.run(bound, documents, lowest):
        if isinstance(finding, Finding) and severity_of(finding) is Severity.ERROR:
            requirements = "; ".join(f"require `{name}>={version}`" for name, version in floors.of(finding).items())
            message = f"{finding.message} (not with the newest, but with the oldest versions that are allowed: {requirements})"
            yield replace(finding, severity=Severity.WARNING, message=message, fix=None)


@dataclass(slots=True)
class _Floors:
    """Looks for the versions from which findings are gone. A rule is run once at each combination of versions.

    Attributes:
        passes: The passes of this check.
        lowest: The oldest versions that its requirements admit.
    """

    passes: Passes
    lowest: Mapping[str, str]
    known: dict[tuple[object, ...], frozenset[object]] = field(
        default_factory=dict[tuple[object, ...], frozenset[object]]
    )

    def of(self, finding: Finding) -> dict[str, str]:
        """Return the lowest version of one package from which the finding is gone, or of all where one is not enough."""
        newest, declared = self.passes.context.resolution.newest, self.passes.context.resolution.declared
        movable = [name for name in declared if name in newest and self.lowest.get(name) != newest[name]]
        for package in sorted(movable, key=lambda name: name not in finding.message):
            at = self._first_good(finding, package)
            if at is not None:
                return {package: at}
        return {package: newest[package] for package in movable}

    def _first_good(self, finding: Finding, package: str) -> str | None:
        """Return the first release of a package, after the lowest, at which the finding is gone; None if it never is."""
        if package not in self.lowest:
            return None
        every = released(package)
        newest = self.passes.context.resolution.newest[package]
        later = every[every.index(self.lowest[package]) + 1 : every.index(newest) + 1]
        first = bisect_left(later, 1, key=lambda version: int(self._is_gone(finding, package, version)))
        return later[first] if first < len(later) else None

    def _is_gone(self, finding: Finding, package: str, version: str) -> bool:
        """True if its rule finds it no more with another version of a package in place of the lowest."""
        rule, document = finding.rule, finding.document
        if rule is None or document is None:
            return False
        question = (rule.code, id(document), package, version)
        if question not in self.known:
            results = self.passes.run([rule], [document], {**self.lowest, package: version})
            self.known[question] = frozenset(map(identity, results))
        return identity(finding) not in self.known[question]
