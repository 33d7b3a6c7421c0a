"""What is wrong with a job file, in a person's words, and how to fix it."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from math import isfinite
from typing import Any, Final

from holdfast.core.errors import JobError, MisspeltKeyError, Spot, shorten
from holdfast.core.job.document import SHORT_FOR, Document, Key, render_key
from holdfast.core.text.nearest import nearest

KnownKeys = Callable[[Key], tuple[str, ...]]
FindMeant = Callable[[Key, KnownKeys], tuple[Key, ...]]

NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$"
FUNCTION = r"^[^:]+:[A-Za-z_]\w*$"

SHAPES = {
    NAME: "letters, digits, `.`, `_` and `-`, a letter or digit first, at most 128 characters",
    FUNCTION: "`file.py:function` or `module:function`",
}
"""What text of a pattern looks like."""

LISTED: Final = "evaluate"
"""The key whose value is a list of mappings."""
WANTED = {
    "string_type": "text",
    "string_too_short": "text with something in it",
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "bool_type": "true or false",
    "list_type": "a list",
    "tuple_type": "a list of two values",
    "too_short": "longer: at least {min_length}",
    "too_long": "shorter: at most {max_length}",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "literal_error": "one of {expected}",
    "enum": "one of {expected}",
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
}
"""What should stand there, by the type of pydantic's error, with the values of its context."""

PRIVATE = ("environment", "notify")
"""Keys under which values may be secrets: they are never shown."""
EXAMPLES = {
    "method": "sft",
    "model": "Qwen/Qwen2.5-0.5B",
    "dataset": "trl-lib/Capybara",
    "job": "job.yaml",
    "metric": "eval_loss",
}
"""Values of the keys that every job, or every study, has."""
BOOLEANS = {
    **dict.fromkeys(("yes", "on", "y", "true", "1"), "true"),
    **dict.fromkeys(("no", "off", "n", "false", "0"), "false"),
}
"""What is written for true and false, by habit from YAML 1.1 or in quotes."""
LONGEST_SHOWN = 40
"""Characters of a wrong value that are shown."""
LARGEST_SHOWN = 10**20
KINDS: Final[Mapping[type, str]] = {dict: "a mapping", list: "a list", bool: "true or false", str: "text"}
"""What a wrong value is called that is not shown; any other is a number."""
MUCH_ALIKE = 0.85
"""How alike two names are of which one is a key of another part of the job."""
LIKENESS = 0.5
"""From here on two names are taken for the same one, misspelt: `epochs` and `num_train_epochs` are just alike enough."""

FAMILIAR: Final[Mapping[str, Key]] = {
    **dict.fromkeys(("epochs", "num_epochs"), ("train", "num_train_epochs")),
    **dict.fromkeys(("lr",), ("train", "learning_rate")),
    **dict.fromkeys(("batch_size", "train_batch_size"), ("train", "per_device_train_batch_size")),
    **dict.fromkeys(("steps",), ("train", "max_steps")),
    **dict.fromkeys(("lora", "adapter", "qlora"), ("peft",)),
    **dict.fromkeys(("wandb", "tensorboard", "trackio", "mlflow", "tracker", "report_to", "logging"), ("track",)),
    **dict.fromkeys(("gpus", "gpu", "num_gpus", "devices", "num_processes"), ("where", "processes")),
    **dict.fromkeys(("device", "flavor"), ("where", "hardware")),
    **dict.fromkeys(("num_nodes", "nnodes"), ("where", "nodes")),
    **dict.fromkeys(("hub", "push_to_hub", "hub_model_id"), ("output", "push_to")),
    **dict.fromkeys(("env", "envs"), ("environment", "variables")),
    **dict.fromkeys(("dependencies", "packages"), ("environment", "requirements")),
    **dict.fromkeys(("trainer", "training", "training_args"), ("train",)),
}
"""What is meant by names that other programs, and people, use: the key path of ours."""
TRAINER_ARGUMENTS = frozenset(
    {
        "adam_beta1",
        "adam_beta2",
        "assistant_only_loss",
        "beta",
        "bf16",
        "completion_only_loss",
        "dataloader_num_workers",
        "dataset_num_proc",
        "eval_steps",
        "eval_strategy",
        "fp16",
        "gradient_accumulation_steps",
        "gradient_checkpointing",
        "learning_rate",
        "load_best_model_at_end",
        "logging_steps",
        "lr_scheduler_type",
        "max_completion_length",
        "max_grad_norm",
        "max_length",
        "max_steps",
        "metric_for_best_model",
        "num_generations",
        "num_train_epochs",
        "optim",
        "packing",
        "per_device_eval_batch_size",
        "per_device_train_batch_size",
        "save_steps",
        "save_strategy",
        "save_total_limit",
        "temperature",
        "warmup_steps",
        "weight_decay",
    }
)
"""The trainer's commonest arguments, which people look for at the top level. Source: the config classes of TRL 1.16."""


