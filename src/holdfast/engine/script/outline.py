"""What the script of a job has to say, decided before it is written: one value for each question a template asks."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from holdfast.catalog.builtin import BUILTIN, CONFIG_FOR, DATASETS, MODELS
from holdfast.catalog.data.files import READ, ending_of
from holdfast.catalog.hub.repositories import PATHS
from holdfast.core.errors import UsageError
from holdfast.core.job.methods import Method
from holdfast.core.job_file.data import Data
from holdfast.core.job_file.job import Job
from holdfast.core.run.checkpoint import KEPT_CHECKPOINTS
from holdfast.core.text.nearest import suggest_one
from holdfast.engine.script.carried_files import NamedFunction, map_function, reward_functions, template_file
from holdfast.engine.script.measured import TrainingMetric, is_greater_better, outline_metrics, spreads_weights

LOADERS = {ending: builder for ending, builder in READ.items() if builder != "tsv"}
"""Loader for each ending of a data file; that of CSV reads tabs only if it is set to."""

KEPT_ELSEWHERE = {
    "output_dir": "the run's folder holds it; `output.folder` names the folder of all runs",
    "run_name": "name the tracked run in `track.run`",
    "report_to": "name the tracker in `track.with`",
    "resume_from_checkpoint": "the trainer takes no notice of it; give the script `--resume CHECKPOINT`",
    "push_to_hub": "name the repository in `output.push_to`",
    "hub_model_id": "name the repository in `output.push_to`",
}
"""Arguments of the trainer that a job gives by keys of its own."""

STRATIFYING = ("stratified", "length")
"""Strategies that need every row before they choose the first."""

PART_OF_STEPS = 0.1
"""How often the script evaluates and saves where the job does not say: after each tenth of all steps."""

AUTO = {"enabled": "auto"}
ZERO = {
    "train_batch_size": "auto",
    "train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto",
    "gradient_clipping": "auto",
    "bf16": AUTO,
    "fp16": AUTO,
}
SHARDING: Mapping[str, dict[str, Any]] = {
    "fsdp": {
        "fsdp": True,
        "fsdp_config": {"activation_checkpointing": True, "state_dict_type": "FULL_STATE_DICT"},
        "activation_checkpointing": False,
    },
    "zero2": {"deepspeed": ZERO | {"zero_optimization": {"stage": 2}}},
    "zero3": {
        "deepspeed": ZERO | {"zero_optimization": {"stage": 3, "stage3_gather_16bit_weights_on_model_save": True}}
    },
}
"""The trainer's arguments for each way of sharing a model. Source: `TrainingArguments` of transformers 5.23, where
"auto" means the trainer's own value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DataLoading:
    """How the script reads its data.

    Attributes:
        builtin: Module that makes a built-in dataset.
        config: Configuration of the dataset.
        is_local: Whether the path can only be one on this machine.
        may_be_prepared: Whether the path may be a folder of rows that holdfast prepared.
        format: Loader of a data file; None for folders and the Hub.
        draws: Whether anything is drawn from the rows.
        chooses: Whether some of a table's rows are chosen.
        splits_a_number: Whether a number of rows is split in proportion to weights.
        mix: Arguments of the function that loads the other datasets of a mixture, for each.
        map: Function that rewrites the rows.
        finds_images: Whether rows may name images by their paths: those of a data file or of a folder.
    """

    builtin: str | None
    config: str | None
    is_local: bool
    may_be_prepared: bool
    format: str | None
    draws: bool
    chooses: bool
    splits_a_number: bool
    mix: list[dict[str, Any]]
    map: NamedFunction | None
    finds_images: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLoading:
    """How the script loads its model.

    Attributes:
        builtin: Module that makes a built-in model.
        is_local: Whether the path can only be one on this machine.
        short_name: The model's name in the name of a folder.
        dtype: Format the weights are held in; None if the script chooses it on the machine.
        is_default: Whether the job leaves the format open.
        is_in_4_bits: Whether it is stored in 4 bits, and the script chooses the format to compute in.
        options: Further arguments of `from_pretrained`.
        tokenizer: Arguments of the tokenizer, if the script loads it itself.
        template_file: Carried file with the chat template.
        template_from: Model whose chat template is taken.
    """

    builtin: str | None
    is_local: bool
    short_name: str
    dtype: str | None
    is_default: bool
    is_in_4_bits: bool
    options: dict[str, Any]
    tokenizer: dict[str, Any] | None
    template_file: str | None
    template_from: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """What the script tells the trainer.

    Attributes:
        trainer: What stands before `Trainer` in the name of TRL's class.
        arguments: What the job says in `train`, without what `ModelLoading` holds.
        schedule: When to evaluate and save, where the job does not say.
        lora: Arguments of the adapter; None if all weights are trained.
        sharding: Arguments for more than one process.
        rewards: Reward functions.
        names_format: Whether the job names the number format to compute in.
        checkpoints_activations: Whether the job says if activations are kept or computed again.
        private: Whether what goes to the Hub is private; None if nothing does.
        has_public_model: Whether the model is public though the tracker's Space is private.
        has_samples: Whether completions are drawn at each evaluation.
        shuffles_prompts: Whether the trainer shuffles prompts in each epoch, by a generator that checkpoints do not hold.
        metrics: Metrics of answers that are computed at each evaluation.
        greater_is_better: Whether a higher value of the metric that stops it early is better; None if none does.
    """

    trainer: str
    arguments: dict[str, Any]
    schedule: dict[str, Any]
    lora: dict[str, Any] | None
    sharding: dict[str, Any] | None
    rewards: list[NamedFunction]
    names_format: bool
    checkpoints_activations: bool
    private: bool | None
    has_public_model: bool
    has_samples: bool
    shuffles_prompts: bool
    metrics: list[TrainingMetric]
    greater_is_better: bool | None


