"""Finding out whether what a run pushed is on the Hub."""

from pathlib import Path

from holdfast.adapters.hub import open_hub
from holdfast.adapters.local.stored import read_stored
from holdfast.core.errors import SourceError
from holdfast.core.event import RunState
from holdfast.core.reference import Reference
from holdfast.engine.run.delivery import Delivery, judge_delivery, needed_files


def verify_push(repository: str, state: RunState) -> Delivery:
    """Return whether the last push to a repository arrived; unknown if the Hub does not answer."""
    push = state.pushes[repository]
    reference = Reference(role="target", name=repository, key="output.push_to", revision=push.revision)
    try:
        there = open_hub().repo_tree(reference)
    except SourceError as error:
        return Delivery("unknown", f"whether it arrived at {repository} is not known: {error.what}")
    here = {}
    if push.folder:
        folder = Path(push.folder)
        names = needed_files(path.name for path in folder.glob("*") if path.is_file())
        here = {name: read_stored(folder / name) for name in names}
    return judge_delivery(repository, here, there, push.at or 0.0)
