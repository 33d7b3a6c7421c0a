"""Whether an option of a script's own converts its text to what an argument of a config needs."""

from typing import Final

from holdfast.core.api import Parameter
from holdfast.core.calls import Call, ParserOption
from holdfast.core.document import Unknown

DECIMAL_ALLOWED: Final = frozenset({"ddp_bucket_cap_mb", "ddp_timeout", "eval_accumulation_steps", "save_total_limit"})
"""Whole numbers of a training config that may be decimal ones as well."""
CONVERTING: Final = frozenset({"store", "field"})
"""Actions of options that hold one word, converted by their type."""
SCALARS: Final = frozenset({"bool", "int", "float", "null"})


def unconverted_option(call: Call, parameter: Parameter) -> ParserOption | None:
    """Return the option that gives an argument another type than it needs; None if it converts, or its value is not from there."""
    option = call.options.get(parameter.name)
    usable = option is not None and option.action in CONVERTING and option.count is None and not option.choices
    if option is None or not usable or not parameter.types or not parameter.types <= SCALARS:
        return None
    value = call.arguments[parameter.name]
    match option.kind:
        case "str":
            return option if isinstance(value, str | Unknown) else None
        case "bool" if option.action == "store":
            return option if "bool" in parameter.types and (value is True or isinstance(value, Unknown)) else None
        case "float":
            whole = "int" in parameter.types and not parameter.types & {"bool", "float"}
            decimal = whole and parameter.name not in DECIMAL_ALLOWED
            return option if decimal and isinstance(value, float | Unknown) else None
        case _:
            return None
