"""What travels with a training script: events, a heartbeat, stacks, a save on SIGTERM, manifests, resume.

An attempt is one file: this text, the script as it was given, and a call of `run_script`. It needs no other
package than the script imports. Environment variables tell it:

* `HOLDFAST_ATTEMPT`   folder for `events.jsonl`, `stacks.txt`, `pids/` and `ranks/`; default `holdfast-attempt`
* `HOLDFAST_RESUME`    checkpoint that training continues from, unless the script names one
* `HOLDFAST_BASE`      is set if no trainer of this run saved that checkpoint: then it is for the first one that trains
* `HOLDFAST_ACCEPTED`  settings, as JSON, that may differ from those that this checkpoint was saved with, and the values that they may have,
                       null for any; `true` for all settings, as in a rehearsal
* `HOLDFAST_FILES`, if set, has the job's own files, with which it works in a new folder
* `HOLDFAST_TIMEOUT`   seconds after which a supervisor stops the attempt; `LEASE_S` later, it stops by itself: nobody supervises it then
* `HOLDFAST_PROCESSES` processes on this machine; above 1 the attempt starts itself again under torchrun
* `HOLDFAST_SKIP`      steps whose batches train nothing, as in `9-9,20-24`
* `HOLDFAST_SPIKES`    is set if a loss that spikes ends the attempt: checkpoints of before are then kept for the next one
* `PYTORCH_CUDA_ALLOC_CONF`, if nothing sets the allocator, becomes `expandable_segments:True` where the GPU supports that
* `HOLDFAST_EVENTS`    `log` has the events written into the log too, for where the folder is not shared; no signal reaches the
                       process there, so that files in the folder ask for the same: `stop` for SIGTERM, `stacks` for SIGUSR1

Where the script or its arguments held a secret, `<holdfast-secret:NAME>` stands in its place: the variable NAME has the value.

Any transformers `Trainer`, so any of TRL's, is watched by a callback from the moment it is made. Ranks agree
before they act, all at the same point; only rank 0 writes events and manifests. If their launcher dies, they save and leave. Time is
counted by a clock that stands still while the machine sleeps. A model that is saved, by the trainer or by
`save_pretrained`, gets a manifest and an event; what is saved for an upload alone, or within a checkpoint, gets none.
Covered: one process, or several under torchrun on one machine; forked and spawned children of the script.
Not covered: ranks that the script starts itself (`mp.spawn`, `notebook_launcher`); hyperparameter search, whose
checkpoints get no manifest; a save that the script asks of some ranks and not of others; `torch.save`.
"""

import faulthandler
import functools
import hashlib
import importlib.metadata
import importlib.util
import json
import linecache
import math
import multiprocessing.spawn
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import types
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

