"""What is changed against each cause, what never is, and when nothing more is tried."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, get_args

import pytest

from holdfast.core.diagnose.diagnosis import Remedy
from holdfast.core.run.event import Diagnosed, Event, Remedied, Reported
from holdfast.core.run.event_json import event_from_json, event_to_json
from holdfast.core.run.remedy import Permission
from holdfast.core.run.run_state import RunState
from holdfast.engine.diagnose.history import RunHistory
from holdfast.engine.diagnose.likeliest import likeliest_cause
from holdfast.engine.recover.checkpoints import usable_steps
from holdfast.engine.recover.policy import decide
from holdfast.engine.recover.remedies import remedies_for
from holdfast.engine.recover.replanning import can_be_changed, remedied_job, remedied_plan
from holdfast.signatures import all_signatures
from tests.helpers.failed_jobs import diagnosed, failed, make_job, plan_of

NOT_PERMITTED = "`recover.allow` does not permit what may help"
TRAIN, EVAL = "cuda-oom-train-step", "cuda-oom-eval"
EVERYTHING: dict[str, Any] = {"recover": {"attempts": 9, "allow": [*get_args(Permission)]}}
NEVER = (
    "method",
    "model.path",
    "dataset",
    "train.max_length",
    "train.max_completion_length",
    "train.packing",
    "train.num_train_epochs",
)


def play(
    job: Any, causes: Sequence[Diagnosed], config: dict[str, Any], steps: Sequence[int] = (), **more: Any
) -> list[str]:
    """Return what is changed after each failure of a run, or why nothing is."""
    plan, state, said = plan_of(job), RunState(), list[str]()
    for number, cause in enumerate(causes, 1):
        now = remedied_job(plan, state.remedies)
        assert now is not None
        attempt = failed(now, cause.name, config={**config, **now.train}, **more).attempt
        done = steps[number - 1] if steps else number
        state = replace(state, attempts=(*state.attempts, replace(attempt, number=number, steps=done, diagnosed=cause)))
        found, *remedied = decide(cause, state, 9, plan)
        last = replace(state.attempts[-1], diagnosed=found, remedy=remedied[0].remedy if remedied else None)
        state = replace(state, attempts=(*state.attempts[:-1], last))
        said.append(remedied[0].remedy.describe() if remedied else found.stops or f"again in {found.next_s}")
    return said


def reported(step: int) -> Reported:
    """Return the report that a checkpoint was saved."""
    return Reported(at_s=1.0, attempt=1, said={"event": "checkpoint", "step": step, "path": f"/c/checkpoint-{step}"})


def test_the_ladder_is_climbed_step_by_step() -> None:
    """The batch is halved first; once it is 1, activations are computed again."""
    job = make_job(train={"per_device_train_batch_size": 2, "gradient_checkpointing": False}, recover={"attempts": 9})
    said = play(job, [diagnosed(TRAIN)] * 3, {"gradient_accumulation_steps": 4})

    assert said == [
        "`train.per_device_train_batch_size` from 2 to 1; `train.gradient_accumulation_steps` from 4 to 8",
        "`train.gradient_checkpointing` from False to True",
        "2 changes did not help against this cause",
    ]


@pytest.mark.parametrize(
    ("parts", "cause", "more", "first"),
    [
        (
            {},
            TRAIN,
            {},
            "`train.per_device_train_batch_size` from 8 to 4; `train.gradient_accumulation_steps` from 1 to 2",
        ),
        ({}, EVAL, {}, "`train.per_device_eval_batch_size` from 8 to 4; `train.eval_accumulation_steps` set to 8"),
        ({}, EVAL, {"hardware": ["cpu"]}, "`train.per_device_eval_batch_size` from 8 to 4"),
        ({}, "cuda-oom-at-save", {}, "nothing that a run changes by itself helps against it"),
        (
            {},
            "cuda-oom-fragmentation",
            {},
            "`environment.variables.PYTORCH_CUDA_ALLOC_CONF` set to expandable_segments:True",
        ),
        (
            {"train": {"dataloader_num_workers": 2}},
            "cpu-ram-oom-kill",
            {},
            "`train.dataloader_num_workers` from 2 to 0",
        ),
        (
            {},
            "cpu-ram-oom-kill",
            {"hardware": ["cpu"]},
            "`train.per_device_train_batch_size` from 8 to 4; `train.gradient_accumulation_steps` from 1 to 2",
        ),
        (
            {"method": "kto", "train": {"gradient_checkpointing": False}},
            TRAIN,
            {},
            "`train.gradient_checkpointing` from False to True",
        ),
        (
            {"method": "grpo", "train": {"use_vllm": True}},
            "grpo-colocate-oom",
            {},
            "`train.vllm_enable_sleep_mode` from False to True",
        ),
        ({}, "port-in-use", {}, ""),
        (
            {"environment": {"variables": {"MASTER_PORT": "29500"}}},
            "port-in-use",
            {},
            "`environment.variables.MASTER_PORT` from 29500 to 29537",
        ),
        (
            {"model": {"path": "m", "attn_implementation": "flash_attention_2"}},
            "flash-attn-abi-mismatch",
            {},
            "`model.attn_implementation` from flash_attention_2 to sdpa",
        ),
        (
            {"model": {"path": "m", "attn_implementation": "flash_attention_2"}, "train": {"packing": True}},
            "flash-attn-abi-mismatch",
            {},
            "nothing that a run changes by itself helps against it",
        ),
        (
            {"train": {"per_device_train_batch_size": 1}},
            TRAIN,
            {},
            "nothing that a run changes by itself helps against it",
        ),
        (
            {"recover": {"allow": []}},
            EVAL,
            {"hardware": ["cpu"]},
            f"{NOT_PERMITTED}: `train.per_device_eval_batch_size` from 8 to 4 (`batch_size`)",
        ),
    ],
)
def test_each_cause_has_its_own_first_remedy(
    parts: dict[str, Any], cause: str, more: dict[str, Any], first: str
) -> None:
    """The kind of memory that ran out decides; what is not permitted is named and not made."""
    assert play(make_job(**{"method": "sft", **parts}), [diagnosed(cause)], {}, **more) == [first]


def test_larger_hardware_needs_permission_and_is_the_cheapest() -> None:
    """Where the backend has flavors."""
    where = {"backend": "hf-jobs", "hardware": "t4-small", "timeout": "1h"}
    train = {"per_device_train_batch_size": 1}
    permitted = play(make_job(where=where, train=train, **EVERYTHING), [diagnosed(TRAIN)], {"optim": "sgd"})
    forbidden = play(make_job(where=where, train=train), [diagnosed(TRAIN)], {"optim": "sgd"})

    assert permitted[0].startswith("`where.hardware` from t4-small to ")
    assert forbidden[0].endswith("(`hardware`)")


def test_another_optimizer_makes_training_begin_anew() -> None:
    """States of another optimizer cannot be continued from."""
    where = {"backend": "hf-jobs", "hardware": "a10g-large", "timeout": "1h"}
    train = {"per_device_train_batch_size": 1, "optim": "adamw_torch_fused"}
    job = failed(make_job(where=where, train=train), TRAIN)
    found = next(each for each in remedies_for(job) if each.permission == "optimizer")

    assert (found.resumes_until, found.changes[0].after) == (0, "paged_adamw_8bit")
    assert "optimizer" not in found.keeps


@pytest.mark.parametrize("method", ["sft", "dpo", "grpo", "reward", "kto", "rloo"])
def test_method_data_and_lengths_are_never_changed(method: str) -> None:
    """Whatever the class of failure says, and whatever is permitted."""
    for signature in all_signatures():
        cause = diagnosed(signature.name, suggested=signature.remedy)
        job = replace(failed(make_job(method, **EVERYTHING), signature.name), cause=cause)
        for remedy in remedies_for(job):
            changed = [each.key for each in remedy.changes]
            assert not [key for key in changed if key.startswith(NEVER)], signature.name
            assert remedied_job(plan_of(job.job), [remedy]) is not None


@pytest.mark.parametrize(
    ("causes", "steps", "last"),
    [
        ([TRAIN, TRAIN, TRAIN], [1, 2, 3], "2 changes did not help against this cause"),
        ([TRAIN, EVAL, TRAIN], [4, 4, 4], "two attempts in a row got no further than those before them"),
        ([TRAIN, EVAL, TRAIN], [4, 4, 5], "`train.per_device_train_batch_size` from 4 to 2; `train.gradient_accumulation_steps` from 2 to 4"),
        ([""], [1], "the cause is unknown, and `recover.allow` does not have `unknown_once`"),
    ],
)  # fmt: skip
def test_a_run_does_not_go_on_for_ever(causes: list[str], steps: list[int], last: str) -> None:
    """Nor without getting further."""
    found = play(make_job(recover={"attempts": 9}), [diagnosed(name) for name in causes], {}, steps)

    assert found[-1] == last


def test_an_unknown_cause_is_tried_once_more_where_that_is_permitted() -> None:
    """And not twice."""
    assert play(make_job(**EVERYTHING), [diagnosed("")] * 2, {}) == [
        "again in 30.0",
        "the cause is unknown for the second time",
    ]


def test_what_is_not_certain_is_not_acted_on() -> None:
    """No money is spent again for a guess."""
    (said,) = play(make_job(), [diagnosed(TRAIN, confidence=0.6)], {})

    assert said.startswith("the cause is not certain enough")

    (said,) = play(make_job(), [replace(diagnosed(TRAIN, confidence=0.6), retry="no")], {})

    assert said.startswith("another one would most likely fail, too")


def test_a_script_is_not_changed() -> None:
    """It has no job to render anew."""
    plan = replace(plan_of(make_job()), job=None)
    state = RunState(attempts=(replace(failed(make_job(), TRAIN).attempt, diagnosed=diagnosed(TRAIN)),))
    cause = decide(diagnosed(TRAIN), state, 3, plan)[0]

    assert cause.stops == "a script is not changed by itself"


def test_suggested_changes_are_made_all_or_none() -> None:
    """A class whose fix changes the precision as well is not fixed by half."""
    suggested = (
        Remedy(key="train.ddp_timeout", action="set", value=7200),
        Remedy(key="train.bf16", action="set", value=True),
    )
    job = replace(failed(make_job(), "x"), cause=diagnosed("x", suggested=suggested))

    assert not [*remedies_for(job)]
    assert [*remedies_for(replace(job, cause=diagnosed("x", suggested=suggested[:1])))]


def test_a_plan_is_rendered_anew_with_the_changes_alone() -> None:
    """Without any the script is the very same; with them its settings and variables are others."""
    plan = plan_of(make_job(train={"max_length": 64}))
    (remedy, *_) = remedies_for(failed(make_job(train={"max_length": 64}), "cuda-oom-fragmentation"))
    changed = remedied_plan(plan, [remedy])

    assert can_be_changed(plan)
    assert remedied_plan(plan, []) is plan
    assert changed.variables == {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}
    assert not can_be_changed(replace(plan, script="print(1)"))


@pytest.mark.parametrize(
    ("variables", "allocator", "train", "expected"),
    [
        ({}, "", {}, "`environment.variables.PYTORCH_CUDA_ALLOC_CONF` set to expandable_segments:True"),
        (
            {},
            "max_split_size_mb:512",
            {},
            "`environment.variables.PYTORCH_CUDA_ALLOC_CONF` set to expandable_segments:True",
        ),
        (
            {"PYTORCH_CUDA_ALLOC_CONF": "backend:native,expandable_segments:False"},
            "backend:native,expandable_segments:False",
            {},
            "`environment.variables.PYTORCH_CUDA_ALLOC_CONF` from backend:native,expandable_segments:False to backend:native,expandable_segments:True",
        ),
        ({}, "expandable_segments:True", {}, ""),
        ({"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512"}, "max_split_size_mb:512", {}, ""),
        ({}, "", {"use_vllm": True}, ""),
    ],
)
def test_segments_grow_where_they_did_not(
    variables: dict[str, str], allocator: str, train: dict[str, bool], expected: str
) -> None:
    """An attempt that started with such segments is not repeated with them."""
    job = make_job("grpo" if train else "sft", environment={"variables": variables}, train=train)
    found = failed(job, "cuda-oom-fragmentation", allocator=allocator)
    first = next(iter(remedies_for(found))).describe()
    assert first == expected if expected else "ALLOC_CONF" not in first


def test_a_remedy_is_kept_in_the_ledger() -> None:
    """As it was decided, with all its parts."""
    for cause in (TRAIN, EVAL, "port-in-use", "cuda-oom-fragmentation"):
        remedy = next(iter(remedies_for(failed(make_job(), cause))))
        event = Remedied(at_s=1.0, attempt=1, cause=cause, remedy=remedy)
        assert event_from_json(*event_to_json(event)) == event


def test_checkpoints_of_before_a_new_beginning_are_not_continued_from() -> None:
    """Those that were saved again since are."""
    anew = next(iter(remedies_for(failed(make_job(train={"dataloader_drop_last": True}), TRAIN))))
    remedied = Remedied(at_s=1.0, attempt=1, cause=TRAIN, remedy=anew)
    saved: list[Event] = [reported(8), reported(16), remedied, reported(8)]
    usable = usable_steps(saved)

    assert [step for step in (4, 8, 12, 16) if usable.has(step)] == [8]
    assert usable_steps(saved[:2]).has(16)


@pytest.mark.parametrize(
    ("limit", "said"),
    [
        (2, "keeps 2: with the one being written, 6 GB are needed"),
        (None, "keeps all of them"),
        ("all", "keeps all of them"),
    ],
)
def test_a_full_disk_ends_a_run_that_says_how_much_room_it_needs(limit: object, said: str) -> None:
    """Nothing is deleted."""
    job = failed(make_job(), "disk-full", config={"save_total_limit": limit})
    attempt = replace(job.attempt, checkpoint_bytes=2_000_000_000, diagnosed=job.cause)
    cause, *remedied = decide(job.cause, RunState(attempts=(attempt,)), 3, plan_of(job.job))

    assert not remedied
    assert said in cause.stops


REQUIREMENTS = "environment.requirements"


@pytest.mark.parametrize(
    ("log", "parts", "added"),
    [
        ("ModuleNotFoundError: No module named 'nltk'", {}, ["nltk"]),
        ("ModuleNotFoundError: No module named 'sklearn'", {}, ["scikit-learn"]),
        ("ModuleNotFoundError: No module named 'yaml'", {"environment": {"requirements": ["rich>=13"]}}, ["rich>=13", "pyyaml"]),
        ("ModuleNotFoundError: No module named 'my_rewards'", {}, None),  # their own, or one that nobody here knows
        ("ModuleNotFoundError: No module named 'cv2'", {}, None),  # several packages have it
        ("ModuleNotFoundError: No module named 'flash_attn'", {}, None),  # its build needs what is not declared
        ("ModuleNotFoundError: No module named 'nltk'", {"environment": {"requirements": ["nltk"]}}, None),
        ("ModuleNotFoundError: No module named 'nltk'", {"where": {}}, None),  # gigabytes, where nobody asked for them
        ("ModuleNotFoundError: No module named 'nltk'", {"where": {"options": {"python": "/usr/bin/python3"}}}, None),
        ("ModuleNotFoundError: No module named 'datasets'", {}, None),  # every script declares it
    ],
)  # fmt: skip
def test_a_missing_package_is_added_if_its_name_is_certain_and_each_attempt_has_an_environment_of_its_own(
    log: str, parts: dict[str, Any], added: list[str] | None
) -> None:
    """The next attempt's script declares it, so that its environment is made with it."""
    error = f'Traceback (most recent call last):\n  File "/runs/a/attempts/1/attempt.py", line 3, in <module>\n{log}\n'
    cause = likeliest_cause(RunHistory(files=[("stderr.log", iter([error.encode()]))]), 1, 9.0)
    job = make_job(**{"where": {"backend": "hf-jobs", "hardware": "cpu-basic"}, **parts})
    plan = plan_of(job)
    state = RunState(attempts=(replace(failed(job, cause.name).attempt, started=None, diagnosed=cause),))

    found, *remedied = decide(cause, state, 3, plan)

    assert found.name == "missing-module"
    if added is None:
        assert (found.next_s, remedied) == (None, [])
        return
    assert found.next_s == 0.0
    assert [(each.key, each.after) for each in remedied[0].remedy.changes] == [(REQUIREMENTS, added)]
    assert all(f'"{each}"' in remedied_plan(plan, [remedied[0].remedy]).script for each in added)


@pytest.mark.parametrize(
    ("platform", "backend", "interface"),
    [("linux", "local", "lo"), ("darwin", "hf-jobs", "lo"), ("darwin", "local", None)],
)
def test_the_loopback_interface_has_the_name_that_the_machine_of_the_attempt_gives_it(
    platform: str, backend: str, interface: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On macOS it is another one, and the remedy is left out."""
    monkeypatch.setattr("sys.platform", platform)
    job = failed(make_job(where={"backend": backend, "hardware": "cpu-basic"}), "nccl-network-interface")
    after = {change.after for remedy in remedies_for(job) for change in remedy.changes}

    assert after == ({interface} if interface else set())
