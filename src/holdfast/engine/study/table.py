"""The table of a study: a row a trial."""

from collections.abc import Iterator
from typing import Any

from holdfast.core.json_text import render_canonical
from holdfast.results.study import StudyResult


def table_rows(result: StudyResult) -> Iterator[dict[str, Any]]:
    """Yield the row of each trial, with the same columns in each."""
    failed = {each.number: each for each in result.failed}
    keys = dict.fromkeys(key for each in result.trials for key in each.settings)
    metrics = sorted({name for each in result.trials for name in each.metrics} - {result.metric})
    for each in result.trials:
        failure = failed.get(each.number)
        yield {
            "trial": each.number,
            "run": each.run,
            "stage": each.stage,
            **{key: _plain(each.settings.get(key)) for key in keys},
            "seed": each.seed,
            result.metric: each.value,
            **{name: each.metrics.get(name) for name in metrics},
            "elapsed_s": each.elapsed_s,
            "class": failure.name if failure else None,
            "because": failure.because if failure else each.pruned or None,
            "content": each.content,
        }


def _plain(value: Any) -> Any:
    return render_canonical(value) if isinstance(value, dict | list) else value
