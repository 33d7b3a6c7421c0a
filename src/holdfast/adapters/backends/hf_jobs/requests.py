"""What is sent to start an attempt.

The program and everything that it writes are in a folder of a bucket, which the job sees at a fixed path. So the command is
short, and the machine may be lost. Values of secrets are sent as secrets alone.
"""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

from holdfast.adapters.backends.hf_jobs.settings import RUN_FOLDER, JobSettings
from holdfast.core.environment.script_header import find_header
from holdfast.core.errors import BackendError
from holdfast.core.run.plan import Attempt

MOUNT: Final = f"/{RUN_FOLDER}"
"""Where the job sees the run's folder."""
UV_IMAGE: Final = "ghcr.io/astral-sh/uv:python3.12-bookworm"
"""What `run_uv_job` of huggingface_hub 2.4 takes: Debian with Python and uv."""
RUN_LABEL: Final = "holdfast-run"
ATTEMPT_LABEL: Final = "holdfast-attempt"
UNFIT: Final = re.compile(r"[^A-Za-z0-9_-]+")
LONGEST_NAME: Final = 72
"""Characters of a run's name in a label, which has 100 with the digest and the number of the attempt."""
MOST_BYTES: Final = 100_000
"""Bytes of the arguments together: Linux takes 131,072 in one of them, the Hub's own limit is not documented."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRequest:
    """A job that is to run one attempt.

    Attributes:
        folder: The run's folder in the bucket.
        program: The path of `attempt.py` in that folder.
        source: `attempt.py` on this machine.
        files: The job's own files, by their paths in `root`, with their sizes.
        root: The folder that they are in on this machine.
        key: The label by which the job is found again.
        variables: Its environment; no value of a secret.
        secrets: The values of its secrets.
    """

    settings: JobSettings
    folder: str
    program: str
    source: Path
    command: list[str]
    files: Mapping[str, int]
    root: Path
    key: str
    variables: Mapping[str, str]
    secrets: Mapping[str, str] = field(repr=False)

    @property
    def labels(self) -> dict[str, str]:
        """The labels, by which lists of jobs on the Hub show what a job belongs to."""
        return {"name": self.key, RUN_LABEL: self.folder, ATTEMPT_LABEL: self.key}

    @classmethod
    def of(cls, attempt: Attempt, settings: JobSettings, environment: Mapping[str, str]) -> Self:
        """Return the job of an attempt, with the values of its secrets from an environment.

        Raises:
            BackendError: No job could be given this.
        """
        plan = attempt.plan
        missing = [name for name in plan.secrets if name not in environment]
        if missing:
            what = f"secrets are not set: {', '.join(missing)}"
            raise BackendError(what, where="the environment", fix=f"export {missing[0]}=…")
        secrets = {name: environment[name] for name in plan.secrets}
        variables = attempt.variables(MOUNT) | ({"HOLDFAST_FILES": f"{MOUNT}/files"} if plan.files else {})
        _require_sendable([*plan.arguments, *variables, *variables.values()], list(plan.arguments))
        folder, program = label_of(attempt.run, attempt.run_id), f"attempts/{attempt.number}/attempt.py"
        starts = ["python"] if settings.image and not find_header(plan.script) else ["uv", "run"]
        return cls(
            settings=settings,
            folder=folder,
            program=program,
            source=Path(attempt.folder, "attempt.py"),
            command=[*starts, f"{MOUNT}/{program}", *plan.arguments],
            files=plan.files,
            root=Path(plan.cwd),
            key=f"{folder}-{attempt.number}",
            variables={name: value for name, value in variables.items() if name not in secrets},
            secrets=secrets,
        )


def label_of(name: str, run_id: str) -> str:
    """Return a run as labels and paths can have it: its name, and a digest by which runs of the same name differ.

    >>> label_of("sft-20261127-154501-x7", "sft-20261127-154501-x7"), label_of("ü $(x)", "ü $(x)/5d2a")
    ('sft-20261127-154501-x7-4f62b9ce53', '-x--40c11aebc9')
    """
    digest = hashlib.sha256(run_id.encode(errors="surrogatepass")).hexdigest()[:10]
    return f"{UNFIT.sub('-', name)[:LONGEST_NAME]}-{digest}"


def _require_sendable(texts: list[str], arguments: list[str]) -> None:
    """Refuse what no program can be given.

    Raises:
        BackendError: Something is.
    """
    if any("\0" in text for text in texts):
        what = "the attempt cannot be started: a null character in its arguments or variables"
        raise BackendError(what, where="the job", fix="remove it from the arguments, names and variables")
    size = sum(len(text.encode(errors="surrogatepass")) + 1 for text in arguments)
    if size > MOST_BYTES:
        what = f"the attempt cannot be started: its arguments have {size} bytes, and at most {MOST_BYTES} can be sent"
        raise BackendError(what, where="the arguments after `--`", fix="put them into a file that the script reads")
