"""Looking before a study at what comes after the training of its trials: once for all that do the same."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from holdfast.adapters.targets import Target
from holdfast.app.hub_access import HubAccess
from holdfast.app.run.after_training import AfterTraining, after_training, look_ahead
from holdfast.core.errors import HoldfastError, flatten


def failures_after(
    trials: Iterable[tuple[int, Target]], runs: Path, hub: HubAccess
) -> Iterator[tuple[Sequence[int], Sequence[HoldfastError]]]:
    """Yield the numbers of trials that would fail after training, and why.

    Args:
        trials: The number and the job of each trial.
        runs: The runs folder.
        hub: Whether the Hub is contacted.
    """
    alike = defaultdict[AfterTraining, list[int]](list)
    for number, target in trials:
        alike[after_training(target)].append(number)
    for after, numbers in alike.items():
        try:
            look_ahead(after, runs, offline=hub is HubAccess.OFFLINE)
        except (HoldfastError, ExceptionGroup) as error:
            if not (errors := flatten(error)):
                raise
            yield numbers, errors
