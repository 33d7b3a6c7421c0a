"""The table of a study: a row a trial."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

from holdfast.core.text.json_text import render_canonical
from holdfast.results.study import FailedTrial, StudyResult, StudyTrialResult


def table_rows(result: StudyResult) -> Iterator[dict[str, Any]]:
    """Yield the row of each trial, with the same columns in each."""
    failed = {each.number: each for each in result.failed}
    keys = dict.fromkeys(chain.from_iterable(each.settings for each in result.trials))
    metrics = sorted(set[str]().union(*(each.metrics for each in result.trials)) - {result.metric})
    for each in result.trials:
        yield {
            "trial": each.number,
            "run": each.run,
            "stage": each.stage,
            **{key: _plain(each.settings.get(key)) for key in keys},
            "seed": each.seed,
            result.metric: each.value,
            **{name: each.metrics.get(name) for name in metrics},
            "elapsed_s": each.elapsed_s,
            **_outcome(each, failed.get(each.number)),
            "content": each.content,
        }


def _outcome(trial: StudyTrialResult, failure: FailedTrial | None) -> dict[str, str | None]:
    """Return why a trial failed, or why it was stopped early."""
    if failure is None:
        return {"class": None, "because": trial.pruned or None}
    return {"class": failure.name, "because": failure.because}


def _plain(value: Any) -> Any:
    return render_canonical(value) if isinstance(value, dict | list) else value
