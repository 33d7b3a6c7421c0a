"""Facts: what the outside said of a job. Rules read these and never fetch."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU.

    Attributes:
        name: As `nvidia-smi` spells it.
        memory_bytes: All of its memory.
        capability: CUDA compute capability, (major, minor); (0, 0) where nobody can say. bf16 is native from (8, 0).
    """

    name: str
    memory_bytes: int
    capability: tuple[int, int]

    @property
    def bf16(self) -> bool:
        """Whether it computes in bfloat16 itself; older ones emulate it, slowly."""
        return self.capability >= (8, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine a job will run on.

    Attributes:
        cpus: Cores this process may use.
        memory_bytes: Main memory.
        gpus: What `CUDA_VISIBLE_DEVICES` lets a job see.
        free_disk_bytes: Under the runs folder.
        variables: Names of the environment variables that are set and not empty.
        hub_token: Whether a Hub token is at hand, in the environment or saved by a login.
        packages: Installed versions by normalized distribution name, of this environment.
    """

    cpus: int
    memory_bytes: int = 0
    gpus: tuple[Gpu, ...] = ()
    free_disk_bytes: int = 0
    variables: frozenset[str] = frozenset()
    hub_token: bool = False
    packages: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """What is known of the split that will be trained on.

    Attributes:
        columns: Column names.
        rows: Number of rows, or None where counting them would mean reading all.
        eval_columns: Columns of the evaluation split, or None if the job names none.
        problem: Why the data surely cannot be read: missing, empty, malformed. Empty text for good data.
    """

    columns: tuple[str, ...] = ()
    rows: int | None = None
    eval_columns: tuple[str, ...] | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """What is known of the base model.

    Attributes:
        files: Names of the files in its folder, or None where there is no such folder.
    """

    files: frozenset[str] | None
