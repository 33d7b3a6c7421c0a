"""What a script and its log tell together; and that neither a good script nor a good log is taken for a fault."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast import diagnose
from holdfast.core.run.event import (
    Closed,
    Delivered,
    Event,
    Liveness,
    Polled,
    Reported,
    RunRequested,
    RunStage,
    Started,
    Starting,
    Stopper,
    StopRequested,
)
from holdfast.core.run.run_state import fold
from holdfast.engine.diagnose import PatternIndex, read_log
from holdfast.engine.diagnose import diagnose as diagnose_log
from holdfast.engine.diagnose.attempts import LEDGER, Ending, attempt_facts, hang_evidence
from holdfast.engine.diagnose.endings import ending_evidence
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.engine.script.literal_rows import literal_rows
from holdfast.signatures import all_signatures

SCRIPT = """\
from datasets import Dataset, load_dataset
from trl import SFTConfig, SFTTrainer

rows = load_dataset("acme/chats", split="train")
config = SFTConfig(
    output_dir="out",
    learning_rate=1e-3,
    max_steps=8,
    logging_steps=1,
    per_device_train_batch_size=4,
)
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=config, train_dataset=rows)
trainer.train()
print("the script is done")
"""
BARS = "Writing model shards: 100%|##########| 1/1 [00:00<00:00, 519.87it/s]\n"
END = "{'train_runtime': '0.2', 'train_samples_per_second': '100', 'train_loss': '5.3', 'epoch': '1'}\n"
DONE = "the script is done\n"
TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 4, in <module>\n'
NO_GPU = "UserWarning: 'pin_memory' argument is set as true but no accelerator is found, then device pinned memory won't be used.\n"


def steps(count: int = 8, first: int = 1, **changed: Callable[[int], float]) -> str:
    """Return the lines of steps of a linear schedule from 1e-3 down over eight steps."""
    each: dict[str, Callable[[int], float]] = {
        "loss": lambda at: 6.0 - 0.1 * at,
        "grad_norm": lambda at: 2.3 - 0.01 * at,
        "learning_rate": lambda at: 1e-3 * (9 - at) / 8,
        "num_tokens": lambda at: 86 * at + at % 3,
        "epoch": lambda at: 0.125 * at,
        **changed,
    }
    rows = [{name: f"{value(at):.4g}" for name, value in each.items()} for at in range(first, first + count)]
    return "".join(f"{row}\n" for row in rows)


def full(at: int) -> float:
    return 4 * 32 * at


FAULTS = {
    "nothing is saved": (
        ("max_steps=8", 'max_steps=8, save_strategy="no"'),
        steps() + END + DONE,
        "no-checkpoint-saved",
    ),
    "the checkpoint's rate": (("1e-3", "5e-3"), steps(4, 5) + BARS + END + DONE, "resume-settings-changed"),
    "a rate that the log lacks": (
        ("1e-3", "2.0"),
        "".join(f"step {at}: loss {loss}\n" for at, loss in enumerate([6.3, 7.9, 7.8, 7.7, 7.6])) + BARS + END + DONE,
        "lr-too-high-divergence",
    ),
    "a cut in every row": (
        ('split="train")', 'split="train")\nanswers = "messages"'),
        steps(num_tokens=full) + BARS + END + DONE,
        "answers-not-in-training-text",
    ),
    "precision of a GPU": (
        ("max_steps=8", "max_steps=8, fp16=True"),
        NO_GPU + steps() + BARS + END + DONE,
        "no-gpu-visible",
    ),
    "a push that hangs": (
        ("trainer.train()", "trainer.train()\ntrainer.push_to_hub()"),
        steps() + BARS + END,
        "hub-upload-transient",
    ),
    "rows that are evaluated on too": (
        ("train_dataset=rows", "train_dataset=rows, eval_dataset=rows"),
        steps() + BARS + END + DONE,
        "eval-train-leak",
    ),
    "tokens twice": (
        ('load_dataset("acme/chats", split="train")', 'Dataset.from_list([{"text": "a<|im_end|><|im_end|>"}])'),
        steps() + BARS + END + DONE,
        "text-duplicated-in-rows",
    ),
    "nobody answers": (
        (
            'load_dataset("acme/chats", split="train")',
            'Dataset.from_list([{"messages": [{"role": "user", "content": f"{n}?"}]} for n in range(8)])',
        ),
        steps() + BARS + END + DONE,
        "answers-not-in-training-text",
    ),
    "a header that nobody reads": (
        ("from datasets", '#/// script\n#dependencies = ["datasets"]\n#///\nfrom datasets'),
        TRACEBACK + "    from datasets import Dataset\nModuleNotFoundError: No module named 'datasets'\n",
        "pep723-header-invalid",
    ),
    "an argument that both name": (
        ("max_steps=8", "max_steps=8, max_seq_length=64"),
        TRACEBACK
        + "    config = SFTConfig(\nTypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_seq_length'\n",
        "trl-config-arg-renamed",
    ),
}


def told(folder: Path, script: str, log: str) -> dict[str, Any]:
    (folder / "train.py").write_text(script)
    (folder / "train.log").write_text(log)
    return diagnose([str(folder / "train.log"), str(folder / "train.py")])


@pytest.mark.parametrize("name", FAULTS)
def test_a_log_and_its_script_tell_together(name: str, tmp_path: Path) -> None:
    """The evidence names the script's line."""
    (old, new), log, true = FAULTS[name]
    script = SCRIPT.replace(old, new)
    if "cut" in name:
        script = script.replace("max_steps=8", "max_steps=8, max_length=32")
    answer = told(tmp_path, script, log)

    assert (answer["verdict"], answer["causes"][0]["class"]) == ("diagnosed", true), answer["causes"]
    of_script = [each for each in answer["causes"][0]["evidence"] if each["path"].endswith("train.py")]
    assert of_script
    assert of_script[0]["text"].startswith(script.splitlines()[of_script[0]["line"] - 1].strip())