class UnfitKeysError(ValueError):
    """Keys of a part that do not fit its other keys: all of them, for pydantic would show the first alone.

    Attributes:
        problems: What is wrong, by key.
    """

    def __init__(self, problems: Mapping[str, str]) -> None:
        super().__init__("; ".join(problems.values()))
        self.problems = problems


def job_errors(document: Document, errors: Iterable[Mapping[str, Any]], known: KnownKeys) -> list[JobError]:
    """Return pydantic's errors of a job as job errors: see `schema_errors`."""
    return schema_errors(document, errors, known, meant_keys, "; an argument of the trainer stands under `train:`")


def schema_errors(
    document: Document,
    errors: Iterable[Mapping[str, Any]],
    known: KnownKeys,
    find_meant: FindMeant,
    hint: str = "",
) -> list[JobError]:
    """Return pydantic's errors as job errors, in the order of the file; those from elsewhere are last.

    A required key that is merely misspelt is one problem, not two.

    Args:
        document: The file as it was read.
        errors: What `ValidationError.errors` gave.
        known: Gives the names that may stand under a key path.
        find_meant: Gives the keys that an unknown one may stand for.
        hint: What is added where an unknown key stands at the top and is like none.
    """
    errors = [each for error in errors for each in _separate(error)]
    meant = {error["loc"]: find_meant(error["loc"], known) for error in errors if error["type"] == "extra_forbidden"}
    misspelt = {key for keys in meant.values() for key in keys}
    problems = [
        _problem(document, error, meant.get(error["loc"], ()), known, hint)
        for error in errors
        if error["type"] != "missing" or error["loc"] not in misspelt
    ]
    return shorten(sorted(problems, key=lambda problem: _order(problem.spot, document.path)))


