"""What a program's constructors would raise: each call with its arguments, through the checks of its class.

The checks are data, taken from each release (`Api.checks`); what their running needs and a source cannot tell, such as the
number of processes, is `Unknown` to them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from holdfast.catalog.api import Api
from holdfast.catalog.calls.arguments import names_of
from holdfast.catalog.calls.commands import dataclasses_of
from holdfast.catalog.calls.flags import as_parsed, flag_meant
from holdfast.catalog.calls.moving import trainer_of
from holdfast.catalog.calls.renames import renamed
from holdfast.catalog.calls.train_arguments import makes_groups
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.api import CallSignature, Parameter, Required
from holdfast.core.job.calls import Call, CallResult
from holdfast.core.job.constructor_checks import BLANK, Instance, KnownValue, Notice, Outcome, construct
from holdfast.core.job.document import Document, Unknown
from holdfast.core.job.hidden import hidden_in, plain, untracked
from holdfast.core.job.methods import ONLINE_TRAINERS
from holdfast.core.last_call_cache import cache_last_call

SCHEDULE: Final = frozenset(
    {
        "activation_checkpointing",
        "bf16",
        "dataloader_num_workers",
        "eval_steps",
        "eval_strategy",
        "fp16",
        "fsdp",
        "gradient_checkpointing",
        "greater_is_better",
        "load_best_model_at_end",
        "metric_for_best_model",
        "save_steps",
        "save_strategy",
    }
)
"""Settings of a job file that holdfast chooses where the job does not."""

REPORTED_BY_RULES: Final[Mapping[str, re.Pattern[str]]] = {
    "undivided-generations": re.compile(
        r"must be divisible by|requires at least 2 generations|can not be both configured"
    ),
    "endless-stream": re.compile(r"train_dataset does not implement __len__"),
    "evaluation-without-data": re.compile(r"didn't pass an `eval_dataset`|requires an eval_dataset"),
    "unmatched-best-model": re.compile(
        r"load_best_model_at_end requires|`args\.metric_for_best_model` must be provided"
    ),
    "missing-reward": re.compile(r"No reward source provided"),
    "two-adapters": re.compile(r"You passed a `PeftModel` instance together with a `peft_config`"),
    "unmatched-reward-weights": re.compile(r"[Nn]umber of reward weights"),
    "two-precisions": re.compile(r"[Aa]t most one of fp16 and bf16"),
}
"""The errors that a rule reports itself, with a better message or a fix, by the name of the rule."""

LOADING: Final = "model_init_kwargs"
"""The setting that TRL's commands give a value of their own before they hand the config on."""

CHANGED_BY_WRAPPER: Final = frozenset(
    {
        "beta",
        "dataset_num_proc",
        "epsilon_high",
        "gradient_checkpointing_kwargs",
        "include_tokens_per_second",
        "loss_type",
        "mask_truncated_completions",
        "max_length",
        "max_seq_length",
        "num_generations",
        "num_train_epochs",
        "optim",
        "pad_to_multiple_of",
        "per_device_train_batch_size",
        "scale_rewards",
        "top_k",
        "warmup_steps",
    }
)
"""The arguments that Unsloth may change before it hands them on. Source: `unsloth/models/rl.py` and `rl_replacements.py`, 2025.3 to 2026.10."""

GROUPS: Final = "undivided-generations"
"""The one of these rules that judges only the config that is trained with, and only where nothing of it is hidden."""

WEIGHTS: Final = "unmatched-reward-weights"
"""The one that counts the rewards of TRL's own trainers alone."""
ONLINE_PATHS: Final = frozenset(f"trl.{name}" for name in ONLINE_TRAINERS)


@dataclass(frozen=True, slots=True)
class Construction:
    """A call of a class, and what comes of it.

    Attributes:
        call: The call.
        outcome: What its class's checks say.
        hidden: The arguments that the source hides, by key, of all constructions of the program.
        order: The names of the parameters that are given by position.
    """

    call: Call
    outcome: Outcome
    hidden: Mapping[str, Unknown] = field(default_factory=dict[str, Unknown])
    order: tuple[str, ...] = ()

    def versions(self, api: Api) -> str:
        """Return the versions that an error of it depends on: `trl 1.16.0, transformers 5.23.0`."""
        packages = dict.fromkeys((self.call.package, "transformers"))
        return ", ".join(f"{package} {api.versions[package]}" for package in packages if package in api.versions)

    def key(self, job: Document, notice: Notice) -> str:
        """Return the key of what an error is about: the last written of the arguments that the innermost condition reads.

        An argument that is given by position is named by its index.
        """
        read = notice.reads[0] if notice.reads else frozenset({self.call.key})
        return max(sorted(map(self._written, read)), key=lambda key: _position(job, key))

    def _written(self, key: str) -> str:
        """Return the key under which an argument of the call has its place."""
        by_position = {f"{self.call.key}.{name}": index for index, name in enumerate(self.order)}
        return f"{self.call.key}.{by_position[key]}" if key in by_position else key

    def require_decided(self, concerns: Callable[[Notice], object]) -> None:
        """Object where hidden arguments decide whether the class raises an error of some kind.

        Raises:
            MissingFactError: They do.
        """
        for notice in self.outcome.doubted:
            read = sorted(frozenset[str]().union(*notice.reads) & self.hidden.keys())
            if read and concerns(notice) and not self.call.guard.tolerates_refusal(notice.exception):
                raise MissingFactError(read[0], self.hidden[read[0]].because)