MANIFEST = "holdfast-manifest.json"
HEARTBEAT_S = 10.0
SECRET = re.compile(
    r"(?i)(?:^|_)(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|TOKEN|CREDENTIALS?|(?:API|ACCESS|PRIVATE|SECRET)_?KEY)(?:$|_)"
)
# No path or plain word, which stands elsewhere too.
PRIVATE = re.compile(r"(?![/~$.]|https?://)(?=.*[^A-Za-z]).{8,}", re.DOTALL)
LOOK_S = 1.0  # between two looks for requests
REQUESTS = {"stacks": signal.SIGUSR1, "stop": signal.SIGTERM}  # by files: in this order, for a stop ends the process
# torchrun passes on a signal that its whole process group had already; a person who asks again takes longer.
ECHO_S = 2.0
STOPPED = 128 + signal.SIGTERM  # exit code
ABANDONED_S = 600.0  # that a process gets to save and leave after which nobody looks any more
LEASE_S = 120.0  # that a supervisor has to stop an attempt whose time is over
OWN_REQUESTS = {
    "launcher-died": 1001,
    "timeout": 1002,
}  # numbers of a process' own requests to stop, above those of signals
HELD_LOSSES = (
    40  # in a row above all before them, while no checkpoint is deleted: a supervisor has ended a spike by then
)
NEWEST = 3  # collectives of each process group that are kept
PARTIAL = ".partial"  # ends the name of a folder that a script renames when all is in it
LIBRARIES = ("torch", "transformers", "trl", "peft", "datasets", "accelerate")
MARK = "@holdfast"
MARKED = 2000  # bytes of an event in one line of the log: a pipe takes that in one piece, and few services cut it
# Read by every torch from 2.1 on, and before `PYTORCH_ALLOC_CONF`, which came with 2.9. Source: torch 2.13 CUDAAllocatorConfig.h, instance.
ALLOCATOR = "PYTORCH_CUDA_ALLOC_CONF"
ALLOCATORS = (ALLOCATOR, "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
EXPANDABLE = "expandable_segments:True"
# Who names it decides alone. vLLM's sleep mode fails with such segments before 0.20.1 (vllm#40812); Unsloth sets the allocator itself.
OWN_ALLOCATOR = re.compile(r"ALLOC_CONF|vllm|unsloth", re.IGNORECASE)
VLLM = (0, 20, 1)
CONFIG_CHARACTERS = 1 << 20  # that are read of a file that an argument names
# Exits with 0 if the first GPU has what expandable segments need: CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED is 102.
# In a process of its own, for children that are forked after cuInit cannot use the driver.
ASK_DRIVER = """
import ctypes, sys
cuda, device, found = ctypes.CDLL("libcuda.so.1"), ctypes.c_int(), ctypes.c_int()
failed = cuda.cuInit(0) or cuda.cuDeviceGet(ctypes.byref(device), 0)
failed = failed or cuda.cuDeviceGetAttribute(ctypes.byref(found), 102, device)
sys.exit(0 if not failed and found.value else 1)
"""
DRIVER_S = 60.0  # that the driver gets to answer
RESTORED = (  # settings that a checkpoint goes on with, or that decide which rows follow it
    "optim", "optim_args", "learning_rate", "weight_decay", "adam_beta1", "adam_beta2", "adam_epsilon",
    "lr_scheduler_type", "lr_scheduler_kwargs", "warmup_steps", "warmup_ratio", "seed", "data_seed",
)  # fmt: skip
SAMPLED = 1000  # rows that stand for a dataset
ROW_BYTES, SAMPLED_BYTES = 64 << 10, 16 << 20  # that are read of a row, and of all of them
ACCOUNT: dict[str, tuple[type, ...]] = {  # of rows, by the script of a job file
    **dict.fromkeys(("strategy", "dataset", "sha256"), (str,)),
    **dict.fromkeys(("seed", "rows", "of", "held_out"), (int,)),
    "weight": (int, float),
}
ACCOUNT_BYTES = 256 << 10  # more is no such account
SECRETS = ("token", "secret", "password", "api_key")  # ends of the names of settings that are not recorded
PLAIN = (bool, int, str, float, type(None))  # types that JSON has


def run_script(name: str, source: str, argv: list[str], module: str = "") -> None:
    """Run a script as the main program under its own name, watched, and exit as it does; as `python -m` does, if it is a module."""
    this = str(Path(__file__).absolute())
    if files := os.environ.pop("HOLDFAST_FILES", ""):
        enter_copy(Path(files))
    expand_segments("\n".join([source, *argv, *named_texts(argv)]))
    processes = os.environ.get("HOLDFAST_PROCESSES", "")
    if processes.isdigit() and int(processes) > 1 and "RANK" not in os.environ:
        isolated = ["-P"] if sys.version_info >= (3, 11) else []  # modules beside the script are for the script alone
        torchrun = [
            sys.executable,
            *isolated,
            "-m",
            "torch.distributed.run",
            "--standalone",
            "--nproc-per-node",
            processes,
        ]
        os.execv(sys.executable, [*torchrun, this, *argv])  # noqa: S606 - no shell is wanted
    attempt = AttemptProcess(Path(os.environ.get("HOLDFAST_ATTEMPT") or "holdfast-attempt"))
    stop = StopRequest(attempt)
    attempt.register()
    vars(sys.modules["__main__"])["attempt"] = (
        attempt  # a script without a trainer may report: `holdfast_runtime.attempt.write(…)`
    )
    when_imported("transformers.trainer", lambda module: TrainerPatches(module, attempt, stop))
    when_imported("transformers.modeling_utils", lambda module: watch_saves(module.PreTrainedModel, attempt))
    when_imported("peft.peft_model", lambda module: watch_saves(module.PeftModel, attempt))
    # A spawned child imports the main program anew: this file, which gives it the script's names.
    wrap(multiprocessing.spawn, "get_preparation_data", lambda get, child: get(child) | {"init_main_from_path": this})
    main = types.ModuleType("__main__")
    sys.modules["holdfast_runtime"], sys.modules["__main__"] = sys.modules["__main__"], main
    sys.argv = [str(Path(name).absolute()) if module else name, *map(with_secrets, argv)]
    sys.path.insert(0, str(Path.cwd() if module else Path(name).absolute().parent))
    sys.exit(attempt.run(name, source, vars(main), module))


def expand_segments(program: str) -> None:
    """Have the segments of torch's allocator expand, so that less of the GPU's memory is lost between them.

    Not if the environment or the program sets the allocator, nor on WSL, whose driver refuses it (pytorch#192330).

    Args:
        program: The script, its arguments, and the files that these name.
    """
    if any(name in os.environ for name in ALLOCATORS) or OWN_ALLOCATOR.search(program):
        return
    if (
        release_of("torch", (0,)) < (2, 1) or release_of("vllm", VLLM) < VLLM
    ):  # a module of the script's may import vLLM
        return
    if sys.platform == "linux" and "microsoft" not in os.uname().release.lower() and has_expandable_segments():
        os.environ[ALLOCATOR] = EXPANDABLE


def named_texts(argv: list[str]) -> list[str]:
    """Return the texts of the files that arguments name, such as the YAML file of `--config`; of long ones, the beginning."""
    texts = []
    for each in {part for argument in argv for part in (argument, argument.partition("=")[2]) if part}:
        with suppress(OSError, ValueError):
            if Path(each).is_file():
                with Path(each).open(encoding="utf-8", errors="replace") as file:
                    texts.append(file.read(CONFIG_CHARACTERS))
    return texts


def release_of(package: str, absent: tuple[int, ...]) -> tuple[int, ...]:
    """Return the release of an installed package; `absent` if there is none, and (0,) if it does not have a number."""
    try:
        numbers = re.match(r"\d+(\.\d+){0,2}", importlib.metadata.version(package) or "")
    except importlib.metadata.PackageNotFoundError:
        return absent
    return tuple(map(int, numbers[0].split("."))) if numbers else (0,)


def has_expandable_segments() -> bool:
    """True if the first GPU has expandable segments."""
    with suppress(OSError, subprocess.TimeoutExpired):
        command = [sys.executable, "-I", "-c", ASK_DRIVER]
        asked_driver = subprocess.run(command, capture_output=True, timeout=DRIVER_S, check=False)  # noqa: S603 - our own words
        return not asked_driver.returncode
    return False


def enter_copy(files: Path) -> None:
    """Work in a new folder with the job's own files, all of which have to have arrived; `files` has them and a list of their sizes."""
    sizes = json.loads((files.parent / "files.json").read_text(encoding="utf-8"))
    here = Path(tempfile.mkdtemp(prefix="holdfast-"))
    for name, size in sizes.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(files / name, here / name)
        if (here / name).stat().st_size != size:
            sys.exit(f"{name} did not arrive whole: {(here / name).stat().st_size} of {size} bytes")
    os.chdir(here)


def keep_output(folder: Any) -> None:
    """Have the output folder of a trainer in the run's folder, if the disk of this machine is lost with it."""
    run = os.environ.get("HOLDFAST_RUN")
    if os.environ.get("HOLDFAST_EVENTS") != "log" or not run or not isinstance(folder, str) or not folder:
        return
    here, kept = Path(folder), Path(run, "outputs", folder)
    if not here.is_absolute() and ".." not in here.parts and not here.exists():
        kept.mkdir(parents=True, exist_ok=True)
        here.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # by another rank
            here.symlink_to(kept, target_is_directory=True)


def execute(name: str, source: str, space: dict[str, Any], module: str = "") -> None:
    """Run a script in a namespace; tracebacks, `inspect` and `__file__` give its own name and lines."""
    path, shown, source = Path(name).absolute(), source, with_secrets(source)
    if path.is_file() and path.read_text(encoding="utf-8", errors="replace") == source:
        name = str(path)
    linecache.cache[name] = (len(shown), None, shown.splitlines(keepends=True), name)
    space["__file__"] = name
    if module:
        spec = importlib.util.find_spec(module)  # which imports the packages that it lies in
        if spec is None:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        space |= {"__spec__": spec, "__package__": spec.parent, "__loader__": spec.loader}
    exec(compile(source, name, "exec", dont_inherit=True), space)  # noqa: S102 - it is what the user asked to run


def open_private(path: Path) -> int:
    """Open a file to append to, which its owner alone may read."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def with_secrets(text: str) -> str:
    """Return a text with the secrets that its references stand for."""
    return re.sub(r"<holdfast-secret:(\w+)>", lambda found: os.environ.get(found[1], found[0]), text)


def mark_event(process: str, number: int, text: str) -> list[bytes]:
    """Return the lines that carry an event through a log: `@holdfast:CRC32:PROCESS:NUMBER:PART/PARTS:TEXT@`."""
    text = text.replace("@", "\\u0040")  # in JSON, it stands in strings alone
    parts = [text[start : start + MARKED] for start in range(0, len(text), MARKED)]
    lines = [f"{process}:{number}:{count}/{len(parts)}:{part}" for count, part in enumerate(parts, 1)]
    return [f"{MARK}:{zlib.crc32(line.encode()):08x}:{line}@\n".encode() for line in lines]


class EventLog:
    """Writes the events of one process into its log, numbered."""

    def __init__(self) -> None:
        self._file = os.dup(2)  # the script may close or redirect its own
        self._process, self._count, self._lock = os.urandom(3).hex(), 0, threading.RLock()

    def write(self, text: str) -> None:
        """Write one event, given as JSON."""
        with self._lock:  # a signal's handler may come in between, but ends the process
            self._count += 1
            for line in mark_event(self._process, self._count, text):
                os.write(self._file, line)


class ScriptEnding(NamedTuple):
    """How an attempt ends: `finished`, `stopped` or `failed`; the kind of reason, for programs; and the reason, for people."""

    status: str
    reason: str
    because: str


def abandoned(reason: str, did: str) -> ScriptEnding:
    """Return the ending of a process after which nobody looks any more."""
    said = {
        "launcher-died": "the launcher of the ranks died, and this rank",
        "timeout": "its time limit was over while nobody supervised it, and it",
    }
    return ScriptEnding("stopped", reason, f"{said[reason]} {did}")


def newest_collectives() -> list[dict[str, Any]]:
    """Return the newest collectives of each process group, the oldest first, as torch's flight recorder has them; empty if it has none."""
    recorder = getattr(getattr(sys.modules.get("torch"), "_C", None), "_distributed_c10d", None)
    dump = getattr(recorder, "_dump_fr_trace_json", None)
    groups: dict[str, list[dict[str, Any]]] = {}
    with suppress(Exception):  # of other releases, of which this is not known
        for each in json.loads(dump())["entries"] if dump else ():
            group, operation = each["process_group"][0], each["profiling_name"].rpartition(":")[2]
            sizes = {"sizes": each["input_sizes"], "is_over": each["retired"]}
            groups.setdefault(group, []).append(
                {"group": group, "number": each["collective_seq_id"], "operation": operation, **sizes}
            )
    return [each for group in groups.values() for each in group[-NEWEST:]]


def secret_values(environment: Mapping[str, str]) -> "re.Pattern[str]":
    """Return an expression for the values of variables that are secrets by their names, as JSON spells them: exceptions quote them."""
    values = {
        json.dumps(value)[1:-1] for name, value in environment.items() if SECRET.search(name) and PRIVATE.match(value)
    }
    return re.compile("|".join(map(re.escape, sorted(values, key=len, reverse=True))) or r"(?!)")


class Pulse:
    """Signs of life of the main thread: the time since the last one, by a clock that stands still while the machine sleeps."""

    def __init__(self) -> None:
        self._last_s, self._longest_s = time.monotonic(), 0.0

    def beat(self) -> None:
        """Give a sign of life."""
        now_s = time.monotonic()
        self._longest_s, self._last_s = max(self._longest_s, now_s - self._last_s), now_s

    def pass_over(self) -> None:
        """Give a sign of life without counting the time since the last one: nobody knows how long that may take."""
        self._last_s = time.monotonic()

    def leave_out(self, stopped_s: float) -> None:
        """Leave out seconds in which the whole process was stopped, as by SIGSTOP."""
        self._last_s = min(self._last_s + stopped_s, time.monotonic())

    @property
    def idle_s(self) -> float:
        """Seconds since the last sign of life."""
        return time.monotonic() - self._last_s

    def take_longest_s(self) -> float:
        """Return the most seconds without a sign of life since this was last asked."""
        self.beat()
        longest_s, self._longest_s = self._longest_s, 0.0
        return longest_s


class AttemptProcess:
    """This process' part of an attempt: how far it is, and what it says of itself."""

    def __init__(self, folder: Path) -> None:
        (folder / "pids").mkdir(parents=True, exist_ok=True)
        self._folder, self._rank, self._pid = folder, int(os.environ.get("RANK", "0")), os.getpid()
        self._launcher = os.getppid() if "TORCHELASTIC_RUN_ID" in os.environ else 0
        seconds = float(os.environ.get("HOLDFAST_TIMEOUT") or "inf")
        self._until_s = time.monotonic() + seconds + LEASE_S
        self._abandoned_s: float | None = None  # since when
        self.sent = ""  # why this process has sent itself a signal that it has not heard yet
        self.stop: StopRequest | None = None
        self._file = open_private(folder / "events.jsonl")
        self._log = EventLog() if os.environ.get("HOLDFAST_EVENTS") == "log" and not self._rank else None
        self._requests = dict(REQUESTS) if os.environ.get("HOLDFAST_EVENTS") == "log" else {}  # not obeyed yet
        self._over = threading.Event()
        self.resume = os.environ.get("HOLDFAST_RESUME", "")  # the next training continues from it
        self.resumes: Path | None = None  # the training that begins does
        self._secrets = secret_values(os.environ)
        self.pulse = Pulse()
        self.first = True  # the next step is the first of an epoch: it compiles, and starts loader workers
        self.trains = False
        self.leaves = False  # no other step follows
        self.calls_back = False  # a callback of the user's, or of a tracker, runs
        self._saves = False  # a model is being saved, or a copy of it for an upload
        self._phase = "import"  # then load, train, evaluate, save, finish
        self.step: int | None = None  # none before a trainer trains
        self.max_steps: int | None = None
        self.ending = ScriptEnding("finished", "finished", "the script ended")  # if it ended now

    @property
    def phase(self) -> str:
        """What the script does."""
        return self._phase

    @phase.setter
    def phase(self, phase: str) -> None:
        self._phase = phase
        self.pulse.beat()

    @property
    def activity(self) -> str:
        """What the script does, with the steps apart: the first of an epoch, others, and what comes after the last.

        What runs once, or seldom, has a name of its own, so that it is not taken for a long step or a long evaluation of the training.
        """
        if self.calls_back:
            return "callback"
        if not self.trains and self._phase in ("evaluate", "save"):
            return "finish"
        if self._phase != "train":
            return self._phase
        return "finish" if self.leaves else "first-step" if self.first else "step"

    def register(self) -> None:
        """Give a stack on SIGUSR1 and signs of life; last of all say who this process is, now that it can be asked."""
        name = f"stacks-{self._rank}.txt" if self._rank else "stacks.txt"  # a file each, or stacks would mix
        stacks = os.fdopen(open_private(self._folder / name), "a")
        # The main thread's alone: to walk the stacks of threads that run meanwhile ends a healthy process by SIGSEGV.
        faulthandler.register(signal.SIGUSR1, file=stacks, all_threads=False, chain=False)
        threading.Thread(target=self._beat, name="holdfast-heartbeat", daemon=True).start()
        if self._launcher:
            record = functools.partial(self._record_collectives, stacks)
            threading.Thread(target=record, name="holdfast-collectives", daemon=True).start()
        if self._requests:
            threading.Thread(target=self._look_for_requests, name="holdfast-requests", daemon=True).start()
        named = self._folder / "pids" / f"rank-{self._rank}"
        named.unlink(missing_ok=True)
        with os.fdopen(open_private(named), "w") as file:
            file.write(str(self._pid))

    def run(self, name: str, source: str, space: dict[str, Any], module: str = "") -> Any:
        """Run the script to its end, whatever that is, and return what to exit with."""
        code: Any = None
        where = None
        try:
            execute(name, source, space, module)
        except SystemExit as leave:
            code, where = leave.code, self._note_exit(leave, space)
        except BaseException as error:  # noqa: BLE001 - reported and shown, as the interpreter would
            self.fail(error)
            code, where = 1, show_error(error, space["__file__"])
        if self.ending.status == "failed" and not code:
            sys.stderr.write(f"holdfast: {self.ending.because}\n")  # the script went on as if nothing had been
        self.end(where)
        return {"finished": code, "failed": code or 1, "stopped": STOPPED}[self.ending.status]

    def _note_exit(self, leave: SystemExit, space: dict[str, Any]) -> str | None:
        """Hold an exit that reports a failure for the end; return the line of the script that asked for it."""
        if not leave.code or self.ending.status != "finished":
            return None
        self.ending = ScriptEnding("failed", "exit", f"sys.exit({leave.code!r})")
        return last_line(leave.__traceback__, space["__file__"])

    def fail(self, error: BaseException) -> None:
        """Hold an exception for the end, unless something follows."""
        self.ending = ScriptEnding("failed", "exception", f"{type(error).__name__}: {error}"[:2000])

    def write(self, event: str, **fields: Any) -> None:
        """Append one event; in a single write, so that threads do not mix and a kill loses nothing said before."""
        if self._rank or os.getpid() != self._pid:  # a forked child is not the attempt
            return
        record = {"schema": 1, "event": event, "at": time.time(), "rank": 0, "step": self.step, **fields}
        line = self._secrets.sub("[redacted]", json.dumps(record, allow_nan=False))
        writes: list[Callable[[str], object]] = [lambda line: os.write(self._file, line.encode() + b"\n")]
        writes += [self._log.write] if self._log else []
        failures = []
        for write in writes:  # each by itself: the log may be on another disk than the file
            try:
                write(line)
            except OSError as error:  # a full disk is no reason to stop training
                failures.append(error.strerror)
        if len(failures) == len(writes):
            with suppress(OSError):
                sys.stderr.write(f"holdfast: an event is lost: {failures[0]}\n")

    def save(self, folder: Path, save: Callable[[], Any], *, step: int | None, world_size: int = 1) -> Any:
        """Save a model into a folder; seal and report it, unless it is a part of another save."""
        if self._saves or self.phase == "save" or self._rank:  # a checkpoint is sealed when all of it is there
            return save()
        if folder.is_dir():
            (folder / MANIFEST).unlink(missing_ok=True)  # what is being written over is not whole
        before = stamps_of(folder)
        answer = self.save_unseen(save)
        if written := [path for path, stamp in stamps_of(folder).items() if before.get(path) != stamp]:
            size = seal(folder, written, step=step or 0, world_size=world_size)
            if folder.suffix != PARTIAL:
                self.write("model", path=str(folder.absolute()), inside=path_in_run(folder), bytes=size)
        return answer

    def save_unseen(self, save: Callable[[], Any]) -> Any:
        """Save a model without a report of it."""
        before, self._saves = self._saves, True
        try:
            return save()
        finally:
            self._saves = before

    def end(self, where: str | None = None) -> None:
        """Write the last event, once."""
        if not self._over.is_set():
            self._over.set()
            self.write("end", max_steps=self.max_steps, **self.ending._asdict(), where=where)
            if self._launcher and os.getpid() == self._pid:
                last = {"at": time.time(), "step": self.step, **self.ending._asdict(), "where": where}
                self._put("end", self._secrets.sub("[redacted]", json.dumps(last)))

    def _beat(self) -> None:
        last_s = time.monotonic()
        while not self._over.wait(HEARTBEAT_S):
            late_s, last_s = time.monotonic() - last_s - HEARTBEAT_S, time.monotonic()
            if late_s > HEARTBEAT_S:  # this thread did not run either
                self.pulse.leave_out(late_s)
            doing = {"phase": self.phase, "activity": self.activity, "idle_s": self.pulse.idle_s}
            self.write("heartbeat", max_steps=self.max_steps, **doing)
            self._leave_if_abandoned()

    @property
    def abandoned(self) -> str:
        """Why this process is no longer supervised; empty if it is.

        Nothing would end the other ranks if their launcher died and one of them failed; nothing ends a training whose supervisor is gone.
        """
        if self._launcher and os.getppid() != self._launcher:
            return "launcher-died"
        return "timeout" if time.monotonic() > self._until_s else ""

    def _leave_if_abandoned(self) -> None:
        """Save and leave, unless this process is supervised, or no stop can be asked of it yet."""
        if self.stop is not None and self.abandoned:
            self._leave(self.stop)

    def _leave(self, stop: "StopRequest") -> None:
        """Save and leave, since this process is no longer supervised; leave without that if it takes too long.

        A stop that is under way goes on as it is. A script whose training is over is left to save, merge or push its model.
        """
        if self._abandoned_s is None and not stop.is_heard:
            self.sent = self.abandoned
            os.kill(self._pid, signal.SIGTERM)
        if self._abandoned_s is None or stop.trained:
            self._abandoned_s = time.monotonic()
        elif time.monotonic() - self._abandoned_s > ABANDONED_S:
            self._exit(stop)

    def _exit(self, stop: "StopRequest") -> None:
        """End this process at once, because it did not stop in time."""
        did = "did not stop"
        self.ending = abandoned(self.sent, did) if self.sent else stop.ending(did)
        self.end()
        os._exit(STOPPED)

    def _record_collectives(self, stacks: Any) -> None:
        """Whenever stacks were written, write down what this rank does with the others, too."""
        size = os.fstat(stacks.fileno()).st_size
        while not self._over.wait(LOOK_S):
            grown = os.fstat(stacks.fileno()).st_size
            if grown != size and (newest := newest_collectives()):
                self._put("collectives", json.dumps(newest))
            size = grown

    def _put(self, name: str, text: str) -> None:
        """Write a file of this rank, whole."""
        with suppress(OSError):
            (self._folder / "ranks").mkdir(exist_ok=True)
            path = self._folder / "ranks" / f"{name}-{self._rank}.json"
            path.with_suffix(".partial").unlink(missing_ok=True)
            with os.fdopen(open_private(path.with_suffix(".partial")), "w") as file:
                file.write(text)
            path.with_suffix(".partial").replace(path)

    def _look_for_requests(self) -> None:
        """Send this process the signal of each request, once: its file may be in the folder for good."""
        while self._requests and not self._over.wait(LOOK_S):
            for name in [each for each in self._requests if (self._folder / each).exists()]:
                os.kill(self._pid, self._requests.pop(name))


class StopRequest:
    """A request to stop: obeyed at once, but in `training` only when the loop has saved and asks.

    Once a training has come to its end (`trained`), the script is left to save its model, and to end by itself.
    """

    def __init__(self, attempt: AttemptProcess) -> None:
        self._attempt, self._number, self._heard_s = attempt, 0, 0.0
        attempt.stop = self
        self._failed = False  # no signal makes a stop of that
        self.training = self.trained = False
        self.listen()
        # Workers of data loaders and of `map` are ended by the signals whose handlers they inherit.
        os.register_at_fork(after_in_child=self._forget)

    @property
    def is_heard(self) -> bool:
        """Whether a stop is under way."""
        return bool(self._number)

    def ending(self, did: str) -> ScriptEnding:
        """Return the ending of a process that was asked to stop: by whom, and what it did if that was itself."""
        own = next((reason for reason, number in OWN_REQUESTS.items() if number == self._number), "")
        if own:
            return abandoned(own, did)
        return ScriptEnding("stopped", "signal", signal.Signals(self._number).name)

    def listen(self) -> None:
        """Take SIGTERM, and SIGINT, which what a shell starts in the background is born ignoring."""
        signal.signal(signal.SIGTERM, self._hear)
        signal.signal(signal.SIGINT, self._hear)

    def agreed(self, device: Any) -> bool:
        """Whether any rank was asked to stop. All ranks must call this together, and none returns before all did."""
        heard = largest_of_ranks(self._number, device)
        if heard and not self._number:
            self._number, self._heard_s = heard, time.monotonic()
        return bool(self._number)

    def leave(self) -> None:
        """End the process in order, as one that was stopped."""
        self._heard_s = time.monotonic()  # torchrun ends the ranks that have not left when the first one has
        self._attempt.ending = self.ending("saved and left")
        raise SystemExit(STOPPED)

    def fail(self, ending: ScriptEnding) -> None:
        """End the process in order, as one that failed, when all ranks do so."""
        self._attempt.ending, self._failed = ending, True
        self._number = (
            self._number or signal.SIGTERM
        )  # torchrun sends it to the ranks that have not left when the first one has
        self._heard_s = time.monotonic()
        raise SystemExit(1)

    def _hear(self, number: int, _frame: types.FrameType | None) -> None:
        own, self._attempt.sent = self._attempt.sent, ""  # which is no second wish of a person's
        if self._number and not own and time.monotonic() - self._heard_s > ECHO_S:
            if not self._failed:
                self._attempt.ending = ScriptEnding("stopped", "signal", f"{signal.Signals(number).name}, the second")
            self._attempt.end()
            os._exit(1 if self._failed else STOPPED)
        if not self._number:
            self._number, self._heard_s = OWN_REQUESTS.get(own, number), time.monotonic()
            if not (self.training or self.trained):
                self.leave()

    def _forget(self) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)