def _separate(error: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield an error of pydantic; in place of one about several keys, one for each."""
    cause = error.get("ctx", {}).get("error")
    if not isinstance(cause, UnfitKeysError):
        yield error
        return
    for key, text in cause.problems.items():
        yield {**error, "loc": (*error["loc"], key), "ctx": {"error": text}}


def _order(spot: Spot, path: str) -> tuple[bool, int, int]:
    return (spot.path != path, spot.line or 0, spot.column or 0)


def meant_keys(key: Key, known: KnownKeys) -> tuple[Key, ...]:
    """Return the keys that an unknown one may stand for: its name in another place, else the likest name."""
    name, above = str(key[-1]), key[:-1]
    homes = _homes(name, known)
    if homes:
        return homes
    if name in FAMILIAR and FAMILIAR[name] != key and len(above) < len(FAMILIAR[name]):
        return (FAMILIAR[name],)
    return _likest(name, above, known)


def _homes(name: str, known: KnownKeys) -> tuple[Key, ...]:
    """Return the keys that have a name in another place."""
    places = [(), *((part,) for part in known(()))]
    homes = (("train", name),) * (name in TRAINER_ARGUMENTS)
    return (*((*place, name) for place in places if name in known(place)), *homes)


def _likest(name: str, above: Key, known: KnownKeys) -> tuple[Key, ...]:
    """Return the key whose name is most like another: beside it, among the trainer's arguments, or in a part if much alike."""
    likely: dict[str, Key] = {argument: ("train", argument) for argument in TRAINER_ARGUMENTS}
    likely |= {sibling: (*above, sibling) for sibling in known(above)}
    inner = _inner_keys(known)
    found = nearest(name, tuple(sorted({*likely, *inner})), cutoff=MUCH_ALIKE) or nearest(
        name, tuple(sorted(likely)), cutoff=LIKENESS
    )
    return ((inner | likely)[found],) if found else ()


def nearest_sibling(key: Key, known: KnownKeys) -> tuple[Key, ...]:
    """Return the key beside an unknown one that it is most like; none if it is like none."""
    found = nearest(str(key[-1]), known(key[:-1]), cutoff=LIKENESS)
    return ((*key[:-1], found),) if found else ()


def _inner_keys(known: KnownKeys) -> dict[str, Key]:
    """Return the keys of the parts of a job by their last names, as far as one part alone has it."""
    keys: list[Key] = [(part, child) for part in known(()) for child in known((part,))]
    counts = Counter(key[-1] for key in keys)
    return {str(key[-1]): key for key in keys if counts[key[-1]] == 1}


def _problem(
    document: Document, error: Mapping[str, Any], meant: tuple[Key, ...], known: KnownKeys, hint: str
) -> JobError:
    key: Key = error["loc"]
    name, place = render_key(key), document.place(key)
    where = Spot.of(place)
    if error["type"] == "extra_forbidden":
        fix = _right_key(key, meant, known, hint)
        if len(meant) == 1 and meant[0][:-1] == key[:-1] and not where.origin:
            return MisspeltKeyError(f"unknown key `{name}`", name, str(meant[0][-1]), where=where, fix=fix)
        return JobError(f"unknown key `{name}`", where=where, fix=fix)
    if error["type"] == "invalid_key":
        return JobError(f"`{name}` is a key that is not text", where=where, fix="put it in quotes")
    if error["type"] == "missing":
        return _missing(document, key, where)
    if error["type"] == "value_error":
        return JobError(f"`{name}`: {error['ctx']['error']}", where=where, fix=f"correct {_written(key, where)}")
    return JobError(f"`{name}` is {_spelled(error)}: it should be {_expected(error)}", where=where, fix=_advice(error))


def _written(key: Key, where: Spot) -> str:
    """Return what the user wrote a value into: the key, or the variable or option that overrides it."""
    return where.path if where.origin else f"`{render_key(key)}`"


def _missing(document: Document, key: Key, where: Spot) -> JobError:
    """Return the error for a key that has to be there, or for a value of a pair."""
    name = render_key(key)
    if isinstance(key[-1], int):
        what = f"`{render_key(key[:-1])}` has {key[-1]} of 2 values"
        return JobError(what, where=where, fix=f"write two: `{key[-2]}: [LOWEST, HIGHEST]`")
    what = f"`{name}` is empty" if document.get(name) is None else f"missing key `{name}`"
    return JobError(what, where=where, fix=f"write `{key[-1]}: {EXAMPLES.get(name, '…')}`")


def _right_key(key: Key, meant: tuple[Key, ...], known: KnownKeys, hint: str) -> str:
    if not meant:
        return f"use one of {', '.join(known(key[:-1]))}{'' if key[1:] else hint}"
    if all(other[-1] == key[-1] for other in meant):
        parents = (f"under `{render_key(other[:-1])}:`" if other[1:] else "at the top level" for other in meant)
        return f"put it {' or '.join(parents)}"
    return f"did you mean `{render_key(meant[0])}`?"


def _spelled(error: Mapping[str, Any]) -> str:
    """Return a wrong value as its file may have it; of a secret only what kind it is."""
    value = error["input"]
    if _is_private(error) or _is_huge(value) or isinstance(value, dict | list):
        return _kind(value)
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, str):
        return f"{value}"
    shown = value if len(value) <= LONGEST_SHOWN else f"{value[:LONGEST_SHOWN]}…"
    return f"the text {shown!r}"


