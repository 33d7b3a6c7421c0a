"""The verb `render`: the script that a job stands for, and those of a study."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from holdfast.adapters.foreign_files import is_there, read_foreign_text
from holdfast.adapters.targets import read_target
from holdfast.adapters.targets.studies import names_study
from holdfast.app.arguments import Overrides, PathName, as_overrides, as_path
from holdfast.app.render.study_scripts import study_scripts
from holdfast.app.targets.rendering import script_of
from holdfast.core.errors import UsageError
from holdfast.core.text.redact import named_secrets, redact

MARK: Final = "Made by holdfast"
"""What each script that is rendered says of itself."""


def render(
    target: PathName,
    *,
    set: Overrides = (),  # noqa: A002 - the option's name
    output: PathName | None = None,
) -> str:
    """Return the training script of a job file: plain TRL, self-contained. Of a study, write a main script and one for each kind of trial.

    >>> import holdfast
    >>> holdfast.render("examples/quickstart.yaml").startswith("# /// script")
    True

    Args:
        target: The job file, or the study.
        set: Overrides of the job's keys: a mapping, or `KEY=VALUE`.
        output: The file to write; of a study, the folder, which it needs. The main script is returned.

    Raises:
        UsageError: There is no such file, it is a script already, the script would hold a secret, or it cannot be written. Of a study,
            the folder has a script of the same name that is not holdfast's.
        GroupedError: Of a JobError for everything wrong with it.
    """
    path, sets = as_path(target), as_overrides(set)
    if names_study(path):
        return _study_script(path, sets, output)
    script = _job_script(path, sets)
    if output is not None:
        _write({Path(as_path(output)): script})
    return script


def _study_script(path: str, sets: Sequence[str], output: PathName | None) -> str:
    """Write the scripts of a study into a folder, and return the main one."""
    if sets:
        fix = "write it into the study's job, or vary it there"
        raise UsageError("`--set` applies to a job, not to a study", where="--set", fix=fix)
    if output is None:
        what = "a study is several scripts: a main one, and one for each kind of trial"
        raise UsageError(what, where=path, fix="name a folder to write them to: `--output FOLDER`")
    scripts, secrets = study_scripts(path)
    for script in scripts.values():
        _require_no_secret(script, secrets, path)
    folder = Path(as_path(output))
    _require_own(folder / name for name in scripts)
    _make_folder(folder)
    _write({folder / name: script for name, script in scripts.items()})
    return next(iter(scripts.values()))


def _require_own(paths: Iterable[Path]) -> None:
    """Refuse to overwrite files that holdfast did not write: of a study, the user names only the folder.

    Raises:
        UsageError: There is one.
    """
    for path in paths:
        text = ""
        with suppress(OSError):
            text = read_foreign_text(path)
        if is_there(path) and MARK not in text:
            what = f"{path} exists already, and was not written by `holdfast render`"
            raise UsageError(what, where=str(path), fix="name another folder with `--output`, or rename the file")


def _write(scripts: Mapping[Path, str]) -> None:
    """Write scripts.

    Raises:
        UsageError: One cannot be written.
    """
    for path, script in scripts.items():
        try:
            path.write_text(script, encoding="utf-8")
        except OSError as error:
            what = f"{path} cannot be written: {error.strerror}"
            raise UsageError(what, where="--output", fix="name a place that you may write to") from error


def _make_folder(folder: Path) -> None:
    """Make a folder for scripts.

    Raises:
        UsageError: It cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"{folder} cannot be made: {error.strerror}"
        raise UsageError(what, where="--output", fix="name a folder that you may write to") from error


def _job_script(path: str, sets: Sequence[str]) -> str:
    read = read_target(path, sets)
    if read.job is None:
        what = "it is a script already: only a job file has a script to render"
        raise UsageError(what, where=path, fix="name a job file, or run it with `holdfast run`")
    script = script_of(read)
    _require_no_secret(script, named_secrets(read.document.values), path)
    return script


def _require_no_secret(script: str, secrets: Iterable[str], path: str) -> None:
    """Refuse to write a secret of a job.

    Raises:
        UsageError: The script has one.
    """
    if redact(script, secrets) != script:
        fix = "take it out; name its variable under `environment.secrets`, which the script reads from the environment"
        raise UsageError("the script would hold a secret of the job in plain text", where=path, fix=fix)
