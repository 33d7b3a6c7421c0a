"""The job: what a user asks for, before anything is looked up. Keys as in `contract.md` §3."""

import difflib
import re
from collections.abc import Iterator, Mapping
from enum import StrEnum
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
)

from holdfast.core.document import Document, Key, render_key
from holdfast.core.errors import JobError, Spot

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)(?P<unit>[smhd])")


class Method(StrEnum):
    """A training method, by the name its TRL trainer has."""

    SFT = "sft"
    DPO = "dpo"
    GRPO = "grpo"
    REWARD = "reward"
    KTO = "kto"
    RLOO = "rloo"

    @property
    def generates(self) -> bool:
        """Whether the trainer samples completions and asks reward functions."""
        return self in (Method.GRPO, Method.RLOO)


def parse_duration(text: str) -> float:
    """Return the seconds a duration such as `4h` or `1.5d` stands for.

    Raises:
        ValueError: It is not a number with one of the units s, m, h, d, or it is zero.

    >>> parse_duration("1.5h")
    5400.0
    """
    found = DURATION.fullmatch(text.strip())
    if not found or not float(found["number"]):
        raise ValueError(f"{text!r} is no duration: write a number above 0 and a unit, such as 90s, 30m, 4h or 1.5d")
    return float(found["number"]) * SECONDS[found["unit"]]


def _duration(text: str) -> str:
    parse_duration(text)
    return text


def _path_alone(value: Any) -> Any:
    return {"path": value} if isinstance(value, str) else value


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Model(_Part):
    """The base model."""

    path: Annotated[str, Field(min_length=1)]
    """Hub id, folder, or `builtin:` name."""
    revision: str | None = None
    """Branch, tag or commit of the Hub repository."""
    dtype: Literal["auto", "float32", "float16", "bfloat16"] | None = None
    """Type the weights are loaded in. Default: what the hardware computes in (see `holdfast render`)."""
    attn_implementation: str | None = None
    """`sdpa`, `eager`, `flash_attention_2`, or a kernel's Hub id."""
    trust_remote_code: bool = False
    """Run model code from the Hub repository."""
    chat_template: str | None = None
    """Jinja file, or Hub id of a model whose chat template to take."""


class Data(_Part):
    """A dataset and the part of it that is used."""

    path: Annotated[str, Field(min_length=1)]
    """Hub id, file, folder, or `builtin:` name."""
    config: str | None = None
    """Configuration of a Hub dataset that has several."""
    split: str = "train"
    """Split to train on."""
    eval_split: str | None = None
    """Split to evaluate on."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Part of `split` that is held out for evaluation, drawn with the seed."""
    rows: PositiveInt | None = None
    """Train on this many rows, drawn at random with the seed."""
    seed: int | None = None
    """Seed of drawing and holding out. Default: the job's."""
    streaming: bool = False
    """Read rows while training; needs `train.max_steps`."""
    map: Annotated[str, Field(pattern=r"^[^:]+:[A-Za-z_]\w*$")] | None = None
    """Function that rewrites each row: `file.py:function` or `module:function`."""


class EarlyStopping(_Part):
    """Stop when a metric has not improved for a while."""

    patience: PositiveInt = 3
    """Evaluations without improvement before training stops."""
    metric: str = "eval_loss"
    """Metric to watch, as the trainer logs it."""
    greater_is_better: bool = False
    """Whether a higher value is the better one."""
    threshold: Annotated[float, Field(ge=0)] = 0.0
    """Least change that counts as an improvement."""


class Environment(_Part):
    """What the training process needs around it."""

    python: str = ">=3.11"
    """Python versions the script may run on."""
    requirements: list[str] = []
    """Packages beside or instead of those that holdfast pins."""
    system: list[str] = []
    """Debian packages the script installs before it starts."""
    variables: dict[str, str] = {}
    """Environment variables."""
    secrets: list[str] = []
    """Names of variables whose values come from where holdfast runs."""


class Where(_Part):
    """Where the job runs and what it may use."""

    backend: str = "local"
    """`local`; other backends are named by `holdfast doctor`."""
    hardware: str | None = None
    """Flavor or GPU kind, in the backend's words."""
    nodes: PositiveInt = 1
    """Machines."""
    processes: PositiveInt | Literal["auto"] = "auto"
    """Processes a machine: one a GPU unless said."""
    strategy: Literal["ddp", "fsdp", "zero2", "zero3"] = "ddp"
    """How several processes share the work."""
    timeout: Annotated[str, AfterValidator(_duration)] | None = None
    """Longest time the run may take, such as `4h`."""
    budget_usd: Annotated[float, Field(gt=0)] | None = None
    """Most money the run may cost."""
    options: dict[str, Any] = {}
    """The backend's own options, checked by it."""

    @property
    def timeout_s(self) -> float | None:
        """The timeout in seconds."""
        return parse_duration(self.timeout) if self.timeout else None


class Track(_Part):
    """Where metrics are logged."""

    with_: Annotated[Literal["trackio", "wandb", "tensorboard", "none"], Field(alias="with")] = "none"
    """Tracker."""
    project: str | None = None
    """Project. Default: the job's name."""
    run: str | None = None
    """Name of the tracked run. Default: the run's own."""
    group: str | None = None
    """Group of runs that are compared."""
    space: str | None = None
    """Hub Space for a Trackio dashboard; private unless the Space exists and is public."""


class Output(_Part):
    """What becomes of the result."""

    folder: str = "runs"
    """Runs folder."""
    push_to: str | None = None
    """Hub repository the final model goes to."""
    private: bool = True
    """Whether that repository is made private."""
    gguf: list[str] = []
    """GGUF quantizations to export."""


