"""The study: one job, and what varies in it. `docs/study.schema.json` is its schema.

A key with nothing after it is as good as none: its default holds.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, PlainValidator, PositiveInt, ValidationError, model_validator

from holdfast.core.errors import GroupedError
from holdfast.core.job.document import Document, Key
from holdfast.core.job_file.data import Seed, Text
from holdfast.core.job_file.document_schema import document_schema
from holdfast.core.job_file.problems import NAME, nearest_sibling, schema_errors
from holdfast.core.job_file.strict_part import StrictPart, names_under
from holdfast.core.study.examples import EXAMPLES
from holdfast.core.text.nearest import nearest

Direction = Literal["minimize", "maximize"]
TrialSettings = dict[str, Any]
"""Values by dotted key of a job file."""
LOWER_IS_BETTER: Final = ("loss", "perplexity", "_error")
"""Ends of the names of metrics of which less is better."""
HIGHER_IS_BETTER: Final = (
    *("accuracy", "accuracies", "acc", "acc_norm", "reward", "margin", "margins", "f1", "macro_f1"),
    *("exact_match", "normalized_match", "number_match", "contains", "json_valid", "json_equal"),
    *("rouge1", "rougeL", "bleu", "chrf"),
)
"""Ends of the names of metrics of which more is better."""
LARGEST: Final = 2**53
"""The largest whole number that is drawn: up to it, each is a number of JSON, too."""
COMMON: Final = ("eval_loss", "train_loss", *HIGHER_IS_BETTER)
"""Names that are often meant."""


def _job_or_path(value: Any) -> str | TrialSettings:
    if (isinstance(value, str) and value) or isinstance(value, dict):
        return value
    raise ValueError("it is the path of a job file, or a job: a mapping with `method`, `model` and `dataset`")


def _name_alone(value: Any) -> Any:
    return {"name": value} if isinstance(value, str) else value


class StudyMetric(StrictPart):
    """What trials are compared by."""

    name: Text
    """Metric: one that the trainer logs (`eval_loss`, `train_loss`), or one of the job's `evaluate:` (`exact_match`)."""
    direction: Direction | None = None
    """Whether the lowest or the highest value is the best. Default: by the name, if it ends in loss, accuracy or the like."""
    dataset: Text | None = None
    """Dataset of `evaluate:` on which the metric is measured. Default: the mean over the datasets that have it."""

    @property
    def lower_is_better(self) -> bool:
        """Whether the lowest value is the best."""
        return self.direction == "minimize" or (self.direction is None and self.name.endswith(LOWER_IS_BETTER))

    @model_validator(mode="after")
    def _has_direction(self) -> "StudyMetric":
        if self.direction is None and not self.name.endswith((*LOWER_IS_BETTER, *HIGHER_IS_BETTER)):
            near = nearest(self.name, COMMON)
            meant = f"did you mean `{near}`? Otherwise" if near else "to say so,"
            raise ValueError(
                f"whether less or more of {self.name!r} is better is not known; {meant} add `direction: minimize` or `maximize`"
            )
        return self


