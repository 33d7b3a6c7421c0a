"""What somebody may have meant by a name that does not exist."""

from difflib import SequenceMatcher, get_close_matches
from functools import lru_cache
from typing import Final

NEAR: Final = 0.6
"""How alike two names are at least: difflib's own cutoff."""

SAME_LETTERS: Final = 0.9
"""How alike the letters of two names are where only their words are parted otherwise, or a letter is wrong."""


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
    """Return the known name that is most like another, or None where none is near. Many files have the same mistakes.

    >>> nearest("max_lenght", ("max_length", "max_steps"))
    'max_length'
    """
    return next(iter(get_close_matches(name, known, n=1, cutoff=cutoff)), None)
