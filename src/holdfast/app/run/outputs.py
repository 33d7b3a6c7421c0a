"""Opening the output of a run's attempts: shared or retrieved, as its backend says. `queries` reads what a dead supervisor left unread."""

from pathlib import Path

from holdfast.adapters.storage.retrieved_copies import RetrievedCopies
from holdfast.adapters.storage.shared_output import SharedOutput
from holdfast.engine.run.retrieved_output import RetrievedOutput
from holdfast.ports import AttemptOutput, Backend


def open_output(backend: Backend, folder: Path) -> AttemptOutput:
    """Return the output of the attempts of a run.

    In both cases, logs and files are then in the run's folder, and events in the ledger. So no verb asks the backend for them.

    Args:
        backend: Where the attempts run.
        folder: The run's folder on this machine.
    """
    if backend.retrieval is None:
        return SharedOutput(folder)
    return RetrievedOutput(backend.retrieval, RetrievedCopies(folder))
