"""Trainers: a few steps of the script's own training, and the stage that each of their methods belongs to.

Settings are shrunk when a trainer is made, after the library has validated them as they were written. What decides whether
the job works stays: lengths, precision, strategies, the number of generations that reward functions may count on.
Covered: transformers' `Trainer` and every class made from it, TRL's and the script's own. Not covered: loops without one.
"""

import dataclasses
import functools
import inspect
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sized
from pathlib import Path
from typing import Any

from ..events import TAIL, EventWriter
from ..guards.files import where
from ..part_request import PartRequest
from ..pushes import in_push
from ..rows import few
from ..wrapping import every_class, when_imported, wrap
from . import configs, gradients, green, saved_adapters, tokens
from .answers import AnswerLabels
from .arguments import few_of, outside, shrink
from .asked_steps import with_whole_steps
from .batches import cut, look_at_positions
from .faults import TrainingFault
from .formatting import look_at_formatting
from .observed import keep_rows, note_same
from .periodic import Periodic
from .real_logs import call_as_real, forget_steps
from .real_steps import BOUND, look_at_intervals, most_steps
from .redrawn import RedrawnSteps
from .resuming import look_at_checkpoint
from .rewarding import Rewards

STAGES = {
    "evaluate": "evaluate",
    "_determine_best_metric": "evaluate",
    "predict": "evaluate",
    "save_model": "save",
    "_save_checkpoint": "save",
    "_load_from_checkpoint": "resume",
    "_load_optimizer_and_scheduler": "resume",
    "_load_rng_state": "resume",
}
"""Methods of trainers, and the stage that they belong to."""
EVENTS = {"on_save": "save", "on_evaluate": "evaluate", "on_predict": "evaluate", "on_prediction_step": "evaluate"}
"""The events of callbacks, and the stage that each belongs to."""
SAVING = (("transformers.modeling_utils", "PreTrainedModel"), ("peft.peft_model", "PeftModel"))
"""Classes whose `save_pretrained` saves a model, by their module."""
RESUMES = re.compile(r"\bget_last_checkpoint\(|\bresume_from_checkpoint\s*=")
"""How a script's text looks that goes on from checkpoints by itself."""
TOKENIZING = ("_prepare_dataset", "_tokenize", "tokenize_row", "_prepare_tokenizer")
ROLES = {"train_dataset": "train", "eval_dataset": "eval"}
"""Arguments of trainers that are datasets, and what they are to it."""
IN_FLOAT32 = "accelerate takes it for a GPU alone, without a word: on this machine the job trains in float32, and so did the rehearsal"
"""What becomes of fp16 where a job has no GPU. Source: `Accelerator.__init__` of accelerate 1.15; transformers 5.23 trains."""
LOADING = (
    ("transformers.tokenization_utils_base", "PreTrainedTokenizerBase", "tokenize"),
    ("transformers.models.auto.tokenization_auto", "AutoTokenizer", "tokenize"),
    ("transformers.models.auto.processing_auto", "AutoProcessor", "tokenize"),
    ("transformers.models.auto.configuration_auto", "AutoConfig", "model"),
    ("transformers.models.auto.modeling_auto", "AutoModel", "model"),
    ("peft.auto", "_BaseAutoPeftModel", "model"),
    ("peft.config", "PeftConfigMixin", "model"),
)
"""How names of classes begin whose `from_pretrained` loads something, by their module, and the stage that it belongs to."""


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Have trainers take a few steps, and tell what they do."""
    configs.install(part_request, events)
    hooks = TrainerHooks(part_request, events)
    when_imported("transformers.trainer", hooks.watch)
    when_imported("torch.utils.data._utils.fetch", hooks.redrawn.watch)
    for name, owner, stage in LOADING:
        when_imported(name, functools.partial(_watch_loading, owner=owner, stage=stage, events=events))
    for name, owner in SAVING:
        when_imported(name, functools.partial(_watch_saving, owner=owner, part_request=part_request, events=events))


class TrainerHooks:
    """What the trainers of a script do beside their own."""

    def __init__(self, part_request: PartRequest, events: EventWriter) -> None:
        self._part_request, self._events, self._rewards = part_request, events, Rewards(events)
        self._periodic, self._answers = Periodic(part_request, events), AnswerLabels(part_request, events)
        self.redrawn = RedrawnSteps(events)
        self._making: Any = None  # the trainer whose `__init__` is under way
        self._fault = TrainingFault(part_request, events)
        self._stepping = False

    def watch(self, module: Any) -> None:
        """Watch the class of trainers, and those made from it."""
        base = module.Trainer
        every_class(base, "__init__", self._init)
        for name in TOKENIZING:
            every_class(base, name, self._staged("tokenize"))
        for name, stage in STAGES.items():
            every_class(base, name, self._staged(stage))
        every_class(base, "_save_checkpoint", self._save)
        for name in ("init_hf_repo", "push_to_hub"):
            every_class(base, name, self._push)
        every_class(base, "train", self._train)
        every_class(base, "training_step", self._step)
        every_class(base, "prediction_step", self._cut_step)
        every_class(base, "_calculate_rewards", self._rewards.calculate)
        wrap(module.CallbackHandler, "call_event", self._call_event)

    def _init(self, init: Any, trainer: Any, *args: Any, **kwargs: Any) -> None:
        try:
            bound = inspect.signature(init).bind(trainer, *args, **kwargs)
        except TypeError:
            with self._events.during("import"):  # an argument that there is not: a matter of names, and of no model
                init(trainer, *args, **kwargs)
            raise AssertionError("a call that does not fit its function did not raise") from None
        if self._making is trainer:  # the class it is made from
            init(trainer, *args, **kwargs)
            return
        self._making = trainer
        dataset = bound.arguments.get("train_dataset", ())
        rows = len(dataset) if isinstance(dataset, Sized) else 0
        seen = _seen(bound.arguments)
        try:
            with self._events.during("data"):
                look_at_formatting(trainer, bound.arguments, self._events)
                self._take_few(bound.arguments)
            if settings := _settings_of(bound.arguments):
                self._ask(trainer, settings, dataset, seen)
            with self._events.during("model"):
                init(*bound.args, **bound.kwargs)
                if not settings:
                    self._ask(trainer, trainer.args, dataset, seen)
                elif trainer.args is not settings:  # TRL makes a config of its own of plain `TrainingArguments`
                    object.__setattr__(trainer.args, "_holdfast_asked", vars(settings)["_holdfast_asked"])
                    object.__setattr__(trainer.args, BOUND, vars(settings)[BOUND])
            self._look_at_rows(trainer, bound.arguments.get("train_dataset"), rows)
        finally:
            self._making = None

    def _ask(self, trainer: Any, settings: Any, dataset: Any, seen: Mapping[str, Any]) -> None:
        """Record the request to a trainer, and shrink it."""
        original, endless = _plain(settings), not hasattr(dataset, "__len__")
        original["output_dir"] = str(outside(self._part_request, settings.output_dir))
        if "_holdfast_asked" not in vars(settings):  # by a trainer before this one, with the same settings
            object.__setattr__(settings, "_holdfast_asked", original)
        kinds = [each.__name__ for each in type(trainer).__mro__]
        object.__setattr__(settings, BOUND, most_steps(original, dataset, kinds))
        chosen = _chosen(settings, original)
        resumes = bool(RESUMES.search(self._part_request.source))
        self._events.fact("training", trainer=kinds, arguments=original, chosen=chosen, resumes=resumes, **seen)
        if self._part_request.gpu == "none" and settings.fp16:
            self._events.not_rehearsed("fp16=True", IN_FLOAT32)
        shrink(settings, self._part_request, self._events)
        if endless and settings.max_steps != original["max_steps"] <= 0:  # which the library is to complain of
            settings.max_steps = original["max_steps"]

    def _look_at_rows(self, trainer: Any, few_rows: Any, rows: int) -> None:
        """Report rows that leave nothing to learn, or too little."""
        look_at_intervals(trainer, trainer.args._holdfast_asked, self._events)
        tokens.look_at_updates(trainer.args._holdfast_asked, rows, self._events)
        names = [each.__name__ for each in type(trainer).__mro__]
        if not hasattr(few_rows, "column_names") or not isinstance(few_rows, Sized):
            return
        if "SFTTrainer" in names:
            trainer._holdfast_longest = tokens.longest_row(few_rows, tokens.tokenizer_of(trainer))
            tokens.look_at_answers(trainer, few_rows, self._events)
        if "DPOTrainer" in names:
            tokens.look_at_prompts(few_rows, self._events)

    def _take_few(self, given: dict[str, Any]) -> None:
        """Leave a few rows of what the trainer is given."""
        note_same(given, self._events)
        for name, role in ROLES.items():
            if name in given:
                keep_rows(given[name], self._part_request, name, self._events)
                count = few_of(role, _settings_of(given), self._part_request)
                given[name] = few(given[name], count, self._events, role)

    def _staged(self, stage: str) -> Any:
        def around(original: Any, *args: Any, **kwargs: Any) -> Any:
            with self._events.during(stage):
                return original(*args, **kwargs)

        return around

    def _save(self, save: Any, trainer: Any, *args: Any, **kwargs: Any) -> Any:
        with self._fault.during_save(trainer):
            return save(trainer, *args, **kwargs)

    def _call_event(self, call: Any, handler: Any, event: str, args: Any, state: Any, *more: Any, **kwargs: Any) -> Any:
        self.redrawn.note_epoch(event, state, handler.train_dataloader)
        with self._events.during(EVENTS.get(event, self._events.stage)):
            result = call_as_real(call, handler, event, args, state, *more, **kwargs)
            self._periodic.report_round_step(call, handler, event, args, state, *more, **kwargs)
            return result

    def _push(self, push: Any, *args: Any, **kwargs: Any) -> Any:
        with in_push(self._events):
            return push(*args, **kwargs)

    def _train(self, train: Any, trainer: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        with self._events.during("resume"):
            resume = self._resumed(trainer, resume_from_checkpoint)
        green.look_at_trainer(trainer, self._events)
        tokens.look_at_added(trainer, self._events)
        # A trainer's own `train` may take nothing, as those of TRL's that have their own loop.
        given = (resume, *args) if args or resume is not None else ()
        with self._events.during("step"):
            shown = train(trainer, *given, **kwargs)
        self._answers.judge(trainer)
        green.look_at_training(trainer, self._events)
        with self._events.during("step"):
            self._rewards.judge(trainer)
        forget_steps(trainer)
        self._events.outside = TAIL
        return with_whole_steps(trainer, shown, self._part_request)

    def _resumed(self, trainer: Any, requested: Any) -> Any:
        """Return the checkpoint to resume from: one of this rehearsal, or none in place of a real one."""
        settings = getattr(trainer.args, "_holdfast_asked", {})
        folder = requested
        if requested is True:
            output = Path(settings.get("output_dir", ""))
            folder = sys.modules["transformers.trainer_utils"].get_last_checkpoint(output) if output.is_dir() else None
        if not isinstance(folder, str | os.PathLike) or not Path(folder).is_dir():
            return requested  # nothing, or what the library is to complain of
        path = Path(where(Path(folder).absolute()))
        if self._part_request.owns(path):
            return str(path)
        look_at_checkpoint(path, trainer, settings, self._events)
        return self._part_request.resume or None

    def _step(self, step: Any, trainer: Any, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        if self._stepping:  # the class it is made from
            return step(trainer, model, inputs, *args, **kwargs)
        look_at_positions(inputs, trainer, self._events)
        inputs = cut(inputs, model, self._events)
        green.look_at_batch(inputs, trainer, self._events)
        self._answers.look_at_batch(inputs, trainer)
        self._fault.before_step(trainer, model, inputs)
        self._stepping = True
        try:
            loss = step(trainer, model, inputs, *args, **kwargs)
        finally:
            self._stepping = False
        gradients.look_at_step(trainer)
        self._fault.after_step(trainer)
        return loss

    def _cut_step(self, step: Any, trainer: Any, model: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        inputs = cut(inputs, model, self._events)
        self._fault.before_prediction(trainer, model, inputs)
        return step(trainer, model, inputs, *args, **kwargs)


def _watch_loading(module: Any, owner: str, stage: str, events: EventWriter) -> None:
    def load(original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
        with events.loading(stage):
            loaded = original(cls, *args, **kwargs)
        if stage == "tokenize":
            tokens.note_loaded(loaded)
        return loaded

    for name, each in list(vars(module).items()):
        if name.startswith(owner) and isinstance(each, type) and "from_pretrained" in vars(each):
            wrap(each, "from_pretrained", load)


def _watch_saving(module: Any, owner: str, part_request: PartRequest, events: EventWriter) -> None:
    def save(original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        if hasattr(model, "peft_config"):
            saved_adapters.look_at_frozen(model, part_request, events)
        with events.during("save"):
            return original(model, *args, **kwargs)

    wrap(getattr(module, owner), "save_pretrained", save)


def _settings_of(given: Mapping[str, Any]) -> Any:
    """Return the arguments among what a trainer is given: `args`, or `config` as TRL's online trainers called it before 0.16."""
    named = (given.get(name) for name in ("args", "config"))
    return next((each for each in named if hasattr(each, "per_device_train_batch_size")), None)


