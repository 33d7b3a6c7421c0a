"""Jobs, and what the Hub says of them. No networking and no processes here.

Source: `JobInfo`, `JobStage`, `JobDurations` and `_create_job_spec` of `huggingface_hub/_jobs_api.py` 2.4.0. Of secrets only the names are told, as a
list (https://huggingface.co/docs/hub/jobs-manage, `hf jobs inspect`). "Job timeout" is documented there; "Job failed with exit code: 137. Reason:
OOMKilled" is how public clients quote the Hub; the default timeout of 30 minutes is documented in https://huggingface.co/docs/hub/jobs-configuration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.helpers.hub.accounts import identifier
from tests.helpers.hub.repositories import iso

if TYPE_CHECKING:
    from tests.helpers.hub.jobs.machine import Machine

DEFAULT_TIMEOUT_S = 1800
SCHEDULING, RUNNING, COMPLETED, ERROR, CANCELED = "SCHEDULING", "RUNNING", "COMPLETED", "ERROR", "CANCELED"
TERMINAL = (COMPLETED, ERROR, CANCELED, "DELETED")
TIMEOUT = "Job timeout"
PASSED_ON = ("dockerImage", "spaceId", "command", "arguments", "environment", "flavor", "labels", "volumes", "expose")


@dataclass(slots=True, kw_only=True)
class Job:
    """One job.

    Attributes:
        spec: What was sent.
        stage: As `JobStage` spells it.
        message: Beside the stage.
        lines: What it wrote, each with its time; the first is the Hub's own.
        quiet: Whether it writes no more; its stage follows.
        heard: How many of them a stream has delivered so far, over all connections.
        starts: How many machines it has had.
        machine: The present one.
        exit_code: Of the process; None while it runs, and where it was killed with its machine.
    """

    id: str
    namespace: str
    owner_type: str
    initiator: Mapping[str, str]
    spec: Mapping[str, Any]
    made_s: float
    stage: str = SCHEDULING
    message: str | None = None
    started_s: float | None = None
    finished_s: float | None = None
    lines: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    quiet: bool = False
    heard: int = 0
    starts: int = 0
    machine: "Machine | None" = None
    exit_code: int | None = None
    cancelled: bool = False
    labels: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def ended(self) -> bool:
        return self.stage in TERMINAL

    @property
    def command(self) -> list[str]:
        return [*self.spec["command"], *(self.spec.get("arguments") or [])]

    @property
    def timeout_s(self) -> float:
        return float(self.spec.get("timeoutSeconds") or DEFAULT_TIMEOUT_S)

    @property
    def output(self) -> list[str]:
        """The lines of the process."""
        return [line for _, line in self.lines if not line.startswith("===== Job started")]

    @property
    def line(self) -> str:
        """The job in one line. Patterns of mishaps and of log traps are looked for in it."""
        labels = " ".join(f"{key}={value}" for key, value in sorted(self.labels.items()))
        return f"{self.namespace} {self.id} {labels} {' '.join(self.command)}"

    def told(self, now_s: float, skew_s: float = 0.0) -> dict[str, Any]:
        """Return what the Hub says of it."""
        spec = self.spec
        status: dict[str, Any] = {"stage": self.stage, "message": self.message}
        if spec.get("expose"):
            status["exposeUrls"] = [f"https://{self.id}--{port}.hf.jobs" for port in spec["expose"]["ports"]]
        if spec.get("ssh"):
            status["sshUrl"] = f"ssh://{self.id}@ssh.hf.jobs"
        told = {key: spec[key] for key in PASSED_ON if key in spec}
        return told | {
            "id": self.id,
            "createdAt": iso(self.made_s + skew_s),
            "startedAt": iso(self.started_s + skew_s) if self.started_s is not None else None,
            "finishedAt": iso(self.finished_s + skew_s) if self.finished_s is not None else None,
            "secrets": list(spec.get("secrets") or {}),
            "labels": self.labels,
            "retry": int(spec.get("attempts") or 1) - 1,
            "network": spec.get("network"),
            "status": status,
            "durations": self._durations(now_s),
            "owner": {
                "id": identifier(self.owner_type, self.namespace),
                "name": self.namespace,
                "type": self.owner_type,
            },
            "initiator": dict(self.initiator),
        }

    def _durations(self, now_s: float) -> dict[str, int | None]:
        end_s = self.finished_s if self.finished_s is not None else now_s
        running = scheduling = None
        if self.started_s is not None:
            scheduling, running = round(self.started_s - self.made_s), round(end_s - self.started_s)
        return {"schedulingSecs": scheduling, "runningSecs": running, "totalSecs": round(end_s - self.made_s)}
