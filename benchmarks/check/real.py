"""What the installed libraries themselves say of a script: its calls are made with its literal arguments, one by one.

The script is not run. Imports are looked up, calls are bound to signatures, configs and adapters are constructed with what
the script gives them, and trainers with a tiny model and a few rows in the place of the script's own. What the script
computes is left out of a call.
"""

import ast
import importlib
import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import torch
import transformers
from accelerate.state import AcceleratorState  # type: ignore[import-untyped]
from datasets import Dataset, IterableDataset, load_dataset
from peft import PeftConfig
from transformers import AutoTokenizer, Trainer, TrainingArguments
from transformers.utils.quantization_config import QuantizationConfigMixin

LIBRARIES: Final = frozenset(
    {"trl", "transformers", "peft", "accelerate", "datasets", "huggingface_hub", "trackio", "torch"}
)
CONSTRUCTED: Final = (TrainingArguments, PeftConfig, QuantizationConfigMixin)
LOADED: Final = frozenset(
    {"path", "name", "split", "data_files", "data_dir", "cache_dir", "revision", "token", "streaming"}
)
"""What says which data is loaded."""
ROWS: Final = 4
TALK: Final = {"messages": [{"role": "user", "content": "1 plus 1"}, {"role": "assistant", "content": "2"}]}


class Opaque:
    """A value that the script computes."""


OPAQUE: Final = Opaque()


@dataclass(frozen=True, slots=True)
class Of:
    """Something that a call made: its class, and the thing itself where it was made.

    Attributes:
        kind: Its class.
        made: It; None where it was not made.
    """

    kind: type
    made: Any = None


class RefusedError(Exception):
    """A library refuses something."""


