"""What may keep a line from failing, or from being reached: versions, handlers, rival branches, and patches."""

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from holdfast.adapters.readers.script.values import AVAILABLE, VERSION, LibraryCall
from holdfast.core.job.calls import Guard, LibraryName
from holdfast.core.job.document import Unknown

IN_VERSION_BRANCH: Final = Guard(because="in a branch on a library's version")
AFTER_VERSION_CHECK: Final = Guard(because="after a check of a library's version")
IN_HANDLER: Final = Guard(because="in an `except` clause: reached only after an error", in_handler=True)
RIVALS: Final = Guard(because="several branches make it in different ways")

ABOUT_VERSIONS: Final = re.compile(
    r"(\w*(trl|transformers|peft|torch|accelerate|datasets|hub|package|pkg|library)_?)?(?i:version(_info)?|ver)|[A-Z]+_VERSION"
    r"|\w+_(ge|gte|le|lte|gt|lt)_\w*\d\w*"
)
ABOUT_PACKAGES: Final = re.compile(r"_*(HAS|HAVE|IS|NEW|OLD|LEGACY)_[A-Z0-9_]+|\w*(?i:available|_compat)")
PATCH: Final = r"(?i)_*(apply_)?(monkey_?)?patch(es|ed)?(_|$).*|\w*_(monkey_?)?patch(es)?"
PATCHED: Final = r"(?i)trl|train|config|sft|dpo|grpo|kto|transformers|hf|peft"
INTROSPECTION: Final = frozenset(
    {
        "__version__",
        "__version_info__",
        "__dataclass_fields__",
        "__annotations__",
        "__code__",
        "__doc__",
        "__dict__",
        "__signature__",
    }
)
"""Attributes that tell what is installed, or what a class takes."""
PATCHERS: Final = frozenset({"unsloth", "unsloth_zoo", "axolotl", "mindnlp"})
"""Packages that put other classes in place of TRL's or transformers' when they are imported."""
BY_UNSLOTH: Final = "unsloth replaces TRL's classes"
INTACT: Final = frozenset(
    {
        "transformers.TrainingArguments",
        "transformers.Seq2SeqTrainingArguments",
        "transformers.BitsAndBytesConfig",
        "peft.LoraConfig",
    }
)
"""Classes that Unsloth leaves as they are, in each release from 2024.12 to 2026.10. Source: no assignment to them in its wheels."""


def named_reason(name: str) -> Unknown | None:
    """Return the reason why a name depends on installed packages; None if it does not, or nothing else is known of it.

    >>> named_reason("is_peft_available"), named_reason("has_eval")
    (Unknown(because='it depends on what is installed'), None)
    """
    if ABOUT_VERSIONS.fullmatch(name):
        return VERSION
    return AVAILABLE if ABOUT_PACKAGES.fullmatch(name) else None


def patches(name: str, values: Iterable[object]) -> tuple[str, ...]:
    """Return the dotted paths that a call changes, going by its name: what it is handed, or else all of TRL's classes.

    >>> patches("patch_sft_trainer", []), patches("dispatch", [])
    (('*',), ())
    """
    if "patch" not in name.lower() or not re.fullmatch(PATCH, name):
        return ()
    handed = tuple(value.path for value in values if isinstance(value, LibraryName))
    return handed or (("*",) if re.search(PATCHED, name) else ())


def stays_intact(path: str, because: str) -> bool:
    """True if a class is not among those that are replaced for that reason."""
    return because == BY_UNSLOTH and path in INTACT


def is_wrapped(path: str, because: str) -> bool:
    """True if the class that replaces a config hands its arguments on to it.

    Source: `super().__init__` of `UnslothSFTConfig` and its like in `unsloth/models/rl.py`, 2025.3 to 2026.10.
    """
    return because == BY_UNSLOTH and path.startswith("trl.") and path.endswith("Config")


def note_rivals(branches: Iterable[Sequence[LibraryCall]]) -> None:
    """Guard the calls of one thing that branches make with other arguments: each may be for another version."""
    for library_calls in _last_calls(branches).values():
        if len({frozenset(library_call.arguments) for library_call in library_calls}) > 1:
            for library_call in library_calls:
                library_call.guard = replace(library_call.guard, because=library_call.guard.because or RIVALS.because)


def _last_calls(branches: Iterable[Sequence[LibraryCall]]) -> dict[str, list[LibraryCall]]:
    """Return the last call of each thing in each branch, by the thing's path."""
    made: dict[str, list[LibraryCall]] = {}
    for branch in branches:
        for path, library_call in {each.path: each for each in branch if each.via == "call"}.items():
            made.setdefault(path, []).append(library_call)
    return made


def caught(node: ast.expr | None) -> frozenset[str]:
    """Return the names of the exceptions that an `except` clause takes; of a bare one, `Exception`."""
    if node is None:
        return frozenset({"Exception"})
    if isinstance(node, ast.Tuple):
        return frozenset[str]().union(*map(caught, node.elts))
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else "Exception"
    return frozenset({name})


def ends(statements: Sequence[ast.stmt]) -> bool:
    """True if a handler gives up: it raises, or leaves the program."""
    last = statements[-1] if statements else None
    return isinstance(last, ast.Raise) or (isinstance(last, ast.Expr) and leaves_program(last.value))


def only_report_training(
    handlers: Sequence[ast.ExceptHandler], tried: Sequence[LibraryCall], handled: Sequence[LibraryCall]
) -> bool:
    """True if handlers do nothing but say that the training failed: then there is no other way to what was tried.

    Args:
        handlers: The handlers.
        tried: The calls in the body before them.
        handled: Their own calls.
    """
    quiet = all(isinstance(each, ast.Expr | ast.Pass | ast.Return) for handler in handlers for each in handler.body)
    trains = any(call.path.endswith("Trainer.train") for call in tried)
    return quiet and trains and not any(call.path.startswith(("trl.", "transformers.", "peft.")) for call in handled)


def leaves_program(node: ast.expr) -> bool:
    """True if an expression is `sys.exit()` or its like."""
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in {"exit", "quit", "_exit", "abort"}
