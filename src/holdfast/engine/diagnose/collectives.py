"""What the processes of an attempt did together last, by torch's flight recorder: which one has not come to the call that the others wait in."""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Collective:
    """A call in which processes wait for each other.

    Attributes:
        group: The process group, each of which counts its own.
        number: Its number there, from 1.
        operation: What it does: `all_reduce`.
        sizes: The sizes of each tensor that goes in.
        is_over: Whether this process has left it.
    """

    group: str
    number: int
    operation: str
    sizes: Sequence[Sequence[int]] = ()
    is_over: bool = False


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How the collectives of processes differ.

    Attributes:
        rank: The only one that differs from all others; None if it is not one.
        text: In words.
    """

    rank: int | None
    text: str


def find_disagreement(newest: Mapping[int, Sequence[Collective]]) -> Disagreement | None:
    """Return the difference between the newest collectives of ranks; None if there is none, or if fewer than two are known.

    Args:
        newest: Those of each rank, of every group the oldest first.

    >>> reduce = [Collective(group="0", number=n, operation="all_reduce", sizes=[[3]], is_over=n < 26) for n in (24, 25, 26)]
    >>> find_disagreement({0: reduce, 1: reduce[:2]}).text
    'rank 1 has not come to collective 26, `all_reduce` of [3], in which rank 0 waits'
    """
    last: dict[str, dict[int, Collective]] = {}
    for rank, collectives in newest.items():
        for each in collectives:
            last.setdefault(each.group, {})[rank] = each
    return next(filter(None, (_compare(last[group]) for group in sorted(last))), None)


def _compare(last: Mapping[int, Collective]) -> Disagreement | None:
    """Return the difference between the last collectives of ranks in one group; None if there is none, or if no rank waits."""
    if len(last) < 2 or all(each.is_over for each in last.values()):  # noqa: PLR2004 - two ranks can differ
        return None
    furthest = max(last.values(), key=lambda each: each.number)
    late = [rank for rank, each in last.items() if each.number < furthest.number]
    return _absence(last, late, furthest) if late else _difference(last, furthest)


def _absence(last: Mapping[int, Collective], late: Sequence[int], furthest: Collective) -> Disagreement:
    """Return that some ranks have not come to the collective in which the others wait."""
    waiting = sorted(last.keys() - {*late})
    verb = "waits" if len(waiting) == 1 else "wait"
    has = "has" if len(late) == 1 else "have"
    text = f"{spell_ranks(late)} {has} not come to collective {furthest.number}, {_describe(furthest)}, in which {spell_ranks(waiting)} {verb}"
    return Disagreement(late[0] if len(late) == 1 else None, text)


def _difference(last: Mapping[int, Collective], furthest: Collective) -> Disagreement | None:
    """Return that one collective is not the same for all ranks; None if it is."""
    kinds = {rank: _describe(each) for rank, each in last.items()}
    if len({*kinds.values()}) == 1:
        return None
    text = f"collective {furthest.number} is not the same for all: {', '.join(_spell_kinds(kinds))}"
    return Disagreement(odd_rank(kinds), text)


def odd_rank(kinds: Mapping[int, Hashable]) -> int | None:
    """Return the only rank of a kind that no other rank has, while others share one; None if there is no such rank.

    >>> odd_rank({0: "a", 1: "b", 2: "a"}), odd_rank({0: "a", 1: "b"})
    (1, None)
    """
    counted = Counter(kinds.values())
    alone = [rank for rank, kind in kinds.items() if counted[kind] == 1]
    return alone[0] if len(alone) == 1 and len(kinds) > len(counted) else None


def _spell_kinds(kinds: Mapping[int, str]) -> Iterator[str]:
    for kind in dict.fromkeys(kinds.values()):
        yield f"{kind} for {spell_ranks([rank for rank, each in kinds.items() if each == kind])}"


def _describe(collective: Collective) -> str:
    sizes = ", ".join(str([*each]) for each in collective.sizes)
    return f"`{collective.operation}`" + (f" of {sizes}" if sizes else "")


def spell_ranks(ranks: Sequence[int]) -> str:
    """Return ranks in words.

    >>> spell_ranks([2]), spell_ranks([0, 1, 3])
    ('rank 2', 'ranks 0, 1 and 3')
    """
    *others, last = map(str, ranks)
    return f"ranks {', '.join(others)} and {last}" if others else f"rank {last}"