@dataclass
class Judge:
    """Asks the libraries about scripts.

    Attributes:
        tiny: Folder of a tiny causal model with its tokenizer.
        made: Answers about calls that were made before.
    """

    tiny: Path
    made: dict[str, Any] = field(default_factory=dict[str, Any])

    def __post_init__(self) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(self.tiny)

    def refusals(self, text: str) -> list[str]:
        """Return what the libraries refuse in a script, in its order."""
        return list(Reading(self).walk(ast.parse(text)))

    def construct(self, kind: type, given: Mapping[str, Any]) -> Any:
        """Return an instance of a config class.

        Raises:
            RefusedError: It cannot be made.
        """
        processor = {"use_cpu": True} if issubclass(kind, TrainingArguments) and "use_cpu" not in given else {}
        return self._once(kind, given, lambda: kind(**given, **processor))

    def _once(self, kind: Callable[..., Any], given: Mapping[str, Any], make: Callable[[], Any]) -> Any:
        key = f"{kind.__module__}.{kind.__qualname__} {sorted(given.items(), key=lambda item: item[0])!r}"
        if key not in self.made:
            try:
                self.made[key] = make()
            except Exception as error:  # noqa: BLE001 - whatever it raises is the answer
                self.made[key] = RefusedError(f"{type(error).__name__}: {error}")
        if isinstance(self.made[key], RefusedError):
            raise self.made[key]
        return self.made[key]

    def load(self, kind: type, given: Mapping[str, Any]) -> Any:
        """Return a tiny model loaded with the keywords of a script's `from_pretrained`.

        Raises:
            RefusedError: They are refused.
        """
        given = {name: value for name, value in given.items() if name not in ("device_map", "attn_implementation")}
        loader: Callable[..., Any] = getattr(kind, "from_pretrained")  # noqa: B009 - every class that is asked about has it
        return self._once(loader, given, lambda: loader(self.tiny, **given))

    def open_data(self, given: Mapping[str, Any]) -> None:
        """Load a few rows with the keywords of a script's `load_dataset` that say nothing of the data itself.

        Raises:
            RefusedError: They are refused.
        """
        rows = self.tiny / "rows.jsonl"
        rows.write_text(json.dumps(TALK) + "\n", encoding="utf-8")
        given = {name: value for name, value in given.items() if not _has_opaque(value)}
        self._once(
            load_dataset,
            given,
            lambda: load_dataset("json", data_files=str(rows), cache_dir=str(self.tiny / "cache"), **given),
        )

    def train(self, kind: type, given: dict[str, Any]) -> None:
        """Make a trainer of a class.

        Args:
            kind: The class.
            given: The script's arguments by name: what it computes is OPAQUE.

        Raises:
            RefusedError: It cannot be made.
        """
        if isinstance(given.get("args", OPAQUE), Opaque):
            return  # whatever it would refuse may be otherwise with the script's own settings
        made = dict(self._stand_ins(kind, given))
        AcceleratorState._reset_state()  # noqa: SLF001 - of the trainer before, with another precision
        try:
            kind(**made)
        except Exception as error:
            raise RefusedError(f"{kind.__name__}: {type(error).__name__}: {error}") from error

    def _stand_ins(self, kind: type, given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name, value in given.items():
            if name == "args" and isinstance(value, Of):
                yield name, _offline(value.made)
            elif name in ("model", "ref_model"):
                yield name, self._model(kind, value)
            elif name in ("train_dataset", "eval_dataset"):
                talks = isinstance(given["args"], Of) and getattr(given["args"].made, "assistant_only_loss", False)
                rows = TALK if talks is True else _row(kind)
                yield name, value if value is None else _data(rows, streamed=value is IterableDataset)
            elif name == "processing_class":
                yield name, value if value is None else self.tokenizer
            elif name == "reward_funcs":
                yield name, _rewards(value, self.tiny)
            elif not _has_opaque(value):
                yield name, _plain(value)

    def _model(self, kind: type, value: Any) -> Any:
        if value is None:
            return None
        rewards = "Reward" in kind.__name__
        auto = transformers.AutoModelForSequenceClassification if rewards else transformers.AutoModelForCausalLM
        return (
            str(self.tiny)
            if isinstance(value, str)
            else auto.from_pretrained(self.tiny, **({"num_labels": 1} if rewards else {}))
        )


def _offline(config: Any) -> Any:
    """Return a config without what needs a network or a tracker."""
    config = copy(config)
    if isinstance(config, TrainingArguments):
        config.push_to_hub, config.report_to = False, []
        config.hub_model_id = None
    return config


def _rewards(value: Any, tiny: Path) -> Any:
    def reward(completions: list[Any], **_: Any) -> list[float]:
        return [0.0 for _ in completions]

    if isinstance(value, list | tuple):
        return [_rewards(each, tiny) for each in value]
    return str(tiny) if isinstance(value, str) else reward if isinstance(value, Opaque | Of) else value


def _row(kind: type) -> dict[str, Any]:
    text: dict[str, Any] = {"prompt": "1 plus 1", "chosen": " equals 2.", "rejected": " equals 3."}
    rows: dict[str, dict[str, Any]] = {
        "KTOTrainer": {"prompt": "1 plus 1", "completion": " equals 2.", "label": True},
        "SFTTrainer": {"text": "1 plus 1 equals 2."},
        "Trainer": {"input_ids": [1, 2], "labels": [1, 2]},
    }
    return rows.get(kind.__name__, text)


def _data(row: dict[str, Any], *, streamed: bool) -> Any:
    rows = [row | ({"label": at % 2 == 0} if "label" in row else {}) for at in range(ROWS)]
    data = Dataset.from_list(rows)
    return data.to_iterable_dataset() if streamed else data


class Reading:
    """One script's names and calls."""

    def __init__(self, judge: Judge) -> None:
        self.judge = judge
        self.names: dict[str, Any] = {}
        self.values: dict[int, Any] = {}

    def walk(self, node: ast.AST) -> Iterator[str]:
        """Yield what is refused in a part of the script."""
        if isinstance(node, ast.Try) or (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            return  # whatever is tried there, or never done
        for child in ast.iter_child_nodes(node):
            yield from self.walk(child)
        try:
            self._note(node)
        except RefusedError as refused:
            yield f"{getattr(node, 'lineno', 0)}: {refused}"

    def _note(self, node: ast.AST) -> None:
        match node:
            case ast.ImportFrom(module=str(module), names=names, level=0) if module.partition(".")[0] in LIBRARIES:
                self._import_names(module, names)
            case ast.Import(names=names):
                for alias in names:
                    if alias.name.partition(".")[0] in LIBRARIES:
                        self.names[alias.asname or alias.name.partition(".")[0]] = _module(alias.name)
            case ast.Call():
                self.values[id(node)] = OPAQUE
                self.values[id(node)] = self._call(node)
            case ast.Assign(targets=[target], value=value):
                self.names[ast.unparse(target)] = self.value(value)
            case _:
                pass

    def _import_names(self, module: str, names: list[ast.alias]) -> None:
        found = _module(module)
        missing = []
        for alias in names:
            try:
                self.names[alias.asname or alias.name] = getattr(found, alias.name)
            except (AttributeError, ImportError):
                missing.append(alias.name)
        if missing:
            raise RefusedError(f"cannot import name {missing} from {module}")

    def value(self, node: ast.expr) -> Any:
        """Return the value of an expression, as far as it is known."""
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError):
            pass
        match node:
            case ast.Call():
                return self.values.get(id(node), OPAQUE)
            case ast.List(elts=elts) | ast.Tuple(elts=elts):
                return [self.value(each) for each in elts]
            case ast.Name() | ast.Attribute() | ast.Subscript():
                return self._named(node)
            case _:
                return OPAQUE

    def _named(self, node: ast.expr) -> Any:
        written = ast.unparse(node)
        if written in self.names:
            return self.names[written]
        if isinstance(node, ast.Subscript):
            inner = self.value(node.value)
            return inner if inner is IterableDataset else OPAQUE
        if isinstance(node, ast.Attribute):
            inner = self.value(node.value)
            if inspect.ismodule(inner) or inspect.isclass(inner):
                return getattr(inner, node.attr, OPAQUE)
        return OPAQUE

    def _call(self, node: ast.Call) -> Any:
        callee, bound = self._callee(node.func)
        if callee is OPAQUE:
            return dict(self._keywords(node)) if isinstance(node.func, ast.Name) and node.func.id == "dict" else OPAQUE
        positional = [self.value(each) for each in node.args if not isinstance(each, ast.Starred)]
        named = dict(self._keywords(node))
        try:
            sign = inspect.signature(callee)
        except ValueError:  # written in C, or in terms of a builtin
            return OPAQUE
        try:
            arguments = sign.bind(*([OPAQUE] if bound else []), *positional, **named).arguments
        except TypeError as error:
            raise RefusedError(f"{getattr(callee, '__name__', callee)}: {error}") from error
        return self._made(
            callee, {name: value for name, value in arguments.items() if name not in ("self", "kwargs")}, named
        )

    def _made(self, callee: Any, arguments: dict[str, Any], named: dict[str, Any]) -> Any:
        if inspect.isclass(callee) and issubclass(callee, CONSTRUCTED):
            known = {name: _plain(value) for name, value in {**arguments, **named}.items() if not _has_opaque(value)}
            return Of(callee, self.judge.construct(callee, known))
        if inspect.isclass(callee) and issubclass(callee, Trainer):
            self.judge.train(callee, arguments)
            return Of(callee)
        if inspect.isclass(callee):
            return Of(callee)
        owner = getattr(callee, "__self__", None)
        if getattr(callee, "__name__", "") == "from_pretrained" and "AutoModel" in getattr(owner, "__name__", ""):
            known = {name: _plain(value) for name, value in named.items() if not _has_opaque(value)}
            known.pop("quantization_config", None)  # needs a GPU
            return Of(owner, self.judge.load(owner, known))  # type: ignore[arg-type]
        if callee is load_dataset:
            self.judge.open_data({name: value for name, value in named.items() if name not in LOADED})
            return IterableDataset if named.get("streaming") is True else OPAQUE
        return OPAQUE

    def _callee(self, node: ast.expr) -> tuple[Any, bool]:
        """Return what is called, and whether it is a method whose `self` the call does not write."""
        if isinstance(node, ast.Attribute):
            owner = self.value(node.value)
            if isinstance(owner, Of) and issubclass(owner.kind, Trainer):
                if not hasattr(owner.kind, node.attr):
                    raise RefusedError(f"{owner.kind.__name__} has no {node.attr}()")
                return getattr(owner.kind, node.attr), True
            if inspect.ismodule(owner) or inspect.isclass(owner):
                found = getattr(owner, node.attr, OPAQUE)
                return (found if _is_theirs(found) else OPAQUE), False
            return OPAQUE, False
        found = self.value(node)
        return (found if _is_theirs(found) else OPAQUE), False

    def _keywords(self, node: ast.Call) -> Iterator[tuple[str, Any]]:
        for keyword in node.keywords:
            value = self.value(keyword.value)
            if keyword.arg:
                yield keyword.arg, value
            elif isinstance(value, dict):
                yield from value.items()


def _module(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise RefusedError(f"cannot import {name}: {error}") from error


def _is_theirs(found: Any) -> bool:
    home = (getattr(found, "__module__", "") or "").partition(".")[0]
    return callable(found) and home in LIBRARIES - {"torch"} and not isinstance(found, torch.dtype)


def _has_opaque(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_opaque, value))
    return isinstance(value, Opaque) or (isinstance(value, Of) and value.made is None)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return copy(value.made) if isinstance(value, Of) else value
