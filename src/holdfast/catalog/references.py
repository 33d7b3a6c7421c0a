"""What was found of the things that a job names, as far as a rule may rely on it."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from typing import Any, Final, TypeVar

from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import Finding, Fix, Severity
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.calls import Call
from holdfast.core.job.document import ABSENT, Document, Edit, Set
from holdfast.core.text.places import Place

Found = TypeVar("Found")
ALIKE: Final = 0.85
"""How alike two names are, from 0 to 1, of which one is a slip of the pen for the other."""
AHEAD: Final = 0.05
"""By how much it has to be more alike than the next."""
MOST_LISTED: Final = 5
"""So many names are listed of many."""
ELSEWHERE: Final = frozenset({"push_to_hub", "output_dir"})
"""Settings that name a repository without spelling it."""


def found_references(
    job: Document, lookups: Iterable[Lookup[Found]], *, own_token: bool = False
) -> Iterator[tuple[Reference, Found]]:
    """Yield each reference that a job certainly has, and still has after the edits, with its facts.

    Args:
        job: The job.
        lookups: What was found of what it names.
        own_token: Whether to tell also of what it asks for with a token of its own.

    Raises:
        MissingFactError: Nobody could say what is there, or the source hides the name now; after all others.
    """
    for each in lookups:
        reference = each.reference
        if reference.certain and (own_token or not reference.own_token) and stands(job, reference):
            yield reference, each.fact


def repositories(
    job: Document,
    *groups: Sequence[Lookup[Dataset]] | Sequence[Lookup[ModelFacts]] | Sequence[Lookup[Repo]],
    own_token: bool = False,
) -> Iterator[tuple[Reference, Repo]]:
    """Yield each reference that a job certainly has, of any kind, with its repository on the Hub.

    Raises:
        MissingFactError: See `found_references`.
    """
    every: list[Lookup[Dataset] | Lookup[ModelFacts] | Lookup[Repo]] = [each for group in groups for each in group]
    for seen in sorted(every, key=lambda each: each.found is None):
        one: Lookup[Any] = seen
        for reference, fact in found_references(job, (one,), own_token=own_token):
            repo = fact if isinstance(fact, Repo) else fact.repo
            if isinstance(repo, Repo):
                yield reference, repo


def once(references: Iterable[tuple[Reference, Found]]) -> Iterator[tuple[Reference, Found]]:
    """Yield of several mentions of one repository the first alone."""
    names = set[tuple[str, str]]()
    for reference, fact in references:
        name = (reference.repo_kind, reference.name)
        if name not in names:
            names.add(name)
            yield reference, fact


def stands(job: Document, reference: Reference) -> bool:
    """True if a job still names a thing where it was mentioned.

    Raises:
        MissingFactError: The source hides what stands there now.
    """
    last = reference.key.rpartition(".")[2]
    call = call_of(job, reference) if last.isdigit() else None
    if call is not None and reference.key == f"{call.key}.{last}":
        value = call.positional[int(last)] if int(last) < len(call.positional) else None
    else:
        value = job.get(reference.key, None)
    return not isinstance(value, str) or last in ELSEWHERE or value in (reference.name, reference.split)


def finding(reference: Reference, message: str, fix: Fix | None = None, severity: Severity | None = None) -> Finding:
    """Return a finding about what is mentioned, where it is written."""
    return Finding(reference.key, message, fix, severity, place=reference.place)


def call_of(job: Document, reference: Reference) -> Call | None:
    """Return the call that names a thing; None in a job file."""
    owner = reference.key.rpartition(".")[0]
    found = (call for call in job.calls if reference.key.startswith(f"{call.key}.") and call.via != "file")
    return next((call for call in found if owner.startswith(call.key)), None)


def key_beside(
    job: Document, reference: Reference, names: Iterable[str], position: int | None = None
) -> tuple[str, Place | None]:
    """Return the key of another argument of the call that names a thing, with its place where it has none of its own.

    Args:
        job: The job.
        reference: What is named.
        names: Names that the argument may have, or the key of a job file.
        position: Where it stands among those that are given by position.
    """
    call = call_of(job, reference)
    under = f"{call.key}." if call else ""
    for name in names:
        if job.get(under + name, ABSENT) is not ABSENT:
            return under + name, None
    if call and position is not None and len(call.positional) > position:
        return f"{under}{position}", reference.place
    return reference.key, reference.place


def renaming(job: Document, reference: Reference, new: str, *, safe: bool) -> Fix | None:
    """Return the edit that writes another name; None if the name is not written there by itself."""
    call, last = call_of(job, reference), reference.key.rpartition(".")[2]
    if last.isdigit():
        written = call is not None and reference.key == f"{call.key}.{last}" and reference.place is None
    else:
        written = job.get(reference.key, None) == reference.name
    edits: tuple[Edit, ...] = (Set(reference.key, new),)
    return Fix(f"write `{new}`", edits, safe=safe) if written else None


def nearest_instead(job: Document, reference: Reference, repo: Repo, meant: str | None) -> tuple[str, Fix | None]:
    """Return what there is in place of an absent repository: the end of a message, and the edit that writes the one that is meant.

    Args:
        job: The job.
        reference: Where the repository is named.
        repo: The repository, with the nearest names that do exist.
        meant: The one of them that is likely meant, if there is one.
    """
    fix = renaming(job, reference, meant, safe=False) if meant else None
    return f"; there is {some_of(repo.nearest)}" if repo.nearest else "", fix


def clearly_nearest(name: str, others: Iterable[str]) -> str | None:
    """Return the one name that is meant for another, if there is one.

    >>> clearly_nearest("trl-lib/Capibara", ["trl-lib/Capybara", "trl-lib/tldr"])
    'trl-lib/Capybara'
    >>> clearly_nearest("acme/chat-v3", ["acme/chat-v1", "acme/chat-v2"]) is None
    True
    """
    ranked = sorted(((_likeness(name, other), other) for other in dict.fromkeys(others)), reverse=True)
    if not ranked or ranked[0][0] < ALIKE or (ranked[1:] and ranked[0][0] - ranked[1][0] < AHEAD):
        return None
    return ranked[0][1]


def _likeness(name: str, other: str) -> float:
    return SequenceMatcher(None, name.lower(), other.lower()).ratio()


def some_of(names: Iterable[str]) -> str:
    """Return names for a message, a few where they are many.

    >>> some_of(["a", "b"]), some_of("abcdefg")
    ('`a`, `b`', '`a`, `b`, `c`, `d`, `e` and 2 more')
    """
    every = list(names)
    text = ", ".join(f"`{name}`" for name in every[:MOST_LISTED])
    return f"{text} and {len(every) - MOST_LISTED} more" if len(every) > MOST_LISTED else text


def is_there(repo: Repo | None) -> bool:
    """True if a repository is there, at the revision that is requested, so that its files can be spoken of."""
    return repo is not None and repo.exists and repo.commit is not None
