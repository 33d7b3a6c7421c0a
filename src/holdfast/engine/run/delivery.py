"""After a run: is what was pushed really on the Hub?

A push amid training that fails is swallowed by transformers, and a script without a final push then ends well. So the
repository is listed, and compared with the folder that was pushed from.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.core.hub import RepoTree, StoredFile

NEEDED: Final = re.compile(
    r"config\.json|adapter_config\.json|tokenizer(_config)?\.json|.+\.index\.json|.+\.safetensors|(pytorch|adapter)_model.*\.bin"
)
"""Names of the files without which a model cannot be loaded."""
WEIGHTS: Final = re.compile(r".+\.(safetensors|bin|index\.json)")
"""Those among them that training has changed; the others are written anew with each save, and may differ in a detail."""
SKEW_S: Final = 300.0
"""So far may the clocks of this machine and of the Hub lie apart."""
MANY: Final = 3


@dataclass(frozen=True, slots=True)
class Delivery:
    """Whether what was pushed is there.

    Attributes:
        verdict: Unknown where the Hub could not be asked.
        because: What is not there, or why nobody could ask; empty where all is.
    """

    verdict: Literal["arrived", "missing", "unknown"]
    because: str = ""


def needed_files(names: Iterable[str]) -> list[str]:
    """Return the names of those of a folder's files that a model cannot do without.

    >>> needed_files(["model.safetensors", "training_args.bin", "README.md"])
    ['model.safetensors']
    """
    return [name for name in names if NEEDED.fullmatch(name)]


def judge_delivery(repository: str, here: Mapping[str, StoredFile], there: RepoTree, pushed_s: float) -> Delivery:
    """Compare what was pushed with what the repository holds.

    Args:
        repository: Its name.
        here: The files that a model cannot do without, of the folder that was pushed from; empty if that is gone.
        there: What the repository holds.
        pushed_s: Unix time at which the last push began.
    """
    if there.files is None:
        return Delivery("missing", f"there is no {repository} on the Hub")
    if any(WEIGHTS.fullmatch(name) for name in here):
        lost = [name for name, mine in sorted(here.items()) if not _is_same(name, mine, there.files.get(name))]
        if not lost:
            return Delivery("arrived")
        more = f" and {len(lost) - MANY} more" if len(lost) > MANY else ""
        return Delivery("missing", f"{repository} does not have what was pushed: {', '.join(lost[:MANY])}{more}")
    if not any(WEIGHTS.fullmatch(name) for name in there.files):
        return Delivery("missing", f"{repository} holds no weights")
    if there.modified_s and there.modified_s < pushed_s - SKEW_S:
        return Delivery("missing", f"nothing was committed to {repository} since the push began")
    return Delivery("arrived")


def _is_same(name: str, mine: StoredFile, theirs: StoredFile | None) -> bool:
    """True if a file is there, and, of weights, whether it is the same."""
    if theirs is None or not WEIGHTS.fullmatch(name):
        return theirs is not None
    known = {kind: digest for kind, digest in theirs.digests.items() if kind in mine.digests}
    return mine.bytes == theirs.bytes and all(mine.digests[kind] == digest for kind, digest in known.items())
