"""What a rehearsal, a short run and a full run cost on Hugging Face Jobs, beside the bare script: wall time on the loopback Hub of the tests.

    .venv/bin/python -m benchmarks.jobs_first_run [JOB] [--steps 60]

The loopback Hub starts each job at once, in a process of its own with an empty disk, and installs nothing. So these times lack the wait for
hardware and the download of packages and models, which every job has, and they say what holdfast adds. The bare script is the rendered
job, sent with `run_uv_job` of huggingface_hub, and polled every 5 seconds, as `hf jobs uv run` does.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from benchmarks.machine import heading
from holdfast.app.rehearse.verb import rehearse
from holdfast.app.render.verb import render
from holdfast.app.run.verb import run
from tests.helpers.hub import LoopbackHub, loopback_hub

JOB: Final = "examples/quickstart.yaml"
THERE: Final = (
    "where.backend=hf-jobs",
    "where.hardware=cpu-basic",
    "where.timeout=1h",
    "environment.secrets=[HF_TOKEN]",
)


@contextmanager
def hub_of_jobs() -> Iterator[LoopbackHub]:
    """Give a Hub that this process asks, until the end."""
    before = dict(os.environ)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_DATASETS_OFFLINE"):
        os.environ.pop(name, None)
    with loopback_hub() as hub:
        os.environ.update(hub.variables)
        hub.jobs.network |= {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
        try:
            yield hub
        finally:
            os.environ.clear()
            os.environ.update(before)


def bare(hub: LoopbackHub, job: str, sets: tuple[str, ...]) -> None:
    """Send the rendered script as it is, and wait for its end."""
    from huggingface_hub import HfApi

    script = Path("train.py")
    script.write_text(render(job, set=sets))
    api = HfApi(endpoint=hub.address, token=hub.token)
    sent = api.run_uv_job(str(script), flavor="cpu-basic", timeout="1h", secrets={"HF_TOKEN": hub.token or ""})
    while (stage := api.inspect_job(job_id=sent.id).status.stage) in ("RUNNING", "SCHEDULING"):
        time.sleep(5)
    if stage != "COMPLETED":
        raise SystemExit(f"the bare job ended as {stage}")


def timed(what: str, work: Callable[[], object]) -> None:
    """Do some work, and print how long it took."""
    begun = time.perf_counter()
    work()
    print(f"| {what} | {time.perf_counter() - begun:.1f} s |", flush=True)


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("job", nargs="?", default=JOB)
    parser.add_argument("--steps", type=int, help="fewer steps than the job has")
    given = parser.parse_args()
    job = str(Path(given.job).absolute())
    sets = (f"train.max_steps={given.steps}",) if given.steps else ()
    print(heading("first run on Hugging Face Jobs"), "\n\n| what | wall time |\n|---|---|", sep="\n")
    with TemporaryDirectory() as folder, chdir(folder), hub_of_jobs() as hub:
        os.environ["HOLDFAST_RUNS"] = f"{folder}/runs"
        timed("the bare script, `run_uv_job`", lambda: bare(hub, job, sets))
        timed("`rehearse`", lambda: rehearse(job, set=sets))
        timed("`run --on hf-jobs --no-rehearse`", lambda: run(job, set=(*THERE, *sets), rehearse=False))
        timed(
            "`run --on hf-jobs --try --no-rehearse`",
            lambda: run(job, set=(*THERE, *sets), rehearse=False, try_first=True),
        )


if __name__ == "__main__":
    main()
