"""Whether what a run pushed is really on the Hub.

transformers hides the failure of a push during training, so a script without a final push ends as if it had succeeded. So
after a run, the repository is listed and compared with the folder that was pushed.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from holdfast.core.check.hub import RepoTree, StoredFile

NEEDED: Final = re.compile(
    r"config\.json|adapter_config\.json|tokenizer(_config)?\.json|.+\.index\.json|.+\.(safetensors|gguf)|(pytorch|adapter)_model.*\.bin"
)
"""Names of the files without which a model cannot be loaded."""
WEIGHTS: Final = re.compile(r".+\.(safetensors|gguf|bin|index\.json)")
"""Those of them that training changes; the others are written anew with each save, and may differ in details."""
SKEW_S: Final = 300.0
"""How much the clocks of this machine and of the Hub may differ."""
MANY: Final = 3


@dataclass(frozen=True, slots=True)
class Delivery:
    """Whether what was pushed is there.

    Attributes:
        verdict: `unknown` if the Hub could not be reached.
        because: What is missing, or why the Hub could not be reached; empty if everything arrived.
    """

    verdict: Literal["arrived", "missing", "unknown"]
    because: str = ""


def needed_files(names: Iterable[str]) -> list[str]:
    """Return the names of the files in a folder without which its model cannot be loaded.

    >>> needed_files(["model.safetensors", "training_args.bin", "README.md"])
    ['model.safetensors']
    """
    return [name for name in names if NEEDED.fullmatch(name)]


def judge_delivery(repository: str, here: Mapping[str, StoredFile], there: RepoTree, pushed_s: float) -> Delivery:
    """Compare what was pushed with what the repository holds.

    Args:
        repository: Its name.
        here: The files of the pushed folder without which the model cannot be loaded; empty if the folder is gone.
        there: The files of the repository.
        pushed_s: Unix time at which the last push began.
    """
    if there.files is None:
        return Delivery("missing", f"there is no {repository} on the Hub")
    if any(map(WEIGHTS.fullmatch, here)):
        return _compare(repository, here, there.files)
    if not any(map(WEIGHTS.fullmatch, needed_files(there.files))):
        return Delivery("missing", f"{repository} holds no weights")
    if there.modified_s and there.modified_s < pushed_s - SKEW_S:
        return Delivery("missing", f"nothing was committed to {repository} since the push began")
    return Delivery("arrived")


def _compare(repository: str, here: Mapping[str, StoredFile], there: Mapping[str, StoredFile]) -> Delivery:
    """Compare each file that was pushed with that of the repository."""
    lost = [name for name, mine in sorted(here.items()) if not _is_same(name, mine, there.get(name))]
    if not lost:
        return Delivery("arrived")
    more = f" and {len(lost) - MANY} more" if len(lost) > MANY else ""
    return Delivery("missing", f"{repository} lacks pushed files, or has others: {', '.join(lost[:MANY])}{more}")


def _is_same(name: str, mine: StoredFile, theirs: StoredFile | None) -> bool:
    """True if a file is on the Hub; if it holds weights, they must be the same too."""
    if theirs is None or not WEIGHTS.fullmatch(name):
        return theirs is not None
    known = {kind: digest for kind, digest in theirs.digests.items() if kind in mine.digests}
    return mine.bytes == theirs.bytes and all(mine.digests[kind] == digest for kind, digest in known.items())
