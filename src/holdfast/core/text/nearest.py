"""The name that may be meant by one that does not exist."""

from collections.abc import Sequence
from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from typing import Final

NEAR: Final = 0.6
"""How alike two names are at least: difflib's own cutoff."""

SURE: Final = 0.75
"""How alike two names are of which one is meant for the other, though they begin with other letters."""

SAME_LETTERS: Final = 0.9
"""How alike the letters of two names are where only their words are parted otherwise, or a letter is wrong."""

MOST: Final = 3
"""How many of the names that are most alike are looked at: difflib's own number."""


def plays_same_role(name: str, other: str) -> bool:
    """True if two names of several words may be meant for one another: none of their words is quite another one.

    >>> plays_same_role("max_lenght", "max_length"), plays_same_role("num_epochs", "num_train_epochs")
    (True, True)
    >>> plays_same_role("peft_config", "loftq_config"), plays_same_role("reward_model", "ref_model")
    (False, False)
    """
    if SequenceMatcher(None, name.replace("_", ""), other.replace("_", "")).ratio() >= SAME_LETTERS:
        return True
    few, many = sorted((name.split("_"), other.split("_")), key=len)
    return all(get_close_matches(word, many, n=1, cutoff=NEAR) for word in few)


@lru_cache(maxsize=1024)
def nearest(name: str, known: tuple[str, ...] | frozenset[str], *, cutoff: float = NEAR) -> str | None:
    """Return the known name that is most like another, or None if none is near. Many files have the same mistakes.

    Names that are merely alike are near only if they begin with the same letter.

    >>> nearest("max_lenght", ("max_length", "max_steps")), nearest("earning_rate", ("learning_rate",))
    ('max_length', 'learning_rate')
    >>> nearest("wandb", ("rewards",))
    """
    return _first_meant(name, get_close_matches(name, known, cutoff=cutoff))


@lru_cache(maxsize=1024)
def nearest_of_role(name: str, known: tuple[str, ...], *, cutoff: float = NEAR) -> str | None:
    """Return the name that `nearest` returns of those known ones that play the same role.

    >>> nearest_of_role("peft_confg", ("loftq_config", "peft_config")), nearest_of_role("peft_config", ("loftq_config",))
    ('peft_config', None)
    """
    alike = get_close_matches(name, known, n=max(1, len(known)), cutoff=cutoff)
    return _first_meant(name, [each for each in alike if plays_same_role(name, each)][:MOST])


def suggest_one(name: str, known: Sequence[str]) -> str:
    """Return the advice for a name that is none of a few: the nearest one, else all of them.

    >>> suggest_one("stf", ("sft", "dpo")), suggest_one("x", ("sft", "dpo"))
    ('did you mean `sft`?', 'use one of sft, dpo')
    """
    near = nearest(name, tuple(known))
    return f"did you mean `{near}`?" if near else f"use one of {', '.join(known)}"


def _first_meant(name: str, alike: Sequence[str]) -> str | None:
    return next((each for each in alike if each[:1].lower() == name[:1].lower() or _is_sure(name, each)), None)


def _is_sure(name: str, other: str) -> bool:
    return SequenceMatcher(None, name, other).ratio() >= SURE
