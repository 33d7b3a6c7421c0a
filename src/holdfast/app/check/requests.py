"""Turning the targets that a user names into requests: folders are walked, and the settings of projects are read."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from holdfast.adapters.targets import SHELL, read_target, require_takes_arguments, takes_arguments
from holdfast.adapters.targets.project import Project, Projects
from holdfast.app.check.target_request import CATALOG, COMMAND_LINE, TargetRequest, refuse_overrides
from holdfast.app.hub_access import HubAccess
from holdfast.core.errors import UsageError
from holdfast.core.job.target_kind import STANDARD_INPUT, TargetKind, target_kind
from holdfast.core.text.nearest import nearest
from holdfast.engine.check.answers import UNREADABLE
from holdfast.rules import all_rules

NEAR = 0.65
"""The least similarity of a code to an existing one that is proposed instead: `ARQ` and `ARG`, not `E501` and `EVL101`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """The options of `check` that apply to every target.

    Attributes:
        only: Beginnings of the codes of rules to check; by default, those that the target's project selects.
        ignore: Beginnings of the codes of rules to leave out, in addition to those that the project leaves out.
        sets: Overrides of a job file's keys, `KEY=VALUE`.
        arguments: A script's own arguments; without a target, the words of a command line.
        strict: Whether a skipped rule counts as a failure; None for the project's setting.
        resolve: What resolves the versions that a program gets; None for the project's setting.
        force_exclude: Whether exclusions apply to named files too.
        checklist: Whether to fill in the checklists too.
        edits: Whether the result contains the text edits of fixes.
        offline: Whether not to ask the Hub.
    """

    only: tuple[str, ...]
    ignore: tuple[str, ...]
    sets: tuple[str, ...]
    arguments: tuple[str, ...]
    strict: bool | None
    resolve: str | None
    force_exclude: bool
    checklist: bool
    edits: bool
    offline: bool


@dataclass(slots=True)
class CheckRequest:
    """A request to check some targets.

    Attributes:
        targets: One request per target, by its path.
        caches: For each target, the folder of its project's settings file, if there is one.
        others: How many scripts and notebooks of the folders use none of the libraries.
        passed_over: Path and reason of each file that cannot be checked.
        alone: Whether one file was named, and nothing else.
    """

    targets: dict[str, TargetRequest] = field(default_factory=dict[str, TargetRequest])
    caches: list[Path | None] = field(default_factory=list[Path | None])
    others: int = 0
    passed_over: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    alone: bool = False

    def strict_paths(self) -> set[str]:
        """Return the paths of the targets in which a skipped rule counts as a failure."""
        return {each.path for each in self.targets.values() if each.strict}


def find_targets(targets: Sequence[str], options: CheckOptions) -> CheckRequest:
    """Return the requests for the targets, in their order.

    Raises:
        UsageError: A folder cannot be read, a code begins like that of no rule, overrides are given and no job file, or arguments
            and no script.
        ExceptionGroup: Of a UsageError for everything wrong with a project's settings.
    """
    projects, request = Projects(), CheckRequest()
    _require_codes((*options.only, *options.ignore), "the command line")
    if options.arguments and not targets:
        _add(request, COMMAND_LINE, projects.find("-"), options, _hub_access(options))
    for target in targets:
        for path in _files(target, projects, request, judged=options.force_exclude):
            _add(request, path, projects.find(path), options, _hub_access(options, walked=path != target))
    _require_use(options, list(request.targets.values()))
    request.alone = len(request.targets) == 1 and not options.force_exclude and {*targets} <= request.targets.keys()
    return request


def _require_use(options: CheckOptions, requests: Sequence[TargetRequest]) -> None:
    """Refuse overrides if none of the targets is a job file, and arguments if none is a script.

    Raises:
        UsageError: There are such options.
    """
    if requests and not any(map(attrgetter("sets"), requests)):
        refuse_overrides(requests[0].path, options.sets)
    if requests and options.arguments and not any(map(attrgetter("arguments"), requests)):
        require_takes_arguments(requests[0].path)


