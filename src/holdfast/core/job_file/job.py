"""The job: what a user asks for, before anything is looked up. `docs/job.schema.json` is its schema.

A key without a value has its default.
"""

import re
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PlainValidator,
    PositiveInt,
    ValidationError,
    model_validator,
)

from holdfast.core.errors import GroupedError
from holdfast.core.export import QuantizationName
from holdfast.core.job.document import Document, Key
from holdfast.core.job.methods import Method
from holdfast.core.job.scenario import ScenarioName
from holdfast.core.job_file.data import Data, Seed, Text, path_alone
from holdfast.core.job_file.document_schema import document_schema
from holdfast.core.job_file.examples import EXAMPLES
from holdfast.core.job_file.problems import NAME, job_errors
from holdfast.core.job_file.strict_part import StrictPart, fields_of, names_under, parts_in
from holdfast.core.run.backends import DEFAULT_BACKEND
from holdfast.core.run.notice import NoticeFormat
from holdfast.core.run.remedy import Permission

SECONDS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION: Final = r"^[0-9]{1,6}(\.[0-9]{1,6})?[smhd]$"


def parse_duration(text: str) -> float:
    """Return the seconds a duration such as `4h` or `1.5d` stands for.

    Raises:
        ValueError: It is not a number with one of the units s, m, h, d, or it is zero.

    >>> parse_duration("1.5h")
    5400.0
    """
    if not re.fullmatch(DURATION, text) or not float(text[:-1]):
        raise ValueError(f"a duration is a number above 0 and a unit, such as 90s, 30m, 4h or 1.5d, not {text!r}")
    return float(text[:-1]) * SECONDS[text[-1]]


def _duration(value: Any) -> str:
    parse_duration(str(value))
    return str(value)


MOST_PROCESSES: Final = 99_999


def _processes(value: Any) -> int | Literal["auto"]:
    if value == "auto":
        return "auto"
    if type(value) is int and value > 0:
        if value > MOST_PROCESSES:
            raise ValueError(f"more than {MOST_PROCESSES:,} processes on a machine")
        return value
    raise ValueError(f"it is a whole number above 0, or auto, not {value!r}")


