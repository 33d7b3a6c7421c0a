"""Words that start no training because they are misspelt: `accelerate lunch`, `trl sftt`, `torchrunn`.

Source: accelerate 1.15 and trl 1.16, tried: `invalid choice: 'lunch'`, `invalid choice: 'sftt'`. The subcommands are theirs, with
`chat` and `skills` of other releases of trl; of axolotl and LLaMA-Factory only `train` is compared.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

from holdfast.core.text.nearest import nearest

NEAR: Final = 0.7
"""How alike a subcommand is to the one that is meant: it stands behind the name of its program."""
NEAR_ALONE: Final = 0.87
"""How alike a name is to that of a program: any other program may be called like that."""
NEAR_PART: Final = 0.75
"""How alike the one part of a module's name is in which it differs."""
SUBCOMMANDS: Final[Mapping[str, frozenset[str]]] = {
    "accelerate": frozenset(
        {"config", "env", "estimate-memory", "launch", "merge-weights", "test", "to-fsdp2", "tpu-config"}
    ),
    "trl": frozenset(
        {"chat", "distillation", "dpo", "env", "grpo", "kto", "reward", "rloo", "sft", "skills", "vllm-serve"}
    ),
    "axolotl": frozenset({"train"}),
    "llamafactory-cli": frozenset({"train"}),
}
TRAINS: Final[Mapping[str, frozenset[str]]] = {
    "accelerate": frozenset({"launch"}),
    "trl": frozenset({"distillation", "dpo", "grpo", "kto", "reward", "rloo", "sft"}),
    "axolotl": frozenset({"train"}),
    "llamafactory-cli": frozenset({"train"}),
}
PROGRAMS: Final = ("accelerate", "deepspeed", "torchrun")
MODULES: Final = (
    "accelerate.commands.launch",
    "torch.distributed.launch",
    "torch.distributed.run",
    *(f"trl.scripts.{method}" for method in sorted(TRAINS["trl"])),
)
REAL: Final = frozenset({"torch.distributed.launcher", "torch.distributed.rpc", "torchrunx"})
"""What there is, and is called nearly like one of these."""
SCRIPT: Final = ".py"
MODULE: Final = "-m"


@dataclass(frozen=True, slots=True)
class MisspeltWord:
    """A word of a command that starts nothing.

    Attributes:
        index: Which word.
        meant: The word that is meant.
    """

    index: int
    meant: str


def misspelt_word(words: Sequence[str]) -> MisspeltWord | None:
    """Return the word that keeps a command from starting a training; None if nothing is surely misspelt.

    >>> misspelt_word(["accelerate", "lunch", "train.py"]), misspelt_word(["torchrunn", "train.py"])
    (MisspeltWord(index=1, meant='launch'), MisspeltWord(index=0, meant='torchrun'))
    >>> misspelt_word(["accelerate", "launch"]), misspelt_word(["torchrun2", "train.py"])
    (None, None)
    """
    name, *rest = words or [""]
    if name in SUBCOMMANDS:
        return _subcommand(name, rest)
    if name == "python" and len(rest) > 1 and rest[0] == MODULE:
        return _module(rest[1])
    return _program(name, rest)


def _module(name: str) -> MisspeltWord | None:
    meant = next((each for each in MODULES if _is_meant(name, each)), None)
    return MisspeltWord(2, meant) if meant and name not in REAL else None


def _program(name: str, rest: Sequence[str]) -> MisspeltWord | None:
    meant = nearest(name, PROGRAMS, cutoff=NEAR_ALONE)
    if meant is None or name in {meant, *REAL} or not name.isalpha() or not _starts(meant, rest):
        return None
    return MisspeltWord(0, meant)


def _subcommand(name: str, rest: Sequence[str]) -> MisspeltWord | None:
    given = next(iter(rest), "")
    if not given or given.startswith("-") or given in SUBCOMMANDS[name]:
        return None
    meant = nearest(given, SUBCOMMANDS[name], cutoff=NEAR)
    return MisspeltWord(1, meant) if meant in TRAINS[name] and meant else None


def _starts(program: str, rest: Sequence[str]) -> bool:
    """True if words follow with which a program would start a training."""
    if program in TRAINS:
        return next(iter(rest), "") in TRAINS[program]
    return any(word.endswith(SCRIPT) or word == MODULE for word in rest)


def _is_meant(module: str, other: str) -> bool:
    """True if a module is meant for another: they differ in one part of their names, and that hardly."""
    parts, others = module.split("."), other.split(".")
    if len(parts) != len(others):
        return False
    unlike = [pair for pair in zip(parts, others, strict=True) if pair[0] != pair[1]]
    return len(unlike) == 1 and SequenceMatcher(None, *unlike[0]).ratio() >= NEAR_PART