HEALTHY = {
    "as it is": ("", "", steps() + BARS + END + DONE),
    "saved by itself": ("trainer.train()", 'trainer.train()\ntrainer.save_model("kept")', steps() + END + DONE),
    "an adapter, of whose save nothing is said": ("", "", steps() + END + DONE),
    "a log without its beginning": ("", "", steps(4, 5) + BARS + END + DONE),
    "resumed with the same rate": (
        "trainer.train()",
        "trainer.train(resume_from_checkpoint=True)",
        steps(4, 5) + BARS + END + DONE,
    ),
    "rows of one length": ("", "", steps(num_tokens=full) + BARS + END + DONE),
    "a rate of SGD that the log lacks": (
        "learning_rate=1e-3",
        'learning_rate=2.0, optim="sgd"',
        "".join(f"step {at}: loss {loss}\n" for at, loss in enumerate([6.3, 6.4, 6.5, 6.4])) + BARS + END + DONE,
    ),
    "packed rows": (
        "max_steps=8",
        "max_steps=8, packing=True, max_length=32",
        steps(num_tokens=full) + BARS + END + DONE,
    ),
    "a CPU on purpose": ("max_steps=8", "max_steps=8, use_cpu=True", NO_GPU + steps() + BARS + END + DONE),
    "a push that came back": ("trainer.train()", "trainer.train()\ntrainer.push_to_hub()", steps() + BARS + END + DONE),
    "a style to warn of": ("max_steps=8", "max_steps=8, gradient_checkpointing=True", steps() + BARS + END + DONE),
}


@pytest.mark.parametrize("name", HEALTHY)
def test_a_good_log_with_a_good_script_is_healthy(name: str, tmp_path: Path) -> None:
    old, new, log = HEALTHY[name]
    answer = told(tmp_path, SCRIPT.replace(old, new) if old else SCRIPT, log)

    assert answer["verdict"] == "healthy", answer["causes"]