def outline_reading(job: Job) -> DataLoading:
    """Return the part of the script that reads the job's data.

    Raises:
        UsageError: There is no such built-in dataset, or the job asks for what a stream cannot give.
    """
    data = job.dataset
    _check_builtin("dataset", data.path, DATASETS)
    _check_reading(data)
    data_format = LOADERS.get(ending_of(data.path))
    is_local = data_format is not None or data.path.startswith(PATHS)
    return DataLoading(
        builtin=DATASETS.get(data.path),
        config=data.config or (CONFIG_FOR[job.method] if data.path in DATASETS else None),
        is_local=is_local,
        may_be_prepared=data_format is None and _may_be_folder(data.path, is_local=is_local),
        format=data_format,
        draws=bool(data.rows or data.eval_fraction or data.streaming or data.mix),
        chooses=_chooses_rows(data),
        splits_a_number=_splits_a_number(data),
        mix=[{**each.model_dump(), "loader": LOADERS.get(ending_of(each.path))} for each in data.mix],
        map=map_function(job),
        finds_images=_finds_images(job, is_local=is_local),
    )


def _may_be_folder(path: str, *, is_local: bool) -> bool:
    """True if a path may be a folder: a name without an owner is one, or a dataset of the Hub."""
    return is_local or ("/" not in path and not path.startswith(BUILTIN))


def _check_builtin(what: str, path: str, known: Mapping[str, str]) -> None:
    """Raise UsageError for the path of a built-in dataset or model that there is not."""
    if path.startswith(BUILTIN) and path not in known:
        raise UsageError(f"no {what} {path!r}", where=f"{what}.path", fix=suggest_one(path, list(known)))


def _finds_images(job: Job, *, is_local: bool) -> bool:
    """True if rows may name images by paths: those of a dataset of the Hub do not."""
    data = job.dataset
    return _may_be_folder(data.path, is_local=is_local) and not data.streaming and job.method is not Method.REWARD