def _text_alone(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Model(StrictPart):
    """The base model."""

    path: Text
    """Hub id, folder, or `builtin:` name. A path is looked up in the job file's folder, then in the current one."""
    revision: str | None = None
    """Branch, tag or commit of the Hub repository."""
    dtype: Literal["auto", "float32", "float16", "bfloat16"] | None = None
    """Type that the weights are loaded in. Default: the one that the hardware computes in (see `holdfast render`)."""
    attn_implementation: str | None = None
    """`sdpa`, `eager`, `flash_attention_2`, or a kernel's Hub id."""
    trust_remote_code: bool = False
    """Run model code from the Hub repository."""
    chat_template: str | None = None
    """Jinja file, or Hub id of a model whose chat template to use."""


class EarlyStopping(StrictPart):
    """Stop when a metric has not improved for a while."""

    patience: PositiveInt = 3
    """Evaluations without improvement before training stops."""
    metric: str = "eval_loss"
    """Metric to watch, as the trainer logs it."""
    greater_is_better: bool | None = None
    """Whether a higher value is better. Default: no, unless the metric is one of `samples.metric`."""
    threshold: Annotated[float, Field(ge=0)] = 0.0
    """Least change that counts as an improvement."""


class Environment(StrictPart):
    """The environment of the training process."""

    python: str = ">=3.11"
    """Python versions that the script may run on."""
    requirements: list[str] = []
    """Packages in addition to those that holdfast pins, or instead of them."""
    system: list[str] = []
    """Debian packages that the script installs before it starts."""
    variables: dict[str, str] = {}
    """Environment variables."""
    secrets: list[str] = []
    """Names of variables whose values are taken from holdfast's own environment."""


class Where(StrictPart):
    """Where the job runs and what it may use."""

    backend: str = DEFAULT_BACKEND.name
    """Where the job runs: `local`, this machine, or `hf-jobs`, Hugging Face Jobs."""
    hardware: str | None = None
    """Flavor or kind of GPU, as the backend names it. Has no effect on this machine."""
    nodes: PositiveInt = 1
    """Number of machines."""
    processes: Annotated[
        int | Literal["auto"], PlainValidator(_processes, json_schema_input_type=PositiveInt | Literal["auto"])
    ] = "auto"
    """Processes per machine. Default: one per GPU."""
    strategy: Literal["ddp", "fsdp", "zero2", "zero3"] = "ddp"
    """How several processes share the work."""
    timeout: Annotated[str, Field(pattern=DURATION), BeforeValidator(_duration)] | None = None
    """Longest time that the run may take, such as `4h`."""
    stall_timeout: Annotated[str, Field(pattern=DURATION), BeforeValidator(_duration)] | None = None
    """Longest time without a sign of life of the training process, such as `30m`. The process is then stopped, and started again if the cause
    permits it. Default: a limit that follows from how long its own steps, evaluations and saves take (see `docs/recover.md`). This key replaces
    that limit."""
    budget_usd: Annotated[float, Field(gt=0)] | None = None
    """Most that all attempts of the run together may cost, if the hardware has a price. Before the run starts, the budget is compared with the
    estimate. When it is used up, the attempt is stopped after it saves, and no other follows."""
    options: dict[str, Any] = {}
    """Options of the backend itself, which checks them."""

    @property
    def timeout_s(self) -> float | None:
        """The timeout in seconds."""
        return parse_duration(self.timeout) if self.timeout else None

    @property
    def stall_timeout_s(self) -> float | None:
        """The longest silence in seconds; None for that of the job's own rhythm."""
        return parse_duration(self.stall_timeout) if self.stall_timeout else None


class Track(StrictPart):
    """Where metrics are logged."""

    with_: Annotated[Literal["trackio", "wandb", "tensorboard", "mlflow", "none"], Field(alias="with")] = "none"
    """Tracker."""
    project: str | None = None
    """Project; the experiment of MLflow. Default: the job's name."""
    run: str | None = None
    """Name of the tracked run. Default: the run's own."""
    group: str | None = None
    """Group of runs to compare; a tag of MLflow."""
    space: str | None = None
    """Hub Space for a Trackio dashboard; private unless the Space exists and is public."""


class Output(StrictPart):
    """Where the result goes."""

    folder: str = "runs"
    """Runs folder."""
    push_to: str | None = None
    """Hub repository that the final model is pushed to."""
    private: bool = True
    """Whether that repository is private, if the push creates it."""
    gguf: Annotated[
        list[QuantizationName],
        BeforeValidator(_text_alone, json_schema_input_type=QuantizationName | list[QuantizationName]),
    ] = []
    """GGUF files to make of the final model after training, each with this quantization. They are made where holdfast runs, which needs
    `holdfast[gguf]`, in the folder `export` of the run. See `docs/export.md`."""
    export_on: Annotated[str, Field(pattern=NAME)] | None = None
    """Host name of the machine that makes these files, with `holdfast resume RUN`, if it is not the machine that holdfast runs on. Then the run ends
    after training, and keeps an expensive machine no longer. The runs folder has to be shared with that machine, or the run's folder copied to it."""


TextList = Annotated[list[Text], BeforeValidator(_text_alone, json_schema_input_type=Text | list[Text])]
"""One text, or a list of them."""


OF_TASKS: Final = ("few_shot", "limit", "allow_code")
"""Keys of an evaluation that only benchmark tasks have."""


class Evaluation(StrictPart):
    """An evaluation of the final model and its base, after training. The keys are the options of `holdfast evaluate`."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [
                {"required": [key], "properties": {key: {"not": {"enum": [[], None]}}}} for key in ("dataset", "task")
            ],
            "dependentRequired": {key: ["task"] for key in OF_TASKS},
        }
    )

    dataset: TextList = []
    """Dataset, or a list of them: file, folder, Hub id, or `builtin:` name. A path is looked up like that of the training data."""
    task: TextList = []
    """Benchmark tasks or groups of lm-eval: names, or paths of YAML files or folders. They need `holdfast[benchmarks]` where holdfast runs."""
    few_shot: NonNegativeInt | None = None
    """Examples before each row of a task. Default: what the task says."""
    limit: PositiveInt | None = None
    """Evaluate the first rows of each task, so many."""
    allow_code: bool = False
    """Let tasks run code that the model writes, where holdfast runs."""
    split: str | None = None
    """Split. Default: the first of test, validation and train."""
    config: str | None = None
    """Configuration of Hub datasets."""
    rows: PositiveInt | None = None
    """Evaluate this many rows of each dataset, drawn at random with the job's seed."""
    metric: TextList = []
    """Metrics, by name or as `file.py:function`. Default: those that fit a dataset's columns."""
    rewards: TextList = []
    """Reward functions: TRL's own by name, or `file.py:function`."""
    by: TextList = []
    """Columns to break the figures down by; also `label` and `length`."""
    at_least: TextList = []
    """Conditions, as `accuracy=0.6`: the run's exit code is 1 unless the whole interval is above the number."""
    not_worse_than: Text | None = None
    """Model to compare with instead of the base. If the interval shows that it is better, the run's exit code is 1."""
    max_new_tokens: PositiveInt = 256
    """Longest answer, in tokens."""

    @model_validator(mode="after")
    def _has_data(self) -> "Evaluation":
        if not self.dataset and not self.task:
            raise ValueError("name a `dataset`, or a benchmark `task`")
        if not self.task and (idle := next((key for key in OF_TASKS if getattr(self, key) not in (None, False)), None)):
            raise ValueError(f"`{idle}` is for benchmark tasks, and no `task` is named")
        return self


class Samples(StrictPart):
    """Completions drawn from the model at each evaluation: for the log and the report, and for metrics."""

    prompts: NonNegativeInt = 2
    """Prompts taken from the evaluation rows; 0 draws none."""
    max_new_tokens: PositiveInt = 48
    """Longest completion, in tokens."""
    metric: TextList = []
    """Metrics of answers that are computed at each evaluation, by name or as `file.py:function`, as in `evaluate`: the model writes the last answer
    of `rows` rows. Their names begin with `eval_` in the log. `early_stopping` and `train.metric_for_best_model` can name them."""
    rows: PositiveInt = 64
    """Evaluation rows that these metrics are computed on, drawn at random with the seed, the same at each evaluation."""


class Recover(StrictPart):
    """What may be changed to continue a failed run."""

    attempts: PositiveInt = 3
    """Number of attempts that a run makes by itself, in total. Another attempt follows a temporary failure, such as a lost machine or a network
    failure, and continues from the newest complete checkpoint."""
    allow: list[Permission] = ["batch_size", "checkpointing"]
    """Changes that a run may make by itself after a failure: a smaller batch with the same rows per step; gradient checkpointing; an optimizer that
    needs less memory; larger hardware; a lower learning rate; skipping batches whose gradients are not finite; ending an attempt whose loss
    spikes and stays high, and skipping the batches of the spike; one more attempt if the cause is unknown; another attempt after SIGKILL or SIGTERM on this machine, which otherwise count as a person's wish. See `docs/recover.md`."""


class Notify(StrictPart):
    """Notifications about the run: where they go."""

    webhook: str | None = None
    """Address that receives a message about each attempt, sign of trouble, failure and change, and about the end; or `$NAME`, an environment
    variable of holdfast that contains the address. A secret address, such as one of Slack, has to be given as `$NAME`."""
    format: NoticeFormat = "json"
    """Format of a message: `json`, an object with `kind`, `run`, `job`, `stage`, `text`, `step` and `at`; or `slack`."""


class Job(StrictPart):
    """One fine-tuning job, as its file describes it."""

    name: Annotated[str, Field(pattern=NAME)] | None = None
    """Name of the job. Default: the file's name."""
    method: Annotated[Method, Field(strict=False)]
    """Training method; each has its TRL trainer."""
    model: Annotated[Model, BeforeValidator(path_alone, json_schema_input_type=Text | Model)]
    """Base model."""
    dataset: Annotated[Data, BeforeValidator(path_alone, json_schema_input_type=Text | Data)]
    """Training data."""
    rewards: list[str] = []
    """Reward functions of grpo and rloo: TRL's own by name, or `file.py:function`."""
    peft: dict[str, Any] | None = None
    """Passed on to `peft.LoraConfig`."""
    quantization: dict[str, Any] | None = None
    """Passed on to `transformers.BitsAndBytesConfig`."""
    train: dict[str, Any] = {}
    """Passed on to the method's TRL config class. By default, the script saves after each tenth of all steps, evaluates at the same steps if there
    are rows to evaluate on, and keeps the newest two checkpoints (`save_total_limit: 2`)."""
    early_stopping: EarlyStopping | None = None
    """When to stop before the last step."""
    environment: Environment = Field(default_factory=Environment)
    """What the training process runs with: Python, packages, variables, secrets."""
    where: Where = Field(default_factory=Where)
    """Where it runs."""
    track: Track = Field(default_factory=Track)
    """Where metrics go."""
    output: Output = Field(default_factory=Output)
    """Where results go."""
    samples: Samples = Field(default_factory=Samples)
    """Completions for the log and the report, and for metrics."""
    for_: Annotated[ScenarioName | None, Field(alias="for")] = None
    """What the job is for: `demo`, `first-run`, `production`, `fast` or `cheap`. Settings that the job does not have follow from it, each with a
    reason: see `holdfast explain for`, and `docs/scenarios.md`."""
    evaluate: list[Evaluation] = []
    """Evaluations of the final model and its base after training. They need `holdfast[evaluate]` where holdfast runs."""
    recover: Recover = Field(default_factory=Recover)
    """How a failed run is continued."""
    notify: Notify = Field(default_factory=Notify)
    """Notifications."""
    seed: Seed = 42
    """Seed of everything that is random."""

    @property
    def evaluates(self) -> bool:
        """Whether the job names data to evaluate on while it trains."""
        return self.dataset.eval_split is not None or self.dataset.eval_fraction is not None


def parse_job(document: Document) -> Job:
    """Turn a job file's document into a job.

    Raises:
        GroupedError: Of a JobError for every problem, in the order they stand in the file.
    """
    try:
        return Job.model_validate(dict(document.values))
    except ValidationError as error:
        problems = job_errors(document, error.errors(include_url=False), known_keys)
    raise GroupedError(f"{document.path} is not a job", problems)


def job_values(job: Job) -> dict[str, Any]:
    """Return the values of a job file that says every key."""
    return job.model_dump(by_alias=True) | {"method": job.method.value}


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema of a job file, with an example for each key."""
    return document_schema(Job, "holdfast job", EXAMPLES)


def known_keys(key: Key) -> tuple[str, ...]:
    """Return the names that may stand under a key path, or none if any may.

    >>> known_keys(("early_stopping",))
    ('patience', 'metric', 'greater_is_better', 'threshold')
    """
    return names_under(Job, key)


def all_keys(above: str = "", part: type[BaseModel] | None = None) -> list[str]:
    """Return the dotted names of all keys of a job file.

    >>> all_keys()[:4]
    ['name', 'method', 'model', 'model.path']
    """
    keys: list[str] = []
    for name, field in fields_of(part or Job).items():
        keys.append(f"{above}{name}")
        for inner in parts_in(field.annotation):
            keys += all_keys(f"{above}{name}.", inner)
    return keys
