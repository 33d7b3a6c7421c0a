"""The process that loads a model and does the work for datasets; it is ended with all that it started.

Covered: datasets that fail by themselves; a process that dies, of which the rest is done by another one. Not covered: other
environments than this one; several GPUs.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from signal import SIGKILL
from typing import Final

from msgspec import DecodeError, Struct, ValidationError, json

from holdfast.adapters.environment.machine import count_cpus
from holdfast.adapters.environment.marked_processes import marked_child
from holdfast.adapters.environment.threads import PATIENT_THREADS
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.core.errors import SourceError
from holdfast.core.evaluation import GenerationSettings, WorkKind

MARK: Final = "HOLDFAST_EVALUATION"
"""Variable by which processes are known that the evaluation started, wherever they went."""
SHOWN: Final = 600
"""Characters of what a process last wrote that are shown."""
VARIABLES: Final = {
    **PATIENT_THREADS,
    "TOKENIZERS_PARALLELISM": "true",
    "TRANSFORMERS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
}
CLASSES: Final[Mapping[str, str]] = {
    "memory": "cuda-oom-eval",
    "disk": "disk-full",
    "not finite": "nan-loss-silent-success",
    "template": "chat-template-invalid",
}
"""The class of failure for each kind of error that the process tells."""
FIXES: Final[Mapping[str, str]] = {
    "memory": "one row alone does not fit: evaluate on a larger GPU, or leave out the longest rows",
    "disk": "free some disk space; what was written is kept",
    "not finite": "the weights are damaged, or overflow in this dtype: look at the training's `grad_norm`",
    "template": "correct the chat template, or the rows that it does not take",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSource:
    """Where a model comes from: the fields of `payload.evaluate.work_request.ModelRequest`, but for `threads`."""

    path: str
    adapter: str | None = None
    tokenizer: str
    template: str | None = None
    classifies: bool = False
    is_vision: bool = False
    is_gguf: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DatasetWork:
    """The work for one dataset: the fields of `payload.evaluate.work_request.WorkRequest`."""

    name: str
    kind: WorkKind
    rows: str
    out: str
    batch_size: int
    generation: GenerationSettings


class WorkEvent(Struct, frozen=True):
    """A line that the process writes; which fields it has depends on the event."""

    event: str
    name: str = ""
    because: str = ""
    kind: str = ""
    adapter: bool = False
    done: int = 0
    of: int = 0
    batch_size: int = 0
    device: str = ""
    dtype: str = ""
    template: str = ""
    versions: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class WorkFailure:
    """Why the work for a dataset failed.

    Attributes:
        name: The class of failure; empty if there is none.
        because: Why.
        fix: What to do.
    """

    name: str
    because: str
    fix: str


@dataclass(slots=True)
class WorkReport:
    """What came of the work.

    Attributes:
        loaded: The event of the loaded model; None if no work was to do.
        done: The names of the datasets that are done.
        failed: Why the others are not.
        batch_sizes: The batch sizes to which datasets had to be reduced.
    """

    loaded: WorkEvent | None = None
    done: set[str] = field(default_factory=set[str])
    failed: dict[str, WorkFailure] = field(default_factory=dict[str, WorkFailure])
    batch_sizes: dict[str, int] = field(default_factory=dict[str, int])


def do_work(
    model: ModelSource,
    work: Sequence[DatasetWork],
    on_progress: Callable[[str], None],
    *,
    offline: bool,
) -> WorkReport:
    """Do the work for some datasets with a model, in as many processes as die of it.

    Raises:
        SourceError: The model cannot be loaded.
    """
    report, waiting = WorkReport(), list(work)
    while waiting:
        _run(model, waiting, report, on_progress, offline=offline)
        waiting = [each for each in waiting if each.name not in report.done | report.failed.keys()]
    return report


def _run(
    model: ModelSource,
    work: Sequence[DatasetWork],
    report: WorkReport,
    on_progress: Callable[[str], None],
    *,
    offline: bool,
) -> None:
    """Run one process to its end; at least one dataset is then done or failed."""
    with scratch_folder("holdfast-evaluate-") as box:
        request, log, current = Path(box, "request.json"), Path(box, "stderr.log"), ""
        request.write_bytes(
            json.encode({"model": asdict(model) | {"threads": count_cpus()}, "work": [asdict(each) for each in work]})
        )
        words = [sys.executable, "-P", "-m", "holdfast.payload.evaluate", str(request)]
        variables = {**VARIABLES, **({"HF_HUB_OFFLINE": "1"} if offline else {})}
        with (
            log.open("wb") as errors,
            marked_child(words, MARK, variables=variables, stdout=subprocess.PIPE, stderr=errors) as child,
        ):
            for event in _events(child):
                current = _note(event, model, report, current, on_progress)
            code = child.wait()
        if code or (current and current not in report.done | report.failed.keys()):
            _note_death(code, current or work[0].name, report, log)


def _events(child: "subprocess.Popen[bytes]") -> Iterator[WorkEvent]:
    if child.stdout is None:
        return
    for line in child.stdout:
        with suppress(DecodeError, ValidationError):
            yield json.decode(line, type=WorkEvent)


def _note(
    event: WorkEvent, model: ModelSource, report: WorkReport, current: str, on_progress: Callable[[str], None]
) -> str:
    """Note an event; return the name of the dataset that is worked on.

    Raises:
        SourceError: The model cannot be loaded.
    """
    match event.event:
        case "unusable":
            raise _unusable(event, model)
        case "loaded":
            report.loaded = event
        case "progress":
            on_progress(f"{event.name}: {event.done} of {event.of} rows")
        case "shrunk":
            report.batch_sizes[event.name] = event.batch_size
            on_progress(f"{event.name}: out of memory, now {event.batch_size} rows a batch")
        case "done":
            report.done.add(event.name)
        case "failed":
            fix = FIXES.get(event.kind, "look at the rows that the message names, with `holdfast inspect`")
            report.failed[event.name] = WorkFailure(CLASSES.get(event.kind, ""), event.because, fix)
        case _:
            pass
    return event.name or current


def _unusable(event: WorkEvent, model: ModelSource) -> SourceError:
    if event.adapter and model.adapter is not None:
        what = f"the adapter {model.adapter} does not fit its base {model.path}: {event.because}"
        fix = "name the base that it was trained on, in the adapter's `adapter_config.json`"
        return SourceError(what, where=model.adapter, fix=fix)
    what = f"the model cannot be loaded: {event.because}"
    whole = "export or download it again" if model.is_gguf else "`holdfast verify` says whether its files are whole"
    return SourceError(what, where=model.path, fix=whole)


def _note_death(code: int, name: str, report: WorkReport, log: Path) -> None:
    """Note that the process died while it worked on a dataset."""
    last = log.read_text(encoding="utf-8", errors="replace").strip()[-SHOWN:]
    if code == -SIGKILL:
        because = "the process was killed, most likely by the system for want of memory"
        report.failed[name] = WorkFailure(
            "cpu-ram-oom-kill", because, "use a smaller --batch-size, or a larger machine"
        )
        return
    because = f"the process ended with exit code {code}" + (f": {last}" if last else "")
    report.failed[name] = WorkFailure("", because, "`holdfast doctor` checks this machine")