def outline_loading(job: Job) -> ModelLoading:
    """Return the part of the script that loads the job's model.

    Raises:
        UsageError: There is no such built-in model.
    """
    model = job.model
    _check_builtin("model", model.path, MODELS)
    options = _model_options(job)
    dtype = options.pop("dtype", None) or model.dtype
    is_frozen = job.peft is not None or job.quantization is not None
    return ModelLoading(
        builtin=MODELS.get(model.path),
        is_local=model.path.startswith(PATHS),
        short_name=short_name(model.path),
        dtype=dtype or (None if is_frozen else "float32"),
        is_default=dtype is None,
        is_in_4_bits=_is_in_4_bits(job),
        options=options,
        tokenizer=_tokenizer_options(job),
        template_file=template_file(job),
        template_from=model.chat_template if template_file(job) is None else None,
    )


def _model_options(job: Job) -> dict[str, Any]:
    """Return the further arguments of `from_pretrained`, `dtype` among them."""
    own = job.train.get("model_init_kwargs") or {}
    if not isinstance(own, Mapping):
        raise UsageError("it is not a mapping", where="train.model_init_kwargs", fix="write it as `{key: value}`")
    named = {"revision": job.model.revision, "attn_implementation": job.model.attn_implementation}
    return {key: value for key, value in named.items() if value is not None} | dict(own)


def _is_in_4_bits(job: Job) -> bool:
    quantization = job.quantization or {}
    return bool(quantization.get("load_in_4bit")) and "bnb_4bit_compute_dtype" not in quantization


def outline_training(job: Job) -> Training:
    """Return the part of the script that configures the job's trainer.

    Raises:
        UsageError: The job gives the trainer what it has keys of its own for, or no reward.
    """
    _check_training(job)
    return Training(
        trainer=job.method.stem,
        arguments={key: value for key, value in job.train.items() if key != "model_init_kwargs"},
        schedule=choose_schedule(job),
        lora=None if job.peft is None else {"task_type": _task(job.method)} | job.peft,
        sharding=SHARDING.get(job.where.strategy),
        rewards=reward_functions(job),
        names_format=bool(job.train.get("bf16") or job.train.get("fp16")),
        checkpoints_activations=bool({"activation_checkpointing", "gradient_checkpointing"} & job.train.keys()),
        private=_privacy(job),
        has_public_model=bool(_has_space(job) and job.output.push_to and not job.output.private),
        has_samples=_has_samples(job),
        shuffles_prompts=_shuffles_prompts(job),
        metrics=outline_metrics(job),
        greater_is_better=is_greater_better(job),
    )


def _check_training(job: Job) -> None:
    if clash := next((key for key in KEPT_ELSEWHERE if key in job.train), None):
        raise UsageError(f"`{clash}` does not belong under `train`", where=f"train.{clash}", fix=KEPT_ELSEWHERE[clash])
    if job.method.generates and not job.rewards:
        fix = "name a function: `rewards: [rewards.py:score]`"
        raise UsageError(f"{job.method} has no reward function to learn from", where="rewards", fix=fix)


def _has_space(job: Job) -> bool:
    """True if metrics go to a Space of Trackio, which is private."""
    return job.track.with_ == "trackio" and job.track.space is not None


def _privacy(job: Job) -> bool | None:
    """True if uploads to the Hub are private; None if there are none."""
    if _has_space(job):
        return True
    return job.output.private if job.output.push_to else None


def choose_schedule(job: Job) -> dict[str, Any]:
    """Return when to evaluate and save, as far as the job does not say.

    To keep the best model, there has to be a checkpoint of every evaluation.

    >>> choose_schedule(Job(method="sft", model="m", dataset="d", train={"save_steps": 50}))
    {'save_total_limit': 2}
    """
    train = job.train
    schedule = _when_to_evaluate(job)
    if not {"save_strategy", "save_steps"} & train.keys():
        schedule |= _when_to_save(job, {"eval_strategy": "steps", "eval_steps": PART_OF_STEPS} | schedule | train)
    return {key: value for key, value in {**schedule, "save_total_limit": KEPT_CHECKPOINTS}.items() if key not in train}