@cache_last_call
def constructions(job: Document, api: Api) -> Iterator[Construction]:
    """Yield the constructions of a program whose checks are known; of a command, those of its dataclasses."""
    constructor = _Constructor(job, api, {call.key: untracked(call) for call in job.calls})
    for call in job.calls:
        for made, outcome in constructor.outcomes(call):
            yield Construction(made, outcome, constructor.hidden, constructor.order(made))


def trained(job: Document, api: Api, home: str) -> Iterator[tuple[Call, str, Mapping[str, Any]]]:
    """Yield each construction of a trainer, with the key of the config that it is given and what this holds.

    Args:
        job: The program.
        api: The versions that it gets.
        home: Dotted path of the trainer's class.
    """
    every = constructions(job, api)
    configs = {(each.call.key, each.call.path): each.outcome.made for each in every}
    for each in every:
        config = each.call.arguments.get("args")
        held = configs.get((config.key, config.path)) if isinstance(config, CallResult) else None
        if isinstance(config, CallResult) and held and api.home(each.call.path) == home:
            settings = as_handed_on(job, config.key, held).attributes
            yield each.call, config.key, {name: known.value for name, known in settings.items()}


def refusals(job: Document, api: Api, rule: str) -> Iterator[tuple[Construction, Notice]]:
    """Yield the constructions that raise, of whose error the rule of that name tells.

    Raises:
        MissingFactError: What the source hides decides whether one raises; after all others.
    """
    every = constructions(job, api)
    for made in every:
        for raised in made.outcome.errors:
            if REPORTED_BY_RULES[rule].search(raised.message) and not made.call.guard.tolerates_refusal(
                raised.exception
            ):
                yield made, raised
    for made in every:
        made.require_decided(lambda notice: REPORTED_BY_RULES[rule].search(notice.message))


def is_covered_elsewhere(construction: Construction, notice: Notice, job: Document, api: Api) -> bool:
    """True if a rule of its own tells of an error of a construction."""
    call = construction.call
    covers = {
        GROUPS: job.kind == "job" or (call.key == "train" and makes_groups(job, api)),
        WEIGHTS: call.key == "trainer" and call.path in ONLINE_PATHS and "environment_factory" not in call.arguments,
    }
    if any(covers.get(name, True) for name, words in REPORTED_BY_RULES.items() if words.search(notice.message)):
        return True
    return _is_unknown_word(construction.call, notice, api)


def _is_unknown_word(call: Call, notice: Notice, api: Api) -> bool:
    """True if an error is about one argument, whose value is none of the words that it takes: `ARG110` says so."""
    signature, (key, *others) = api.signature(call.path), sorted(notice.reads[0] if notice.reads else ()) or [""]
    under, _, name = key.rpartition(".")
    parameter = signature.parameters.get(name) if signature and under == call.key and not others else None
    value = call.arguments.get(name)
    if parameter is None or not parameter.choices or not parameter.enforced:
        return False
    return isinstance(value, str) and value not in parameter.choices


