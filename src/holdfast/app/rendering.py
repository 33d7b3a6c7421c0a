"""Giving the script that a job stands for."""

from holdfast.adapters.targets import Target, read_referred, read_target
from holdfast.app.arguments import Overrides, PathName, as_overrides, as_path
from holdfast.core.errors import UsageError
from holdfast.core.redact import named_secrets, redact
from holdfast.core.secret_references import separate_secrets
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
        UsageError: There is no such file, it is a script already, or the script would hold a secret.
        GroupedError: Of a JobError for everything wrong with it.
    """
    read = read_target(as_path(target), as_overrides(set))
    if read.job is None:
        what = "it is a script already: only a job file has a script to render"
        raise UsageError(what, where=as_path(target), fix="name a job file, or run it with `holdfast run`")
    script = script_of(read)
    if redact(script, named_secrets(read.document.values)) != script:
        fix = "take it out; name its variable under `environment.secrets`, which the script reads from the environment"
        raise UsageError("the script would hold a secret of the job in plain text", where=as_path(target), fix=fix)
    return script


def script_of(target: Target) -> str:
    """Return the script that trains: rendered from a job, or the user's own."""
    if target.job is None:
        return target.document.text
    job, _ = separate_secrets(target.job)
    sources = read_referred(referred_files(job), target.document.path)
    return render_script(job, name=name_job(job, target.document.path), sources=sources)
