"""The machine of a job: a fresh disk, an environment of what was sent, one process.

Source of the variables beside those that were sent: https://huggingface.co/docs/hub/jobs-configuration, "Built-in environment variables".
"""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable
from contextlib import suppress
from fnmatch import fnmatch
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Any

from tests.helpers.hub.hardware import flavors
from tests.helpers.hub.jobs import images, namespace
from tests.helpers.hub.jobs.mishaps import Mishap
from tests.helpers.hub.jobs.records import Job
from tests.helpers.hub.jobs.volumes import Volume, bring, carry, listed, mount
from tests.helpers.hub.world import World

WATCH_S, LAZY_S = 0.02, 0.25  # between two looks at the volumes: at first, and when nothing has changed for long


class Machine:
    """One start of a job.

    Attributes:
        disk: Its folder on this machine, wiped at the end.
        work: The job's working folder, empty at first.
        fate: What will befall it.
        fallen: What has befallen it.
    """

    def __init__(self, world: World, job: Job, disk: Path, fate: Mishap | None) -> None:
        self.world, self.job, self.disk, self.fate = world, job, disk, fate
        self.work = disk / "work"
        self.volumes: list[Volume] = []
        self.fallen: Mishap | None = None
        self.exit_code: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._over = Event()
        self._carrying = Lock()
        self._watcher = Thread(target=self._watch, daemon=True)

    @property
    def pid(self) -> int:
        """Of the job's process."""
        return self._process.pid if self._process else 0

    def start(self, image: images.Image, hear: Callable[[str], None]) -> None:
        """Start the process; every line that it writes is heard. Raises VolumeError."""
        for folder in ("work", "home", "tmp"):
            (self.disk / folder).mkdir(parents=True)
        asked = self.job.spec.get("volumes") or []
        self.volumes = [mount(self.world, one, self.disk / "volumes" / str(k)) for k, one in enumerate(asked)]
        variables = self._variables(images.install(image, self.disk / "bin"))
        command = self.job.command
        moved = bool(self.volumes) and not namespace.unshare()
        if moved:
            command = [namespace.inward(part, self.volumes) for part in command]
            variables = namespace.all_inward(variables, self.volumes)
        elif self.volumes:
            command = namespace.entering(self.disk / "root", self.volumes, self.work, command)
        search = variables["PATH"]
        program = command[0] if "/" in command[0] else shutil.which(command[0], path=search)
        if program is None:
            hear(f"exec: {command[0]}: executable file not found in $PATH")
            self.exit_code = 127
            return
        self._process = subprocess.Popen(
            [program, *command[1:]],
            cwd=self.work,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        Thread(target=self._listen, args=(self._process, hear, moved), daemon=True).start()
        if self.volumes or (self.fate is not None and self.fate.at_file is not None):
            self._watcher.start()

    def fall(self, mishap: Mishap) -> None:
        """Let a mishap befall it now: everything is killed without warning."""
        with self._carrying:
            befalls = self.fallen is None and self.exit_code is None
            if befalls:
                self.fallen = mishap
        if befalls:
            self._kill(signal.SIGKILL)
            self.world.clock.stir(self.job.id)

    def stop(self, *, grace_s: float) -> None:
        """Ask the process to end, and kill it if it does not."""
        if self.exit_code is None:
            self._kill(signal.SIGTERM)
            self._over.wait(grace_s)
            self._kill(signal.SIGKILL)
            self._over.wait(10)

    def settle(self) -> None:
        """Let writes arrive that wait, if the machine was not lost, and wipe the disk."""
        self._over.set()
        if self._watcher.is_alive():
            self._watcher.join()
        if self.fallen is None or self.fallen.kind != "machine_gone":
            waits = True
            while waits and not self.world.closing.is_set():
                drained = [carry(self.world, one, self.pid, now=self.world.jobs.drains) for one in self.volumes]
                waits = any(drained)
                if waits:
                    self.world.closing.wait(WATCH_S)
        shutil.rmtree(self.disk, ignore_errors=True)

    def _variables(self, path: str) -> dict[str, str]:
        spec = self.job.spec
        flavor: dict[str, Any] = next((one for one in flavors() if one["name"] == spec["flavor"]), {})
        own = {
            "PATH": path,
            "HOME": str(self.disk / "home"),
            "TMPDIR": str(self.disk / "tmp"),
            "JOB_ID": self.job.id,
            "ACCELERATOR": spec["flavor"] if flavor.get("accelerator") else "none",
            "CPU_CORES": flavor.get("cpu", "2 vCPU").split()[0],
            "MEMORY": flavor.get("ram", "16 GB").replace(" GB", "Gi"),
        }
        sent = {**(spec.get("environment") or {}), **(spec.get("secrets") or {})}
        return own | self.world.jobs.network | {name: str(value) for name, value in sent.items()}

    def _listen(self, process: subprocess.Popen[bytes], hear: Callable[[str], None], moved: bool) -> None:
        closer = Thread(target=self._close_when_over, args=(process,), daemon=True)
        closer.start()
        with process:
            for raw in process.stdout or ():
                line = raw.rstrip(b"\n").decode(errors="replace")
                hear(namespace.outward(line, self.volumes) if moved else line)
                if self.fate is not None and self.fate.at_line is not None and re.search(self.fate.at_line, line):
                    self.fall(self.fate)
        code = process.wait()
        closer.join()
        self.exit_code = 128 - code if code < 0 else code
        self._over.set()
        self.world.clock.stir(self.job.id)

    def _close_when_over(self, process: subprocess.Popen[bytes]) -> None:
        """When a container's first process ends, the others are killed."""
        process.wait()
        self._kill(signal.SIGKILL)

    def _watch(self) -> None:
        wait_s = WATCH_S
        while not self._over.wait(wait_s):
            if self.fate is not None and self.fate.at_file is not None and self._has(self.fate.at_file):
                self.fall(self.fate)
            with self._carrying:
                for one in self.volumes:
                    bring(self.world, one)
                news = [carry(self.world, one, self.pid) for one in self.volumes if self.fallen is None]
            eager = any(news) or (self.fate is not None and self.fate.at_file is not None)
            wait_s = WATCH_S if eager else min(LAZY_S, wait_s * 1.2)

    def _has(self, pattern: str) -> bool:
        places = [self.work, *(one.folder for one in self.volumes)]
        return any(fnmatch(path, pattern) for place in places for path, _ in listed(place))

    def _kill(self, how: signal.Signals) -> None:
        if self._process is not None:
            with suppress(OSError):
                os.killpg(self._process.pid, how)
