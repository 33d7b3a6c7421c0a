"""`holdfast rehearse --faults`: faults that are injected into real trainings of twins, and what a run makes of each."""

import json
from pathlib import Path
from typing import Any

import pytest

from holdfast.app.rehearse.verb import rehearse
from holdfast.core.errors import UsageError
from holdfast.core.rehearse.rehearsed_fault import FAULTS, RehearsedFault
from holdfast.results.rehearse import RehearseResult
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

SFT = """\
method: sft
model: builtin:tiny-chat
dataset: {path: rows.jsonl, eval_fraction: 0.25}
samples: {prompts: 0}
train: {max_steps: 40, save_steps: 10, eval_steps: 10, per_device_train_batch_size: 4, max_length: 64}
"""
DPO = """\
method: dpo
model: builtin:tiny-chat
dataset: pairs.jsonl
peft: {r: 4}
samples: {prompts: 0}
where: {backend: hf-jobs, hardware: a10g-small, timeout: 1h}
train: {max_steps: 40, save_steps: 10, learning_rate: 1.0e-4, per_device_train_batch_size: 8, max_length: 64}
recover: {allow: [batch_size, skip_batches]}
"""
SCRIPT = """\
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments

tokenizer = AutoTokenizer.from_pretrained(%(model)r)
rows = Dataset.from_list([{"text": f"{n} plus {n} is " + "so " * (n %% 7 + 1)} for n in range(40)])
rows = rows.map(lambda row: tokenizer(row["text"], truncation=True, max_length=64), remove_columns=["text"])
args = TrainingArguments("out", num_train_epochs=1, logging_steps=1, report_to=[], %(settings)s)
collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)
model = AutoModelForCausalLM.from_pretrained(%(model)r)
trainer = Trainer(model=model, args=args, train_dataset=rows, data_collator=collator)
trainer.train()
%(end)s
"""
TOKEN = f"hf_{'Abcdefgh' * 4}"

pytestmark = pytest.mark.train


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows, in which nothing is asked of the Hub, and of which nothing is remembered."""
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    words = [f"{n} plus {n} is " + "so " * (n % 7) for n in range(40)]
    chats = [{"messages": [{"role": role, "content": text} for role in ("user", "assistant")]} for text in words]
    pairs = [{"prompt": text, "chosen": f"it is {text}", "rejected": "no idea"} for text in words]
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in chats))
    Path("pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in pairs))
    return tmp_path


def write_script(model: Path, settings: str = "save_steps=5", end: str = "trainer.save_model('final')") -> str:
    Path("train.py").write_text(SCRIPT % {"model": str(model), "settings": settings, "end": end})
    return "train.py"


def inject(target: str, *faults: str, **options: Any) -> tuple[RehearseResult, dict[str, RehearsedFault]]:
    """Rehearse a target here with faults; return the result, and what became of each fault."""
    result = rehearse(target, here=True, offline=True, faults=faults or "all", **options)
    assert (result.failures, isinstance(result.faults, tuple)) == ([], True)
    return result, {each.name: each for each in result.faults or ()}


def changed(fault: RehearsedFault) -> dict[str, tuple[Any, Any]]:
    return {each.key.removeprefix("train."): (each.before, each.after) for each in fault.changes}


@pytest.mark.long
def test_memory_that_runs_out_is_recovered_from_with_the_settings_of_the_job_itself() -> None:
    """The remedy halves the job's own batch; on the twin, the fault would strike again if the batch were not smaller."""
    Path("job.yaml").write_text(SFT)

    result, faults = inject("job.yaml", "oom-train")
    found = faults["oom-train"]

    assert (result.verdict, found.status, found.action) == ("pass", "recovers", "changes")
    assert (found.diagnosis, found.is_cause) == ("cuda-oom-train-step", True)
    assert changed(found) == {"per_device_train_batch_size": (4, 2), "gradient_accumulation_steps": (1, 2)}
    assert (found.step, found.resume_from, found.played, found.loss) == (5, "checkpoint-4", True, "rounded")


def test_a_fault_that_there_is_not_is_refused_before_anything_runs() -> None:
    with pytest.raises(UsageError, match="no fault 'kil'"):
        rehearse("nowhere.yaml", faults="kil")


@pytest.mark.long
def test_nothing_is_injected_into_a_job_whose_rehearsal_fails(tiny: Path) -> None:
    result = rehearse(write_script(tiny, end="print(1 / 0)"), here=True, offline=True, faults="kill")

    assert (result.verdict, result.faults) == ("fail", ())


