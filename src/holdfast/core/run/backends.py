"""The backends that a job can name, and what each can do.

Most code asks for a capability. A module that has to name a backend uses a constant of this one; `doctor` names its places itself.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.core.job.document import Document

BACKEND_KEY: Final = "where.backend"
SAVE_S: Final = 660.0
"""How much more time a service gives a job than its run has: holdfast asks it to save first, and waits for 10 minutes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendCapabilities:
    """What a backend can do. The defaults are those of another machine of which nothing else is known.

    Attributes:
        name: Its name in a job file.
        is_here: Attempts are processes of this machine: they have its token, its variables and its GPUs.
        chooses_hardware: `where.hardware` has an effect.
        has_flavors: `where.hardware` is a flavor of Hugging Face Jobs.
        spans_machines: A job can run on several machines.
        shares_files: An attempt finds the files, and the saved logins, of the machine that holdfast runs on: so it writes its
            events, logs and checkpoints into the run's folder itself. Otherwise they are retrieved (`ports.Retrieval`).
        carries_files: The files beside the script are sent to the job, though none are shared.
        keeps_disk: The disk outlives the job.
        poll_s: Seconds between two polls.
        has_schedules: It starts jobs at certain times by itself, and lists what holdfast has there (`ports.Schedules`).
        is_simulated: It only pretends, for tests and demonstrations: a job file may name it, and no message offers it.
        options: The keys that `where.options` may have.
    """

    name: str
    is_here: bool = False
    chooses_hardware: bool = True
    has_flavors: bool = False
    spans_machines: bool = True
    shares_files: bool = False
    carries_files: bool = False
    keeps_disk: bool = True
    poll_s: float = 5.0
    has_schedules: bool = False
    is_simulated: bool = False
    options: frozenset[str] = frozenset()


LOCAL: Final = BackendCapabilities(
    name="local",
    is_here=True,
    chooses_hardware=False,
    spans_machines=False,
    shares_files=True,
    poll_s=0.5,
    options=frozenset({"python"}),
)
FAKE: Final = BackendCapabilities(
    name="fake",
    chooses_hardware=False,
    spans_machines=False,
    carries_files=True,
    keeps_disk=False,
    poll_s=0.05,
    is_simulated=True,
    options=frozenset({"faults"}),
)
HF_JOBS: Final = BackendCapabilities(
    name="hf-jobs",
    has_flavors=True,
    spans_machines=False,
    carries_files=True,
    keeps_disk=False,
    has_schedules=True,
    options=frozenset({"bucket", "image", "namespace", "ports", "resource_group", "volumes"}),
)
SLURM: Final = BackendCapabilities(name="slurm", shares_files=True)
CAPABILITIES: Final[Mapping[str, BackendCapabilities]] = {each.name: each for each in (LOCAL, HF_JOBS, SLURM, FAKE)}
"""Every backend that `check` knows, Slurm among them; `BACKENDS` of `app/run/backends.py` has those that attempts can run on."""
SCHEDULING: Final = ", ".join(name for name, each in CAPABILITIES.items() if each.has_schedules)
"""The backends that have schedules, as messages name them."""
DEFAULT_BACKEND: Final = LOCAL
"""The backend of a job file that names none."""
UNSAID: Final = BackendCapabilities(name="", shares_files=True)
"""The backend of a program that does not say where it runs: its files are looked for here."""


def capabilities_of(name: str | None) -> BackendCapabilities:
    """Return the capabilities of a backend. An unknown name gets those of any other machine, and None those of `UNSAID`.

    >>> capabilities_of("local").is_here, capabilities_of("mars").is_here
    (True, False)
    """
    return UNSAID if name is None else CAPABILITIES.get(name) or BackendCapabilities(name=name)


def offered(names: Iterable[str]) -> list[str]:
    """Return the backends that a message offers, sorted.

    >>> offered(["local", "fake"])
    ['local']
    """
    return sorted(name for name in names if not capabilities_of(name).is_simulated)


def backend_of(job: Document) -> BackendCapabilities:
    """Return the capabilities of the backend that a document names.

    Raises:
        MissingFactError: It names one, but does not show which.

    >>> backend_of(Document(path="job.yaml", kind="job", values={})).name
    'local'
    >>> backend_of(Document(path="train.py", kind="script", values={})).name
    ''
    """
    named = job.get(BACKEND_KEY, None)
    if named is None:
        return DEFAULT_BACKEND if job.kind == "job" else UNSAID
    return capabilities_of(str(named))
