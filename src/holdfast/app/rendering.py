"""Giving the script that a job stands for."""

from holdfast.adapters.targets import Target, read_referred, read_target
from holdfast.app.arguments import Overrides, PathName, as_overrides, as_path
from holdfast.engine.run.launch import name_job
from holdfast.engine.script.render import referred_files, render_script


def render(target: PathName, *, set: Overrides = ()) -> str:  # noqa: A002 - the option's name
    """Return the training script of a job file: plain TRL, self-contained.

    >>> import holdfast
    >>> holdfast.render("examples/quickstart.yaml").startswith("# /// script")
    True

    Args:
        target: The job file.
        set: Overrides of its keys: a mapping, or `KEY=VALUE`.

    Raises:
        UsageError: There is no such file.
        GroupedError: Of a JobError for everything wrong with it.
    """
    return script_of(read_target(as_path(target), as_overrides(set)))


def script_of(target: Target) -> str:
    """Return the script that trains: rendered from a job, or the user's own."""
    if target.job is None:
        return target.document.text
    sources = read_referred(referred_files(target.job), target.document.path)
    return render_script(target.job, name=name_job(target.job, target.document.path), sources=sources)
