"""Writing a run's report from its folder and the ledger."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from io import SEEK_END
from pathlib import Path
from typing import Any

from holdfast.adapters.foreign_files import open_foreign, read_foreign_text
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.storage.checkpoints import verify_checkpoint
from holdfast.adapters.storage.run_folder import write_redacted
from holdfast.app.models.run_models import kept_checkpoints
from holdfast.app.run.kept_results import load_evaluations, load_result, read_refusals
from holdfast.app.run.runs import Run
from holdfast.core.job.document import Document
from holdfast.core.run.run_state import RunState
from holdfast.core.text.json_text import parse_json
from holdfast.engine.report.page import Message, ReportData, Sample, render_report
from holdfast.results.check import CheckResult
from holdfast.results.rehearse import RehearseResult

OUTPUT_BYTES = 20_000


def write_report(run: Run) -> Path:
    """Write `report.html` into the run's folder and return its path."""
    events, state = run.events(), run.state()
    data = ReportData(
        run=run.name,
        events=events,
        job=_read_job(run.folder / "job.resolved.yaml"),
        check=load_result(run.folder, CheckResult),
        rehearsal=load_result(run.folder, RehearseResult),
        refusal=read_refusals(run, state),
        evaluations=load_evaluations(state.evaluated),
        samples=tuple(_read_samples(run.folder / "results" / "samples.jsonl")),
        checkpoints=_verify_checkpoints(run.folder),
        model=_find_model(run.folder, state),
        last_output=_read_last_output(run.folder / "attempts" / str(len(state.attempts))),
        now_s=run.counted_until_s(state),
    )
    write_redacted(run.folder / "report.html", render_report(data))
    return run.folder / "report.html"


def _find_model(run: Path, state: RunState) -> str | None:
    """Return the folder of the trained model; None if there is none."""
    folders = (str(run / "model"), state.saved_model)
    return next((folder for folder in folders if folder and Path(folder).is_dir()), None)


def _read_job(path: Path) -> Document | None:
    with suppress(OSError, ExceptionGroup):  # it is missing, or was changed
        return JobFileReader().read(read_foreign_text(path), path.name)
    return None


def _read_samples(path: Path) -> Iterator[Sample]:
    text = ""
    with suppress(OSError):
        text = read_foreign_text(path)
    for line in text.splitlines():
        with suppress(ValueError, KeyError, TypeError, OverflowError):  # a line that a kill cut short
            record = parse_json(line)
            yield Sample(int(record["step"]), _prompt(record["prompt"]), str(record["completion"]))


def _prompt(prompt: Any) -> str | list[Message]:
    """Return a prompt: the messages of a chat, or a text."""
    if not isinstance(prompt, list) or not prompt or not all(isinstance(each, dict) for each in prompt):
        return str(prompt)
    # In a table of rows, all messages have the same keys; a key that a message did not have is null.
    return [{key: value for key, value in each.items() if value is not None} for each in prompt]


def _verify_checkpoints(folder: Path) -> Mapping[str, str]:
    return {str(path): verify_checkpoint(path).verdict for _, path in kept_checkpoints(folder)}


def _read_last_output(attempt: Path) -> str:
    """Return the end of what an attempt wrote to standard error; of one whose log was retrieved, the end of both streams, which are one there."""
    separate = attempt / "stderr.log"
    return _read_end(separate if separate.exists() else attempt / "stdout.log")


def _read_end(path: Path) -> str:
    try:
        with open_foreign(path) as file:
            file.seek(max(0, file.seek(0, SEEK_END) - OUTPUT_BYTES))
            return file.read(OUTPUT_BYTES).decode(errors="replace")
    except OSError:
        return ""
