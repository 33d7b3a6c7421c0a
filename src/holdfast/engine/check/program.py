"""Checking a program against the versions that it will get, and against the oldest that it allows.

What is wrong with the versions that its requirements come to is wrong. What is wrong only with others that they admit is
a warning, with the floor that would be right. Where nothing says which versions there will be, nothing is certain.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import TypeGuard

from holdfast.catalog.api import Api, released
from holdfast.core.document import ABSENT, Document, Unknown
from holdfast.core.errors import SourceError
from holdfast.core.facts import HUB_FACTS, Dataset
from holdfast.core.finding import Finding, Rule, Severity, Skip
from holdfast.core.requirement import ProjectRequirements
from holdfast.core.text import Place
from holdfast.engine.check.gather import gather
from holdfast.engine.check.guarded import undecided
from holdfast.engine.check.hub_facts import HubFacts, ReferenceResolver, applicable_rules, usable_dataset
from holdfast.engine.check.process_counts import check_any_count, check_one_process
from holdfast.engine.check.renamed import check_with_renames, identity, without_known
from holdfast.engine.check.rule_runner import needed_facts, run_rules, severity_of
from holdfast.engine.resolve import Resolution
from holdfast.engine.script.training_data import (
    MAP,
    ROWS,
    SPLIT_BY_NAME,
    DataFlow,
    after,
    mapped_rows,
    trace,
    trainer_given,
    written_rows,
)

Results = list[Finding | Skip]
TRAINING = ("trl", "transformers")
PROCESSES = "processes"
COUNTS = ("where.world_size", "where.processes")
TRAIN_DATA, EVAL_DATA = "train_dataset", "eval_dataset"
OF_DATA = ("dataset", "columns")
"""Facts about the data that a trainer is given."""
ELSEWHERE = "a script does not say where it will run"


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionContext:
    """What a program is checked against.

    Attributes:
        resolution: The versions of the libraries that it will get, or may get.
        declared: What says so.
        assumed: The versions of the libraries that it uses and nothing pins: the newest that fit.
        unknown: Why nobody knows the version of another library that it uses.
        outside: Where what it names is looked for; None where nobody looks.
    """

    resolution: Resolution
    declared: ProjectRequirements
    assumed: Mapping[str, str] = field(default_factory=dict[str, str])
    unknown: Mapping[str, str] = field(default_factory=dict[str, str])
    outside: ReferenceResolver | None = None

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions that the rules are asked about first."""
        return {**self.resolution.newest, **self.assumed}

    @property
    def firm(self) -> bool:
        """Whether anything says which versions there will be."""
        return self.declared.kind != "nothing" and not self.declared.unsure

    @property
    def because(self) -> str:
        """Where the versions come from, for people."""
        guess = f"{self.declared.unsure or 'nothing declares them'}: the newest"
        origin = f"by {self.declared.origin}" if self.firm else guess
        guessed = f"; nothing pins {' or '.join(self.assumed)}: the newest" if self.firm and self.assumed else ""
        return f"{origin}{guessed}; catalog of {self.resolution.date}"


@lru_cache(maxsize=256)
def _api(versions: tuple[tuple[str, str], ...]) -> Api:
    """Return the libraries' API; scripts with the same versions share one."""
    return Api(dict(versions))


class ProgramFacts(HubFacts):
    """What is known beside a program itself, by the names that rules give their parameters."""

    def __init__(self, context: VersionContext, versions: Mapping[str, str], document: Document) -> None:
        super().__init__(document, context.outside)
        self._version_context, self._versions, self._document = context, versions, document

    @property
    def api(self) -> Api:
        """What the libraries take at these versions."""
        return _api(tuple(self._versions.items()))

    @property
    def resolution(self) -> Resolution:
        """Which versions the program gets."""
        return self._version_context.resolution

    @property
    def declared(self) -> ProjectRequirements:
        """What it or its project declares."""
        return self._version_context.declared

    @property
    def absent_files(self) -> Mapping[str, Place]:
        """The files of settings that are not there, of those that the command names by which it is started, with their places."""
        listed = self._document.get("launch.absent", ())
        return {name: self._document.place(f"launch.absent.{index}") for index, name in enumerate(listed)}

    @property
    def accelerate_file(self) -> Mapping[str, object] | None:
        """The settings of the file that accelerate is given; None where it is given none, or that cannot be read."""
        settings = self._document.get("launch.accelerate", None)
        return settings if isinstance(settings, Mapping) else None

    @property
    def script_arguments(self) -> Sequence[str | Unknown] | None:
        """The words that the script is started with; None where any may be given."""
        words: Sequence[str | Unknown] | None = self._document.get("launch.arguments", None)
        return words

    def has(self, name: str) -> bool:
        """True if the program names what a fact is about: data that it hands its trainer counts, wherever that is from."""
        return super().has(name) or (name in OF_DATA and self._outside is not None and self._is_given(TRAIN_DATA))

    @cached_property
    def dataset(self) -> Dataset:
        """What is known of the data that its trainer is given: its columns as they are then."""
        if not self._is_given(TRAIN_DATA):
            return super().dataset
        found = self._flowing(TRAIN_DATA)
        try:
            evaluated = self._flowing(EVAL_DATA).columns if self._is_given(EVAL_DATA) else None
        except SourceError:  # nobody says what it has, which is no reason to keep silent of the other
            evaluated = None
        return replace(found, eval_columns=evaluated)

    def _is_given(self, argument: str) -> bool:
        return trainer_given(self._document, argument) is not None

    def _flowing(self, argument: str) -> Dataset:
        """Return the known facts about the data that the trainer gets as an argument."""
        flow = trace(self._document, argument)
        if flow.source.name == MAP:
            return after(mapped_rows(flow.source), flow.steps)
        return after(written_rows(flow.source) if flow.source.path in ROWS else self._loaded(flow), flow.steps)

    def _loaded(self, flow: DataFlow) -> Dataset:
        """Return the known facts about data as it is loaded."""
        under = f"{flow.source.key}."
        reference = next((each for each in self._all_of("dataset") if each.key.startswith(under)), None)
        if reference is None or reference.hidden:
            because = reference.hidden if reference else "what it is loaded from cannot be looked up"
            raise SourceError(because, where=flow.source.key, fix="nothing to do")
        if bool(flow.split) == bool(reference.split) and flow.source.path in SPLIT_BY_NAME:
            raise SourceError("it is not one split of what is loaded", where=reference.key, fix="name one split")
        asked = replace(reference, split=flow.split) if flow.split else reference
        found = self._find_dataset(asked)
        if found.problem:
            raise SourceError("the data cannot be read", where=reference.key, fix="see what is found of its files")
        return usable_dataset(found, evaluated=False)

    @property
    def processes(self) -> int:
        """Training processes on all machines together, as far as what launches it says."""
        return count_processes(self._document)