class Evaluation(_Part):
    """One evaluation of the final model."""

    dataset: str
    """Hub id or file."""
    metric: str
    """Metric to report."""


class Samples(_Part):
    """Completions drawn from the model at each evaluation, for the log and the report."""

    prompts: NonNegativeInt = 2
    """Prompts taken from the evaluation rows; 0 draws none."""
    max_new_tokens: PositiveInt = 48
    """Longest completion, in tokens."""


class Recover(_Part):
    """What may be changed to bring a failed run back."""

    attempts: PositiveInt = 3
    """Times the job may be started in all."""
    allow: list[
        Literal[
            "batch_size", "checkpointing", "optimizer", "hardware", "learning_rate", "skip_batches", "unknown_once"
        ]
    ] = ["batch_size", "checkpointing"]
    """Kinds of change that need no further consent."""


class Notify(_Part):
    """Who is told how the run ends."""

    webhook: str | None = None
    """Address that receives a JSON message."""


class Job(_Part):
    """One fine-tuning job, as its file says it."""

    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")] | None = None
    """Name of the job. Default: the file's."""
    method: Method
    """Training method; each has its TRL trainer."""
    model: Annotated[Model, BeforeValidator(_path_alone, json_schema_input_type=str | Model)]
    """Base model."""
    dataset: Annotated[Data, BeforeValidator(_path_alone, json_schema_input_type=str | Data)]
    """Training data."""
    rewards: list[str] = []
    """Reward functions of grpo and rloo: TRL's own by name, or `file.py:function`."""
    peft: dict[str, Any] | None = None
    """Passed on to `peft.LoraConfig`."""
    quantization: dict[str, Any] | None = None
    """Passed on to `transformers.BitsAndBytesConfig`."""
    train: dict[str, Any] = {}
    """Passed on to the method's TRL config class."""
    early_stopping: EarlyStopping | None = None
    """When to stop before the last step."""
    environment: Environment = Environment()
    """What the process needs around it."""
    where: Where = Where()
    """Where it runs."""
    track: Track = Track()
    """Where metrics go."""
    output: Output = Output()
    """What becomes of the result."""
    samples: Samples = Samples()
    """Completions to look at."""
    evaluate: list[Evaluation] = []
    """Evaluations of the final model."""
    recover: Recover = Recover()
    """What may be changed to bring a failed run back."""
    notify: Notify = Notify()
    """Who is told how it ends."""
    seed: int = 42
    """Seed of everything that is drawn."""

    @property
    def evaluates(self) -> bool:
        """Whether the job names data to evaluate on while it trains."""
        return self.dataset.eval_split is not None or self.dataset.eval_fraction is not None


def parse_job(document: Document) -> Job:
    """Turn a job file's document into a job.

    Raises:
        ExceptionGroup: Of a JobError for every problem, in the order they stand in the file.
    """
    problems: list[JobError] = []
    try:
        return Job.model_validate(document.values)
    except ValidationError as error:
        problems = [_problem(document, details) for details in _worst_first(error)]
    raise ExceptionGroup(f"{document.path} is no job", sorted(problems, key=_line))


def job_schema() -> dict[str, Any]:
    """Return the JSON Schema of a job file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **Job.model_json_schema(by_alias=True),
        "title": "holdfast job",
    }


def known_keys(key: Key, schema: Any = Job) -> tuple[str, ...]:
    """Return the names that may stand under a key path, or none where any may.

    >>> known_keys(("early_stopping",))
    ('patience', 'metric', 'greater_is_better', 'threshold')
    """
    parts = [part for part in key if isinstance(part, str)]
    for part in parts:
        field = next((f for name, f in schema.model_fields.items() if part in (name, f.alias)), None)
        schema = next(_models(field.annotation), None) if field else None
        if schema is None:
            return ()
    return tuple(field.alias or name for name, field in schema.model_fields.items())


def _models(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    elif get_origin(annotation) in (Union, UnionType, Annotated, list):
        for argument in get_args(annotation):
            yield from _models(argument)


def _worst_first(error: ValidationError) -> Iterator[Mapping[str, Any]]:
    """Yield one error a place: a union says one for each of its members."""
    seen: set[Key] = set()
    for details in error.errors(include_url=False):
        key = _key_of(details["loc"])
        if key not in seen:
            seen.add(key)
            yield {**details, "loc": key}


def _key_of(loc: tuple[str | int, ...]) -> Key:
    """Return the key path of an error: pydantic adds the names of a union's members to it."""
    key: Key = ()
    for part in loc:
        if isinstance(part, str) and ("[" in part or part in ("int", "str", "float", "constrained-int")):
            break
        key = (*key, part)
    return key


def _problem(document: Document, details: Mapping[str, Any]) -> JobError:
    key: Key = details["loc"]
    name = render_key(key)
    place = document.place(key)
    where = Spot(place.path, place.line, place.column)
    match details["type"]:
        case "extra_forbidden":
            known = known_keys(key[:-1])
            nearest = difflib.get_close_matches(str(key[-1]), known, n=1, cutoff=0.5)
            hint = f"did you mean `{nearest[0]}`?" if nearest else f"use one of {', '.join(known)}"
            if not nearest and key[:-1] == ():
                hint += "; an argument of the trainer stands under `train:`"
            return JobError(f"unknown key `{name}`", where=where, fix=hint)
        case "missing":
            return JobError(f"missing key `{name}`", where=where, fix=f"add `{key[-1]}: …`")
        case _:
            message = str(details["msg"]).removeprefix("Value error, ").replace("Input should", "it should")
            return JobError(f"`{name}` is {details['input']!r}: {message}", where=where, fix=f"correct `{name}`")


def _line(problem: JobError) -> tuple[int, int]:
    return (problem.spot.line or 0, problem.spot.column or 0)
