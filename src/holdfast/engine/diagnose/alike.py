"""Which class a text is most like: the one with whose lines it shares more words than with those of any other.

    likeness = Likeness(all_signatures())
    likeness.scores("Volume is full: nothing can be written to it any more")

Libraries say the same in other words with each release, and so does each library, but they speak of the same things. Each word, and each pair
of words, counts for a class by how much oftener the lines that its signature has seen have it than those of all others, and by how rare it is:
naive Bayes, of which only what speaks for a class is summed up.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Final

from holdfast.core.diagnose.diagnosis import Signature

UNSEEN: Final = 0.5
"""How many texts a class is taken to have beside those that it has seen: of them as many have a word as of all texts."""
FEWEST: Final = 6
"""Words, and pairs of them, that a class has in common with a text which is like it: `error` is none."""
WORD: Final = re.compile(r"[A-Za-z]{2,}(?:_[A-Za-z]+)*|/")
PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
"""Words of a name: `DatasetNotFoundError`, `load_dataset`."""
PATH: Final = re.compile(r"(?<![\w.])(?:[\w.-]*/)+(?P<kept>[\w.-]*/[\w.-]*)")
"""A path, of which the file and its folder tell something."""


class Likeness:
    """The words that the lines of each class have."""

    def __init__(self, signatures: Sequence[Signature]) -> None:
        self.signatures = signatures

    def scores(self, text: str) -> Counter[str]:
        """Return a score for each class for which enough of a text's words speak."""
        term_weights = [self._weights.get(term, {}) for term in terms_of(text)]
        scores, terms = Counter[str](), Counter(name for weights in term_weights for name in weights)
        for weights in term_weights:
            scores.update({name: weight for name, weight in weights.items() if terms[name] >= FEWEST})
        return scores

    @cached_property
    def _weights(self) -> Mapping[str, Mapping[str, float]]:
        """What each term counts for each class that it speaks for."""
        texts = [(each.name, terms_of(text)) for each in self.signatures for text in (*each.seen, each.title)]
        sizes = Counter(name for name, _ in texts)
        having: dict[str, Counter[str]] = defaultdict(Counter)
        for name, terms in texts:
            for term in terms:
                having[term][name] += 1
        return {term: dict(_weigh(by_class, sizes)) for term, by_class in having.items()}


def terms_of(text: str) -> set[str]:
    """Return the words of a text, those of its names, and each two that follow one another; numbers are none.

    >>> sorted(terms_of("OSError: can't write_all"))
    ['all', 'can', 'can write', 'error', 'error can', 'os', 'os error', 'oserror', 'write', 'write all', 'write_all']
    """
    names = WORD.findall(PATH.sub(lambda path: f" / {path['kept']}", text))
    parts = [part.lower() for name in names for part in (PART.findall(name) or [name])]
    return {*map(str.lower, names), *parts, *(f"{one} {other}" for one, other in pairwise(parts))}


def _weigh(having: Mapping[str, int], sizes: Counter[str]) -> Iterator[tuple[str, float]]:
    """Yield the weight of a term for the classes that have it more often than the others do.

    Args:
        having: How many texts of each class have it.
        sizes: How many texts each class has.
    """
    every, texts = sum(having.values()), sizes.total()
    unseen = UNSEEN * every / texts
    for name, mine in having.items():
        share = (mine + unseen) / (sizes[name] + UNSEEN)
        others = (every - mine + unseen) / (texts - sizes[name] + UNSEEN)
        if share > others:
            yield name, math.log(share / others) * math.log(texts / every)