def _hub_access(options: CheckOptions, *, walked: bool = False) -> HubAccess:
    """Return whether the Hub is contacted about a file. Files that are judged like those of a folder come from a hook, by the hundred."""
    if walked or options.force_exclude:
        return HubAccess.WALKED
    return HubAccess.unless(offline=options.offline)


def _files(target: str, projects: Projects, request: CheckRequest, *, judged: bool) -> Iterable[str]:
    """Return the files to check of a target; what else there is, is counted."""
    is_folder = target != STANDARD_INPUT and Path(target).is_dir()
    if not is_folder and not (judged and Path(target).exists()):
        return (target,)
    from holdfast.adapters.targets import folders  # its patterns take as long to import as a script to check

    project = projects.find(target)
    exclude = folders.parse_patterns(project.exclude, str(project.folder)) if project.exclude else None
    if not is_folder:
        return _judged(folders, folders.judge_named(target, exclude), request)
    found = folders.find_files(target, exclude)
    request.others += found.others
    request.passed_over += [(passed.path, passed.because) for passed in found.passed_over]
    files: Iterable[str] = found.files
    return filter(_may_train, files)


def _may_train(path: str) -> bool:
    """False of a shell script whose commands start no training that is known here."""
    if not path.endswith(SHELL):
        return True
    try:
        return bool(read_target(path).documents)
    except (UsageError, ExceptionGroup):  # of a script that it runs, that script's own check says so
        return False


def _judged(folders: Any, judged: Any, request: CheckRequest) -> Iterator[str]:
    if isinstance(judged, folders.PassedOver):
        request.passed_over.append((judged.path, judged.because))
    elif isinstance(judged, folders.OtherUse):
        request.others += 1
    elif judged is not None and _may_train(judged):
        yield judged


def _add(request: CheckRequest, path: str, project: Project, options: CheckOptions, hub: HubAccess) -> None:
    """Add a file to the request, unless it is there already."""
    if path not in request.targets:
        _require_codes(project.codes, str(project.file))
        request.caches.append(project.folder if project.file else None)
        request.targets[path] = _target_request(path, project, options, hub)


def _target_request(path: str, project: Project, options: CheckOptions, hub: HubAccess) -> TargetRequest:
    """Return the request for one file: the command line's options, else the settings of the file's project."""
    only, ignore = _chosen_codes(path, project, options)
    return TargetRequest(
        path=path,
        only=only,
        ignore=ignore,
        sets=options.sets if target_kind(path) is TargetKind.JOB else (),
        arguments=options.arguments if path == COMMAND_LINE or takes_arguments(path) else (),
        strict=project.strict if options.strict is None else options.strict,
        resolve=options.resolve or project.resolve or CATALOG,
        checklist=options.checklist,
        edits=options.edits,
        hub=hub,
    )


def _chosen_codes(path: str, project: Project, options: CheckOptions) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the beginnings of the codes to check in a file, and of those to leave out."""
    if options.only:
        return options.only, (*options.ignore, *project.ignored_in(path))
    return project.select, (*options.ignore, *project.ignore, *project.ignored_in(path))


def _require_codes(codes: Sequence[str], where: str) -> None:
    """Refuse a code that no rule's code begins with: it would select or leave out nothing.

    Raises:
        UsageError: There is one.
    """
    known = [UNREADABLE, *(rule.code for rule in all_rules())] if codes else []
    for code in codes:
        if not any(each.startswith(code) for each in known):
            raise UsageError(f"no rule's code begins with {code!r}", where=where, fix=_suggest_code(code, known))


def _suggest_code(code: str, known: Sequence[str]) -> str:
    """Return the advice for the beginning of a code that no rule has."""
    areas = sorted({each[:3] for each in known})
    if code[:3] in areas and code[3:].isdigit():  # no number is meant for another one
        return f"`holdfast explain {code[:3]}` lists its rules"
    meant = nearest(code, (*areas, *known), cutoff=NEAR)
    return f"did you mean `{meant}`?" if meant else f"codes begin with {', '.join(areas)}"