def test_what_keeps_a_job_from_its_first_step_is_no_cause_once_it_took_one(tmp_path: Path) -> None:
    """A log that was cut stays unknown; of one that is empty the script's error is told as a hint."""
    script = SCRIPT.replace("max_steps=8", 'max_steps=8, eval_strategy="steps"')
    begun = told(tmp_path, script, steps(3) + " 38%|###       | 3/8 [00:06<00:10,  2.00s/it]\n")
    empty = told(tmp_path, script, "")

    assert (begun["verdict"], begun["causes"]) == ("unknown", [])
    assert (empty["verdict"], empty["causes"][0]["class"]) == ("unknown", "eval-strategy-without-eval-dataset")
    assert empty["causes"][0]["confidence"] < 0.5


def test_a_script_that_is_no_python_is_said_and_the_log_is_read_all_the_same(tmp_path: Path) -> None:
    answer = told(tmp_path, "def (:\n", steps() + BARS + END)

    assert (answer["verdict"], bool(answer["job"]["unread"])) == ("healthy", True)


OOM = """Traceback (most recent call last):
  File "/venv/lib/python3.11/site-packages/transformers/trainer.py", line 2325, in train
    x()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 22.06 GiB of which 1.06 GiB is free. \
Including non-PyTorch memory, this process has 20.99 GiB memory in use. Of the allocated memory 19.80 GiB is allocated by PyTorch, and \
921.10 MiB is reserved by PyTorch but unallocated.
"""


def test_a_remedy_says_from_which_value_to_which(tmp_path: Path) -> None:
    """Halving the batch doubles accumulation, as the script's own values have it."""
    remedy = told(tmp_path, SCRIPT, steps(3) + OOM)["causes"][0]["remedy"]

    assert remedy == [
        {"key": "train.per_device_train_batch_size", "action": "halve", "from": 4, "to": 2},
        {"key": "train.gradient_accumulation_steps", "action": "set", "from": 1, "to": 2},
    ]
    single = SCRIPT.replace("per_device_train_batch_size=4", "per_device_train_batch_size=1")
    assert told(tmp_path, single, steps(3) + OOM)["causes"][0]["remedy"] is None


@pytest.mark.parametrize(
    ("settings", "accumulation"),
    [
        ("per_device_train_batch_size=size()", {"action": "set", "from": 1, "to": 2}),
        (
            "per_device_train_batch_size=4, gradient_accumulation_steps=size()",
            {"action": "double", "from": None, "to": None},
        ),
        ("gradient_accumulation_steps=3", {"action": "set", "from": 3, "to": 6}),
    ],
)
def test_half_a_batch_keeps_the_effective_one_where_values_are_unknown(
    settings: str, accumulation: dict[str, Any], tmp_path: Path
) -> None:
    """Accumulation is doubled beside a batch that is not known, and no value is claimed for one that is computed."""
    script = SCRIPT.replace("per_device_train_batch_size=4", settings)
    _, balanced = told(tmp_path, script, steps(3) + OOM)["causes"][0]["remedy"]

    assert balanced == {"key": "train.gradient_accumulation_steps", **accumulation}


def test_half_a_batch_keeps_the_effective_one_by_a_log_alone(tmp_path: Path) -> None:
    """Without the script, both changes are proposed without values."""
    (tmp_path / "train.log").write_text(steps(3) + OOM)
    remedy = diagnose(str(tmp_path / "train.log"))["causes"][0]["remedy"]

    assert [(each["action"], each["to"]) for each in remedy] == [("halve", None), ("double", None)]


def test_rows_that_are_written_out_are_read_and_others_are_not() -> None:
    made = {
        "from_list([{'a': n + 1} for n in range(2)])": [{"a": 1}, {"a": 2}],
        "from_dict({'a': [1], 'b': ['x']})": [{"a": 1, "b": "x"}],
    }
    for text, rows in made.items():
        assert literal_rows(f"d = Dataset.{text}") == {1: rows}
    for text in (
        "from_list(load())",
        "from_list([{'a': f(n)} for n in range(2)])",
        "from_list(rows)",
        "from_list([1])",
        "from_list((:",
    ):
        assert literal_rows(f"d = Dataset.{text}") == {}


