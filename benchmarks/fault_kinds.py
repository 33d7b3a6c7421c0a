"""The kinds of fault that `benchmarks.recover_faults` injects, and how a job with each of them should end."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Injected:
    """A fault, and what is right.

    Attributes:
        name: Its name.
        fault: The value of FAULT; empty if the job itself is wrong.
        sets: Overrides of the job.
        ends: `equal`: with the weights of an undisturbed training; `whole`: with a model; else the class or the rule that it is refused or
            stopped for.
    """

    name: str
    fault: str = ""
    sets: tuple[str, ...] = ()
    ends: str = "equal"


def permits(name: str) -> str:
    """Return the override that permits a kind of change."""
    return f"recover.allow=[batch_size, checkpointing, {name}]"


KILLED = permits("killed")
STALLS = "where.stall_timeout=90s"
WORKER, ACCUMULATED = "train.dataloader_num_workers=1", "train.gradient_accumulation_steps=2"
FAULTS = (
    Injected(name="memory in training, first step", fault="oom-train@0"),
    Injected(name="memory in training, amid an epoch", fault="oom-train@8"),
    Injected(name="memory in training, two times", fault="oom-train@4", sets=("train.per_device_train_batch_size=8",)),
    Injected(name="memory in training, accumulated", fault="oom-train@2", sets=(ACCUMULATED,)),
    Injected(name="memory of activations", fault="oom-activations@4", sets=("train.per_device_train_batch_size=1",)),
    Injected(name="memory in an evaluation", fault="oom-eval@6"),
    Injected(name="memory in the first evaluation", fault="oom-eval@3"),
    Injected(name="memory in pieces", fault="oom-pieces@5"),
    Injected(name="memory taken by other processes", fault="oom-others@5"),
    Injected(name="main memory, on a CPU", fault="oom-main@5"),
    Injected(name="memory, hidden by cuBLAS", fault="cublas@5"),
    Injected(name="memory at a save", fault="oom-save@6", ends="cuda-oom-at-save"),
    Injected(
        name="memory, nothing permitted", fault="oom-train@4", sets=("recover.allow=[]",), ends="cuda-oom-train-step"
    ),
    Injected(name="loader worker died", fault="worker@4", sets=(WORKER,)),
    Injected(name="loader worker hung", fault="worker-hung@4", sets=(WORKER,)),
    Injected(name="loader worker killed for memory", fault="worker-killed@4", sets=(WORKER,)),
    Injected(name="shared memory", fault="shm@4", sets=(WORKER,)),
    Injected(name="worker that maps rows died", fault="map-worker@0", sets=("train.dataset_num_proc=2",)),
    Injected(name="port in use", fault="port@0"),
    Injected(name="parameters without gradient under DDP", fault="unused@1"),
    Injected(
        name="reentrant checkpointing under DDP", fault="reentrant@1", sets=("train.gradient_checkpointing=true",)
    ),
    Injected(name="memory error of the GPU (ECC)", fault="ecc@5"),
    Injected(name="illegal memory access", fault="illegal@5"),
    Injected(name="kernel that failed to launch", fault="launch@5"),
    Injected(name="NaN, batch left out", fault="nan@6", sets=(permits("skip_batches"),), ends="whole"),
    Injected(name="NaN, lower rate", fault="nan-rate@6", sets=(permits("learning_rate"),), ends="whole"),
    Injected(name="infinite gradients", fault="inf@6", sets=(permits("skip_batches"),), ends="whole"),
    Injected(name="NaN in the first step", fault="nan@0", sets=(permits("skip_batches"),), ends="whole"),
    Injected(name="NaN, nothing permitted", fault="nan@6", ends="nan-loss-silent-success"),
    Injected(name="network", fault="network@5"),
    Injected(name="name resolution that fails for a while", fault="dns@5"),
    Injected(name="download that breaks off", fault="download@0"),
    *(Injected(name=f"{code} of the Hub", fault=f"{code}@5") for code in (429, 500, 502, 503, 504)),
    Injected(name="401 of the Hub", fault="401@5", ends="hub-token-invalid"),
    *(
        Injected(name=f"network, and the newest checkpoint: {name}", fault=f"network@8+{damage}")
        for name, damage in (
            ("cut in half", "truncate"),
            ("a flipped bit", "flip"),
            ("a block of zeros", "zeros"),
            ("no optimizer", "missing"),
            ("no weights", "no-weights"),
            ("no manifest", "unsealed"),
            ("an empty folder", "empty"),
            ("another trainer state", "state"),
        )
    ),
    Injected(name="network, and all checkpoints damaged", fault="network@8+all"),
    Injected(name="unknown cause, tried once more", fault="exit@5", sets=(permits("unknown_once"),)),
    Injected(name="unknown cause", fault="exit@5", ends=""),
    Injected(name="exit code 0 amid training", fault="exit-0@5", sets=(permits("unknown_once"),)),
    Injected(name="sys.exit amid training", fault="leave@5", ends="user-code-error"),
    Injected(name="fault of the user's code", fault="bug@5", ends="user-code-error"),
    Injected(name="column that the map of rows lacks", fault="bug-map@0", ends="dataset-missing-column"),
    Injected(name="disk full", fault="disk@5", ends="disk-full"),
    Injected(name="disk full at a save (ENOSPC)", fault="full@6", ends="disk-full"),
    Injected(name="quota of the disk", fault="quota@5", ends="disk-quota-exceeded"),
    Injected(name="read-only file system", fault="read-only@5", ends="output-path-not-writable"),
    Injected(name="too many open files", fault="open-files@5", ends="open-files-limit"),
    Injected(name="a step that hangs", fault="hang@5", sets=(STALLS,)),
    Injected(name="an evaluation that hangs", fault="hang-eval@6", sets=(STALLS,)),
    Injected(name="a save that hangs", fault="hang-save@6", sets=(STALLS,)),
    Injected(name="a machine that is suspended", fault="pause@5"),
    Injected(name="SIGKILL by somebody", fault="kill@7", ends="job-cancelled-externally"),
    Injected(name="SIGTERM by somebody", fault="term@7", ends="job-preempted-or-requeued"),
    Injected(name="SIGHUP of a terminal", fault="hup@7", ends="killed-by-sighup"),
    Injected(name="SIGINT by somebody", fault="int@7", ends="job-cancelled-externally"),
    Injected(name="SIGKILL that is nobody's", fault="kill@7", sets=(KILLED,)),
    Injected(name="SIGKILL in an evaluation", fault="kill-eval@6", sets=(KILLED,)),
    Injected(name="SIGKILL amid a save", fault="cut@6", sets=(KILLED,)),
    Injected(name="preemption (SIGTERM)", fault="term@7", sets=(KILLED,)),
    Injected(name="crash in native code (SIGSEGV)", fault="segv@5", ends="native-crash-segfault"),
    Injected(name="abort in native code (SIGABRT)", fault="abrt@5", ends="native-crash-segfault"),
    *(
        Injected(name=f"refused: {name}", sets=sets, ends=code)
        for name, sets, code in (
            ("no rows", ("dataset.path=nowhere.jsonl",), "DAT102"),
            ("unknown split", ("dataset.split=tranning",), "DAT102"),
            ("renamed argument", ("train.max_seq_length=64",), "ARG101"),
            ("two precisions", ("train.bf16=true", "train.fp16=true"), "PRC102"),
            ("unknown optimizer", ("train.optim=adamm",), "ARG110"),
            ("unknown schedule", ("train.lr_scheduler_type=cosin",), "ARG110"),
            ("a rate that is no number", ("train.learning_rate=fast",), "ARG102"),
            ("a batch of 0", ("train.per_device_train_batch_size=0",), "ARG119"),
            ("no steps", ("train.max_steps=0",), "CMB109"),
            ("tracker that is not installed", ("train.report_to=wandb",), "ARG104"),
            ("flash attention on a CPU", ("model.attn_implementation=flash_attention_2",), "PRC101"),
            ("adapter on no module", ("peft={target_modules: [nowhere]}",), "MOD123"),
            (
                "best model without matching steps",
                ("train.load_best_model_at_end=true", "train.save_steps=4"),
                "EVL102",
            ),
        )
    ),
)