def _when_to_evaluate(job: Job) -> dict[str, Any]:
    if job.evaluates and "eval_strategy" not in job.train:
        return {"eval_strategy": "steps", "eval_steps": job.train.get("eval_steps", PART_OF_STEPS)}
    if job.early_stopping and job.train.get("eval_strategy") == "steps":
        return {"eval_steps": PART_OF_STEPS}  # else it would be the trainer's `logging_steps`
    return {}


def _when_to_save(job: Job, evaluation: Mapping[str, Any]) -> dict[str, Any]:
    if not job.early_stopping:
        return {"save_steps": PART_OF_STEPS}
    if evaluation["eval_strategy"] == "epoch":
        return {"save_strategy": "epoch"}
    return {"save_steps": evaluation["eval_steps"]}


def with_schedule(job: Job) -> Job:
    """Return a job that says when to evaluate and save, as its script does."""
    return job.model_copy(update={"train": {**choose_schedule(job), **job.train}})


def short_name(path: str) -> str:
    """Return the last part of a model's path, as the name of a folder may have it.

    >>> short_name("builtin:tiny-chat"), short_name("Qwen/Qwen2.5-0.5B"), short_name("./")
    ('tiny-chat', 'Qwen2.5-0.5B', 'model')
    """
    last = re.split(r"[/:\\]", path.rstrip("/\\"))[-1]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", last).strip("-.") or "model"


def _chooses_rows(data: Data) -> bool:
    return bool(data.rows or data.mix) and not data.streaming


def _splits_a_number(data: Data) -> bool:
    return bool(data.mix or data.sample in STRATIFYING) and not data.streaming


def _check_reading(data: Data) -> None:
    if data.streaming:
        _check_stream(data)
    if made := next((each.path for each in data.mix if each.path.startswith(BUILTIN)), None):
        fix = "name it as the first dataset, under `dataset.path`"
        raise UsageError(f"{made} cannot be mixed in: holdfast makes it", where="dataset.mix", fix=fix)


def _check_stream(data: Data) -> None:
    if data.eval_fraction:
        fix = "name an `eval_split`, or do not stream"
        raise UsageError("a stream has no fraction: its rows are not counted", where="dataset.eval_fraction", fix=fix)
    if data.path in DATASETS:
        raise UsageError(f"{data.path} is not a stream", where="dataset.streaming", fix="leave it out")
    if data.sample in STRATIFYING:
        what = f"`{data.sample}` looks at every row before it chooses the first, and a stream is read as it comes"
        raise UsageError(what, where="dataset.sample", fix="do not stream, or use `head` or `random`")


def _tokenizer_options(job: Job) -> dict[str, Any] | None:
    """Return the arguments of a tokenizer that gets another chat template; None if the trainer loads it."""
    taken_by_trainer = template_file(job) is None and job.method in (Method.SFT, Method.REWARD)
    if job.model.chat_template is None or taken_by_trainer:
        return None
    options: dict[str, Any] = {"revision": job.model.revision, "trust_remote_code": job.model.trust_remote_code}
    if job.method.generates:
        options["padding_side"] = "left"
    return {key: value for key, value in options.items() if value}


def _task(method: Method) -> str:
    return "SEQ_CLS" if method is Method.REWARD else "CAUSAL_LM"


def _shuffles_prompts(job: Job) -> bool:
    """True if the sampler is `RepeatSampler` of trl 1.16, which only tables of rows get, and shuffles."""
    return job.method.generates and not job.dataset.streaming and bool(job.train.get("shuffle_dataset", True))


def _has_samples(job: Job) -> bool:
    """True if completions are drawn: reward models write none, and one process alone cannot run a shared model."""
    writes = job.method is not Method.REWARD and not spreads_weights(job)
    return writes and job.evaluates and job.samples.prompts > 0
