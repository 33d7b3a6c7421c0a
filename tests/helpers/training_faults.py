"""Faults of a training, as the function of a job's `dataset.map`: the variable FAULT names one, and the step from which it strikes.

    environment: {variables: {FAULT: "oom-train@9"}}        # with several processes, `oom-train@9:1` strikes rank 1 alone
    environment: {variables: {FAULT: "network@8+flip"}}     # and the newest checkpoint is damaged before

The file travels in the script, so that it imports nothing of ours. Each fault raises in the place, and with the message, of the real one;
signals, silences, damaged files and a full disk are real.
"""

import os
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer
from trl import SFTTrainer

KIND, _, AT = os.environ.get("FAULT", "").partition("@")
AT, _, DAMAGE = AT.partition("+")
AT, _, RANK = AT.partition(":")
STEP = int(AT or 0)
HERE = not RANK or os.environ.get("RANK") == RANK  # the fault is in this process
FIRST = os.environ.get("HOLDFAST_ATTEMPT", "1").endswith("1")  # the folder of the first attempt
POISONED = 12  # steps that `poison` spoils
HIGH_RATE = 1.5e-5  # above which `nan-rate` strikes; the default of SFT is 2e-5
NO_ROOM = "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.06 GiB is free. "
OWN = "Including non-PyTorch memory, this process has 20.99 GiB memory in use. Of the allocated memory "
OUT_OF_MEMORY = (
    f"{NO_ROOM}{OWN}19.80 GiB is allocated by PyTorch, and 921.10 MiB is reserved by PyTorch but unallocated."
)
IN_PIECES = (
    f"{NO_ROOM}{OWN}12.80 GiB is allocated by PyTorch, and 7.90 GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory "
    "is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)
OF_OTHERS = (
    f"{NO_ROOM}Process 4242 has 14.20 GiB memory in use. Process 4343 has 6.80 GiB memory in use. Of the allocated memory 6.10 GiB is allocated "
    "by PyTorch, and 121.10 MiB is reserved by PyTorch but unallocated."
)
HUB = "for url: https://huggingface.co/api/models/me/model"
ERRORS: dict[str, BaseException] = {
    "oom-train": torch.OutOfMemoryError(OUT_OF_MEMORY),
    "oom-pieces": torch.OutOfMemoryError(IN_PIECES),
    "oom-others": torch.OutOfMemoryError(OF_OTHERS),
    "oom-main": RuntimeError(
        "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 8589934592 bytes. "
        "Error code 12 (Cannot allocate memory)"
    ),
    "cublas": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    "worker": RuntimeError(
        "DataLoader worker (pid 4242) exited unexpectedly with exit code 1. Details are lost due to multiprocessing."
    ),
    "worker-hung": RuntimeError("DataLoader timed out after 30 seconds"),
    "worker-killed": RuntimeError("DataLoader worker (pid 4242) is killed by signal: Killed. "),
    "shm": RuntimeError(
        "DataLoader worker (pid 4242) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. "
        "Please try to raise your shared memory limit."
    ),
    "map-worker": RuntimeError(
        "One of the subprocesses has abruptly died during map operation.To debug the error, disable multiprocessing."
    ),
    "oom-activations": torch.OutOfMemoryError(OUT_OF_MEMORY),
    "unused": RuntimeError(
        "Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has "
        "parameters that were not used in producing loss. You can enable unused parameter detection by passing the keyword argument "
        "`find_unused_parameters=True` to `torch.nn.parallel.DistributedDataParallel`, and by making sure all `forward` function outputs "
        "participate in calculating loss."
    ),
    "reentrant": RuntimeError(
        "Expected to mark a variable ready only once. This error is caused by one of the following reasons: 1) Use of a module parameter "
        "outside the `forward` function. 2) Reused parameters in multiple reentrant backward passes. For example, if you use multiple "
        "`checkpoint` functions to wrap the same part of your model, it would result in the same set of parameters been used by different "
        "reentrant backward passes multiple times, and hence marking a variable ready multiple times."
    ),
    "disk": OSError(28, "No space left on device"),
    "quota": OSError(122, "Disk quota exceeded"),
    "read-only": OSError(30, "Read-only file system", "/data/checkpoints"),
    "open-files": OSError(24, "Too many open files"),
    "port": OSError(98, "Address already in use"),
    "bug": ValueError("rows of unequal length"),
    "429": RuntimeError(f"429 Client Error: Too Many Requests {HUB}"),
    "500": RuntimeError(f"500 Server Error: Internal Server Error {HUB}"),
    "502": RuntimeError(f"502 Server Error: Bad Gateway {HUB}"),
    "503": RuntimeError(f"503 Server Error: Service Unavailable {HUB}"),
    "504": RuntimeError(f"504 Server Error: Gateway Time-out {HUB}"),
    "401": RuntimeError(f"401 Client Error: Unauthorized {HUB}. Invalid username or password."),
    "dns": ConnectionError("[Errno -3] Temporary failure in name resolution"),
    "network": ConnectionError("('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"),
    "download": ConnectionError("('Connection broken: IncompleteRead(8192 bytes read, 2048 more expected)', None)"),
    "ecc": RuntimeError("CUDA error: uncorrectable ECC error encountered"),
    "illegal": RuntimeError("CUDA error: an illegal memory access was encountered"),
    "launch": RuntimeError("CUDA error: unspecified launch failure"),
}
SIGNALS = {
    "kill": signal.SIGKILL, "term": signal.SIGTERM, "hup": signal.SIGHUP, "int": signal.SIGINT, "segv": signal.SIGSEGV,
    "abrt": signal.SIGABRT, "bus": signal.SIGBUS,
}  # fmt: skip


def rewrite(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row as it is."""
    if KIND == "bug-map":
        raise KeyError("conversation")
    return {"messages": [dict(message) for message in row["messages"]]}


def lasts(trainer: Any, inputs: Any) -> bool:
    """Whether what causes an error is as it was; what passes by itself is there in the first attempt alone."""
    args = trainer.args
    large, reentrant = int(inputs["input_ids"].shape[0]) > 2, args.gradient_checkpointing_kwargs or {}
    causes = {
        "oom-train": large,
        "oom-main": large,
        "cublas": large,
        "oom-pieces": "PYTORCH_CUDA_ALLOC_CONF" not in os.environ,
        "oom-activations": not args.gradient_checkpointing,
        "worker": bool(args.dataloader_num_workers),
        "worker-hung": bool(args.dataloader_num_workers),
        "worker-killed": bool(args.dataloader_num_workers),
        "shm": bool(args.dataloader_num_workers),
        "map-worker": bool(args.dataset_num_proc),
        "unused": not args.ddp_find_unused_parameters,
        "reentrant": reentrant.get("use_reentrant") is not False,
        **dict.fromkeys(("disk", "quota", "read-only", "open-files", "bug", "401"), True),
    }
    return causes.get(KIND, FIRST)


def damage(output: Path) -> None:
    """Damage the newest checkpoint; `all` has every one lose its optimizer."""
    found = sorted(output.glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    for folder in found if DAMAGE == "all" else found[-1:]:
        damages_of(folder)[DAMAGE]()


def damages_of(folder: Path) -> dict[str, Callable[[], object]]:
    """Return what can be done to a checkpoint."""
    weights, optimizer = folder / "model.safetensors", folder / "optimizer.pt"
    middle = weights.stat().st_size // 2
    return {
        "truncate": lambda: os.truncate(optimizer, optimizer.stat().st_size // 2),
        "flip": lambda: overwrite(weights, middle, bytes([weights.read_bytes()[middle] ^ 1])),
        "zeros": lambda: overwrite(weights, middle, bytes(512)),
        "missing": optimizer.unlink,
        "no-weights": weights.unlink,
        "unsealed": (folder / "holdfast-manifest.json").unlink,
        "empty": lambda: empty(folder),
        "state": lambda: (folder / "trainer_state.json").write_text('{"global_step": 2}'),
        "all": optimizer.unlink,
    }


def empty(folder: Path) -> None:
    """Leave an empty folder, as a crash of the file system may."""
    shutil.rmtree(folder)
    folder.mkdir()


def overwrite(path: Path, at: int, content: bytes) -> None:
    """Write over a part of a file."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(content)


def strike() -> None:
    """Do what is done once, in the first attempt, amid a step."""
    if KIND in SIGNALS:
        os.kill(os.getpid(), SIGNALS[KIND])
    if KIND == "launcher":
        os.kill(os.getppid(), signal.SIGKILL)
    if KIND == "pause":  # as a laptop that is closed
        os.system(f"(sleep 4; kill -CONT {os.getpid()}) & kill -STOP {os.getpid()}")  # noqa: S605 - our own words
    if KIND == "hang":
        threading.Event().wait()
    if KIND in ("exit", "exit-0"):
        os._exit(3 * (KIND == "exit"))  # without a word
    if KIND == "leave":
        sys.exit(1)


def poison(trainer: Any, inputs: Any, step: int) -> Any:
    """Return a batch whose labels are noise; the first attempt then waits until it is asked to stop, as long steps would."""
    if step >= STEP + POISONED + 1 and FIRST:
        while not sys.modules["holdfast_runtime"].attempt.stop.is_heard:
            threading.Event().wait(0.05)
    if not STEP <= step < STEP + POISONED:
        return inputs
    drawn = torch.Generator().manual_seed(step)
    labels = torch.randint(5, trainer.model.config.vocab_size, inputs["labels"].shape, generator=drawn)
    return {**inputs, "labels": labels.where(inputs["labels"] >= 0, inputs["labels"])}


def training_step(self: Any, model: Any, inputs: Any, *rest: Any) -> Any:
    """Train a step, with the fault in it."""
    step = self.state.global_step
    if KIND in ERRORS and HERE and step >= STEP and lasts(self, inputs):
        if DAMAGE:
            damage(Path(self.args.output_dir))
        raise ERRORS[KIND]
    if HERE and step == STEP and FIRST:
        strike()
    if KIND == "poison":
        inputs = poison(self, inputs, step)
    loss = train(self, model, inputs, *rest)
    if step == STEP and (KIND in ("nan", "inf") or (KIND == "nan-rate" and self.args.learning_rate > HIGH_RATE)):
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.fill_(float(KIND.removesuffix("-rate")))
    return loss


def prediction_step(self: Any, model: Any, inputs: Any, *rest: Any, **named: Any) -> Any:
    """Evaluate a batch, with the fault in it."""
    late = self.state.global_step >= STEP
    if KIND == "oom-eval" and late and int(inputs["input_ids"].shape[0]) > 2:
        raise torch.OutOfMemoryError(OUT_OF_MEMORY)
    if KIND == "hang-eval" and late and FIRST:
        threading.Event().wait()
    if KIND == "kill-eval" and late and FIRST:
        os.kill(os.getpid(), signal.SIGKILL)
    return predict(self, model, inputs, *rest, **named)


def save_checkpoint(self: Any, *rest: Any, **named: Any) -> Any:
    """Save a checkpoint; one is cut short by the disk, by a signal, or by the GPU's memory."""
    late = self.state.global_step >= STEP
    folder = Path(self.args.output_dir, f"checkpoint-{self.state.global_step}")
    if KIND == "oom-save" and late:
        raise torch.OutOfMemoryError(OUT_OF_MEMORY)
    if KIND == "hang-save" and late and FIRST:
        threading.Event().wait()
    if KIND == "full" and late:
        folder.mkdir(parents=True)
        (folder / "optimizer.pt").symlink_to("/dev/full")  # the kernel has no space there
    saved = save(self, *rest, **named)
    if KIND == "cut" and self.state.global_step == STEP and FIRST:
        whole = folder / "optimizer.pt"
        whole.write_bytes(whole.read_bytes()[:-100])
        os.kill(os.getpid(), signal.SIGKILL)
    return saved


train, predict, save = Trainer.training_step, SFTTrainer.prediction_step, Trainer._save_checkpoint
if KIND:
    Trainer.training_step, SFTTrainer.prediction_step = training_step, prediction_step
    Trainer._save_checkpoint = save_checkpoint
