"""This machine: cores, memory, GPUs, disk, what the environment says, and what is installed.

Covered: NVIDIA GPUs through `nvidia-smi`, without importing torch; processor affinity and the limits of a container's
cgroup, versions 1 and 2. Not covered: AMD, Intel and Apple GPUs; cores that a cgroup shares by weight.
"""

import os
import shutil
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, distributions, version
from pathlib import Path

import psutil

from holdfast.adapters.environment.program_output import output_of
from holdfast.adapters.foreign_files import expanded
from holdfast.core.check.facts import Gpu, Machine
from holdfast.core.errors import UsageError

QUERY = ("--query-gpu=index,uuid,name,memory.total,compute_cap", "--format=csv,noheader,nounits")
# A GPU that the environment names and no driver describes.
UNKNOWN_GPU = Gpu(name="unknown", memory_bytes=0, capability=(0, 0))
COUNT_VARIABLE = "NUM_GPUS_OVERRIDE"
MOST_DIGITS = 5
"""Of a number of GPUs."""
MEBIBYTE = 1 << 20
TOKENS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
# Where a container says how much it may use, for cgroup version 2 and for version 1.
MEMORY_LIMITS = ("memory.max", "memory/memory.limit_in_bytes")
CGROUP = Path("/sys/fs/cgroup")


class LocalMachine:
    """The machine that holdfast runs on."""

    def __init__(
        self, environment: Mapping[str, str] = os.environ, *, folder: Path = Path(), cgroup: Path = CGROUP
    ) -> None:
        self._environment, self._folder, self._cgroup = environment, folder, cgroup

    def fetch(self) -> Machine:
        """Return the known facts about this machine."""
        environment = self._environment
        return Machine(
            cpus=count_cpus(self._cgroup),
            memory_bytes=min([psutil.virtual_memory().total, *_memory_limits(self._cgroup)]),
            gpus=select_gpus(query_gpus(environment), environment),
            free_disk_bytes=shutil.disk_usage(_existing(self._folder)).free,
            variables=frozenset(name for name, value in environment.items() if value),
            hub_token=has_hub_token(environment),
            packages=InstalledVersions(),
        )


class InstalledVersions(Mapping[str, str]):
    """Installed versions by distribution name; each is looked up when it is requested, which takes no import."""

    def __getitem__(self, name: str) -> str:
        try:
            return version(name)
        except PackageNotFoundError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter({found.metadata["Name"].lower().replace("_", "-").replace(".", "-") for found in distributions()})

    def __len__(self) -> int:
        return sum(1 for _ in self)


def query_gpus(environment: Mapping[str, str]) -> list[tuple[str, Gpu]] | None:
    """Return every GPU that the driver knows with its UUID, in its order, or None if there is no driver to ask."""
    program = shutil.which("nvidia-smi", path=environment.get("PATH", ""))
    if program is None:
        return None
    table = output_of([program, *QUERY], environment)
    return None if table is None else [gpu for line in table.splitlines() if (gpu := parse_gpu(line))]


def parse_gpu(line: str) -> tuple[str, Gpu] | None:
    """Return the UUID and the GPU of one line of `nvidia-smi`, or None for a line that is none.

    >>> parse_gpu("0, GPU-8f1c, Tesla T4, 15360, 7.5")
    ('GPU-8f1c', Gpu(name='Tesla T4', memory_bytes=16106127360, capability=(7, 5)))
    """
    try:
        _, uuid, name, memory, capability = (part.strip() for part in line.split(","))
        major, minor = map(int, capability.split("."))
        return uuid, Gpu(name=name, memory_bytes=int(memory) * MEBIBYTE, capability=(major, minor))
    except ValueError:
        return None