def attempt(*events: Event, code: int | None = 1, because: str = "", end: Mapping[str, Any] | None = None) -> Any:
    said = [Reported(at_s=4, attempt=1, said={"event": "end", **end})] if end else []
    return fold(
        [
            RunRequested(at_s=1, folder="runs/a"),
            Starting(at_s=2, attempt=1, backend="slurm"),
            Started(at_s=3, attempt=1, id="7"),
            Reported(at_s=3, attempt=1, said={"event": "step", "step": 5, "max_steps": 9}),
            *said,
            Polled(at_s=5, attempt=1, answer=Liveness.ENDED, exit_code=code, because=because),
            *events,
        ]
    )


@pytest.mark.parametrize(
    ("because", "true"),
    [
        ("slurm says TIMEOUT", "job-time-limit"),
        ("Job timeout", "job-time-limit"),
        ("slurm says OUT_OF_MEMORY", "cpu-ram-oom-kill"),
        ("slurm says PREEMPTED", "job-preempted-or-requeued"),
        ("Job failed: the node was lost", "job-preempted-or-requeued"),
        ("Pod was terminated in response to imminent node shutdown.", "job-preempted-or-requeued"),
        ("slurm says CANCELLED by 1000", "job-cancelled-externally"),
        ("sbatch: error: Batch job submission failed", None),
    ],
)
def test_the_state_that_a_scheduler_tells_names_the_class(because: str, true: str | None) -> None:
    spoken = [each.name for each in ending_evidence(attempt_facts(attempt(because=because), Ending()), LEDGER)]
    assert spoken == ([true] if true else [])


@pytest.mark.parametrize("first", [3, 27])
def test_nan_that_the_watch_ended_is_told_with_its_step(first: int) -> None:
    """It was stopped, so nobody reads that nothing stops it, and the spoilt checkpoints are told."""
    lost = ({"event": "step", "step": first + n, "max_steps": 90, "loss": 0.0, "nan": ["grad_norm"]} for n in range(3))
    good = {"event": "step", "step": first - 1, "max_steps": 90, "loss": 2.0, "grad_norm": 1.0}
    state = fold(
        [
            RunRequested(at_s=0, folder="/runs/r"),
            Starting(at_s=1, attempt=1, backend="local"),
            Started(at_s=2, attempt=1, id="7"),
            *(Reported(at_s=3, attempt=1, said=said) for said in (good, *lost)),
            StopRequested(at_s=4, by=Stopper.NAN),
            Polled(at_s=5, attempt=1, answer=Liveness.ENDED, exit_code=143),
        ]
    )
    log = read_log([("train.log", iter([b"loading"]))], PatternIndex(all_signatures()).sought)
    beside = ending_evidence(attempt_facts(state, Ending()), LEDGER)
    (cause,) = diagnose_log(log, PatternIndex(all_signatures()), beside).causes

    assert cause.signature.name == "nan-loss-silent-success"
    told = f"{cause.signature.title} {cause.cause} {cause.fix}"
    assert "othing stops" not in told
    assert f"at step {first}; holdfast stopped the attempt at step {first + 2}" in told
    assert f"saved after step {first - 1} are spoilt" in told


@pytest.mark.parametrize("resume_from", [None, "/c/checkpoint-8"])
@pytest.mark.parametrize("trained", [False, True])
def test_a_stall_before_the_first_step_is_told_as_one(trained: bool, resume_from: str | None) -> None:
    """It has no steps to compare with; and where nothing was saved, nothing is continued from."""
    step = {"event": "step", "step": 9, "max_steps": 90} if trained else {"event": "heartbeat", "phase": "import"}
    state = fold(
        [
            RunRequested(at_s=0, folder="/runs/r"),
            Starting(at_s=1, attempt=1, backend="local", resume_from=resume_from),
            Started(at_s=2, attempt=1, id="7"),
            Reported(at_s=3, attempt=1, said=step),
            StopRequested(at_s=4, by=Stopper.STALL),
            Polled(at_s=5, attempt=1, answer=Liveness.ENDED, exit_code=-9),
        ]
    )
    patterns = PatternIndex(all_signatures())
    log = read_log([("train.log", iter([b"loading"]))], patterns.sought)
    (cause,) = diagnose_log(log, patterns, ending_evidence(attempt_facts(state, Ending()), LEDGER)).causes

    assert cause.signature.name == "training-stalled"
    assert ("No step was done yet" in cause.cause) is not trained
    assert ("far longer than its own steps" in cause.cause) is trained
    assert ("No checkpoint was saved" in cause.fix) is (not trained and resume_from is None)


