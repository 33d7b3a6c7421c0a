"""Reward functions for the examples: each returns one number for each answer, higher for a better one."""

import re

PLAIN = re.compile(r"[a-z]{2,8}")


def plain_words(completions: list[list[dict[str, str]]], **_: object) -> list[float]:
    """Return the share of each answer's words that are plain: two to eight small letters."""
    answers = [completion[0]["content"].split() for completion in completions]
    return [sum(bool(PLAIN.fullmatch(word)) for word in words) / max(len(words), 1) for words in answers]
