"""Finding out whether what a run pushed is on the Hub."""

from pathlib import Path

from holdfast.adapters.hub import open_hub
from holdfast.adapters.local.stored import read_stored
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError
from holdfast.core.run.run_state import RunState
from holdfast.engine.run.delivery import Delivery, judge_delivery, needed_files


def verify_push(repository: str, state: RunState) -> Delivery:
    """Return whether the last push to a repository arrived; unknown if the Hub does not answer."""
    push = state.pushes[repository]
    reference = Reference(role="target", name=repository, key="output.push_to", revision=push.revision)
    return verify_folder(reference, push.folder or "", push.at or 0.0)


def verify_folder(reference: Reference, pushed: str, pushed_s: float) -> Delivery:
    """Return whether a folder arrived in a repository; unknown if the Hub does not answer.

    Args:
        reference: The repository.
        pushed: The folder; empty if it is not known.
        pushed_s: Unix time at which the push began.
    """
    try:
        there = open_hub().repo_tree(reference)
    except SourceError as error:
        return Delivery("unknown", f"whether it arrived at {reference.name} is not known: {error.what}")
    here = {}
    if pushed:
        folder = Path(pushed)
        names = needed_files(path.name for path in folder.glob("*") if path.is_file())
        here = {name: read_stored(folder / name) for name in names}
    return judge_delivery(reference.name, here, there, pushed_s)
