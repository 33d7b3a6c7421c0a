"""The result of `doctor`."""

from collections.abc import Mapping, Sequence
from typing import Literal

from holdfast.results import Result, ResultPart


class PlaceProblem(ResultPart, frozen=True, kw_only=True):
    """A problem that prevents the use of a place.

    Attributes:
        what: What is wrong.
        where: Where it was found.
        fix: The command or the change that fixes it.
    """

    what: str
    where: str
    fix: str


class GpuFacts(ResultPart, frozen=True, kw_only=True):
    """A GPU of this machine.

    Attributes:
        name: As `nvidia-smi` spells it.
        memory_bytes: Its total memory.
        capability: Its CUDA compute capability, as `8.0`.
    """

    name: str
    memory_bytes: int
    capability: str


class LocalFacts(ResultPart, frozen=True, kw_only=True, tag_field="kind", tag="local"):
    """This machine; `kind` distinguishes its facts from those of other places.

    Attributes:
        python: The version of Python.
        environment: The folder of the Python environment.
        cpus: Cores that this process may use.
        memory_bytes: Main memory, within the limits of the container.
        free_disk_bytes: Free space under the current folder.
        gpus: The GPUs that a job would see.
        driver: The version of the NVIDIA driver; null if none answers.
        uv: The version of uv; null if it is not installed.
        packages: Installed versions of the training libraries.
        sandbox: Whether the kernel confines rehearsals.
        no_sandbox: Why it does not; null if it does.
    """

    python: str
    environment: str
    cpus: int
    memory_bytes: int
    free_disk_bytes: int
    gpus: Sequence[GpuFacts]
    driver: str | None
    uv: str | None
    packages: Mapping[str, str]
    sandbox: bool
    no_sandbox: str | None


class HubAccountFacts(ResultPart, frozen=True, kw_only=True, tag_field="kind", tag="hub"):
    """The Hub, as this machine's token sees it.

    Attributes:
        asked: Whether it was asked.
        because: Why it was not asked; null if it was.
        token: The state of the token; null if the Hub did not answer.
        user: Whose token it is; null if unknown.
        role: What the token is for: `read`, `write` or `fineGrained`; null if unknown.
        organizations: The user's role in each organization.
        can_pay: Whether the account can pay for jobs; null if unknown.
    """

    asked: bool
    because: str | None
    token: Literal["valid", "refused", "absent"] | None
    user: str | None
    role: str | None
    organizations: Mapping[str, str]
    can_pay: bool | None


class ServiceFacts(ResultPart, frozen=True, kw_only=True, tag_field="kind", tag="service"):
    """A service that runs jobs.

    Attributes:
        asked: Whether it was asked.
        because: Why it was not asked; null if it was.
    """

    asked: bool
    because: str | None


class PlaceResult(ResultPart, frozen=True, kw_only=True):
    """A place that jobs use.

    Attributes:
        name: `local`, this machine; `hub`, the Hugging Face Hub; `hf-jobs`, Hugging Face Jobs.
        ready: Whether it can be used.
        facts: The facts about it.
        problems: The problems that prevent its use.
    """

    name: Literal["local", "hub", "hf-jobs"]
    ready: bool
    facts: LocalFacts | HubAccountFacts | ServiceFacts
    problems: Sequence[PlaceProblem]


class DoctorResult(Result, frozen=True, kw_only=True):
    """What is ready for training, and what is missing.

    Attributes:
        verdict: `ready` if this machine and the Hub are; a service need not be.
        places: Each place.
    """

    verb: Literal["doctor"]
    verdict: Literal["ready", "not-ready"]
    places: Sequence[PlaceResult]

    @property
    def exit_code(self) -> int:
        """1 unless this machine and the Hub are ready."""
        return int(self.verdict != "ready")