def test_an_exit_code_of_a_shell_counts_like_the_signal() -> None:
    assert [each.name for each in ending_evidence(attempt_facts(attempt(code=143), Ending()), LEDGER)] == [
        "job-preempted-or-requeued"
    ]
    assert ending_evidence(attempt_facts(attempt(code=1), Ending()), LEDGER) == []


@pytest.mark.parametrize("code", [-35, -200])
def test_a_signal_without_a_name_is_told_by_its_number(code: int) -> None:
    assert [each.text for each in attempt_facts(attempt(code=code), Ending())] == [f"failed (exitcode: {code})"]


@pytest.mark.parametrize("code", [-9, 137])
def test_a_kill_that_was_not_for_lack_of_memory_is_named(code: int) -> None:
    """The kernel counts its own kills: where it made none, somebody sent the signal."""
    by_whom = {
        kills: [(each.name, each.lines[0].text) for each in facts]
        for kills in (0, 2, None)
        if (facts := ending_evidence(attempt_facts(attempt(code=code), Ending(oom_kills=kills)), LEDGER))
    }
    assert [name for name, _ in by_whom[0]] == ["job-cancelled-externally"]
    assert "SIGKILL, which holdfast and the kernel (oom_kill 0) did not send, ended it at step" in by_whom[0][0][1]
    assert [name for name, _ in by_whom[2]] == ["cpu-ram-oom-kill"]
    assert None not in by_whom


@pytest.mark.parametrize("code", [-9, 137])
def test_a_kill_on_a_machine_where_nobody_counts_has_a_cause(code: int) -> None:
    """As `--ended 137` does: on a service's machine, SIGKILL mostly is the kernel's, for lack of memory."""
    texts = [each.text for each in attempt_facts(attempt(code=code), Ending())]

    assert texts[0] == "SIGKILL ended it"


def test_a_killed_process_is_not_healthy_though_its_numbers_are() -> None:
    """The loss of GRPO rightly begins at zero; of an attempt that was killed, that is no reason to call it healthy."""
    text = "".join(f"{{'loss': '0.0', 'grad_norm': '1.5', 'reward': '{n}.0', 'reward_std': '0.4'}}\n" for n in range(5))
    patterns = PatternIndex(all_signatures())

    def named(*beside: ClassEvidence) -> str:
        log = read_log([("train.log", iter([text.encode()]))], patterns.sought)
        return diagnose_log(log, patterns, beside).causes[0].signature.name

    killed = ending_evidence(attempt_facts(attempt(code=-9), Ending(oom_kills=0)), LEDGER)
    assert (named(), named(*killed)) == ("healthy-run-misread", "job-cancelled-externally")


def test_a_model_that_never_arrived_is_told_of_a_run_that_trained_to_its_end() -> None:
    lost = Delivered(at_s=6, repository="me/x", verdict="missing", because="no model.safetensors is in me/x")
    closed = Closed(at_s=7, stage=RunStage.FAILED)
    state = attempt(lost, closed, code=0, end={"status": "finished"})
    assert [each.name for each in ending_evidence(attempt_facts(state, Ending()), LEDGER)] == ["model-not-pushed"]
    assert attempt_facts(attempt(code=0, end={"status": "finished"}), Ending(oom_kills=3)) == []


def test_a_disk_without_room_is_told_of_a_failed_attempt_alone() -> None:
    full_disk = Ending(disk_free_bytes=1000)
    assert [each.name for each in ending_evidence(attempt_facts(attempt(), full_disk), LEDGER)] == ["disk-full"]
    assert ending_evidence(attempt_facts(attempt(), Ending(disk_free_bytes=1 << 34)), LEDGER) == []


