"""Arguments of the verbs that name nothing."""

from collections.abc import Callable

import pytest

import holdfast
from holdfast.core.errors import UsageError

VERBS: dict[str, Callable[[str], object]] = {
    "check": holdfast.check,
    "diagnose": holdfast.diagnose,
    "inspect": holdfast.inspect,
    "rehearse": holdfast.rehearse,
    "render": holdfast.render,
    "run": holdfast.run,
    "verify": holdfast.verify,
    "runs": lambda path: holdfast.runs(runs=path),
}


@pytest.mark.parametrize("path", ["", "  "])
@pytest.mark.parametrize("verb", VERBS)
def test_an_empty_path_never_stands_for_the_current_folder(verb: str, path: str) -> None:
    """As in `holdfast check "$JOB"` where the variable is not set."""
    with pytest.raises(UsageError, match="a path is empty"):
        VERBS[verb](path)