@pytest.mark.long
def test_a_job_file_with_every_fault() -> None:
    """What passes by itself ends with the losses and the weights of the undisturbed training, bit for bit."""
    Path("job.yaml").write_text(SFT)

    result, faults = inject("job.yaml")

    assert result.verdict == "pass"
    assert list(faults) == list(FAULTS)
    assert {name: each.status for name, each in faults.items()} == {
        "kill": "resumes",
        "sigterm": "resumes",
        "stall": "recovers",
        "nan-gradients": "stops",
        "oom-train": "recovers",
        "oom-eval": "recovers",
        "disk-full": "resumes",
        "truncated-checkpoint": "resumes",
        "hub-429": "skipped",
        "hub-503": "skipped",
        "expired-token": "skipped",
    }
    struck = [each for each in faults.values() if each.status != "skipped"]
    assert all(each.is_cause for each in struck)
    exact = [each for each in struck if each.name not in ("nan-gradients", "oom-train")]
    assert {(each.loss, each.same_weights, each.played) for each in exact} == {("same", True, True)}
    assert "No space left" in str(faults["disk-full"].said) or "unexpected pos" in str(faults["disk-full"].said)
    assert faults["truncated-checkpoint"].resume_from == "checkpoint-2"
    assert "truncated" in faults["truncated-checkpoint"].passed_over[0]
    assert changed(faults["oom-eval"]) == {"per_device_eval_batch_size": (8, 4)}


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_one_of_several_processes_is_struck_and_named() -> None:
    """Two processes, started by torchrun's agent: the diagnosis names the one that was struck, and the run continues by itself."""
    Path("job.yaml").write_text(f"{SFT}where: {{processes: 2}}\n")

    _, faults = inject("job.yaml", "kill,stall,oom-train")

    assert {name: each.status for name, each in faults.items()} == dict.fromkeys(faults, "recovers")
    assert {each.rank for each in faults.values()} == {1}
    assert all(each.is_cause for each in faults.values())
    assert {name: each.diagnosis for name, each in faults.items()} == {
        "kill": "rank-died-peers-abort",
        "stall": "training-stalled",
        "oom-train": "cuda-oom-train-step",
    }
    assert str(faults["kill"].where) == "rank 1 was killed by SIGKILL; rank 0 ended after it"
    assert "rank 1 has not come to collective" in str(faults["stall"].where)
    exact = [faults["kill"], faults["stall"]]
    assert {(each.loss, each.same_weights) for each in exact} == {("same", True)}


@pytest.mark.long
def test_a_job_on_another_backend_is_decided_as_there() -> None:
    """A preemption is one there; the job permits to skip batches, and says what that changes."""
    Path("job.yaml").write_text(DPO)

    _, faults = inject("job.yaml", "sigterm,nan-gradients,oom-train,oom-eval")

    assert (faults["sigterm"].status, faults["sigterm"].loss) == ("recovers", "same")
    assert (faults["nan-gradients"].status, faults["nan-gradients"].skips) == ("recovers", (5, 5))
    assert any("train nothing" in text for text in faults["nan-gradients"].differs)
    assert changed(faults["oom-train"])["per_device_train_batch_size"] == (8, 4)
    assert (faults["oom-train"].status, faults["oom-train"].loss) == ("recovers", "rounded")
    assert (faults["oom-eval"].status, faults["oom-eval"].because) == (
        "skipped",
        "the job evaluates nothing in the steps of the rehearsal",
    )


@pytest.mark.long
def test_a_script_with_a_plain_trainer(tiny: Path) -> None:
    """A script is not changed, and a person resumes it; weights that are lost are not noticed."""
    _, faults = inject(write_script(tiny), set=["where.backend=local"])

    assert {name: each.status for name, each in faults.items() if each.status != "skipped"} == {
        "kill": "resumes",
        "sigterm": "resumes",
        "stall": "resumes",
        "nan-gradients": "loses",
        "oom-train": "stops",
        "disk-full": "resumes",
        "truncated-checkpoint": "resumes",
    }
    assert "per_device_train_batch_size" in str(faults["oom-train"].because)
    assert faults["nan-gradients"].action == "finishes"


@pytest.mark.long
@pytest.mark.parametrize(("strict", "verdict"), [(False, "pass"), (True, "fail")])
def test_a_script_that_saves_nothing_loses_what_it_trained(tiny: Path, strict: bool, verdict: str) -> None:
    """That is a warning, unless the rehearsal is strict."""
    script = write_script(tiny, "save_strategy='no'")

    result, faults = inject(script, "kill", "truncated-checkpoint", set=["where.backend=local"], strict=strict)

    assert result.verdict == verdict
    assert (faults["kill"].status, faults["kill"].resume_from) == ("loses", None)
    assert faults["truncated-checkpoint"].status == "skipped"


@pytest.mark.long
def test_the_hub_fails_at_a_push(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The training is over; started again from its last checkpoint, it pushes."""
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    script = write_script(tiny, "save_steps=5, push_to_hub=True, hub_model_id='me/talks'", "trainer.push_to_hub()")

    _, faults = inject(script, "hub-429,hub-503,expired-token")

    named = {name: each.diagnosis for name, each in faults.items()}
    assert named == {
        "hub-429": "hub-rate-limited",
        "hub-503": "hub-upload-transient",
        "expired-token": "hub-token-invalid",
    }
    assert {(each.status, each.resume_from, each.played) for each in faults.values()} == {
        ("resumes", "checkpoint-8", True)
    }