def select_gpus(gpus: list[tuple[str, Gpu]] | None, environment: Mapping[str, str]) -> tuple[Gpu, ...]:
    """Return the GPUs that a job sees.

    `CUDA_VISIBLE_DEVICES` is read as CUDA reads it: numbers, or UUIDs that may be cut short, up to the first that there
    is not; empty text hides all. Where no driver could be asked its words are counted. `NUM_GPUS_OVERRIDE` has the last
    word on how many there are.

    Raises:
        UsageError: No machine has so many.
    """
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    seen = [gpu for _, gpu in gpus or ()]
    if visible is not None:
        seen = list(_visible(gpus, visible.split(",")))
    count = _overriding_count(environment.get(COUNT_VARIABLE, "").strip())
    return tuple(seen if count is None else [*seen, *[UNKNOWN_GPU] * count][:count])


def _overriding_count(override: str) -> int | None:
    """Return the number that a text is; None if it is none.

    Raises:
        UsageError: No machine has so many GPUs.
    """
    if not override.isdecimal():
        return None
    if len(override) > MOST_DIGITS:
        what = f"{COUNT_VARIABLE} is a number of {len(override)} digits: no machine has so many GPUs"
        raise UsageError(what, where=COUNT_VARIABLE, fix=f"correct {COUNT_VARIABLE}, or unset it")
    return int(override)


def _visible(gpus: list[tuple[str, Gpu]] | None, words: list[str]) -> Iterator[Gpu]:
    for word in map(str.strip, words):
        found = _find_gpu(gpus, word)
        if found is None:
            return
        yield found


def _find_gpu(gpus: list[tuple[str, Gpu]] | None, word: str) -> Gpu | None:
    if gpus is None:
        return UNKNOWN_GPU if word.isdecimal() or word.startswith("GPU-") else None
    if word.isdecimal():
        return gpus[int(word)][1] if len(word) <= MOST_DIGITS and int(word) < len(gpus) else None
    return next((gpu for uuid, gpu in gpus if word.startswith("GPU-") and uuid.startswith(word)), None)


def has_hub_token(environment: Mapping[str, str]) -> bool:
    """True if huggingface_hub would find a token. Source: its `get_token`, version 2.4."""
    if any(environment.get(name, "").strip() for name in TOKENS):
        return True
    cache = environment.get("XDG_CACHE_HOME") or "~/.cache"
    home = environment.get("HF_HOME") or f"{cache}/huggingface"
    path = expanded(environment.get("HF_TOKEN_PATH") or f"{home}/token")
    try:
        return bool(path.read_text(encoding="utf-8").strip())
    except (OSError, UnicodeDecodeError):
        return False


def count_cpus(cgroup: Path = CGROUP) -> int:
    """Return the number of cores that this process may use: those of its affinity, within the quota of its cgroup."""
    cores = len(psutil.Process().cpu_affinity() or ()) if hasattr(psutil.Process, "cpu_affinity") else 0
    return max(1, min([cores or psutil.cpu_count() or 1, *_cpu_limits(cgroup)]))


def _cpu_limits(cgroup: Path) -> Iterator[int]:
    """Yield the quota in whole cores. Version 2 says `<quota> <period>` or `max`; version 1 has two files, -1 for none."""
    words = _read(cgroup / "cpu.max").split()
    words = words or [_read(cgroup / "cpu" / f"cpu.cfs_{part}_us") for part in ("quota", "period")]
    if all(word.isdigit() for word in words) and len(words) == len(("quota", "period")):
        yield max(1, int(words[0]) // int(words[1]))


def _memory_limits(cgroup: Path) -> Iterator[int]:
    """Yield the limits in bytes; `max` and the huge number that version 1 writes for it are none that bind."""
    limits = (_read(cgroup / name) for name in MEMORY_LIMITS)
    return (int(limit) for limit in limits if limit.isdigit())


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _existing(folder: Path) -> Path:
    """Return the folder, or its nearest parent that is there."""
    folder = folder.absolute()
    return next(parent for parent in (folder, *folder.parents) if parent.exists())
