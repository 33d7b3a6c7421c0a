"""What a study does beyond this machine: what an agent has to ask a person about before it starts one."""

import hashlib
from collections.abc import Sequence

from holdfast.app.arguments import PathName, as_path
from holdfast.app.run.effects import NOTHING, effects_of_run
from holdfast.app.study.reading import StudyFile, read_study
from holdfast.core.study.trial import Trial
from holdfast.core.text.json_text import render_canonical
from holdfast.engine.study.expansion import extreme_trials
from holdfast.results.run import RunEffects

OUTWARD = ("where", "output", "method", "rewards", "dataset.map", "samples.metric", "evaluate")
"""Parts of a job that decide where it runs, and what it pushes: also by the functions that it names."""


def effects_of_study(study: PathName, *, show: bool = False, dry_run: bool = False) -> RunEffects:
    """Return what the trials of a study would do, all together.

    Raises:
        UsageError: There is no such study.
        ExceptionGroup: Something is wrong with it.
    """
    if show or dry_run:
        return NOTHING
    file = read_study(as_path(study))
    return _together(file, [effects_of_run(file.target, set=file.sets_of(trial)) for trial in _differing(file)])


def _together(file: StudyFile, effects: Sequence[RunEffects]) -> RunEffects:
    """Return what several runs of a study would do, all together."""
    costly = [each for each in effects if each.costs]
    basis = [file.document.text, *(each.digest for each in effects)]
    return RunEffects(
        pushes=sorted({name for each in effects for name in each.pushes}),
        backend=", ".join(sorted({each.backend for each in costly if each.backend})),
        costs=bool(costly),
        digest=hashlib.sha256(render_canonical(basis).encode()).hexdigest(),
    )


def _differing(file: StudyFile) -> list[Trial]:
    """Return a trial for each place, each target of pushes and each function that the study varies."""
    found: dict[str, Trial] = {}
    for trial in (*file.trials, *extreme_trials(file.study)):
        outward = {key: value for key, value in trial.values.items() if key.startswith(OUTWARD)}
        found.setdefault(render_canonical(outward), trial)
    return list(found.values())
