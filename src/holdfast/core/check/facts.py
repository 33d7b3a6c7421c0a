"""Facts about the world outside a job. Rules read facts and never fetch them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from holdfast.core.check.finding import MissingFactError
from holdfast.core.check.hub import Repo
from holdfast.core.job.calls import LocalName
from holdfast.core.rows.columns import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One GPU.

    Attributes:
        name: As `nvidia-smi` spells it.
        memory_bytes: Its total memory.
        capability: CUDA compute capability, (major, minor); (0, 0) where it is not known. bf16 is native from (8, 0).
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
class NamedFile:
    """What is known of a file that a job names.

    Attributes:
        problem: Why it cannot be used, in words; empty if it can.
        names: Of a Python file, every name that it gives a value.
        functions: Each function at its top that has no decorator, by its name.
    """

    problem: str = ""
    names: frozenset[str] = frozenset()
    functions: Mapping[str, LocalName] = field(default_factory=dict[str, LocalName])


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """What is known of one split of a dataset.

    Attributes:
        rows: How many it has, or None where counting them would mean reading all.
        bytes: As they would be downloaded, or None.
    """

    rows: int | None = None
    bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Dataset:
    """What is known of a dataset that a job names, and of the split of it that is requested.

    Attributes:
        columns: Column names.
        rows: Number of rows of the split, at least; None where counting them would mean reading all.
        eval_columns: Columns of the evaluation split, or None if the job names none.
        eval_rows: Number of rows of that split, as `rows`; None if the job names none, or they were not counted.
        problem: Why the data surely cannot be read: missing, empty, malformed. Empty text for good data.
        absent_part: The split or the configuration that the problem is about, as it was requested; empty for another problem.
        types: Type of each column, where that is known.
        configs: The splits of each configuration, where there are any; a plain folder has one, `default`.
        default_config: The one that is taken where the job names none; None if it has to name one.
        scripted: Whether reading it would run a program of its repository.
        repo: The repository on the Hub; None for data on this machine.
        parts: Of a mixture, what is known of each dataset in it, the first one too; None where nothing is. `rows` is then that of the whole.
    """

    columns: tuple[str, ...] = ()
    rows: int | None = None
    eval_columns: tuple[str, ...] | None = None
    eval_rows: int | None = None
    problem: str = ""
    absent_part: str = ""
    types: Mapping[str, Type] = field(default_factory=dict[str, Type])
    configs: Mapping[str, Mapping[str, Split]] = field(default_factory=dict[str, Mapping[str, Split]])
    default_config: str | None = "default"
    scripted: bool = False
    repo: Repo | None = None
    parts: tuple["Dataset | None", ...] = ()

    def readable(self) -> "Dataset":
        """Return these facts, for a rule that can judge nothing without columns and rows.

        Raises:
            MissingFactError: The data cannot be read, which a rule of its own reports.
        """
        if self.problem:
            raise MissingFactError("dataset", self.problem)
        return self

    @property
    def counted_rows(self) -> int:
        """Number of rows of the split.

        Raises:
            MissingFactError: The rows were not counted.
        """
        if self.rows is None:
            raise MissingFactError("dataset.rows", "they were not counted, since that would read all of them")
        return self.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """What is known of a model, an adapter or a tokenizer that a job names.

    Attributes:
        files: Names of the files in its folder or repository, or None if there is no such folder.
        config: `config.json`; None if there is none, or it could not be read.
        tokenizer: `tokenizer_config.json`, likewise.
        adapter: `adapter_config.json`, likewise.
        chat_template: Its text, wherever it stands; None if there is none.
        parameters: How many of each dtype the weights hold, by safetensors' names: `BF16`. Empty if it is not known.
        repo: The repository on the Hub; None for a folder of this machine.
        generation: `generation_config.json`, likewise.
        shards: Names of the files that its weights are in, as their index says; none if there is no index.
        problem: Why it surely cannot be loaded: a file that is damaged, or is only a pointer to one. Empty for a good one.
    """

    files: frozenset[str] | None
    config: Mapping[str, Any] | None = None
    tokenizer: Mapping[str, Any] | None = None
    adapter: Mapping[str, Any] | None = None
    chat_template: str | None = None
    parameters: Mapping[str, int] = field(default_factory=dict[str, int])
    repo: Repo | None = None
    generation: Mapping[str, Any] | None = None
    shards: frozenset[str] = frozenset()
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Positions:
    """The positions of a model.

    Attributes:
        count: How many there are, or how many it was trained with.
        raises: Whether a longer text raises; else the model rotates its positions, and gives poor text beyond them.
    """

    count: int
    raises: bool


HUB_FACTS: Final = frozenset(
    {"datasets", "models", "tensors", "repo_files", "spaces", "targets", "links", "account", "dataset", "model"}
    | {"local_data", "columns", "column_types"}
)
"""Names of the facts about what a job names outside itself: they may have to be waited for."""