def _seen(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known facts about the rows and the tokenizer that a trainer gets."""
    rows, others = given.get("train_dataset"), given.get("eval_dataset")
    return {
        "columns": getattr(rows, "column_names", None),
        "eval_columns": getattr(others, "column_names", None),
        "may_evaluate": others is not None,
        "files": sorted(set(_files_of(given))),
        "template": tokens.own_template(given.get("processing_class")),
        "formats": given.get("formatting_func") is not None,
    }


def _files_of(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the files of the functions that a trainer is given: no traceback has one that was called in vain."""
    for value in given.values():
        for each in value if isinstance(value, list | tuple) else (value,):
            function = inspect.unwrap(each) if callable(each) else None
            if code := getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None):
                yield code.co_filename


def _chosen(settings: Any, requested: Mapping[str, Any]) -> list[str]:
    """Return the names of the arguments that are not what they are by default."""
    usual = {each.name: each.default for each in dataclasses.fields(settings)}
    return sorted(name for name, value in requested.items() if name in usual and value != usual[name])


def _plain(settings: Any) -> dict[str, Any]:
    """Return the arguments as JSON can hold them; marks of texts are no secrets, though their names end like those of some."""
    plain: dict[str, Any] = sys.modules["holdfast_runtime_source"].plain(settings.to_dict())
    return plain | {name: getattr(settings, name) for name in ("eos_token", "pad_token") if name in plain}
