"""The job as it runs: every key said, so that the same file gives the same run again."""

from collections.abc import Mapping
from typing import Any

from holdfast.adapters.yaml.render import render_lines
from holdfast.core.job import Job

HEAD = (
    "The job as it ran: what its file said, what overrode that, and every default.",
    "`holdfast run` takes this file like any other.",
)


def resolved_yaml(job: Job, extra: Mapping[str, Any] | None = None) -> str:
    """Return a job file that leaves nothing to defaults; the same job gives the same text.

    Args:
        job: The job.
        extra: What was found out beside it, such as versions; it stands in comments, so that
            the text stays a job file.

    >>> job = Job(method="sft", model="tiny", dataset="rows.jsonl", seed=7)
    >>> print(resolved_yaml(job, {"trl": "1.16.0"}).partition("model:")[0])
    # The job as it ran: what its file said, what overrode that, and every default.
    # `holdfast run` takes this file like any other.
    # trl: 1.16.0
    name: null
    method: sft
    <BLANKLINE>
    """
    seed = job.seed if job.dataset.seed is None else job.dataset.seed
    data = job.dataset.model_copy(update={"seed": seed})
    said = job.model_copy(update={"dataset": data}).model_dump(by_alias=True) | {"method": job.method.value}
    notes = (f"# {line}" for line in (*HEAD, *render_lines(extra or {})))
    return "".join(f"{line}\n" for line in (*notes, *render_lines(said)))
