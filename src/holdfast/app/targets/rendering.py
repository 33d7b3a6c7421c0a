"""The script that a job stands for."""

from holdfast.adapters.targets import Target, read_referred
from holdfast.core.job_file.secret_references import separate_secrets
from holdfast.engine.run.naming import name_job
from holdfast.engine.script.render import referred_files, render_script


def script_of(target: Target) -> str:
    """Return the script that trains: rendered from a job, or the user's own."""
    if target.job is None:
        return target.document.text
    job, _ = separate_secrets(target.job)
    sources = read_referred(referred_files(job), target.document.path)
    return render_script(job, name=name_job(job, target.document.path), sources=sources)
