"""A study in the background: the same command in a session of its own, which outlives this process."""

from pathlib import Path
from typing import Final

from holdfast.adapters.storage.study_folder import is_running_study
from holdfast.app.run.background import start_in_background
from holdfast.app.study.options import StudyOptions
from holdfast.app.study.reading import StudyFile
from holdfast.core.errors import BackendError

LOG: Final = "study.log"


def run_in_background(file: StudyFile, folder: Path, options: StudyOptions) -> None:
    """Start a study in the background, and return once it runs, or has ended.

    Args:
        file: The study file.
        folder: The study's folder.
        options: How its trials run.

    Raises:
        BackendError: It ended with an error before it ran.
    """
    flags = {"--offline": options.offline, "--no-rehearse": not options.rehearse, "--retry": options.retry}
    words = [
        "study",
        file.path,
        "--yes",
        "--runs",
        str(options.runs),
        *(flag for flag, given in flags.items() if given),
    ]
    words += ["--for", file.scenario] if file.scenario else []
    words += [word for code in options.despite for word in ("--despite", code)]
    ended = start_in_background(words, {}, folder / LOG, lambda: is_running_study(folder))
    if ended is not None and ended.error != "":
        what = f"the study in the background ended: {ended.because}"
        raise BackendError(what, where=str(folder / LOG), fix="correct this, and start it again")
