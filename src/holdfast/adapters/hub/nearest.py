"""Names of repositories that do exist, for one that does not."""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import partial
from typing import Final

from holdfast.adapters.hub.session import HubSession
from holdfast.core.check.hub import RepoKind
from holdfast.core.errors import SourceError

SHOWN: Final = 3
"""More would be read by nobody."""
ALIKE: Final = 0.7
"""Two names that share less were not mistaken for one another: `gpt2` and `gpt-2` are, `chats` and `cats` are too."""
FOUND: Final = "50"
WORD: Final = re.compile(r"[A-Za-z0-9.]{3,}")
WORDS: Final = 2
"""Of a long name so many words are looked for, the longest; a typo spoils one of them."""
APART: Final = re.compile(r"[-_.]+")


def find_nearest(asking: HubSession, kind: RepoKind, name: str) -> tuple[str, ...]:
    """Return the names of repositories that resemble one that is not there; none if the Hub cannot be searched.

    Asked for are those of its owner and those with its words in them.
    """
    owner, _, own = name.rpartition("/")
    searches = [{"search": own}, *({"search": word} for word in _words(own) if word != own)]
    if owner:
        searches.append({"author": owner})
        searches += [{"author": owner, "search": word} for word in _words(own)]
    found = asking.together(*(partial(_search, asking, kind, each) for each in searches))
    names = [each for part in found if not isinstance(part, SourceError) for each in part]
    return rank(name, names)


def rank(name: str, others: Iterable[str]) -> tuple[str, ...]:
    """Return those of some names that resemble one, the nearest first.

    >>> rank("trl-lib/Capibara", ["trl-lib/Capybara", "trl-lib/tldr", "argilla/Capybara-Preferences"])
    ('trl-lib/Capybara',)
    >>> rank("gpt-2", ["openai-community/gpt2", "gpt2"])
    ('gpt2', 'openai-community/gpt2')
    """
    likeness = {other: _likeness(name, other) for other in others if other != name}
    best = sorted(likeness, key=lambda other: (-likeness[other], other))
    return tuple(other for other in best if likeness[other] >= ALIKE)[:SHOWN]


def _likeness(name: str, other: str) -> float:
    """Return the similarity of two names, from 0 to 1: of the whole names, or, weighted a little less, of the names without owners."""
    own, others_own = name.rpartition("/")[2], other.rpartition("/")[2]
    apart = 0.9 * _ratio(own, others_own)
    return max(_ratio(name, other) if _ratio(own, others_own) >= ALIKE else 0.0, apart)


def _ratio(one: str, other: str) -> float:
    return SequenceMatcher(None, APART.sub("-", one.lower()), APART.sub("-", other.lower())).ratio()


def _words(own: str) -> list[str]:
    return sorted(set(WORD.findall(APART.sub(" ", own))), key=lambda word: (-len(word), word))[:WORDS]


def _search(asking: HubSession, kind: RepoKind, params: dict[str, str]) -> list[str]:
    reply = asking.api(f"{kind}s", limit=FOUND, sort="downloads" if kind != "space" else "likes", **params)
    if not reply.ok:
        raise reply.unexpected()
    found = reply.json()
    listed = found if isinstance(found, list) else []
    return [each["id"] for each in listed if isinstance(each, dict) and isinstance(each.get("id"), str)]