@dataclass(slots=True)
class _Constructor:
    """Makes what a program's calls make, each once: a trainer is given what another call made."""

    job: Document
    api: Api
    calls: Mapping[str, Call]
    made: dict[str, Outcome | None] = field(default_factory=dict[str, "Outcome | None"])
    hidden: dict[str, Unknown] = field(default_factory=dict[str, Unknown])

    def outcomes(self, call: Call) -> Iterator[tuple[Call, Outcome]]:
        """Yield the outcomes of a call; of a command, those of each of its dataclasses and of its trainer, which share its key."""
        if " " in call.path:
            made = [(each, self._construct(each)) for each in dataclasses_of(self.calls[call.key], self.api)]
            made += [(each, self._construct(each)) for each in self._trainers(made)]
        else:
            made = [(call, self.outcome(call.key))]
        yield from ((each, outcome) for each, outcome in made if outcome is not None)

    def _trainers(self, made: Iterable[tuple[Call, Outcome | None]]) -> Iterator[Call]:
        """Yield the call of the trainer to which a command hands its config; the model that it names it may load first."""
        for call, outcome in made:
            trainer = trainer_of(call.path)
            if outcome and self.api.signature(trainer) and not call.open:
                settings = {**outcome.made.attributes, LOADING: BLANK}
                self.made[call.key] = replace(outcome, made=replace(outcome.made, attributes=settings))
                given = {"args": CallResult(call.path, call.key)}
                label = trainer.rpartition(".")[2]
                yield replace(call, path=trainer, label=label, arguments=given, open=True, via="call")

    def outcome(self, key: str) -> Outcome | None:
        """Return the outcome of the call with a key; None if its checks are unknown."""
        if key not in self.made:
            self.made[key] = None  # should it be given to itself
            self.made[key] = self._construct(self.calls[key]) if key in self.calls else None
        return self.made[key]

    def order(self, call: Call) -> tuple[str, ...]:
        """Return the names of the parameters that a call gives by position."""
        signature = self.api.signature(call.path)
        return tuple(signature.parameters)[: len(call.positional)] if signature else ()

    def _construct(self, call: Call) -> Outcome | None:
        signature = self.api.signature(call.path)
        if signature is None or signature.kind != "class" or call.via in ("partial", "super"):
            return None
        if _is_own_class(self.job, call):
            return None
        programs = self.api.checks(call.path)
        given = dict.fromkeys(self._meant(call, signature), BLANK) | dict(self._given(call, signature))
        if not programs:
            return None
        if call.guard.wraps:
            given = dict.fromkeys(signature.parameters, BLANK) | _unchanged(given)
        elif programs[0].method != "__init__" or call.open:
            given = dict(_defaults(call, signature)) | given
        return construct(call.path, programs, given, versions=self.api.versions, ancestors=self.api.ancestors)

    def _meant(self, call: Call, signature: CallSignature) -> Iterator[str]:
        """Yield the parameters that a call means by names that are gone: their rule tells of those, not of a lack."""
        for name in call.arguments:
            change = renamed(names_of(self.api, call.path), name)
            if change and change.new and not signature.takes(name):
                yield change.new

    def _given(self, call: Call, signature: CallSignature) -> Iterator[tuple[str, KnownValue]]:
        for written, given in (*zip(signature.parameters, call.positional, strict=False), *call.arguments.items()):
            meant, value = flag_meant(signature, written, given) if call.via == "parser" else (written, given)
            name = signature.shims.get(meant, meant)
            if name is None:
                continue
            if hidden := hidden_in(value):
                self.hidden[f"{call.key}.{written}"] = hidden
            yield name, self._known(call, signature.parameters.get(name), written, value)

    def _known(self, call: Call, parameter: Parameter | None, written: str, value: Any) -> KnownValue:
        """Return the value that a class gets for an argument: what another call made, or what is written."""
        outcome = self.outcome(value.key) if isinstance(value, CallResult) else None
        if outcome is None:
            return KnownValue(_taken(call, parameter, written, value), frozenset({f"{call.key}.{written}"}))
        untold = bool(call.guard.because)  # nothing is said of what it is given to
        return KnownValue(outcome.made if untold else as_handed_on(self.job, value.key, outcome.made))


def _unchanged(given: Mapping[str, KnownValue]) -> dict[str, KnownValue]:
    """Return the arguments that a wrapping class hands on as they are."""
    changed = CHANGED_BY_WRAPPER if "output_dir" in given else CHANGED_BY_WRAPPER | {"save_strategy"}
    return {name: BLANK if name in changed else value for name, value in given.items()}


def _is_own_class(job: Document, call: Call) -> bool:
    """True if a class of the program is called that may check otherwise than the library's class it derives from."""
    written = call.label.partition(".")[0]
    imported = any(each.bound.partition(".")[0] == written for each in job.imports)
    return bool(call.own) or (call.via == "call" and not imported and call.label != call.name)


def _defaults(call: Call, signature: CallSignature) -> Iterator[tuple[str, KnownValue]]:
    """Yield the parameters that the call does not give, or may not give, with their defaults."""
    for name, parameter in signature.parameters.items():
        chosen = call.via == "file" and name in SCHEDULE
        hidden = call.open or chosen or isinstance(parameter.default, Required)
        yield name, BLANK if hidden else KnownValue(parameter.default)


def _taken(call: Call, parameter: Parameter | None, written: str, value: Any) -> Any:
    """Return the value that a class gets for an argument: a parser converts words by the annotation."""
    if call.via != "parser" or parameter is None:
        return value
    return as_parsed(parameter, value, default=written in call.defaults)


def as_handed_on(job: Document, key: str, instance: Instance) -> Instance:
    """Return an instance as it is handed on: with what the program gave its attributes after it was made."""
    call = next(call for call in job.calls if call.key == key)
    now = job.get(key, None)
    if " " in call.path or not isinstance(now, Mapping):  # a command hands on what was parsed
        return instance
    now = plain(now)
    later = {name: value for name, value in now.items() if name not in call.arguments or call.arguments[name] != value}
    changed = {name: KnownValue(value, frozenset({f"{key}.{name}"})) for name, value in later.items()}
    return Instance(instance.path, {**instance.attributes, **changed})


def _position(job: Document, key: str) -> tuple[int, int, int]:
    place = job.place(key)
    return place.cell or 0, place.line or 0, place.column or 0
