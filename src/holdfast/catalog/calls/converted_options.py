"""Whether an option of a script's own converts its text to what an argument of a config needs."""

from typing import Final

from holdfast.core.job.api import Parameter
from holdfast.core.job.calls import Call, ParserOption
from holdfast.core.job.document import Unknown

DECIMAL_ALLOWED: Final = frozenset({"ddp_bucket_cap_mb", "ddp_timeout", "eval_accumulation_steps", "save_total_limit"})
"""Whole numbers of a training config that may be decimal ones as well."""
CONVERTING: Final = frozenset({"store", "field"})
"""Actions of options that hold one word, converted by their type."""
TYPES: Final = {"str": str, "float": float}
SCALARS: Final = frozenset({"bool", "int", "float", "null"})


def unconverted_option(call: Call, parameter: Parameter) -> ParserOption | None:
    """Return the option that gives an argument another type than it needs; None if it converts, or its value is not from there."""
    option = call.options.get(parameter.name)
    if option is None or not _holds_one_word(option) or not _is_scalar(parameter):
        return None
    value = call.arguments[parameter.name]  # this read is noted: the rule is skipped if the value is hidden
    return option if _lacks_type(option, parameter) and _is_given(option.kind, value) else None


def _holds_one_word(option: ParserOption) -> bool:
    return option.action in CONVERTING and option.count is None and not option.choices


def _is_scalar(parameter: Parameter) -> bool:
    return bool(parameter.types) and parameter.types <= SCALARS


def _lacks_type(option: ParserOption, parameter: Parameter) -> bool:
    """True if the text of an option may become a value of a type that the parameter does not take."""
    match option.kind:
        case "str":
            return True
        case "bool":
            return option.action == "store" and "bool" in parameter.types
        case "float":
            return _takes_no_decimals(parameter)
        case _:
            return False


def _takes_no_decimals(parameter: Parameter) -> bool:
    is_whole = "int" in parameter.types and not parameter.types & {"bool", "float"}
    return is_whole and parameter.name not in DECIMAL_ALLOWED


def _is_given(kind: str, value: object) -> bool:
    """True if a value is what an option of this kind makes of a text, or is not known; `bool` makes True of any text."""
    return isinstance(value, Unknown) or (value is True if kind == "bool" else isinstance(value, TYPES[kind]))