def _kind(value: Any) -> str:
    if _is_huge(value):
        return "a number of more than 20 digits"
    return next((name for kind, name in KINDS.items() if isinstance(value, kind)), "a number")


def _is_huge(value: Any) -> bool:
    """True of a number that is not shown: Python writes none of more than 4,300 digits."""
    return isinstance(value, int) and abs(value) >= LARGEST_SHOWN


def _is_private(error: Mapping[str, Any]) -> bool:
    return error["loc"][0] in PRIVATE


def _expected(error: Mapping[str, Any]) -> str:
    """Return the expected value as a phrase."""
    if error["type"] == "model_type" and error["loc"] in SHORT_FOR:
        return f"text, or a mapping with a `{SHORT_FOR[error['loc']]}`"
    if error["type"] == "string_pattern_mismatch":
        return SHAPES[error["ctx"]["pattern"]]
    context = error.get("ctx", {})
    shown = {name: f"{value:.12g}" if isinstance(value, float) else value for name, value in context.items()}
    wanted: str = WANTED.get(error["type"]) or error["msg"]
    return wanted.format(**shown).replace("'", "")


def _advice(error: Mapping[str, Any]) -> str:
    """Return the fix for a wrong value."""
    value, name = error["input"], error["loc"][-1]
    name = name if isinstance(name, str) else render_key(error["loc"])
    value = None if _is_huge(value) else value
    below, listed = _layout(error, name, _shown(value, error))
    hints = {
        "string_pattern_mismatch": _function(value),
        "string_type": _text(value, name),
        "list_type": f"put it in brackets: `{name}: [{listed}]`",
        "dict_type": below,
        "model_type": below,
        "bool_type": _boolean(value),
        "int_type": _number(value, whole=True) or "write a whole number",
        "tuple_type": f"write two values: `{name}: [LOWEST, HIGHEST]`",
        "float_type": _number(value),
        "enum": _choice(value, error),
        "literal_error": _choice(value, error),
    }
    return hints.get(error["type"]) or f"correct `{render_key(error['loc'])}`"


def _shown(value: Any, error: Mapping[str, Any]) -> Any:
    """Return a wrong value as a fix shows it."""
    return "…" if _is_private(error) or isinstance(value, dict | list | None) else value


def _layout(error: Mapping[str, Any], name: str, shown: Any) -> tuple[str, Any]:
    """Return the fix for what is no mapping, and how the value is written as an item of a list."""
    if LISTED in error["loc"][-2:]:
        return f"write a mapping, such as `- dataset: {shown}`", f"{{dataset: {shown}}}"
    return f"write its keys under `{name}:`, on lines of their own, indented", shown


def _function(value: Any) -> str | None:
    return f"name the function, too: `{value}:FUNCTION`" if str(value).endswith(".py") else None


def _text(value: Any, name: str | int) -> str:
    """Return the fix for what is no text; who gives a split as a number means a share of the rows."""
    if name == "eval_split" and isinstance(value, float) and 0 < value < 1:
        return f"name a split of the data; to evaluate on a share of the rows, write `eval_fraction: {value:g}` instead"
    return "write text, in quotes"


def _choice(value: Any, error: Mapping[str, Any]) -> str | None:
    choices = re.findall(r"'([^']+)'", error.get("ctx", {}).get("expected", ""))
    near = nearest(str(value).lower(), tuple(choices))
    return f"did you mean `{near}`?" if near else None


def _boolean(value: Any) -> str | None:
    meant = BOOLEANS.get(str(value).lower())
    return f"write `{meant}`" if meant else None


def _number(value: Any, *, whole: bool = False) -> str | None:
    """Return the number that a text, or a whole number with a point or an exponent, stands for, as YAML."""
    try:
        number = float(value.replace("_", "") if isinstance(value, str) else value)
    except (TypeError, ValueError, OverflowError):
        return None
    if not isfinite(number) or (whole and not number.is_integer()):
        return None
    return f"write `{number:.0f}`" if number.is_integer() else f"write `{number!r}`"
