"""All jobs, how they run here, and what a test declares about them."""

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.helpers.hub.jobs.images import DEFAULT_IMAGES, Image
from tests.helpers.hub.jobs.mishaps import LogTrap, Mishap, MishapKind, Mishaps
from tests.helpers.hub.jobs.records import Job

if TYPE_CHECKING:
    from tests.helpers.hub.jobs.scheduled import ScheduledJob


@dataclass(slots=True)
class Jobs:
    """All jobs, and how they run here.

    Attributes:
        all: By id, in order of submission.
        scheduled: Jobs at times, by id.
        images: Python and uv by the name of an image, which may be a pattern. A Space is `spaces/NAMESPACE/NAME`.
        network: Variables that every job gets beside those that the real one gives it: where this Hub is.
        mishaps: What goes wrong; `mishap` declares it.
        traps: What is wrong with streams of log lines; `trap_logs` declares it.
        write_delay_s: On the Hub's clock, from the closing of a file in a mounted bucket to its arrival there. 2 to 30 seconds on the real one.
        write_delays: The same for files of a pattern: `{"*.safetensors": 600}` has a manifest arrive before its weights.
        read_delay_s: On the Hub's clock, from the arrival of a file in a bucket to its appearance in the folders of jobs that run. Up to 30 seconds.
        drains: Whether a job that ends waits for its writes to arrive. On a lost machine they are lost in any case.
        grace_s: From SIGTERM to SIGKILL, in seconds that really pass.
        stage_lag_s: From the last line of a job to its last stage, in seconds that really pass; 1.3 or so on the real Hub.
        machine_skew_s: How much later than the Hub the machines take it to be: times of log lines.
        seen_gpu_bytes: Memory in use on each GPU, for metrics.
        metrics_s: Between two measurements, in seconds that really pass.
        keep_alive_s: Between two `: keep-alive` of a stream that has nothing to tell, in seconds that really pass.
    """

    all: dict[str, Job] = field(default_factory=dict[str, Job])
    scheduled: "dict[str, ScheduledJob]" = field(default_factory=dict)
    images: dict[str, Image] = field(default_factory=lambda: dict(DEFAULT_IMAGES))
    network: dict[str, str] = field(default_factory=dict[str, str])
    mishaps: Mishaps = field(default_factory=Mishaps)
    traps: list[LogTrap] = field(default_factory=list[LogTrap])
    write_delay_s: float = 0.0
    write_delays: dict[str, float] = field(default_factory=dict[str, float])
    read_delay_s: float = 0.0
    drains: bool = True
    grace_s: float = 2.0
    stage_lag_s: float = 0.0
    machine_skew_s: float = 0.0
    seen_gpu_bytes: int = 0
    metrics_s: float = 1.0
    keep_alive_s: float = 30.0

    def __getitem__(self, job_id: str) -> Job:
        return self.all[job_id]

    @property
    def newest(self) -> Job:
        """The last one that was submitted."""
        return list(self.all.values())[-1]

    def mishap(self, kind: MishapKind, pattern: str = "", *, times: int | None = 1, **when: Any) -> None:
        """Let something go wrong with jobs, at once if it is not said when.

        Args:
            kind: `stuck`, `unpullable`, `machine_gone`, `out_of_credit`, `out_of_memory`.
            pattern: With which, by a regular expression that is looked for in `NAMESPACE ID key=value ... COMMAND`.
            times: With how many; None for all.
            when: Attributes of `Mishap`: `at_line="step 4"`, `at_file="*/model.safetensors"`, `after_s=60`, `message="..."`.
        """
        self.mishaps.active.append(Mishap(kind=kind, pattern=re.compile(pattern), left=times, **when))

    def trap_logs(self, pattern: str = "", *, times: int | None = None, **wrong: Any) -> None:
        """Let something be wrong with streams of log lines.

        Args:
            pattern: Of which jobs, as in `mishap`.
            times: Of how many connections; None for all.
            wrong: Attributes of `LogTrap`: `cut_after=3`, `lingers=True`.
        """
        self.traps.append(LogTrap(pattern=re.compile(pattern), left=times, **wrong))

    def lose_machine(self, job_id: str) -> None:
        """Kill a running job's processes without warning, and wipe its disk."""
        machine = self.all[job_id].machine
        if machine is not None:
            machine.fall(Mishap(kind="machine_gone", pattern=re.compile("")))

    def heal(self) -> None:
        """Let nothing go wrong with jobs or come late any more; those that are stuck go on."""
        self.mishaps.active.clear()
        self.traps.clear()
        self.write_delays.clear()
        self.write_delay_s = self.read_delay_s = self.stage_lag_s = self.machine_skew_s = 0.0
        self.drains = True
