"""The verb `study`: one job with many settings, each a run; it goes on past failures and after kills."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from holdfast.adapters.storage.study_folder import make_study_folder, running_study, study_folder
from holdfast.app.arguments import PathName, Texts, as_codes, as_path, runs_folder
from holdfast.app.hub_access import HubAccess
from holdfast.app.study.background import run_in_background
from holdfast.app.study.estimating import StudyPrices, estimate_first
from holdfast.app.study.observing import NO_STUDY_OBSERVER, StudyObserver
from holdfast.app.study.options import StudyOptions
from holdfast.app.study.preparing import PreparedTrial, check_trials, prepare_trials
from holdfast.app.study.reading import StudyFile, read_study
from holdfast.app.study.request import StudyRequest
from holdfast.app.study.searching import count_proposals, with_proposals
from holdfast.app.study.writing import require_own_folder
from holdfast.core.errors import UsageError
from holdfast.engine.units import render_counted
from holdfast.results.study import StudyResult

MANY: Final = 100
"""Trials from which on a study asks before it starts."""


def study(
    study: PathName,
    *,
    show: bool = False,
    dry_run: bool = False,
    yes: bool = False,
    retry: bool = False,
    runs: PathName | None = None,
    scenario: str = "",
    despite: Texts = (),
    offline: bool = False,
    rehearse: bool = True,
    detach: bool = False,
    observer: StudyObserver = NO_STUDY_OBSERVER,
    confirm: Callable[[str], bool] = lambda _: False,
) -> StudyResult:
    """Run many settings of one job, and find the best. A second call continues an interrupted study.

    >>> import holdfast
    >>> answer = holdfast.study("rates.yaml")  # doctest: +SKIP
    >>> answer["best"]["settings"], answer["best"]["value"]  # doctest: +SKIP
    ({'train.learning_rate': 0.001}, 4.31)

    Args:
        study: The study file.
        show: Show the results so far; start no trial.
        dry_run: Check every trial, and show what would run; start no trial.
        yes: Start more than 100 trials without asking.
        retry: Run failed trials again.
        runs: The runs folder. Default: HOLDFAST_RUNS, else the job's `output.folder`.
        scenario: What the trials are for, as `for` in a job file: `demo`, `first-run`, `production`, `fast` or `cheap`.
        despite: Codes of rules that don't refuse a trial.
        offline: Don't contact the Hub when jobs are checked and rehearsed.
        rehearse: Rehearse each shape of job first. Trials that differ only in rates and seeds have the same shape.
        detach: Return as soon as the study runs in the background.
        observer: Follows the study; may stop it.
        confirm: Called to confirm a large number of trials.

    Raises:
        UsageError: There is no such study, another process runs it, or it has many trials and was not confirmed.
        ExceptionGroup: One error for each mistake in it.
    """
    file = replace(read_study(as_path(study)), scenario=scenario)
    options = StudyOptions(
        runs=_runs_folder(file, runs),
        despite=as_codes(despite),
        offline=offline,
        rehearse=rehearse,
        retry=retry,
    )
    folder = study_folder(options.runs, file.name)
    file = with_proposals(file, folder)
    prices = StudyPrices(file.job, HubAccess.unless(offline=offline))
    if not (show or dry_run or yes):
        _confirm(file, prices, confirm)
    trials = prepare_trials(file) if show else prepare_trials(file, _checking(file, options, observer))
    request = StudyRequest(file, trials, options, observer, prices)
    if show:
        return request.shown()
    if dry_run:
        request.check(request.waiting(request.found()))
        return request.looked_at()
    return _start(request, folder, detach=detach)


def _runs_folder(file: StudyFile, runs: PathName | None) -> Path:
    """Return the runs folder: the one that is requested, else that of the study's job."""
    return runs_folder(runs, str(file.job.get("output.folder", "") or "") or None)


def _start(request: StudyRequest, folder: Path, *, detach: bool) -> StudyResult:
    """Run a study, here or in the background.

    Raises:
        UsageError: Another process runs it.
    """
    file = request.file
    require_own_folder(folder, file.path)
    make_study_folder(folder)
    with running_study(folder) as mine:
        if not mine:
            fix = f"wait until it is done; `holdfast study {file.path} --show` shows how far it is"
            raise UsageError(f"another process runs the study {file.name}", where=str(folder), fix=fix)
        request = request.reread(folder)
        if not detach:
            return request.run(folder)
        request.check(request.waiting(request.found()))
    run_in_background(file, folder, request.options)
    return request.looked_at()


def _checking(
    file: StudyFile, options: StudyOptions, observer: StudyObserver
) -> Callable[[Sequence[PreparedTrial]], None]:
    """Return what checks trials of a study."""
    hub = HubAccess.unless(offline=options.offline)
    return lambda trials: check_trials(file, trials, options.despite, hub, observer.on_progress, options.runs)


def _confirm(file: StudyFile, prices: StudyPrices, confirm: Callable[[str], bool]) -> None:
    """Ask whether many trials shall start: how many, how long, and for how much money.

    Raises:
        UsageError: They shall not, or there is no terminal to confirm at.
    """
    count = len(file.trials) + count_proposals(file, file.trials)
    limit = min(count, file.study.budget.trials or count)
    if limit <= MANY:
        return
    summary = "; ".join([f"{file.name} has {render_counted(count, 'trial')}", *estimate_first(file, limit, prices)])
    if confirm(f"{summary}. Start them?"):
        return
    fix = "`--dry-run` checks them; `--yes` starts them; `budget: {trials: 100}` limits them"
    raise UsageError(f"so many trials need a confirmation: {summary}", where=file.path, fix=fix)