def count_processes(document: Document) -> int:
    """Return the number of processes that a program's launchers start on all machines together.

    Raises:
        SourceError: They do not say.
    """
    world, here, nodes = (document.get(f"where.{key}") for key in ("world_size", "processes", "nodes"))
    count = world if world is not ABSENT else _times(here, 1 if nodes is ABSENT else nodes)
    if not _is_count(count):
        raise SourceError("nothing says how many processes it will run in", where=document.path, fix="name a launcher")
    return count


def _times(here: object, nodes: object) -> int | None:
    return here * nodes if _is_count(here) and _is_count(nodes) else None


def _is_count(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def check_program(rules: Iterable[Rule], documents: Sequence[Document], context: VersionContext) -> Results:
    """Return the rules' findings for a program, each once, and the rules that could not be checked.

    Args:
        rules: The rules.
        documents: What the program says of each job that it trains.
        context: What they are asked about it against.
    """
    rules = list(rules)
    results = _ask(rules, documents, context, context.versions)
    guessed = _resting_on_guesses(results, documents, context)
    results = [
        _unsure(result, context) if isinstance(result, Finding) and identity(result) in guessed else result
        for result in results
    ]
    results += _rules_not_checked(rules, documents, context)
    results += undecided(documents, results, lambda each: _ask_about(rules, each, context, context.versions))
    told = {identity(result) for result in results}
    return [*results, *(each for each in _older(rules, documents, context) if identity(each) not in told)]


def _resting_on_guesses(
    results: Sequence[Finding | Skip], documents: Sequence[Document], context: VersionContext
) -> frozenset[object]:
    """Return the identities of the findings that depend on guessed versions.

    What is found with other releases in the place of those that are assumed does not depend on them.
    """
    found = frozenset(identity(result) for result in results)
    if not context.firm:
        return found
    rules = list(
        {result.rule.code: result.rule for result in results if isinstance(result, Finding) and result.rule}.values()
    )
    certain = found
    for sample in _other_releases(context.assumed):
        at = {**context.versions, **sample}
        certain &= {identity(result) for result in _ask(rules, documents, context, at)}
    told = {f"{package} {version}" for package, version in context.assumed.items()}
    return frozenset(
        identity(each) for each in results if identity(each) not in certain or _mentions_version(each, told)
    )


def _mentions_version(result: Finding | Skip, versions: Iterable[str]) -> bool:
    """True if a finding speaks of one of some versions."""
    return isinstance(result, Finding) and any(version in result.message for version in versions)


def _other_releases(assumed: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """Yield releases to try in the place of assumed ones: the oldest, and those in the middle."""
    for part in (0, 2) if assumed else ():
        yield {name: released(name)[len(released(name)) // part if part else 0] for name in assumed}


def _rules_not_checked(rules: Sequence[Rule], documents: Sequence[Document], context: VersionContext) -> Iterator[Skip]:
    """Yield the rules that nothing could be told of a library that the program trains with."""
    unknown = {name: because for name, because in context.unknown.items() if name in TRAINING}
    for rule in rules if unknown else ():
        if "api" in rule.needs and any(document.kind in rule.kinds for document in documents):
            yield Skip(rule, tuple(unknown), "; ".join(dict.fromkeys(unknown.values())))


def _ask(
    rules: Sequence[Rule], documents: Sequence[Document], context: VersionContext, at: Mapping[str, str]
) -> Results:
    """Return the findings and skips at some versions; those that several Documents share are returned once."""
    told: list[Finding | Skip] = []
    for document in documents:
        told += list(
            without_known(told, check_with_renames(document, lambda each: _ask_about(rules, each, context, at)))
        )
    return told


def _ask_about(
    rules: Sequence[Rule], document: Document, context: VersionContext, at: Mapping[str, str]
) -> Iterator[Finding | Skip]:
    """Yield the findings and skips for one Document; for a script without a launcher, those for one process."""
    launched = any(document.get(key) is not ABSENT for key in COUNTS)
    facts = ProgramFacts(context, at, document)
    concerned = list(applicable_rules(rules, document, facts))
    counting = [rule for rule in concerned if PROCESSES in rule.needs]
    uncounted = [] if launched else counting
    known = gather(needed_facts(concerned), facts, otherwise=ELSEWHERE, awaited=HUB_FACTS)
    yield from run_rules((rule for rule in concerned if rule not in uncounted), document, known)
    if uncounted:
        yield from check_one_process(lambda count: run_rules(uncounted, document, {**known, PROCESSES: count}))
    elif counting and not _is_count(known[PROCESSES]):
        yield from check_any_count(lambda count: run_rules(counting, document, {**known, PROCESSES: count}))


def _unsure(finding: Finding, context: VersionContext) -> Finding:
    """Return a finding that rests on a guess at the versions as what it is: a warning."""
    if not finding.rule or "api" not in finding.rule.needs or severity_of(finding) is not Severity.ERROR:
        return finding
    concerned = _concerned(finding, context)
    newest = ", ".join(f"{package} {version}" for package, version in concerned.items())
    fits = "" if all(version == released(package)[-1] for package, version in concerned.items()) else " that fits"
    because = context.declared.unsure or f"nothing pins {' or '.join(concerned)}"
    told = f"{finding.message} ({because}: checked against the newest{fits}, {newest})"
    return replace(finding, severity=Severity.WARNING, message=told)


def _concerned(finding: Finding, context: VersionContext) -> Mapping[str, str]:
    """Return the versions that a finding speaks of and nothing pins; if there is none, those of the libraries that train."""
    versions = context.assumed if context.firm else context.versions
    told = {package: version for package, version in versions.items() if f"{package} {version}" in finding.message}
    return told or {package: version for package, version in versions.items() if package in TRAINING} or versions


def _older(rules: Sequence[Rule], documents: Sequence[Document], context: VersionContext) -> Iterator[Finding]:
    """Yield the findings for the oldest versions that the requirements admit, as warnings."""
    if not context.resolution.lowest:
        return
    bound = [rule for rule in rules if "api" in rule.needs]
    floors = _Floors(context, context.resolution.lowest)
    for finding in _ask(bound, documents, context, context.resolution.lowest):
        if isinstance(finding, Finding) and severity_of(finding) is Severity.ERROR:
            asked = "; ".join(f"require `{name}>={version}`" for name, version in floors.of(finding).items())
            message = f"{finding.message} (not with the newest, but with the oldest versions that are allowed: {asked})"
            yield replace(finding, severity=Severity.WARNING, message=message, fix=None)


@dataclass(slots=True)
class _Floors:
    """Looks for the versions from which findings are gone. What a rule finds at some versions is asked once.

    Attributes:
        footing: What the program is checked against.
        lowest: The oldest versions that its requirements admit.
    """

    version_context: VersionContext
    lowest: Mapping[str, str]
    asked: dict[tuple[object, ...], frozenset[object]] = field(
        default_factory=dict[tuple[object, ...], frozenset[object]]
    )

    def of(self, finding: Finding) -> dict[str, str]:
        """Return the lowest version of one package from which the finding is gone, or of all where one is not enough."""
        newest, declared = self.version_context.resolution.newest, self.version_context.resolution.declared
        movable = [name for name in declared if name in newest and self.lowest.get(name) != newest[name]]
        for package in sorted(movable, key=lambda name: name not in finding.message):
            at = self._first_good(finding, package)
            if at is not None:
                return {package: at}
        return {package: newest[package] for package in movable}

    def _first_good(self, finding: Finding, package: str) -> str | None:
        """Return the first release of a package, after the lowest, at which the finding is gone; None where it never is."""
        if package not in self.lowest:
            return None
        every = released(package)
        newest = self.version_context.resolution.newest[package]
        later = every[every.index(self.lowest[package]) + 1 : every.index(newest) + 1]
        first = bisect_left(later, 1, key=lambda version: int(self._is_gone(finding, package, version)))
        return later[first] if first < len(later) else None

    def _is_gone(self, finding: Finding, package: str, version: str) -> bool:
        """True if its rule finds it no more with another version of a package in the place of the lowest."""
        rule, document = finding.rule, finding.document
        if rule is None or document is None:
            return False
        question = (rule.code, id(document), package, version)
        if question not in self.asked:
            results = _ask([rule], [document], self.version_context, {**self.lowest, package: version})
            self.asked[question] = frozenset(map(identity, results))
        return identity(finding) not in self.asked[question]
