"""What is asked of one process of a rehearsal."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

ANY = "*"
"""In place of an owner: whoever is not named."""
Part = Literal["whole", "stop", "resume"]
Fault = Literal[
    "",
    "kill",
    "sigterm",
    "stall",
    "nan-gradients",
    "oom-train",
    "oom-eval",
    "disk-full",
    "truncated-checkpoint",
    "hub-429",
    "hub-503",
    "expired-token",
]
"""What may happen to a training: `trainers/faults.py` and `pushes/faults.py` do it. Empty: nothing."""
GpuChoice = Literal["none", "assumed", "here"]
NOTEBOOK = ".ipynb"
EXPORTED = "exported"


@dataclass(frozen=True)
class PartRequest:
    """One process' part of a rehearsal.

    Attributes:
        script: The script's path, as the user knows it: tracebacks give it.
        source: Its text.
        argv: Its own arguments.
        module: The module that it is to be run as, by `python -m`; empty: it is run by its path.
        folder: Where everything is written: output folders of the script become folders in it.
        part: `whole` goes from the first line to the last; `stop` is disturbed by its fault; `resume` goes on from the
            checkpoint that `stop` left.
        resume: That checkpoint, of `resume` alone.
        before: The folder of the part whose files this one finds, as on the disk of a job that is started again; empty: of none.
        steps: Optimizer steps that each training takes.
        stop_at: The step, from 1, amid which the fault strikes; one that needs an evaluation, a save or a push strikes at the next.
        fault: What happens to a part other than `whole`: `sigterm` asks it to stop.
        fits: Memory in which a batch runs, in the units of the faults `oom-train` and `oom-eval`; 0: none runs.
        batch_parts: Parts that the batch of a step is divided into, as a remedy does: the accumulation grows by as much.
        eval_parts: Parts that the batch of an evaluation is divided into.
        rows: Rows of each dataset that are kept at most.
        gpu: Whether the job will have one: `none` (this machine's processor is what it gets), `assumed` (it has one, and
            this machine has not), `here` (this machine's is used).
        offline: Whether the Hub is left alone.
        known_rows: A JSON Lines file of rows that are known to be good, in place of the script's own; empty: its own.
        known_model: A folder of a model that is known to be good, in place of the script's own; empty: its own.
        writable: What a token may write to, by repository, by owner, and by `ANY` for all others: `yes`, `no: because`; what
            is not among them is unknown.
        elsewhere: Modules that the job's own environment has, and the one that stands in for it here lacks.
        processes: Processes that play it together; 1: one plays it alone, whatever the job has.
        rank: The number of this one.
        variables: What a launcher tells the process, if it is the only one.
        token: The SHA-256 of that token; of another one nothing is known. Empty: it holds for any.
        gate: The socket at which a sandbox asks for a way to the network; empty: it has none.
        port: The port of that way in the sandbox; 0: the network is as it is.
        exports: Whether the job exports its model: it is then kept whole in `EXPORTED` of the folder.
    """

    script: str
    source: str
    folder: str
    argv: tuple[str, ...] = ()
    module: str = ""
    part: Part = "whole"
    resume: str = ""
    before: str = ""
    steps: int = 4
    stop_at: int = 3
    fault: Fault = ""
    fits: int = 0
    batch_parts: int = 1
    eval_parts: int = 1
    rows: int = 16
    gpu: GpuChoice = "assumed"
    offline: bool = False
    known_rows: str = ""
    known_model: str = ""
    writable: tuple[tuple[str, str], ...] = ()
    elsewhere: tuple[str, ...] = ()
    processes: int = 1
    rank: int = 0
    variables: tuple[tuple[str, str], ...] = ()
    token: str = ""
    gate: str = ""
    port: int = 0
    exports: bool = False

    def written(self) -> str:
        """Return it as JSON, as `read_part_request` reads it."""
        return json.dumps(asdict(self))

    def owns(self, path: str | os.PathLike[str]) -> bool:
        """True if a path is this rehearsal's own: in its folder, or in the checkpoint that it goes on from.

        >>> PartRequest(script="s", source="", folder="/r/resume", resume="/r/stop/checkpoint-3").owns("/r/stop/checkpoint-3/a")
        True
        """
        whole = os.path.abspath(path)  # noqa: PTH100 - a shadow is at the same place, links and all
        folders = (os.path.abspath(each) for each in (self.folder, self.resume) if each)  # noqa: PTH100 - pathlib is guarded
        return any(whole == each or whole.startswith(each + os.sep) for each in folders)

    @property
    def inside(self) -> Path:
        """Where what the script writes goes."""
        return Path(self.folder, "written")


def read_part_request(text: str) -> PartRequest:
    """Return an order from its JSON.

    >>> request = PartRequest(script="train.py", source="", folder="/tmp/r", argv=("--fast",))
    >>> read_part_request(request.written()) == request
    True
    """
    values = json.loads(text)
    values |= {name: tuple(values.get(name, ())) for name in ("argv", "elsewhere")}
    values |= {name: tuple((key, value) for key, value in values[name]) for name in ("writable", "variables")}
    return PartRequest(**values)
