"""Giving the script that a job stands for."""

from collections.abc import Sequence

from holdfast.adapters.targets import Target, read_referred, read_target
from holdfast.engine.launch import name_job
from holdfast.engine.render import referred_files, render_script


def render(target: str, *, sets: Sequence[str] = ()) -> str:
    """Give the self-contained training script of a job file."""
    return script_of(read_target(target, sets))


def script_of(asked: Target) -> str:
    """Return the script that trains: rendered from a job, or the user's own."""
    if asked.job is None:
        return asked.document.text
    sources = read_referred(referred_files(asked.job), asked.document.path)
    return render_script(asked.job, name=name_job(asked.job, asked.document.path), sources=sources)
