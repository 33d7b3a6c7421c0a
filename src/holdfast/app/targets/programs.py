"""The program that a target comes to, and the interpreter that runs it."""

from collections.abc import Sequence

from holdfast.adapters.environment.interpreters import select_interpreter
from holdfast.adapters.rehearsal.programs import Program, read_program
from holdfast.adapters.targets import Target, read_target
from holdfast.app.targets.rendering import script_of
from holdfast.core.errors import UsageError
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.job_file.job import Job
from holdfast.core.run.backends import capabilities_of


def interpreter_of(program: Program) -> tuple[str, ...]:
    """Return the words that run a program's script.

    Raises:
        UsageError: No environment at hand serves, and uv is not installed.
    """
    return select_interpreter(program.path, program.source, {"python": program.python}, program.added)


def program_of(target: str, sets: Sequence[str], arguments: Sequence[str]) -> Program:
    """Return the program that a target comes to: of a job file, the script that is rendered from it.

    Raises:
        UsageError: There is no such file, it breaks its schema, or it takes no arguments.
    """
    if target_kind(target) is not TargetKind.JOB:
        return read_program(target, arguments, sets)
    job = read_target(target, sets, arguments)
    if job.job is None:
        raise UsageError(f"{target} is not a job file", where=target, fix="name a job file, a script or a notebook")
    return program_of_job(job, job.job)


def program_of_job(target: Target, job: Job) -> Program:
    """Return the program of a job file that was read: the script that is rendered from it."""
    where = job.where
    return Program(
        path=target.document.path,
        source=script_of(target),
        local=capabilities_of(where.backend).is_here,
        python=str(where.options.get("python", "")),
        variables=job.environment.variables,
        job=target.document,
        scenario=target.scenario,
        gguf=tuple(job.output.gguf),
    )
