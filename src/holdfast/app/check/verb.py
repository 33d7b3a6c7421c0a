"""The verb `check`."""

import time
from collections.abc import Sequence

from msgspec import structs

from holdfast.app.arguments import Overrides, PathNames, Texts, as_codes, as_overrides, as_paths, as_texts
from holdfast.app.check.requests import CheckOptions, CheckRequest, find_targets
from holdfast.app.check.target import check_target
from holdfast.app.targets.fetching import fetch_target, require_none_elsewhere
from holdfast.core.errors import UsageError
from holdfast.engine.check.answers import check_result
from holdfast.engine.check.repeats import without_repeats
from holdfast.engine.check.statistics import count_findings
from holdfast.results.check import CheckResult, TargetResult, UncheckedFile


def check(  # noqa: PLR0913 - a verb has as many arguments as its command has options
    targets: PathNames = (),
    *,
    set: Overrides = (),  # noqa: A002 - the option's name
    arguments: Texts = (),
    select: Texts = (),
    ignore: Texts = (),
    strict: bool | None = None,
    resolve: str | None = None,
    force_exclude: bool = False,
    cache: bool = True,
    fix: bool = False,
    unsafe_fixes: bool = False,
    diff: bool = False,
    checklist: bool = False,
    statistics: bool = False,
    edits: bool = True,
    offline: bool = False,
) -> CheckResult:
    """Check scripts, notebooks, command lines and job files.

    >>> import holdfast
    >>> answer = holdfast.check("examples/quickstart.yaml", set={"train.max_steps": 20}, offline=True)
    >>> answer["verdict"], answer["targets"][0]["findings"]
    ('pass', [])

    Args:
        targets: A path, or several: job files, scripts, notebooks, and folders of them; or addresses, `https://…` or `hf://…`.
        set: Overrides of a job file's keys: a mapping, or `KEY=VALUE`.
        arguments: A script's own arguments; without a target, the words of a command line.
        select: Beginnings of the rule codes to check. Default: those of the target's project.
        ignore: Beginnings of the rule codes to leave out.
        strict: Fail if a rule is skipped. Default: the setting of the target's project.
        resolve: What resolves versions: `catalog` or `uv`. Default: the setting of the target's project, else `catalog`.
        force_exclude: Apply exclusions also to the files that are named.
        cache: Use the cached findings of unchanged files.
        fix: Apply safe fixes, and check the result.
        unsafe_fixes: Also apply fixes that may change the result.
        diff: Return what the fixes would change, as `diff` of each target, instead of applying them.
        checklist: Add the pre-flight checklists, as `checklist` of each target.
        statistics: Add the number of findings by rule, as `statistics`.
        edits: Add the text edits of each fix. They take longer to compute than everything else.
        offline: Don't contact the Hub. By default, `check` asks it about the contents of the files that are named.

    Raises:
        UsageError: There is no target, or the only one cannot be read.
        SourceError: A fixed file cannot be written.
        GroupedError: Of a JobError for everything wrong with the only target's schema, or of a UsageError for
            everything wrong with a project's settings.
    """
    begun = time.perf_counter()
    options = CheckOptions(
        only=as_codes(select),
        ignore=as_codes(ignore),
        sets=as_overrides(set),
        arguments=as_texts(arguments),
        strict=strict,
        resolve=resolve,
        force_exclude=force_exclude,
        checklist=checklist,
        edits=edits,
        offline=offline,
    )
    edited = fix or unsafe_fixes
    request = find_targets(_fetched(as_paths(targets), options, edited=edited), options)
    if edited or diff:
        answers = _fixed_answers(request, unsafe=unsafe_fixes, write=not diff)
    else:
        answers = _answers(request, cache=cache)
    found = check_result(without_repeats(answers), elapsed_s=time.perf_counter() - begun, strict=request.strict_paths())
    return structs.replace(
        found,
        others=request.others,
        passed_over=[UncheckedFile(path=path, because=because) for path, because in request.passed_over],
        statistics=count_findings(found.findings) if statistics else None,
    )


def _fetched(targets: Sequence[str], options: CheckOptions, *, edited: bool) -> tuple[str, ...]:
    """Return the paths of the targets; those that lie elsewhere are fetched.

    Args:
        targets: The targets.
        options: The options.
        edited: Whether fixes are applied.

    Raises:
        UsageError: There is no target, or one lies elsewhere and would be edited.
    """
    if edited:
        require_none_elsewhere(targets)
    if not targets and not options.arguments:
        hint = "name a file or a folder, `-` for standard input, or give a command line as `arguments`"
        raise UsageError("there is nothing to check", where="targets", fix=hint)
    return tuple(fetch_target(each, offline=options.offline) for each in targets)


def _answers(request: CheckRequest, *, cache: bool) -> list[TargetResult]:
    targets = list(request.targets.values())
    if request.alone:
        return [check_target(targets[0], alone=True).result]
    if len(targets) == 1 and not cache:
        return [check_target(targets[0]).result]
    from holdfast.app.check import many  # what one file needs none of

    return many.answer_all(targets, request.caches if cache else None)


def _fixed_answers(request: CheckRequest, *, unsafe: bool, write: bool) -> list[TargetResult]:
    from holdfast.app.check import fixing  # what no check needs

    return [
        fixing.answer_fixed(target, unsafe=unsafe, write=write, alone=request.alone)
        for target in request.targets.values()
    ]