class Distribution(StrictPart):
    """Values to draw from: exactly one of these keys."""

    choice: Annotated[list[Any], Field(min_length=1)] | None = None
    """One of these values."""
    uniform: tuple[float, float] | None = None
    """A number between two, each as likely."""
    log_uniform: tuple[float, float] | None = None
    """A number between two above 0, its logarithm each as likely: for rates."""
    integers: tuple[int, int] | None = None
    """A whole number from the first to the second, both included."""

    @property
    def extremes(self) -> Sequence[Any]:
        """All choices, or both ends."""
        return self.choice or self.uniform or self.log_uniform or self.integers or ()

    @model_validator(mode="before")
    @classmethod
    def _as_tuples(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        pairs = ("uniform", "log_uniform", "integers")
        return {key: tuple(each) if key in pairs and isinstance(each, list) else each for key, each in values.items()}

    @model_validator(mode="after")
    def _is_one(self) -> "Distribution":
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError(f"it has one of choice, uniform, log_uniform and integers, not {len(given)}")
        self._require_interval(*(self.uniform or self.log_uniform or self.integers or (0, 1)))
        return self

    def _require_interval(self, low: float, high: float) -> None:
        if self.integers and max(abs(low), abs(high)) > LARGEST:
            raise ValueError(f"integers lie between -2^53 and 2^53: {LARGEST} is the largest")
        if low >= high:
            raise ValueError(f"the first of the two numbers is less than the second, not {low:g} and {high:g}")
        if self.log_uniform and low <= 0:
            raise ValueError(f"log_uniform begins above 0, not at {low:g}")


class RandomTrials(StrictPart):
    """Trials whose settings are drawn at random. More of them can be added by a larger `count`: the first stay the same."""

    count: PositiveInt
    """Number of settings. Each runs with every seed."""
    values: Annotated[dict[str, Distribution], Field(min_length=1)]
    """What to choose from, by dotted key of the job: `choice` of a list, `uniform` or `log_uniform` between two numbers, or `integers`."""
    seed: Seed = 0
    """Seed of the draws."""


class SearchTrials(RandomTrials):
    """Trials of which the first ten settings are drawn at random, and each of the others follows from the results before it (Optuna's TPE)."""


class StudyBudget(StrictPart):
    """What the whole study may use. No trial starts once it is used up; those that run go on to their end."""

    trials: PositiveInt | None = None
    """Number of trials in total, including those that ended in earlier starts."""
    hours: Annotated[float, Field(gt=0)] | None = None
    """Total hours that trials may run."""
    usd: Annotated[float, Field(gt=0)] | None = None
    """Total cost, by the price of the job's hardware."""


class Pruning(StrictPart):
    """Early ends of trials that fall behind: asynchronous successive halving (ASHA)."""

    min_steps: PositiveInt
    """Step of the first rung. A trial is compared with others at its first evaluation from this step on."""
    factor: Annotated[int, Field(ge=2)] = 3
    """With 3, one in three trials passes a rung, and the next rung has three times the steps."""


def _conditions(value: Any) -> Any:
    return [value] if isinstance(value, dict) else value


Conditions = Annotated[
    list[Annotated[TrialSettings, Field(min_length=1)]],
    BeforeValidator(_conditions, json_schema_input_type=TrialSettings | list[TrialSettings]),
]
"""Each a mapping of keys to a value, a list of values, or bounds (`at_least`, `at_most`, `above`, `below`)."""


class Study(StrictPart):
    """One job, and what varies in it."""

    name: Annotated[str, Field(pattern=NAME)] | None = None
    """Name of the study, and of its folder. Default: the file's name."""
    job: Annotated[str | TrialSettings, PlainValidator(_job_or_path, json_schema_input_type=Text | TrialSettings)]
    """Job file, looked up in the study file's folder, then in the current one; or the job itself."""
    metric: Annotated[StudyMetric, BeforeValidator(_name_alone, json_schema_input_type=Text | StudyMetric)]
    """What trials are compared by."""
    grid: Annotated[dict[str, Annotated[list[Any], Field(min_length=1)]], Field(min_length=1)] | None = None
    """Lists of values by dotted key of the job: every combination is a trial."""
    trials: list[TrialSettings] = []
    """Whole settings, each a mapping of dotted keys to values; `{}` is the job as it is."""
    random: RandomTrials | None = None
    """Settings drawn at random."""
    search: SearchTrials | None = None
    """Settings that are chosen by earlier results. Needs the extra `study`."""
    seeds: list[Seed] = []
    """Seeds with which each setting runs, one trial each. With fewer than two, noise cannot be distinguished from a difference."""
    where: Conditions = []
    """Keep a trial only if one of these conditions holds. A condition holds if all of its keys do."""
    unless: Conditions = []
    """Leave a trial out if one of these conditions holds."""
    parallel: PositiveInt = 1
    """Trials that run at once. On this machine, its GPUs are divided among them."""
    prune: Pruning | None = None
    """Stop a trial early if its metric falls behind that of others at the same step. Default: each trial runs to its end."""
    keep: PositiveInt | None = None
    """Keep the checkpoints, models and exports of so many settings, the best; remove those of the others once all of their trials have ended. A trial that
    failed keeps them. Default: every trial keeps them."""
    budget: StudyBudget = Field(default_factory=StudyBudget)
    """What the whole study may use."""


def parse_study(document: Document) -> Study:
    """Turn a study file's document into a study.

    Raises:
        GroupedError: Of a JobError for every problem, in the order they stand in the file.
    """
    try:
        return Study.model_validate(dict(document.values))
    except ValidationError as error:
        problems = schema_errors(document, error.errors(include_url=False), study_keys, nearest_sibling)
    raise GroupedError(f"{document.path} is not a study", problems)


def study_keys(key: Key) -> tuple[str, ...]:
    """Return the names that may stand under a key path of a study file, or none if any may.

    >>> study_keys(("random", "values", "train.learning_rate"))
    ('choice', 'uniform', 'log_uniform', 'integers')
    """
    return names_under(Study, key)


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of a study file, with an example for each key."""
    return document_schema(Study, "holdfast study", EXAMPLES)
