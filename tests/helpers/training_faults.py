"""Faults of a training, as the function of a job's `dataset.map`: the variable FAULT names one, and the step from which it strikes.

    environment: {variables: {FAULT: "oom-train@9"}}

The file travels in the script, so that it imports nothing of ours. Each fault raises in the place, and with the message, of the real one.
"""

import os
import signal
import threading
from pathlib import Path
from typing import Any

import torch
from transformers import Trainer
from trl import SFTTrainer

KIND, _, AT = os.environ.get("FAULT", "").partition("@")
STEP = int(AT or 0)
FIRST = os.environ.get("HOLDFAST_ATTEMPT", "1").endswith("1")  # the folder of the first attempt
OUT_OF_MEMORY = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.06 GiB is free. Including "
    "non-PyTorch memory, this process has 20.99 GiB memory in use. Of the allocated memory 19.80 GiB is allocated by PyTorch, and 921.10 MiB "
    "is reserved by PyTorch but unallocated."
)
IN_PIECES = (
    "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.06 GiB is free. Including "
    "non-PyTorch memory, this process has 20.99 GiB memory in use. Of the allocated memory 12.80 GiB is allocated by PyTorch, and 7.90 GiB "
    "is reserved by PyTorch but unallocated. If reserved but unallocated memory is large try setting "
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
)
ERRORS: dict[str, BaseException] = {
    "oom-train": torch.OutOfMemoryError(OUT_OF_MEMORY),
    "oom-pieces": torch.OutOfMemoryError(IN_PIECES),
    "oom-main": RuntimeError(
        "[enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 8589934592 bytes. "
        "Error code 12 (Cannot allocate memory)"
    ),
    "cublas": RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"),
    "worker": RuntimeError(
        "DataLoader worker (pid 4242) exited unexpectedly with exit code 1. Details are lost due to multiprocessing."
    ),
    "shm": RuntimeError(
        "DataLoader worker (pid 4242) is killed by signal: Bus error. It is possible that dataloader's workers are out of shared memory. "
        "Please try to raise your shared memory limit."
    ),
    "oom-activations": torch.OutOfMemoryError(OUT_OF_MEMORY),
    "disk": OSError(28, "No space left on device"),
    "port": OSError(98, "Address already in use"),
    "bug": ValueError("rows of unequal length"),
    "attention": ImportError(
        "FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not "
        "installed. Please refer to the documentation of https://huggingface.co/docs/transformers/perf_infer_gpu_one#flashattention-2 to "
        "install Flash Attention 2."
    ),
    "429": RuntimeError("429 Client Error: Too Many Requests for url: https://huggingface.co/api/models/me/model"),
    "503": RuntimeError("503 Server Error: Service Unavailable for url: https://huggingface.co/api/models/me/model"),
    "network": ConnectionError("('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"),
}


def rewrite(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row as it is."""
    return {"messages": [dict(message) for message in row["messages"]]}


def strikes(trainer: Any, inputs: Any) -> bool:
    """Whether the fault is there: as long as what causes it is as it was; if that passes by itself, in the first attempt alone."""
    args = trainer.args
    large = int(inputs["input_ids"].shape[0]) > 2
    causes = {
        "oom-train": large,
        "oom-main": large,
        "cublas": large,
        "oom-pieces": "PYTORCH_CUDA_ALLOC_CONF" not in os.environ,
        "oom-activations": not args.gradient_checkpointing,
        "worker": bool(args.dataloader_num_workers),
        "shm": bool(args.dataloader_num_workers),
        "disk": True,
        "bug": True,
    }
    return trainer.state.global_step >= STEP and causes.get(KIND, FIRST)


def training_step(self: Any, model: Any, inputs: Any, *rest: Any) -> Any:
    """Train a step, with the fault in it."""
    if KIND in ERRORS and strikes(self, inputs):
        raise ERRORS[KIND]
    if KIND in ("kill", "term", "hup") and self.state.global_step == STEP and FIRST:
        os.kill(os.getpid(), {"kill": signal.SIGKILL, "term": signal.SIGTERM, "hup": signal.SIGHUP}[KIND])
    hangs = KIND == "hang" or (KIND == "hang-rank-1" and os.environ.get("RANK") == "1")
    if hangs and self.state.global_step == STEP and FIRST:
        threading.Event().wait()
    if KIND == "exit" and self.state.global_step == STEP and FIRST:
        os._exit(3)  # without a word
    loss = train(self, model, inputs, *rest)
    if KIND == "nan" and self.state.global_step == STEP:
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.fill_(float("nan"))
    return loss


def prediction_step(self: Any, model: Any, inputs: Any, *rest: Any, **named: Any) -> Any:
    """Evaluate a batch, with the fault in it."""
    if KIND == "oom-eval" and self.state.global_step >= STEP and int(inputs["input_ids"].shape[0]) > 2:
        raise torch.OutOfMemoryError(OUT_OF_MEMORY)
    return predict(self, model, inputs, *rest, **named)


def save_checkpoint(self: Any, *rest: Any, **named: Any) -> Any:
    """Save a checkpoint; one is cut short by the disk, or by the GPU's memory."""
    if KIND == "oom-save" and self.state.global_step >= STEP:
        raise torch.OutOfMemoryError(OUT_OF_MEMORY)
    saved = save(self, *rest, **named)
    if KIND == "cut" and self.state.global_step == STEP and FIRST:
        whole = Path(self.args.output_dir, f"checkpoint-{STEP}", "optimizer.pt")
        whole.write_bytes(whole.read_bytes()[:-100])
        os.kill(os.getpid(), signal.SIGKILL)
    return saved


train, predict, save = Trainer.training_step, SFTTrainer.prediction_step, Trainer._save_checkpoint
if KIND:
    Trainer.training_step, SFTTrainer.prediction_step = training_step, prediction_step
    Trainer._save_checkpoint = save_checkpoint
