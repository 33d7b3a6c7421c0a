"""Writing what a study has given into its folder: the file that was run, a table, the result, and a report."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from holdfast.adapters.clock import SystemClock
from holdfast.adapters.foreign_files import is_there, read_foreign_text
from holdfast.adapters.storage.study_folder import COPY, REPORT, RESULT, TABLE, render_table, write_study_file
from holdfast.app.study.outcomes import TrialRun
from holdfast.app.study.reading import StudyFile
from holdfast.core.errors import UsageError
from holdfast.core.text.json_text import parse_json
from holdfast.engine.report.curves import gather_curves
from holdfast.engine.study.page import StudyCurves, render_study
from holdfast.engine.study.table import table_rows
from holdfast.results import to_json
from holdfast.results.study import StudyResult

SOURCE = "source.json"
DRAWN = ("loss", "train_loss")
"""What is drawn of a trial if it has no curve of the metric."""


def require_own_folder(folder: Path, path: str) -> None:
    """Refuse to write into the folder of another study of the same name.

    Raises:
        UsageError: It belongs to another file, which is still there.
    """
    own = str(Path(path).absolute())
    with suppress(OSError, ValueError, TypeError, KeyError):
        other = str(parse_json(read_foreign_text(folder / SOURCE))["path"])
        if other != own and is_there(Path(other)):
            what = f"the study {folder.name} belongs to another file: {other}"
            raise UsageError(what, where=str(folder), fix="give one of them another `name`, or use another --runs")


def write_study(folder: Path, file: StudyFile, result: StudyResult, found: Mapping[str, TrialRun]) -> None:
    """Write what a study has given.

    Raises:
        LedgerError: It cannot be written.
    """
    curves = [each for trial in result.trials if (each := _curves(trial.content, trial.number, file, found))]
    write_study_file(folder, SOURCE, json.dumps({"path": str(Path(file.path).absolute())}))
    write_study_file(folder, COPY, file.document.text)
    write_table(folder, result)
    write_study_file(folder, RESULT, json.dumps(to_json(result), indent=1))
    page = render_study(result, curves, file.document.text, SystemClock().now_s())
    write_study_file(folder, REPORT, page)


def write_table(folder: Path, result: StudyResult) -> None:
    """Write the row of each trial.

    Raises:
        LedgerError: It cannot be written.
    """
    write_study_file(folder, TABLE, render_table([*table_rows(result)]))


def _curves(content: str, number: int, file: StudyFile, found: Mapping[str, TrialRun]) -> StudyCurves | None:
    """Return the curve of a trial's metric; of its training loss if it has none."""
    if content not in found:
        return None
    run = found[content].run
    metric = file.study.metric.name
    curves = gather_curves(found[content].events)
    if metric in curves and len(curves[metric].points) > 1:
        return StudyCurves(number=number, metric=metric, points=tuple(curves[metric].points))
    steps = gather_curves(run.events())
    name = next((each for each in DRAWN if each in steps), "")
    return StudyCurves(number=number, metric=name, points=tuple(steps[name].points)) if name else None
