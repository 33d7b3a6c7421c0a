"""Which modules of a model a LoRA adapter goes to, as peft finds them by name.

Source: peft 0.21, `check_target_module_exists` of `peft.tuners.tuners_utils`; tried with 34 settings on a tiny model.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

LAYER: Final = re.compile(r"['\"]?(\w+_proj|c_attn|query_key_value|Wqkv|gate_up_proj)['\"]?")
"""A module that stands inside a layer, and never at the top of a model."""
ALL_LINEAR: Final = "all-linear"
NUMBERED: Final = re.compile(r".*?\.[^.]*\.(?P<index>\d+)\.")
"""The number of a layer: the first in a name."""
STARTS: Final = ("", "backbone.", "decoder.", "gpt_neox.", "model.", "transformer.")
"""What the part is called that holds all layers, where a checkpoint leaves that out."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Where an adapter goes.

    Attributes:
        pattern: An expression for whole names, or nothing.
        names: Ends of names, where there is no expression.
        excluded: The same, or an expression, for those that are left out.
        saved: Parts of names of modules that are trained themselves, which no adapter goes to.
        layers: Numbers of the layers that it goes to; all where there are none.
        within: Names before the number of a layer; any where there are none.
    """

    pattern: str
    names: tuple[str, ...]
    excluded: str | tuple[str, ...] = ()
    saved: tuple[str, ...] = ()
    layers: tuple[int, ...] = ()
    within: tuple[str, ...] = ()

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Targets | None":
        """Return where an adapter with these settings goes; None if that does not depend on names, or is not known.

        >>> Targets.of({"target_modules": "all-linear"}) is None
        True
        """
        targets, excluded = settings.get("target_modules"), settings.get("exclude_modules")
        pattern = targets if isinstance(targets, str) else ""
        names = _texts(targets)
        if pattern.lower() == ALL_LINEAR or (not pattern and not names):
            return None
        return cls(
            pattern=pattern,
            names=names,
            excluded=excluded if isinstance(excluded, str) else _texts(excluded),
            saved=_texts(settings.get("modules_to_save")),
            layers=_numbers(settings.get("layers_to_transform")),
            within=_text_or_texts(settings.get("layers_pattern")),
        )

    def takes(self, module: str) -> bool:
        """True if the adapter goes to a module.

        Raises:
            re.error: The expression is none.

        >>> Targets("", ("q_proj",), layers=(1,)).takes("model.layers.1.self_attn.q_proj")
        True
        """
        if self._leaves_out(module):
            return False
        if self.pattern:
            return re.fullmatch(self.pattern, module) is not None
        if module in self.names:
            return True
        return any(self.names_module(name, module) for name in self.names) and self._is_in_layers(module)

    @staticmethod
    def names_module(name: str, module: str) -> bool:
        """True if a name of a list is that of a module, or its end."""
        return module == name or module.endswith(f".{name}")

    def _leaves_out(self, module: str) -> bool:
        if isinstance(self.excluded, str) and self.excluded:
            if re.fullmatch(self.excluded, module):
                return True
        elif any(self.names_module(name, module) for name in self.excluded):
            return True
        return any(re.match(rf"(^|.*\.){name}($|\..*)", module) for name in self.saved)

    def _is_in_layers(self, module: str) -> bool:
        if not self.layers:
            return True
        patterns = [rf"(?:^|.*?\.){name}\.(?P<index>\d+)\." for name in self.within] or [NUMBERED.pattern]
        found = next((match for pattern in patterns if (match := re.match(pattern, module))), None)
        return found is not None and int(found["index"]) in self.layers


def named_in_text(text: str) -> list[str]:
    """Return the names of layers that a text lists, which as an expression fits none of them; none if it may fit something.

    >>> named_in_text("q_proj, v_proj"), named_in_text("q_proj"), named_in_text(".*q_proj"), named_in_text("lm_head")
    (['q_proj', 'v_proj'], ['q_proj'], [], [])
    """
    names = [name for name in re.split(r"[,;\s]+", text.strip("[] ")) if name]
    return [name.strip("'\"") for name in names] if names and all(map(LAYER.fullmatch, names)) else []


def modules_of(tensors: Iterable[str]) -> list[str]:
    """Return the names of all modules that have weights, or hold some that have, and of the weights themselves.

    Those are none for peft, unless they are a module's; nor does every checkpoint name the part that all of it is in. Who says
    that nothing fits is on the safe side with both.

    >>> modules_of(["norm.weight"])[:4]
    ['norm', 'norm.weight', 'backbone.norm', 'backbone.norm.weight']
    """
    found = dict[str, None]()
    for start in STARTS:
        for tensor in sorted(tensors):
            parts = tensor.split(".")
            found |= {start + ".".join(parts[:end]): None for end in range(1, len(parts) + 1)}
    return list(found)


def ends_of(tensors: Iterable[str]) -> list[str]:
    """Return the last names of the modules that adapters are put on: those with a weight, inside a numbered layer.

    >>> ends_of(["model.layers.0.mlp.up_proj.weight", "model.layers.0.input_layernorm.weight", "lm_head.weight"])
    ['up_proj']
    """
    parts = [
        tensor.split(".") for tensor in tensors if tensor.endswith(".weight") and NUMBERED.match(f"model.{tensor}")
    ]
    return sorted({each[-2] for each in parts if "norm" not in each[-2] and not each[-2].isdigit()})


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(each for each in value if isinstance(each, str)) if isinstance(value, list | tuple | set) else ()


def _text_or_texts(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value else _texts(value)


def _numbers(value: Any) -> tuple[int, ...]:
    return tuple(each for each in (value if isinstance(value, list) else [value]) if type(each) is int)
