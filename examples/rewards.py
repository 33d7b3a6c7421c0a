"""Reward functions for the examples. Each returns one number per answer; a higher number is a better answer."""

import re

PLAIN = re.compile(r"[a-z]{2,8}")


def plain_words(completions: list[list[dict[str, str]]], **_: object) -> list[float]:
    """Return for each answer the share of its words that are plain: two to eight lowercase letters."""
    answers = [completion[0]["content"].split() for completion in completions]
    return [sum(bool(PLAIN.fullmatch(word)) for word in words) / max(len(words), 1) for words in answers]