def largest_of_ranks(number: int, device: Any) -> int:
    """Return the largest of the numbers of all ranks, each of which must call this; none returns before all did."""
    torch, dist = sys.modules["torch"], sys.modules["torch"].distributed
    if not (dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1):
        return number
    place = "cpu" if "gloo" in dist.get_backend_config() else device
    largest = torch.tensor([number], dtype=torch.int32, device=place)
    dist.all_reduce(largest, op=dist.ReduceOp.MAX)
    return int(largest.item())


class TrainerWatch:
    """The callback of one trainer: tells its progress, seals its checkpoints, stops it when asked."""

    def __init__(
        self,
        trainer: Any,
        attempt: AttemptProcess,
        stop: StopRequest,
        pushes: list[Callable[[], None]],
        rotations: list[Callable[[], None]],
    ) -> None:
        self._trainer, self._attempt, self._stop = trainer, attempt, stop
        self._pushes, self._rotations = pushes, rotations
        self._mark_s = 0.0  # when the last step, evaluation or save was over
        self._waiting: dict[str, Any] | None = None  # a step whose loss the trainer is about to log
        self._logged: dict[str, Any] = {}
        self._epoch_began, self._saved = 0, -1  # steps
        self._finite = True  # the gradients that were logged last
        self._highest, self._above = math.inf, 0  # the highest loss, and how many in a row are above it now
        self._failed_pushes: set[int] = set()  # those that were reported
        self._settings: dict[str, Any] = {}  # that checkpoints are saved with

    def on_train_begin(
        self, args: Any, state: Any, _control: Any, model: Any = None, optimizer: Any = None, **_: Any
    ) -> None:
        """Report the training that begins: its configuration, model and hardware; end it if its checkpoint had other settings."""
        handler = self._trainer.callback_handler
        # Last, so that manifests cover what other callbacks save; in a new list, since the old one is being walked.
        handler.callbacks = [*(other for other in handler.callbacks if other is not self), self]
        if state.global_step >= state.max_steps:  # resumed at its last step; transformers would train one more
            self._trainer._run_epoch = self._end_training  # noqa: SLF001 - there is no public way to train no step
        self._stop.training, self._stop.trained, self._attempt.phase = True, False, "train"
        # Unless it comes to on_train_end:
        self._attempt.ending = ScriptEnding("failed", "left-training", "the script left amid training")
        self._attempt.step, self._attempt.max_steps = state.global_step, state.max_steps
        self._attempt.write("start", max_steps=state.max_steps, pid=os.getpid(), **describe_training(args, model))
        if args.process_index == 0:  # it alone writes manifests
            self._settings = describe_settings(args, state.max_steps, optimizer, self._trainer.train_dataset)
        if self._attempt.resumes and os.environ.get("HOLDFAST_BASE"):
            forget_best(state, Path(args.output_dir))
        self._compare_with_checkpoint(args)
        self._attempt.first, self._attempt.leaves, self._attempt.trains = True, False, True
        self._attempt.pulse.take_longest_s()
        self._lap()

    def _compare_with_checkpoint(self, args: Any) -> None:
        """Report how the settings differ from those of the checkpoint that training resumes from; end all ranks if nobody accepted that."""
        checkpoint, self._attempt.resumes = self._attempt.resumes, None
        if ignored := self._attempt.resume:
            self._attempt.write("resume", checkpoint=ignored, verdict="ignored", changes=[])
        refused = self._refused_changes(checkpoint) if checkpoint and args.process_index == 0 else []
        if largest_of_ranks(int(bool(refused)), args.device):
            named = "; ".join(f"{each['key']} {each['before']}, now {each['after']}" for each in refused)
            because = f"the checkpoint was saved with other settings: {named or 'as rank 0 found'}"
            self._stop.fail(ScriptEnding("failed", "settings-changed", because[:2000]))

    def _refused_changes(self, checkpoint: Path) -> list[dict[str, Any]]:
        """Report how the settings differ from those of a checkpoint; return what nobody accepted."""
        saved, accepted = saved_settings(checkpoint), json.loads(os.environ.get("HOLDFAST_ACCEPTED") or "{}")
        changes = changed_settings(saved, self._settings)
        refused = [] if accepted is True else [each for each in changes if not is_accepted(each, accepted)]
        verdict = "refused" if refused else "accepted" if changes else "same" if saved else "unknown"
        self._attempt.write("resume", checkpoint=str(checkpoint), verdict=verdict, changes=changes)
        return refused

    def on_epoch_begin(self, _args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Remember where the epoch began."""
        self._epoch_began, self._attempt.first = state.global_step, True
        self._attempt.pulse.beat()

    def on_epoch_end(self, _args: Any, state: Any, control: Any, **_: Any) -> None:
        """Expect the first step of another epoch, or the end."""
        end_callbacks(self._attempt)
        self._attempt.first = True
        self._live(state, control)

    def on_substep_end(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Give a sign of life: a batch of an accumulated step is done."""
        self._attempt.pulse.beat()

    def on_prediction_step(self, _args: Any, _state: Any, _control: Any, **_: Any) -> None:
        """Give a sign of life: a batch of an evaluation is done."""
        self._attempt.pulse.beat()

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Tell the step; if the trainer is about to log, together with what it logs."""
        end_callbacks(self._attempt)
        self._report_step()
        self._report_failed_pushes()
        self._attempt.step = state.global_step
        tokens = state.num_input_tokens_seen or None  # TRL logs them instead
        self._waiting = {"max_steps": state.max_steps, "epoch": state.epoch, "elapsed_s": self._lap(), "tokens": tokens}
        self._waiting["activity"], self._attempt.first = "first-step" if self._attempt.first else "step", False
        self._live(state, control)
        if state.global_step >= state.max_steps:
            control.should_log = True  # or a training of few steps would end without a figure
        if not control.should_log:
            self._report_step()
        if self._stop.agreed(args.device):
            control.should_save = True
            if args.save_strategy == "best":  # which drops a save after an evaluation that was no better
                args.save_strategy = "steps"

    def on_log(self, _args: Any, _state: Any, _control: Any, logs: Mapping[str, Any], **_: Any) -> None:
        """Complete the step that waits for its loss."""
        end_callbacks(self._attempt)
        self._logged |= logs
        if self._waiting:
            self._report_step()
        self._lap()

    def on_evaluate(self, _args: Any, state: Any, control: Any, metrics: Mapping[str, Any], **_: Any) -> None:
        """Tell an evaluation's metrics."""
        end_callbacks(self._attempt)
        figures, lost = split_nonfinite(metrics)
        took_s = next((value for name, value in figures.items() if name.endswith("_runtime")), None)
        idle_s = self._attempt.pulse.take_longest_s()
        self._attempt.write(
            "evaluate", step=state.global_step, metrics=figures, nan=lost, elapsed_s=took_s, idle_s=idle_s
        )
        self._logged.clear()
        self._live(state, control)
        self._lap()

    def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Seal the checkpoint when every rank has written its part; only then may older ones go."""
        end_callbacks(self._attempt)
        leaving = self._stop.agreed(args.device)
        folder = Path(args.output_dir, f"checkpoint-{state.global_step}").absolute()
        size = self._seal_checkpoint(folder, args, state) if args.process_index == 0 and folder.is_dir() else 0
        self._catch_up()
        self._saved = state.global_step
        if leaving and state.global_step < state.max_steps:
            self._stop.agreed(args.device)  # or torchrun ends rank 0 before its manifest, because another left
            self._stop.leave()
        is_last = control.should_training_stop or state.global_step >= state.max_steps or args.save_strategy == "best"
        self._leave_full_disk(folder, size, args.device, is_last=is_last)  # with "best", another one may never follow

    def _seal_checkpoint(self, folder: Path, args: Any, state: Any) -> int:
        """Write the manifest of a checkpoint, and report it; return its bytes."""
        before, self._attempt.phase = self._attempt.phase, "save"
        described = {"step": state.global_step, "world_size": args.world_size, "settings": self._settings}
        size = seal(folder, stamps_of(folder), **described)
        self._attempt.phase, idle_s = before, self._attempt.pulse.take_longest_s()
        kept = sum(1 for each in folder.parent.glob("checkpoint-*") if each.is_dir())
        saved = {"path": str(folder), "bytes": size, "free_bytes": free_bytes(folder), "kept": kept}
        self._attempt.write("checkpoint", **saved, elapsed_s=self._lap(), idle_s=idle_s)
        return size

    def _catch_up(self) -> None:
        """Do what was put off until the checkpoint had its manifest: uploads, and deletions of older ones."""
        while self._pushes:
            self._pushes.pop(0)()
        while self._rotations:
            rotate = self._rotations.pop()
            # Or the last checkpoints with good weights would make room for those without.
            if self._finite and not self._above:
                rotate()

    def _leave_full_disk(self, folder: Path, size: int, device: Any, *, is_last: bool) -> None:
        """End the training if the next checkpoint, as large as the last one, cannot fit: now nothing is lost, and then the steps between are."""
        free = free_bytes(folder.parent) if size and not is_last else None
        lacks = free is not None and free < size
        if largest_of_ranks(int(lacks), device):
            room = (
                f"it needs {size / 1e9:.3g} GB, and {(free or 0) / 1e9:.3g} GB are free" if lacks else "as rank 0 found"
            )
            because = f"the next checkpoint does not fit on the disk: {room}"
            self._stop.fail(ScriptEnding("failed", "disk-full", because))

    def on_push_begin(self, args: Any, state: Any, _control: Any, **_: Any) -> None:
        """Report that an upload begins, of what, and where to. transformers does not report that it fails."""
        where = {"repository": self._trainer.hub_model_id, "revision": getattr(args, "hub_revision", None)}
        self._attempt.write("push", step=state.global_step, folder=str(Path(args.output_dir).absolute()), **where)

    def _report_failed_pushes(self) -> None:
        """Tell of uploads in the background that failed; transformers never looks at them."""
        for job in getattr(getattr(self._trainer, "push_in_progress", None), "jobs", None) or ():
            error = job.exception() if job.done() and not job.cancelled() else None
            if error is not None and id(job) not in self._failed_pushes:
                self._failed_pushes.add(id(job))
                self._attempt.write("push_failed", because=f"{type(error).__name__}: {error}"[:500])

    def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Judge how training ended; stop here if that was asked in the meantime, training is not over, and nothing would be lost."""
        end_callbacks(self._attempt)
        self._report_step()
        self._report_failed_pushes()
        stops = control.should_training_stop or control.should_epoch_stop
        stopping = stops and state.global_step > self._epoch_began
        self._attempt.ending = judge(state.global_step, state.max_steps, told_to_stop=stopping)
        vars(self._trainer).pop("_run_epoch", None)
        self._report_best(args, state)
        self._stop.trained = self._attempt.ending.status == "finished"
        if self._stop.agreed(args.device) and self._saved == state.global_step and not self._stop.trained:
            self._stop.leave()

    def _report_best(self, args: Any, state: Any) -> None:
        """Report the checkpoint that is loaded at the end, with its metric; None if that is not finite."""
        if args.load_best_model_at_end and state.best_model_checkpoint:
            figures, _ = split_nonfinite({"value": state.best_metric})
            checkpoint, metric = str(state.best_model_checkpoint), str(args.metric_for_best_model)
            self._attempt.write("best", checkpoint=checkpoint, metric=metric, value=figures.get("value"))

    def _report_step(self) -> None:
        if self._waiting:
            figures, lost = split_nonfinite(self._logged)
            own = {name: figures.pop(name, None) for name in ("loss", "grad_norm", "learning_rate")}
            if "grad_norm" in self._logged:
                self._finite = own["grad_norm"] is not None
            self._note_loss(own["loss"])
            own["tokens"] = self._waiting.pop("tokens") or int(figures.get("num_tokens") or 0) or None
            cuda, rss = sys.modules["torch"].cuda, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
            own["memory_bytes"] = cuda.max_memory_allocated() if cuda.is_initialized() else rss
            self._waiting["idle_s"] = self._attempt.pulse.take_longest_s()
            self._attempt.write("step", **self._waiting, **own, metrics=figures, nan=lost)
            self._waiting, self._logged = None, {}

    def _note_loss(self, loss: float | None) -> None:
        """Count the losses in a row that are above all before them: perhaps a spike spoils the weights. Many are the usual ones."""
        if not loss or not os.environ.get("HOLDFAST_SPIKES"):
            return
        self._above = self._above + 1 if loss > self._highest else 0
        if not self._above or self._above > HELD_LOSSES:
            self._highest = loss if math.isinf(self._highest) else max(self._highest, loss)
            self._above = 0

    def _live(self, state: Any, control: Any) -> None:
        """Give a sign of life, and note whether the training is over: what follows is no step."""
        self._attempt.leaves = control.should_training_stop or state.global_step >= state.max_steps
        self._attempt.pulse.beat()

    def _end_training(self, **_: Any) -> None:
        self._trainer.control.should_training_stop = True

    def _lap(self) -> float:
        """Return the seconds since the last mark, and set the mark anew."""
        before, self._mark_s = self._mark_s, time.perf_counter()
        return self._mark_s - before


class TrainerPatches:
    """What all trainers do beside their own from the moment `transformers.trainer` is imported."""

    def __init__(self, module: Any, attempt: AttemptProcess, stop: StopRequest) -> None:
        self._attempt, self._stop, attempt.phase = attempt, stop, "load"
        self._skipped = parse_steps(os.environ.get("HOLDFAST_SKIP", ""))
        self._pushes: list[Callable[[], None]] = []  # uploads of checkpoints, until their manifests are written
        self._rotations: list[Callable[[], None]] = []  # deletions of checkpoints, until the newest one is whole
        self._callback = type("HoldfastCallback", (TrainerWatch, module.TrainerCallback), {})
        wrap(module.Trainer, "__init__", self._init)
        wrap(module.Trainer, "train", self._train)
        wrap(module.Trainer, "save_model", self._save_model)
        wrap(module.Trainer, "_save", save_without_token)
        wrap(module.Trainer, "_save_checkpoint", functools.partial(self._during, "save"))
        wrap(module.Trainer, "evaluate", functools.partial(self._during, "evaluate"))
        if hasattr(module, "CallbackHandler"):
            wrap(module.CallbackHandler, "call_event", self._call_event)
        if self._skipped:
            wrap(module.Trainer, "training_step", self._training_step)
        for owner, name in ((module, "rotate_checkpoints"), (module.Trainer, "_rotate_checkpoints")):
            if hasattr(owner, name):  # the former since transformers 5
                wrap(owner, name, functools.partial(self._put_off, self._rotations))
        if hasattr(module.Trainer, "_push_from_checkpoint"):
            wrap(module.Trainer, "_push_from_checkpoint", functools.partial(self._put_off, self._pushes))

    def _init(self, init: Any, trainer: Any, *args: Any, **kwargs: Any) -> None:
        for each in (*args, *kwargs.values()):
            keep_output(getattr(each, "output_dir", None))
        init(trainer, *args, **kwargs)
        trainer.add_callback(self._callback(trainer, self._attempt, self._stop, self._pushes, self._rotations))
        if getattr(trainer.args, "enable_jit_checkpoint", False):
            self._stop.listen()  # transformers took SIGTERM for a save of its own, after which the script goes on

    def _train(self, train: Any, trainer: Any, resume_from_checkpoint: Any = None, *args: Any, **kwargs: Any) -> Any:
        if self._attempt.resume and resume_from_checkpoint in (None, True, False):
            resume, own = Path(self._attempt.resume).resolve(), Path(trainer.args.output_dir).resolve()
            # In a script that trains twice, a trainer with checkpoints of its own is not the one that stopped.
            if os.environ.get("HOLDFAST_BASE") or resume.parent == own or not any(own.glob("checkpoint-*")):
                resume_from_checkpoint = str(resume)
        if is_requested(resume_from_checkpoint):
            self._attempt.resumes, self._attempt.resume = Path(resume_from_checkpoint), ""
        try:
            with Reporting(self._attempt.fail):  # even if the script catches it and goes on
                return train(trainer, resume_from_checkpoint, *args, **kwargs)
        finally:
            self._stop.training, self._attempt.trains, self._attempt.phase = False, False, "finish"
            self._attempt.resumes = None

    def _training_step(self, train: Any, trainer: Any, *args: Any, **kwargs: Any) -> Any:
        step = trainer.state.global_step + 1
        if not any(first <= step <= last for first, last in self._skipped):
            return train(trainer, *args, **kwargs)
        return sys.modules["torch"].zeros(
            (), device=trainer.args.device
        )  # without a gradient, the optimizer changes nothing

    def _save_model(self, save: Any, trainer: Any, output_dir: Any = None, *args: Any, **kwargs: Any) -> None:
        folder = Path(output_dir or trainer.args.output_dir)
        save = functools.partial(save, trainer, output_dir, *args, **kwargs)
        self._attempt.save(folder, save, step=trainer.state.global_step, world_size=trainer.args.world_size)

    def _during(self, phase: str, original: Any, *args: Any, **kwargs: Any) -> Any:
        before, self._attempt.phase = self._attempt.phase, phase
        try:
            return original(*args, **kwargs)
        finally:
            self._attempt.phase = before

    def _call_event(self, call: Any, *args: Any, **kwargs: Any) -> Any:
        self._attempt.pulse.beat()
        self._attempt.calls_back = True
        try:
            return call(*args, **kwargs)
        finally:
            end_callbacks(self._attempt)

    def _put_off(self, to: list[Callable[[], None]], call: Any, *args: Any, **kwargs: Any) -> None:
        """Put off what `Trainer` does with a checkpoint before its callbacks have seen it, and so before it has a manifest."""
        to.append(functools.partial(call, *args, **kwargs))


def watch_saves(owner: Any, attempt: AttemptProcess) -> None:
    """Have what a class of models saves sealed and reported; not what `push_to_hub` saves for its upload, which is gone afterwards."""

    def save(original: Any, model: Any, save_directory: Any, *args: Any, **kwargs: Any) -> Any:
        call = functools.partial(original, model, save_directory, *args, **kwargs)
        return attempt.save(Path(save_directory), call, step=attempt.step)

    def push(original: Any, *args: Any, **kwargs: Any) -> Any:
        return attempt.save_unseen(functools.partial(original, *args, **kwargs))

    wrap(owner, "save_pretrained", save)
    wrap(owner, "push_to_hub", push)


def path_in_run(folder: Path) -> str | None:
    """Return the path of a folder in the run's folder; None if it is not in there."""
    here, run = folder.resolve(), os.environ.get("HOLDFAST_RUN")
    if not run or not here.is_relative_to(Path(run).resolve()):
        return None
    return here.relative_to(Path(run).resolve()).as_posix()


def end_callbacks(attempt: AttemptProcess) -> None:
    """Note that other callbacks have run: ours is the last one. They may do anything, such as generate for minutes after each epoch."""
    if attempt.calls_back:
        attempt.calls_back = False
        attempt.pulse.pass_over()


def parse_steps(text: str) -> list[tuple[int, int]]:
    """Return the first and the last step of each range: `9-9,20-24`."""
    ranges = [each.split("-") for each in text.split(",") if each]
    return [(int(first), int(last)) for first, last in ranges]


def save_without_token(save: Any, trainer: Any, *args: Any, **kwargs: Any) -> None:
    """Save a model whose `training_args.bin` holds no token: folders of models are shared, and pushed."""
    settings = getattr(trainer.args, "__dict__", {})
    places = [(settings, "hub_token"), *((value, "token") for value in settings.values() if isinstance(value, dict))]
    tokens = [(place, name, place[name]) for place, name in places if place.get(name)]
    for place, name, _ in tokens:
        place[name] = None
    try:
        save(trainer, *args, **kwargs)
    finally:
        for place, name, token in tokens:
            place[name] = token


class Reporting:
    """Calls a function with what the block raises, which goes on its way; of code that may raise anything."""

    def __init__(self, report: Callable[[Exception], object]) -> None:
        self._report = report

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Report an exception; Ctrl-C and the end of the program are none."""
        if isinstance(error, Exception):
            self._report(error)


def when_imported(name: str, then: Callable[[Any], object]) -> None:
    """Have `then` called with a module as soon as something has imported it: now, if that has happened."""
    if name in sys.modules:
        then(sys.modules[name])
        return

    def find_spec(wanted: str, path: Any = None, target: Any = None) -> Any:
        if wanted != name or finder.looks:  # another that waits for the same module asks this one in turn
            return None
        finder.looks = True
        found = (other.find_spec(name, path, target) for other in sys.meta_path if other is not finder)
        try:
            spec = next(filter(None, found), None)
        finally:
            finder.looks = False
        if spec and spec.loader:
            wrap(spec.loader, "exec_module", lambda load, module: then(load(module) or module))
        return spec

    finder: Any = types.SimpleNamespace(find_spec=find_spec, looks=False)
    sys.meta_path.insert(0, finder)


def wrap(owner: Any, name: str, around: Callable[..., Any]) -> None:
    """Have `around` called in place of a function, with the function before its arguments."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        return around(original, *args, **kwargs)

    setattr(owner, name, wrapped)


def show_error(error: BaseException, script: str) -> str | None:
    """Show an exception as the interpreter would, without the frames of this file that lead into the script; return its line there."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename == execute.__code__.co_filename:
        trace = trace.tb_next
    where = last_line(trace, script)
    # The interpreter's own hook would look for the script's lines on disk alone.
    show = traceback.print_exception if sys.excepthook is sys.__excepthook__ else sys.excepthook
    show(type(error), error.with_traceback(trace), trace)
    return where


def last_line(trace: types.TracebackType | None, script: str) -> str | None:
    """Return the innermost line of a script in a traceback, as `train.py:12`."""
    lines = [f"{file}:{line}" for file, line, *_ in traceback.extract_tb(trace) if file == script]
    return lines[-1] if lines else None


def judge(step: int, max_steps: int, *, told_to_stop: bool) -> ScriptEnding:
    """Return the ending of a training that no error ended."""
    if step >= max_steps:
        return ScriptEnding("finished", "finished", "reached max_steps")
    if told_to_stop:
        return ScriptEnding("finished", "finished", f"a callback stopped training at step {step}")
    return ScriptEnding("failed", "data-exhausted", f"the data ran out at step {step} of {max_steps}")


def stamps_of(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return when each file of a model or checkpoint was written (ns), and its bytes."""
    stamps = {}  # not of what else an output folder holds: checkpoints, and in `runs` TensorBoard's growing logs
    for path in sorted(folder.rglob("*")):
        top = path.relative_to(folder).parts[0]
        with suppress(FileNotFoundError):  # somebody's temporary file
            if path.is_file() and top not in ("runs", MANIFEST) and not top.startswith("checkpoint-"):
                stamps[path] = (path.stat().st_mtime_ns, path.stat().st_size)
    return stamps


def free_bytes(folder: Path) -> int | None:
    """Return the space that is free on the disk of a folder; None if its file system does not tell, as some that are mounted over a network."""
    with suppress(OSError):
        usage = shutil.disk_usage(folder)
        return usage.free if usage.total else None
    return None


def seal(
    folder: Path, files: Iterable[Path], *, step: int, world_size: int, settings: Mapping[str, Any] | None = None
) -> int:
    """Make files durable, then write their sizes and hashes into the folder's manifest; return their bytes in all."""
    entries: dict[str, dict[str, Any]] = {}
    for path in files:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
            entries[path.relative_to(folder).as_posix()] = {"bytes": file.tell(), "sha256": digest}
    manifest = {"schema": 1, "step": step, "world_size": world_size, "files": entries}
    manifest |= {"settings": settings} if settings else {}
    partial = folder / f"_{MANIFEST}.partial"  # uploads to the Hub leave out such names
    with partial.open("w") as file:
        json.dump(manifest, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(folder / MANIFEST)
    return sum(each["bytes"] for each in entries.values())


def count_weights(parameter: Any) -> int:
    """Return the weights of a parameter, as peft counts them: bitsandbytes packs two weights of 4 bits into a byte."""
    packed = type(parameter).__name__ == "Params4bit"
    return int(parameter.numel() * (2 * parameter.element_size() if packed else 1))


def describe_training(args: Any, model: Any) -> dict[str, Any]:
    """Return the facts that a reader of the events needs once: configuration, model, versions, hardware."""
    parameters = list(model.parameters())
    versions = {name: sys.modules[name].__version__ for name in LIBRARIES if name in sys.modules}
    return {
        "config": plain(args.to_dict()),
        "model": type(model).__name__,
        "base": name_base(model),
        "parameters": sum(count_weights(each) for each in parameters),
        "trainable": sum(each.numel() for each in parameters if each.requires_grad),
        "versions": {"python": sys.version.split()[0], **versions},
        "world_size": args.world_size,
        "hardware": name_devices(args),
        "allocator": next((os.environ[name] for name in ALLOCATORS if name in os.environ), ""),
        "data": read_account(),
    }


def forget_best(state: Any, output: Path) -> None:
    """Forget the best checkpoint of another run, whose folder may be gone: a training ends with the best of its own."""
    best = state.best_model_checkpoint
    if best is None or Path(best).resolve().parent != output.resolve():
        state.best_metric = state.best_global_step = state.best_model_checkpoint = None


def is_requested(resume_from_checkpoint: Any) -> bool:
    """Whether a trainer continues from the checkpoint that the attempt was given: some scripts pass it on themselves."""
    requested = os.environ.get("HOLDFAST_RESUME", "")
    if not requested or not isinstance(resume_from_checkpoint, (str, os.PathLike)):
        return False
    return Path(resume_from_checkpoint).resolve() == Path(requested).resolve()


def describe_settings(args: Any, max_steps: int, optimizer: Any, dataset: Any) -> dict[str, Any]:
    """Return the settings that a checkpoint is saved with: what cannot be told of a training is left out."""
    config = plain(args.to_dict())
    own = {name: config[name] for name in RESTORED if name in config}
    kind = type(getattr(optimizer, "optimizer", optimizer)).__name__  # accelerate wraps it
    versions = {name: module.__version__.partition("+")[0] for name in LIBRARIES if (module := sys.modules.get(name))}
    data = fingerprint_rows(dataset)
    settings = {**own, "optimizer": kind, "max_steps": max_steps, **({"data": data} if data else {}), **versions}
    return dict(json.loads(json.dumps(settings)))


def fingerprint_rows(dataset: Any) -> str:
    """Return the number of rows of a dataset and a hash of at most `SAMPLED` of them, in order; empty if it has no table of rows.

    Rows are read one at a time, and never as Python objects. Of long ones, the beginning of each column counts, and its length.
    Images, audio and the like are left out: they may be paths, which differ between machines. So are log-probabilities of a reference model,
    which a trainer adds to the rows (`precompute_ref_log_probs`): their last digits depend on the batch.
    """
    with suppress(Exception):  # datasets of other releases and other makers
        kinds = sorted(dataset.features.items())
        columns = [name for name, kind in kinds if "decode=" not in repr(kind) and "logps" not in name]
        rows, digest, left = dataset.select_columns(columns).with_format("arrow"), hashlib.sha256(), SAMPLED_BYTES
        chosen = [*range(0, len(dataset), max(1, len(dataset) // SAMPLED))][:SAMPLED]
        digest.update(repr(columns).encode())
        for count, number in enumerate(chosen):
            row = rows[number]
            chunks = [chunk for name in columns for chunk in row.column(name).chunks if len(chunk)]
            buffers = [memoryview(each) for chunk in chunks for each in content_of(chunk)]
            left -= hash_heads(digest, buffers, min(ROW_BYTES, left // (len(chosen) - count)))
        return f"{len(dataset)} rows, {digest.hexdigest()[:16]}"
    return ""


def hash_heads(digest: Any, buffers: list[memoryview], most: int) -> int:
    """Hash the sizes of buffers, and their beginnings, of at most so many bytes in all; return how many these were."""
    read = 0
    for count, each in enumerate(buffers):
        head = each[: (most - read) // (len(buffers) - count)]  # what short ones leave is for those after them
        digest.update(b"%d:" % each.nbytes)
        digest.update(head)
        read += len(head)
    return read


def content_of(array: Any) -> Iterable[Any]:
    """Yield the buffers of an Arrow array's content: the same for equal content, whatever it is a slice of."""
    if array.null_count:
        yield from content_of(array.is_valid())
        array = array.drop_null()
    array, arrow = without_wrapping(array), sys.modules["pyarrow"]
    kind, types, compute = array.type, arrow.types, sys.modules["pyarrow.compute"]
    if types.is_struct(kind):
        for each in array.flatten():
            yield from content_of(each)
    elif types.is_nested(kind):  # a list
        yield from content_of(compute.list_value_length(array).cast(arrow.int64()))
        yield from content_of(array.flatten())
    elif has_fixed_width(kind, types):
        yield fixed_width_content(array)
    else:  # text, or bytes
        array = array.cast(arrow.large_binary())
        yield from content_of(compute.binary_length(array))
        yield text_content(array)


def has_fixed_width(kind: Any, types: Any) -> bool:
    """True of an Arrow type whose values all have one width; `types` is the module `pyarrow.types`."""
    return bool(types.is_primitive(kind) or types.is_decimal(kind) or types.is_fixed_size_binary(kind))


def fixed_width_content(array: Any) -> Any:
    """Return the buffer of an Arrow array's values, all of one width."""
    width = array.type.bit_width // 8
    return array.buffers()[1].slice(array.offset * width, len(array) * width) if len(array) else b""


def text_content(array: Any) -> Any:
    """Return the buffer of all texts of an Arrow array of `large_binary`."""
    _, offsets, text = array.buffers()
    first, last = (memoryview(offsets).cast("q")[at] for at in (array.offset, array.offset + len(array)))
    return text.slice(first, last - first) if text else b""


def without_wrapping(array: Any) -> Any:
    """Return an Arrow array without an extension type or a dictionary; what has no whole bytes becomes bytes."""
    arrow, kind = sys.modules["pyarrow"], array.type
    if isinstance(kind, arrow.BaseExtensionType):
        return array.storage
    if arrow.types.is_dictionary(kind):
        return array.dictionary_decode()
    return array.cast(arrow.uint8()) if arrow.types.is_boolean(kind) or arrow.types.is_null(kind) else array


def saved_settings(checkpoint: Path) -> dict[str, Any]:
    """Return the settings that a checkpoint was saved with; empty if its manifest does not have them."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        return dict(json.loads((checkpoint / MANIFEST).read_text(encoding="utf-8")).get("settings") or {})
    return {}


def is_accepted(change: Mapping[str, Any], accepted: Mapping[str, Any]) -> bool:
    """Whether a setting may differ: an accepted value of None stands for any."""
    return change["key"] in accepted and accepted[change["key"]] in (None, change["after"])


def changed_settings(saved: Mapping[str, Any], now: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return what differs of the settings that both have."""
    both = [name for name in saved if name in now]
    return [{"key": name, "before": saved[name], "after": now[name]} for name in both if saved[name] != now[name]]


def read_account() -> dict[str, Any]:
    """Return what the script of a job file has written about its rows: how they were chosen, how many, their hash."""
    if not (run := os.environ.get("HOLDFAST_RUN")):
        return {}
    with suppress(OSError, ValueError, RecursionError), Path(run, "results", "data.json").open("rb") as file:
        text = file.read(ACCOUNT_BYTES + 1)
        return known_account(json.loads(text)) if len(text) <= ACCOUNT_BYTES else {}
    return {}


def known_account(account: Any) -> dict[str, Any]:
    """Return what is known of an account of rows, where it has the right type: other programs may write such a file."""
    if not isinstance(account, dict):
        return {}
    known = {name: value for name, value in account.items() if is_of_kind(value, ACCOUNT.get(name, ()))}
    for name in ("strata", "weights"):  # numbers by value of a column, or by dataset
        if isinstance(numbers := account.get(name), dict):
            known[name] = {key: each for key, each in numbers.items() if is_of_kind(each, (int, float))}
    if isinstance(parts := account.get("datasets"), list):
        known["datasets"] = list(map(known_account, parts))
    return known


def is_of_kind(value: Any, kinds: tuple[type, ...]) -> bool:
    """True of a value of one of some types that JSON can hold; True is no number."""
    return type(value) in kinds and is_finite(value)


def is_finite(value: Any) -> bool:
    """True if JSON can hold a value."""
    return not isinstance(value, float) or math.isfinite(value)


def name_base(model: Any) -> str:
    """Return what a model was loaded from: a folder, absolute, or an id of the Hub; empty if that is not known."""
    name = getattr(getattr(model, "config", None), "_name_or_path", None) or ""
    return str(Path(name).absolute()) if name and Path(name).is_dir() else str(name)


def name_devices(args: Any) -> list[str]:
    """Return the names of the GPUs that a training can use; where it uses none, CUDA is not asked: that takes memory of one."""
    cuda = sys.modules["torch"].cuda
    if getattr(args, "use_cpu", False):
        return ["cpu"]
    return [cuda.get_device_name(index) for index in range(cuda.device_count())] or ["cpu"]


def split_nonfinite(logs: Mapping[str, Any]) -> tuple[dict[str, float | None], list[str]]:
    """Return the numbers that a trainer logged as JSON can hold them, and the names of those that are not finite."""
    figures = {name: value for name, value in logs.items() if isinstance(value, (int, float))}
    lost = [name for name, value in figures.items() if not math.isfinite(value)]
    return {name: None if name in lost else value for name, value in figures.items()}, lost


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it, without what is named as a secret."""
    if isinstance(value, Mapping):
        return {name: shown(name, part) for name, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return list(map(plain, value))
    return value if isinstance(value, PLAIN) and is_finite(value) else str(value)


def shown(name: Any, value: Any) -> Any:
    """Return a setting as it is recorded: stars if its name is that of a secret."""
    return "***" if value and str(name).endswith(SECRETS) else plain(value)