STACKS = """\
Thread 0x00007f0 (most recent call first):
  File "/usr/lib/python3.11/threading.py", line 1 in wait

Stack (most recent call first):
  File "{innermost}", line 9 in {function}
  File "/venv/lib/python3.11/site-packages/transformers/trainer.py", line 2 in train
  File "/home/me/train.py", line 3 in <module>
"""


@pytest.mark.parametrize(
    ("innermost", "function", "true"),
    [
        ("/venv/site-packages/huggingface_hub/hf_api.py", "create_commit", "hub-upload-transient"),
        ("/venv/site-packages/torch/utils/data/dataloader.py", "_get_data", "dataloader-worker-died-or-hung"),
        ("/venv/site-packages/huggingface_hub/hf_api.py", "model_info", "hub-download-transient"),
        ("/home/me/train.py", "compute", None),
    ],
)
def test_stacks_say_what_a_process_waited_for(innermost: str, function: str, true: str | None) -> None:
    found = hang_evidence(
        Ending(stacks=STACKS.format(innermost=innermost, function=function), stacks_path="stacks.txt"), stopper=None
    )
    assert [(each.name, each.lines[0].number) for each in found] == ([(true, 5)] if true else [])


@pytest.mark.parametrize(
    ("library", "caller"),
    [
        ("/venv/site-packages/trl/trainer/grpo_trainer.py", "_calculate_rewards"),
        ("/venv/site-packages/transformers/trainer_callback.py", "call_event"),
        ("/home/me/runs/a/attempts/1/attempt.py", "wrapped"),
    ],
)
def test_a_function_of_the_users_own_that_does_not_return_is_named(library: str, caller: str) -> None:
    """It raised nothing: a reward function that hangs is not one that failed, and a callback is as good a culprit."""
    stacks = STACKS.format(innermost="/home/me/mine.py", function="ask").replace(
        '"/venv/lib/python3.11/site-packages/transformers/trainer.py", line 2 in train',
        f'"{library}", line 5 in {caller}\n  File "/venv/lib/python3.11/site-packages/transformers/trainer.py", line 2 in train',
    )
    state = replace(attempt(end={"status": "stopped", "because": "SIGTERM"}), stop=Stopper.STALL)
    ending = Ending(stacks=stacks, stacks_path="stacks.txt")

    (fact,) = [each for each in attempt_facts(state, ending) if each.name]
    assert (fact.name, fact.values["function"], fact.values["place"]) == ("training-stalled", "ask", "mine.py:9")
    assert hang_evidence(ending, Stopper.STALL) == []


def test_a_main_function_is_not_what_hangs() -> None:
    """A library for command lines calls it, and it calls the trainer."""
    stacks = STACKS.format(innermost="/venv/site-packages/torch/nn/modules/linear.py", function="forward").replace(
        '  File "/home/me',
        '  File "/home/me/train.py", line 7 in main\n  File "/venv/site-packages/fire/core.py", line 1 in Fire\n  File "/home/me',
    )
    state = replace(attempt(end={"status": "stopped", "because": "SIGTERM"}), stop=Stopper.STALL)

    (fact,) = [each for each in attempt_facts(state, Ending(stacks=stacks)) if each.name]
    assert (fact.name, "function" in fact.values) == ("training-stalled", False)


def test_a_known_call_within_a_callback_is_the_cause() -> None:
    """A callback that uploads waits for the Hub."""
    stacks = STACKS.format(innermost="/venv/site-packages/huggingface_hub/hf_api.py", function="create_commit").replace(
        '  File "/venv/lib', '  File "/home/me/train.py", line 7 in on_save\n  File "/venv/lib', 1
    )

    assert [each.name for each in hang_evidence(Ending(stacks=stacks), Stopper.STALL)] == ["hub-upload-transient"]


def test_answers_are_json(tmp_path: Path) -> None:
    json.dumps(told(tmp_path, SCRIPT.replace("max_steps=8", 'max_steps=8, save_strategy="no"'), steps() + END + DONE))
