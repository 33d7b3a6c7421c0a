"""`holdfast diagnose` and `explain CLASS`, as typed; what a run's ledger adds to its logs."""

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.storage.ledger import Ledger
from holdfast.cli.main import run_command
from holdfast.core.run.event import Closed, Liveness, Polled, Reported, RunRequested, RunStage, Started, Starting
from holdfast.rules import all_rules
from holdfast.signatures import all_signatures

OOM = """\
{'loss': 1.31, 'grad_norm': 0.8, 'learning_rate': 2e-05, 'epoch': 0.01}
Traceback (most recent call last):
  File "/home/me/train.py", line 12, in <module>
    trainer.train()
  File "/venv/lib/python3.11/site-packages/transformers/trainer.py", line 2325, in train
    return inner_training_loop(
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.06 GiB is \
free. Including non-PyTorch memory, this process has 20.99 GiB memory in use. Of the allocated memory 19.80 GiB is allocated by PyTorch, \
and 921.10 MiB is reserved by PyTorch but unallocated.
"""
HEALTHY = """\
{'loss': '1.31', 'grad_norm': '0.8', 'learning_rate': '2e-05', 'epoch': '0.5'}
{'loss': '1.22', 'grad_norm': '0.7', 'learning_rate': '1e-05', 'epoch': '1'}
{'train_runtime': '12.3', 'train_samples_per_second': '5.2', 'train_steps_per_second': '0.6', 'train_loss': '1.26', 'epoch': '1'}
"""
VICTIM = "[rank3]: torch.distributed.DistBackendError: NCCL communicator was aborted on rank 3.\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(name="ask")
def asking(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Type a command that answers in JSON; return its exit code and its answer."""

    def typed(*words: str) -> tuple[int, dict[str, Any]]:
        code = run_command([*words, "--format", "json"])
        return code, json.loads(capsys.readouterr().out)

    return typed


def test_a_cause_is_told_with_its_evidence_and_its_fix(here: Path, ask: Ask) -> None:
    """To the letter of the contract; the values are the log's own."""
    (here / "job.log").write_text(OOM)

    code, told = ask("diagnose", "job.log")

    assert (code, told["verdict"]) == (0, "diagnosed")
    cause = told["causes"][0]
    assert cause["class"] == "cuda-oom-train-step"
    assert cause["evidence"][0]["line"] == 7
    assert "22.06 GiB" in cause["cause"]
    assert cause["remedy"][0]["key"] == "train.per_device_train_batch_size"
    assert (cause["retry"], 0 < cause["confidence"] <= 1) == ("after-change", True)


def test_beside_a_cause_nothing_says_that_the_cause_is_elsewhere(here: Path, ask: Ask) -> None:
    """A launcher's words alone say so; next to an exception they are its echo."""
    died = "ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
    why = "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits.\n"
    for text, classes in ((died + why + OOM, ["cuda-oom-train-step"]), (died + why, ["cause-not-in-log"])):
        (here / "job.log").write_text(text)
        assert [cause["class"] for cause in ask("diagnose", "job.log")[1]["causes"]] == classes


@pytest.mark.parametrize(
    ("line", "has", "instead"),
    [
        (
            "TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_seq_length'",
            "trl 0.9.2 to 0.19.1 takes it.",
            "Rename `max_seq_length` to `max_length`.",
        ),
        ("TypeError: LoraConfig.__init__() got an unexpected keyword argument 'use_dora'", "peft since 0.9.0", ""),
        (
            "ImportError: cannot import name 'AdamW' from 'transformers' (/opt/lib/python3.11/site-packages/transformers/__init__.py)",
            "transformers up to 4.49.0 has it.",
            "use `torch.optim.AdamW`",
        ),
        (
            "ImportError: cannot import name 'DPOTrainer' from 'trl' (/opt/lib/python3.11/site-packages/trl/__init__.py)",
            "It is `DPOTrainer` of `trl`.",
            "install a release that has it",
        ),
        ("ModuleNotFoundError: No module named 'trl.core'", "trl up to 0.24.0 has it.", "what has taken its place"),
        (
            "ImportError: cannot import name 'nothing' from 'vllm' (/opt/lib/python3.11/site-packages/vllm/__init__.py)",
            "It is `nothing` of `vllm`.",
            "what has taken its place",
        ),
    ],
)
def test_the_releases_that_have_what_is_not_there_are_told(
    line: str, has: str, instead: str, here: Path, ask: Ask
) -> None:
    """As `check` tells them before launch."""
    (here / "job.log").write_text(f"{line}\n")

    cause = ask("diagnose", "job.log")[1]["causes"][0]

    assert has in cause["cause"]
    assert instead in cause["fix"]


@pytest.mark.parametrize(
    ("text", "verdict", "code"), [(HEALTHY, "healthy", 0), ("", "unknown", 1), (VICTIM, "unknown", 1)]
)
def test_healthy_and_unknown_are_answers_too(text: str, verdict: str, code: int, here: Path, ask: Ask) -> None:
    """What cannot be known from this log says which one to fetch."""
    (here / "job.log").write_text(text)

    exit_code, told = ask("diagnose", "job.log")

    assert (exit_code, told["verdict"]) == (code, verdict)
    assert bool(told["missing"]) == (verdict == "unknown")


def test_logs_come_packed_in_folders_and_from_standard_input(
    here: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever way they come, the same cause."""
    (here / "logs").mkdir()
    (here / "logs" / "rank0.log").write_text(HEALTHY.splitlines()[0] + "\n")
    (here / "logs" / "rank1.log.gz").write_bytes(gzip.compress(OOM.encode()))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(OOM.encode())))

    for target in ("logs", "-"):
        _, told = ask("diagnose", target)
        assert told["causes"][0]["class"] == "cuda-oom-train-step"


@pytest.mark.parametrize("content", [None, b"\x7fELF" + bytes(4096)])
def test_what_is_no_log_is_exit_code_2(content: bytes | None, here: Path, ask: Ask) -> None:
    """A path that is not there, and no run; a binary file."""
    if content:
        (here / "job.log").write_bytes(content)

    code, told = ask("diagnose", "job.log")

    assert code == 2
    assert told["errors"][0]["fix"]


def test_a_run_is_diagnosed_by_its_logs_and_its_ledger(here: Path, ask: Ask) -> None:
    """A process that was killed without a word: the ledger knows the signal."""
    folder = here / "runs" / "job-20261122-010101-ab"
    (folder / "attempts" / "1").mkdir(parents=True)
    (folder / "attempts" / "1" / "stderr.log").write_text("Loading weights:  40%\n")
    Ledger(here / "runs").append(
        folder.name,
        [
            RunRequested(at_s=1, folder=str(folder)),
            Starting(at_s=2, attempt=1, backend="local"),
            Started(at_s=3, attempt=1, id="a"),
            Reported(at_s=4, attempt=1, said={"event": "start", "step": 0, "max_steps": 9}),
            Polled(at_s=5, attempt=1, answer=Liveness.ENDED, exit_code=-9),
            Closed(at_s=6, stage=RunStage.FAILED, because="SIGKILL killed it at step 0 of 9"),
        ],
    )

    code, told = ask("diagnose", "job-2026")

    # Exit code -9 alone proves no more than that somebody sent SIGKILL: the kernel's own log would tell.
    assert (code, told["verdict"]) == (1, "unknown")
    assert "the ledger" in told["paths"]
    assert any("dmesg" in each for each in told["missing"])


@pytest.mark.parametrize(
    ("ended", "verdict"),
    [
        ("0", "healthy"),
        ("1", "unknown"),
        ("-9", "cpu-ram-oom-kill"),
        ("143", "job-preempted-or-requeued"),
        ("0:15", "job-preempted-or-requeued"),
        ("int", "job-cancelled-externally"),
        ("SIGSEGV", "native-crash-segfault"),
        ("135", "shm-too-small"),
        ("CANCELLED by 1000", "job-cancelled-externally"),
        ("TIMEOUT", "job-time-limit"),
        ("OOMKilled", "cpu-ram-oom-kill"),
    ],
)
def test_how_it_ended_can_be_told_beside_the_log(ended: str, verdict: str, here: Path, ask: Ask) -> None:
    """A killed process writes nothing; and training that came to its end is not all that a job does."""
    (here / "job.log").write_text(HEALTHY)

    _, told = ask("diagnose", "job.log", "--ended", ended)

    first = told["causes"][0]["class"] if told["verdict"] == "diagnosed" else told["verdict"]
    assert first == verdict
    assert not any("how the process ended" in each for each in told["missing"])


@pytest.mark.parametrize(
    ("ended", "missing"),
    [
        ("1", "the traceback: Python and launchers end with 1 after an exception"),
        ("2", "programs end with 2 if they refuse an argument"),
        ("127", "the shell's message"),
        ("77", "what the program says of this exit code"),
        ("0", "exit code 0 is that of success"),
    ],
)
def test_an_end_without_a_log_says_what_it_means_and_where_to_look(
    ended: str, missing: str, here: Path, ask: Ask
) -> None:
    (here / "job.log").write_text("Loading the model\n")

    _, told = ask("diagnose", "job.log", "--ended", ended)

    assert told["verdict"] == "unknown"
    assert any(missing in each for each in told["missing"]), told["missing"]
    assert told["causes"] == []


@pytest.mark.parametrize("before", ["Loading the model\n", HEALTHY, "RuntimeError: nobody knows this one\n"])
@pytest.mark.parametrize("ended", ["137", "-9", "0:9", "SIGKILL"])
def test_a_shells_killed_and_its_exit_code_have_one_answer(ended: str, before: str, here: Path, ask: Ask) -> None:
    """A shell prints `Killed` for SIGKILL and ends with 137: each says as much as the other."""
    (here / "killed.log").write_text(f"{before}Killed\n")
    (here / "job.log").write_text(before)

    (_, by_line), (_, by_code) = ask("diagnose", "killed.log"), ask("diagnose", "job.log", "--ended", ended)
    said = [
        [told["verdict"], *((each["class"], each["confidence"]) for each in told["causes"])]
        for told in (by_line, by_code)
    ]

    assert said[0] == said[1]
    assert said[0][:2] == ["diagnosed", ("cpu-ram-oom-kill", by_line["causes"][0]["confidence"])]


@pytest.mark.parametrize(
    ("target", "ended", "where", "what"),
    [
        ("job.log", "badly", "--ended badly", "`badly` is not an exit code"),
        ("job.log", "SIGNOTHING", "--ended SIGNOTHING", "`SIGNOTHING` is not an exit code"),
        ("absent.log", "137", "absent.log", "is not a log, and no run is called"),
    ],
)
def test_an_end_that_no_process_has_is_exit_code_2(
    target: str, ended: str, where: str, what: str, here: Path, ask: Ask
) -> None:
    """Where the target is not there, that is said, and not what a run's end would be."""
    (here / "job.log").write_text(HEALTHY)

    code, told = ask("diagnose", target, "--ended", ended)

    assert code == 2
    assert told["errors"][0]["where"] == where
    assert what in told["errors"][0]["what"]


@pytest.mark.parametrize(
    "line", ["srun: error: n1: task 0: Exited with exit code 1", "torch…ChildFailedError: \ntrain.py FAILED"]
)
def test_what_fails_after_training_is_not_healthy(line: str, here: Path, ask: Ask) -> None:
    """A launcher's word behind the end counts; before it, an earlier attempt failed."""
    for text, verdict in ((f"{HEALTHY}{line}\n", "unknown"), (f"{line}\n{HEALTHY}", "healthy")):
        (here / "job.log").write_text(text)
        assert ask("diagnose", "job.log")[1]["verdict"] == verdict


def test_text_is_for_people(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The class, the line, why, and what to do."""
    (here / "job.log").write_text(OOM)

    assert run_command(["diagnose", "job.log"]) == 0

    told = capsys.readouterr().out
    for words in ("cuda-oom-train-step", "job.log:7", "fix Halve", "holdfast explain cuda-oom-train-step"):
        assert words in told


@pytest.mark.parametrize("signature", all_signatures(), ids=lambda each: each.name)
def test_every_class_has_a_page(signature: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """What it is, why it happens, how to fix it, how it is prevented; the rules that it names exist."""
    assert run_command(["explain", signature.name]) == 0

    page = capsys.readouterr().out
    for part in ("## What it is", "## Why it happens", "## How to fix it", "## How it is prevented"):
        assert part in page, part
    assert set(signature.prevented_by) <= {rule.code for rule in all_rules()}


BROKEN = """\
{'loss': 2.3, 'grad_norm': 1.2, 'learning_rate': 2e-05, 'epoch': 0.1}
{'loss': 2.2, 'grad_norm': 1.3, 'learning_rate': 2e-05, 'epoch': 0.2}
{'loss': 9.1, 'grad_norm': 210.3, 'learning_rate': 2e-05, 'epoch': 0.3}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': 0.4}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': 0.5}
{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 2e-05, 'epoch': 0.6}
"""


@pytest.mark.parametrize(
    ("settings", "overflow", "resumes"),
    [
        ("fp16=False, bf16=False, save_strategy='no'", False, False),
        ("fp16=False, bf16=False", False, True),
        ("fp16=True", True, True),
        ("seed=1", True, True),
    ],
)
def test_the_script_decides_about_float16_and_about_resuming(
    settings: str, overflow: bool, resumes: bool, here: Path, ask: Ask
) -> None:
    """A training in float32 does not overflow float16, and one that saves nothing has no checkpoint to resume from."""
    (here / "run.log").write_text(BROKEN)
    (here / "train.py").write_text(
        f"from trl import SFTConfig, SFTTrainer\nSFTTrainer('m', args=SFTConfig('out', {settings})).train()\n"
    )

    _, told = ask("diagnose", "run.log", "train.py")
    names = [each["class"] for each in told["causes"]]
    fix = next(each["fix"] for each in told["causes"] if each["class"] == "lr-too-high-divergence")

    assert ("fp16-overflow-nan" in names) is overflow
    assert ("Resume from a checkpoint" in fix) is resumes
    assert ("no checkpoint was saved" in fix) is not resumes
