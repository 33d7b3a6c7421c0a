"""What becomes of each stage, from what the processes of a rehearsal left."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from holdfast.core.check.finding import Rule, Severity
from holdfast.core.diagnose.diagnosis import Cause, Diagnosis
from holdfast.core.rehearse.rehearsal import STAGES, Objection, Part, PartResult, Rehearsal, StageName
from holdfast.core.run.training_event import parse_training_event
from holdfast.engine.rehearse import judge
from holdfast.engine.rehearse.answers import refuses
from holdfast.engine.rehearse.naming import cause_of, name_cause
from holdfast.rules import rules_of_rows
from holdfast.signatures import prevented_by

Telling = Mapping[str, Any]
PASSED = [
    {"event": "stage", "name": name, "elapsed_s": 0.5} for name in ("import", "data", "model", "tokenize", "step")
]


def steps(**losses: float) -> list[Telling]:
    """Return the events of a training's steps, by `s1=0.5`."""
    start: Telling = {"event": "start", "max_steps": 4}
    return [
        start,
        *({"event": "step", "step": int(name[1:]), "loss": loss, "elapsed_s": 0.1} for name, loss in losses.items()),
    ]


def played(part: Part = "whole", **changes: Any) -> PartResult:
    """Return a part that went well but for the changes."""
    usual: dict[str, Any] = {
        "code": 0,
        "hook_events": tuple(PASSED),
        "events": tuple(steps(s1=2.0, s2=1.5, s3=1.2, s4=1.0)),
    }
    told = usual | changes
    return PartResult(part=part, **{**told, "events": tuple(map(parse_training_event, told["events"]))})


def stopped(**changes: Any) -> PartResult:
    """Return a part that saved when it was asked to stop."""
    usual: dict[str, Any] = {
        "code": 143,
        "events": (*steps(s1=2.0, s2=1.5, s3=1.2), {"event": "checkpoint", "path": "/r/checkpoint-3"}),
    }
    return played("stop", **(usual | changes))


def resumed(**changes: Any) -> PartResult:
    """Return a part that went on from there."""
    return played("resume", **({"events": tuple(steps(s4=1.0))} | changes))


def judged(*parts: PartResult, objections: tuple[Objection, ...] = ()) -> Rehearsal:
    """Return the verdict; a log says nothing."""

    def say(part: PartResult, stage: Any) -> Cause:
        return cause_of(Diagnosis(verdict="unknown"), part, stage)

    return judge({part.part: part for part in parts}, objections, say)


def status(found: Rehearsal, name: str) -> str:
    """Return what became of a stage."""
    return next(stage.status for stage in found.stages if stage.name == name)


def test_whole_path_passes() -> None:
    found = judged(played(), stopped(), resumed())
    assert found.passed
    assert [status(found, name) for name in ("import", "step", "stop", "resume")] == ["pass"] * 4


def test_what_was_not_gone_through_is_no_pass() -> None:
    found = judged(played(), stopped(), resumed())
    assert {status(found, name) for name in ("evaluate", "save", "push", "export")} == {"not_rehearsed"}


def test_a_stage_that_may_have_come_later_is_not_said_to_be_missing() -> None:
    """A script that fails at its model has not come to its data."""
    hook_events = (PASSED[0], {"event": "failed", "stage": "model", "error": "KeyError: 'text'"})
    found = judged(played(code=1, hook_events=hook_events))

    because = {stage.name: stage.because for stage in found.stages if stage.status == "not_rehearsed"}
    assert because["data"] == because["push"] == "the script failed at `model`"


def test_stages_of_the_tail_count_as_push_only_where_something_was_pushed() -> None:
    tail = {"event": "stage", "name": "push", "elapsed_s": 1.0}
    pushed = {"event": "fact", "about": "push", "repository": "me/model"}
    assert status(judged(played(hook_events=(*PASSED, tail))), "push") == "not_rehearsed"
    assert status(judged(played(hook_events=(*PASSED, tail, pushed))), "push") == "pass"


def test_failure_stands_at_the_stage_that_its_exception_left() -> None:
    hook_events = (*PASSED[:3], {"event": "failed", "stage": "tokenize", "error": "KeyError: 'text'"})
    end = {"event": "end", "because": "KeyError: 'text'", "where": "train.py:12"}
    found = judged(played(code=1, hook_events=hook_events, events=(end,)))
    assert [(each.stage, each.where) for each in found.failures] == [("tokenize", "train.py:12")]
    assert "KeyError" in found.failures[0].cause.cause
    assert status(found, "step") == "not_rehearsed"
    assert not found.passed


def test_an_exception_that_the_script_caught_is_not_its_failure() -> None:
    hook_events = (
        *PASSED,
        {"event": "failed", "stage": "model", "error": "OSError: no such model"},
        {"event": "script_ended", "stage": "push"},
    )
    end = {"event": "end", "because": "NameError: name 'x' is not defined", "where": "train.py:30"}
    assert judged(played(code=1, hook_events=hook_events, events=(end,))).failures[0].stage == "push"
    assert judged(played(hook_events=hook_events), stopped(), resumed()).passed


@pytest.mark.parametrize(("before", "fails"), [(PASSED[:1], True), (PASSED, False)], ids=["before", "after"])
def test_a_process_that_ends_itself_before_it_trains_fails(before: Sequence[Telling], *, fails: bool) -> None:
    """Its exit code is 0, and nothing was trained."""
    left = {"event": "fact", "about": "os._exit", "code": 0}
    trained: dict[str, Any] = {"events": ()} if fails else {}
    found = judged(played(hook_events=(*before, left), **trained), stopped(), resumed())

    assert found.passed != fails
    assert ["os._exit" in each.cause.cause for each in found.failures] == [True] * fails


@pytest.mark.parametrize(
    ("stop", "says"),
    [
        (stopped(events=tuple(steps(s1=2.0))), "saved nothing"),
        (stopped(damage="checkpoint-3 is damaged: model.safetensors: truncated"), "truncated"),
    ],
)
def test_a_stop_that_saves_nothing_whole_fails(stop: PartResult, says: str) -> None:
    found = judged(played(), stop)
    assert status(found, "stop") == "fail"
    assert found.failures[0].cause.signature.name == "no-checkpoint-saved"
    assert says in found.failures[0].cause.cause


def test_a_training_that_is_over_before_it_can_be_stopped_is_not_rehearsed() -> None:
    found = judged(played(), played("stop"))
    assert status(found, "stop") == "not_rehearsed"
    assert found.passed


@pytest.mark.parametrize(
    ("resume", "name"),
    [
        (resumed(events=tuple(steps(s1=2.0, s2=1.5))), "resume-silently-ignored"),
        (resumed(events=tuple(steps(s4=1.7))), "resume-diverges"),
    ],
)
def test_a_resume_that_does_not_go_on_fails(resume: PartResult, name: str) -> None:
    found = judged(played(), stopped(), resume)
    assert status(found, "resume") == "fail"
    assert [each.cause.signature.name for each in found.failures] == [name]


def test_a_resume_without_a_step_is_no_pass() -> None:
    """Nothing was compared: green would say that it was."""
    found = judged(played(), stopped(), resumed(events=()))
    assert status(found, "resume") == "not_rehearsed"
    assert found.passed


def test_a_resume_that_differs_does_not_keep_a_run_from_starting() -> None:
    (failure,) = judged(played(), stopped(), resumed(events=tuple(steps(s4=1.7)))).failures
    assert failure.cause.signature.name == "resume-diverges"
    assert not refuses(failure)


@pytest.mark.parametrize(("again", "warned"), [("/job/out", False), ("/job/out-2", True)])
def test_a_folder_is_another_one_where_the_resumed_script_writes_elsewhere(again: str, *, warned: bool) -> None:
    """The part that is stopped and the one that resumes are one job; the uninterrupted one is another, with its own date."""

    def training(folder: str) -> tuple[dict[str, Any]]:
        return ({"event": "fact", "about": "training", "arguments": {"output_dir": folder}, "resumes": True},)

    whole = played(hook_events=(*PASSED, *training("/job/out-1")))
    stop, resume = stopped(hook_events=training("/job/out")), resumed(hook_events=training(again))
    assert [each.code for each in judged(whole, stop, resume).warnings] == ["resume-silently-ignored"] * warned


def test_rows_that_a_library_and_a_rule_refuse_are_reported_once() -> None:
    def say(_part: PartResult, _stage: Any) -> Cause:
        return name_cause("dataset-bad-row-values", "the lengths that should be equal are 34 and 36", {})

    error = "RuntimeError: The size of tensor a (34) must match the size of tensor b (36)"
    raised = played(code=1, hook_events=(*PASSED, {"event": "failed", "stage": "step", "error": error}))
    because = "all 40 rows cannot be tokenized; row 0: ValueError: there are 19 `input_ids` and 18 `labels`"
    objected = Objection(code="DAT238", message=because, stage="tokenize", severity=Severity.ERROR)
    found = judge({"whole": raised}, (objected,), say)
    assert [each.cause.signature.name for each in found.failures] == ["dataset-bad-row-values"]
    assert because in found.failures[0].cause.cause, "the rule tells the rows, the exception does not"
    assert "34 and 36" in found.failures[0].cause.cause


def test_losses_are_not_compared_where_two_runs_differ_anyway() -> None:
    stop = stopped(events=(*steps(s1=2.4, s2=1.9), {"event": "checkpoint", "path": "/r/checkpoint-2"}))
    found = judged(played(), stop, resumed(events=tuple(steps(s3=3.0, s4=2.0))))
    assert found.passed
    assert "differ" in str(next(stage.because for stage in found.stages if stage.name == "resume"))


@pytest.mark.parametrize("about", ["random_batches", "stream_ends"])
def test_losses_are_not_compared_where_a_resume_draws_other_batches(about: str) -> None:
    whole = played(hook_events=(*PASSED, {"event": "fact", "about": about}))
    found = judged(whole, stopped(), resumed(events=tuple(steps(s4=1.7))))
    assert found.passed
    assert "no loss was compared" in str(next(stage.because for stage in found.stages if stage.name == "resume"))


def test_what_a_rule_objects_to_fails_its_stage_once() -> None:
    objections = tuple(
        Objection(code=code, message=f"{code} says so", stage="data", severity=severity)
        for code, severity in (("DAT211", Severity.ERROR), ("DAT231", Severity.ERROR), ("DAT219", Severity.INFO))
    )
    found = judged(played(), stopped(), resumed(), objections=objections)
    assert [each.cause.signature.name for each in found.failures] == ["answers-not-in-training-text"]
    assert status(found, "data") == "fail"
    assert [each.code for each in found.warnings] == ["DAT219"]


def test_a_part_that_does_not_end_is_named_by_where_it_was() -> None:
    stacks = """Current thread 0x00007f0000000001 (most recent call first):
  File "/env/lib/trl/trainer/grpo_trainer.py", line 1 in _calculate_rewards
  File "/job/train.py", line 9 in <module>
"""
    found = judged(played(code=None, over="it takes longer than 30 seconds", stacks=stacks))
    assert found.failures[0].cause.signature.name == "grpo-reward-function-error"
    assert "30 seconds" in found.failures[0].cause.cause


@pytest.mark.parametrize("unreached", ["", "this machine does not reach the Hub"])
@pytest.mark.parametrize("stage", ["data", "model", "tokenize"])
def test_a_hub_that_only_this_machine_does_not_reach_is_no_failure(stage: StageName, unreached: str) -> None:
    """A job fails for it where it runs on this machine; else nothing from there on is rehearsed, and it is no pass."""
    error = "OfflineModeIsEnabled: Cannot reach the Hub"
    before = PASSED[: STAGES.index(stage) + 1]
    whole = played(
        code=1,
        hook_events=(*before, {"event": "failed", "stage": stage, "error": error}),
        events=({"event": "end", "because": error, "where": "train.py:3"},),
    )
    found = judge({"whole": whole}, (), lambda *_: name_cause("no-network-on-node", error, {}), unreached=unreached)

    expected = ("not_rehearsed", True, ()) if unreached else ("fail", False, ("no-network-on-node",))
    assert (status(found, stage), found.passed, tuple(each.cause.signature.name for each in found.failures)) == expected
    assert not (found.passed and found.complete)
    step = next(each for each in found.stages if each.name == "step")
    assert step.missed is bool(unreached)
    assert (step.because or "").endswith(unreached or f"the script failed at `{stage}`")


@pytest.mark.parametrize(("last_s", "slow"), [(170.0, True), (20.0, False)])
def test_a_limit_is_no_failure_where_the_script_was_getting_on(last_s: float, *, slow: bool) -> None:
    """It is one where nothing was heard for long: heartbeats are no news."""
    told = ({"event": "stage", "name": "step", "elapsed_s": 1.0, "at": at} for at in (0.0, last_s))
    beats = ({"event": "heartbeat", "at": at} for at in (0.0, 179.0))
    changes: dict[str, Any] = {"code": None, "over": "it takes longer than 180 seconds", "elapsed_s": 180.0}
    found = judged(played(hook_events=(*PASSED, *told), events=(*steps(s1=2.0), *beats), **changes))
    step = next(each for each in found.stages if each.name == "step")
    assert (step.status, found.passed) == (("not_rehearsed", True) if slow else ("fail", False))
    assert "180 seconds" in str(step.because)


@pytest.mark.parametrize(
    ("because", "name"),
    [
        ("ValueError: nothing of the kind", "user-code-error"),
        ("RuntimeError: bitsandbytes needs CUDA here", "bnb-native-lib-missing"),
    ],
)
def test_what_libraries_warn_of_without_a_gpu_is_no_cause_of_something_else(because: str, name: str) -> None:
    warned = Diagnosis(verdict="diagnosed", causes=(name_cause("bnb-native-lib-missing", "no native library", {}),))
    part = played(code=1, events=({"event": "end", "status": "failed", "because": because},))
    assert cause_of(warned, part, "step").signature.name == name


@pytest.mark.parametrize(("declared", "fails"), [(["vllm"], False), (["VLLM"], False), ([], True)])
def test_a_declared_package_that_only_this_environment_lacks_is_no_failure(declared: list[str], *, fails: bool) -> None:
    """`--here`, or a machine on which the declared environment cannot be made: the job gets another one."""
    error = "ModuleNotFoundError: No module named 'vllm'"
    events = (
        {"event": "fact", "about": "elsewhere", "stage": "import", "modules": declared},
        {"event": "failed", "stage": "import", "error": error},
    )
    whole = played(code=1, hook_events=events, events=({"event": "end", "because": error, "where": "train.py:3"},))

    found = judged(whole)

    assert (status(found, "import"), bool(found.failures)) == (("fail", True) if fails else ("not_rehearsed", False))
    assert found.complete is False or fails


@pytest.mark.parametrize(("stage", "fails"), [("step", False), ("data", True)])
def test_a_step_that_takes_more_memory_than_this_machine_has_is_no_failure(stage: StageName, *, fails: bool) -> None:
    """A loop of its own takes whole texts of the real vocabulary; what a GPU holds is another matter."""
    over = "it takes more than 14.3 GB of memory"
    events = (*PASSED[: STAGES.index(stage) + 1], {"event": "script_ended", "stage": stage})

    found = judged(played(code=None, over=over, hook_events=events, events=()))

    assert (status(found, stage), bool(found.failures)) == (("fail", True) if fails else ("not_rehearsed", False))
    assert not (found.passed and found.complete)


CAUGHT: tuple[dict[str, Any], ...] = (
    {"event": "enter", "name": "import"},
    {"event": "failed", "stage": "import", "error": "TypeError: no such argument"},
    {"event": "script_ended", "stage": "import"},
    {"event": "enter", "name": "export"},
)
PRINTED = {"stdout.log": "Training failed: no such argument\n"}


@pytest.mark.parametrize(
    ("events", "logs", "fails"),
    [
        (CAUGHT, PRINTED, True),
        (CAUGHT, {}, False),
        ((*CAUGHT[:2], {"event": "enter", "name": "data"}, *CAUGHT[2:]), PRINTED, False),
        ((*CAUGHT[:2], {"event": "fact", "about": "updates", "stage": "step"}, *CAUGHT[2:]), PRINTED, False),
    ],
    ids=["ends", "silent", "goes on", "trains"],
)
def test_a_script_that_prints_what_is_raised_and_ends_well_has_failed(
    events: tuple[dict[str, Any], ...], logs: dict[str, str], *, fails: bool
) -> None:
    """`except Exception as error: print(error)` around everything; an exception that leads to another way is meant."""
    whole = PartResult(part="whole", code=0, hook_events=events, logs=logs)

    found = judged(whole)

    assert [each.stage for each in found.failures] == (["import"] if fails else [])


def test_classes_are_known_by_the_rules_that_find_them() -> None:
    assert prevented_by("MOD117") == ("corrupt-model-file",)
    assert prevented_by("XYZ999") == ()
    with pytest.raises(KeyError):
        name_cause("no-such-class", "", {})


def test_where_a_rehearsal_does_not_go_nothing_failed_and_nothing_passed() -> None:
    """The message that the rehearsal raised may be wrapped by the library that caught it."""
    raised = "no way to judge.example"
    because = f"ConnectionError: MaxRetryError(OutOfReachError('{raised}'))"
    hook_events = (
        *PASSED[:3],
        {"event": "out_of_reach", "because": raised},
        {"event": "failed", "stage": "step", "error": because},
    )
    found = judged(played(code=1, hook_events=hook_events, events=({"event": "end", "because": because},)))
    assert found.passed
    assert status(found, "step") == "not_rehearsed"
    assert status(found, "model") == "pass"
    assert "judge.example" in str(next(stage.because for stage in found.stages if stage.name == "evaluate"))


def test_a_script_that_uses_the_words_of_a_rehearsal_fails_all_the_same() -> None:
    """Only what the rehearsal itself raised is not held against a script."""
    because = "ValueError: the rehearsal does not connect to judge.example: it only reads from the Hub"
    hook_events = (*PASSED[:3], {"event": "failed", "stage": "step", "error": because})
    found = judged(played(code=1, hook_events=hook_events, events=({"event": "end", "because": because},)))
    assert not found.passed


def test_a_message_that_only_suggests_a_class_gives_way_to_what_is_known() -> None:
    """A loss without a gradient looks like reentrant checkpointing; where nothing is trained, it is that."""
    error = "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn"
    told = (
        *PASSED,
        {"event": "fault", "class": "no-trainable-parameters", "stage": "model", "because": "none", "evidence": {}},
        {"event": "failed", "stage": "step", "error": error},
    )

    def say(_part: PartResult, _stage: Any) -> Cause:
        return name_cause("gradient-checkpointing-no-grad-input", error, {})

    found = judge({"whole": played(code=1, hook_events=told)}, (), say)
    assert [(each.stage, each.cause.signature.name) for each in found.failures] == [("step", "no-trainable-parameters")]


def test_a_loop_of_its_own_is_not_asked_to_stop() -> None:
    """Its step counts, and what stops and resumes a trainer does not."""
    found = judged(played(events=()), played("stop", events=(), code=1))
    assert {each.name: each.status for each in found.stages if each.name in ("step", "stop")} == {
        "step": "pass",
        "stop": "not_rehearsed",
    }


UNFETCHED = {"event": "fact", "about": "not_run", "command": "wget http://a.b/rows.jsonl", "stage": "import"}
FEWER = {"event": "shrunk", "what": "rows of the training", "asked": 900, "given": 16, "unit": "rows"}
REFUSED = {
    "event": "not_rehearsed",
    "what": "connections to a.b",
    "because": "a machine where it may be asked",
    "host": "a.b",
}


@pytest.mark.parametrize(
    ("error", "told", "fails"),
    [
        ("FileNotFoundError: Unable to find '/job/rows.jsonl'", [UNFETCHED], False),
        ("ModuleNotFoundError: No module named 'cooking'", [UNFETCHED], False),
        ("CalledProcessError: Command 'python fetch.py' returned non-zero exit status 1.", [REFUSED], False),
        ("FileNotFoundError: [Errno 2] No such file or directory: '/content/drive/MyDrive/rows.csv'", [], False),
        ("FileNotFoundError: Unable to find '/job/rows.jsonl'", [], True),
        ("KeyError: 'text'", [UNFETCHED, REFUSED], True),
        ("ZeroDivisionError: integer modulo by zero", [FEWER], False),
        ("ZeroDivisionError: integer modulo by zero", [], True),
        ("ZeroDivisionError: division by zero", [FEWER], True),
    ],
)
def test_what_a_rehearsal_lacks_is_not_held_against_a_script(error: str, told: list[Telling], *, fails: bool) -> None:
    """What a program may make that was not run, and rows: the rehearsal ends there; what would be lacking all the same fails."""
    end: Telling = {"event": "end", "status": "failed", "because": error, "where": "train.py:3"}
    hook_events = (*PASSED[:1], *told, {"event": "failed", "stage": "data", "error": error})
    found = judged(played(code=1, hook_events=hook_events, events=(end,)))
    assert bool(found.failures) == fails
    data = next(each for each in found.stages if each.name == "data")
    assert data.status == ("fail" if fails else "not_rehearsed")


ATTRIBUTE = """  File "train.py", line 4, in <module>
    proc.image_processor.size = 512
  File "/env/site-packages/transformers/tokenization_utils_base.py", line 1300, in __getattr__
AttributeError: Qwen2Tokenizer has no attribute image_processor
"""
DELEGATED = """  File "train.py", line 9, in <module>
    model.merge_and_upload()
  File "peft/peft_model.py", line 804, in __getattr__
    return getattr(self.base_model, name)
  File "peft/tuners/tuners_utils.py", line 500, in __getattr__
    return getattr(self.model, name)
  File "torch/nn/modules/module.py", line 1964, in __getattr__
    raise AttributeError(
AttributeError: 'Qwen2ForCausalLM' object has no attribute 'merge_and_upload'
"""
OWN_CALL = """  File "train.py", line 9, in <module>
    trainer.save_model("out", safe=True)
TypeError: Trainer.save_model() got an unexpected keyword argument 'safe'
"""
SUPER_CALL = """  File "train.py", line 9, in compute_loss
    return super().compute_loss(model, inputs, items=1)
TypeError: Trainer.compute_loss() got an unexpected keyword argument 'items'
"""
OWN_ARGUMENT = """  File "train.py", line 9, in <module>
    accelerator = Accelerator(fp16=True)
TypeError: Accelerator.__init__() got an unexpected keyword argument 'fp16'
"""
THEIR_ARGUMENT = """  File "train.py", line 9, in <module>
    trainer = Trainer(model)
  File "transformers/trainer.py", line 5, in create_accelerator
    return Accelerator(dispatch_batches=None)
TypeError: Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'
"""
COLUMN = """  File "train.py", line 9, in f
    return [float(one in two) for one, two in zip(kwargs["truth"], completions)]
KeyError: 'truth'
"""
OTHER_KEY = COLUMN.replace('kwargs["truth"]', 'scores["truth"]')
TRAINING: Telling = {"event": "fact", "about": "training", "stage": "model", "columns": ["prompt"], "arguments": {}}


@pytest.mark.parametrize(
    ("log", "stage", "guessed", "named"),
    [
        (ATTRIBUTE, "tokenize", "framework-version-incompatible", "user-code-error"),
        (DELEGATED, "push", "framework-version-incompatible", "user-code-error"),
        (OWN_CALL, "save", "custom-trainer-signature", "user-code-error"),
        (SUPER_CALL, "step", "custom-trainer-signature", "custom-trainer-signature"),
        (OWN_ARGUMENT, "model", "framework-version-incompatible", "third-party-arg-unknown"),
        (THEIR_ARGUMENT, "model", "framework-version-incompatible", "framework-version-incompatible"),
        (COLUMN, "step", "grpo-reward-function-error", "dataset-missing-column"),
        (OTHER_KEY, "step", "grpo-reward-function-error", "grpo-reward-function-error"),
        ("TypeError: score() missing 1 required", "import", "grpo-reward-function-error", "user-code-error"),
        ("FileExistsError: [Errno 17] File exists: 'made'", "resume", "output-path-not-writable", "user-code-error"),
        ("FileNotFoundError: [Errno 2]: 'out/checkpoint-2'", "save", "checkpoint-not-found", "user-code-error"),
        ("FileNotFoundError: [Errno 2]: 'out/checkpoint-2'", "resume", "checkpoint-not-found", "checkpoint-not-found"),
    ],
)
def test_what_a_log_misleads_about(log: str, stage: StageName, guessed: str, named: str) -> None:
    """Whose line it was, which columns there are, and what cannot be at that stage; the exception is told."""
    error = log.strip().splitlines()[-1]
    number = re.findall(r'"train.py", line (\d+)', log)
    end: Telling = {"event": "end", "status": "failed", "because": error, "where": f"train.py:{(number or ['1'])[-1]}"}
    part = played(code=1, hook_events=(TRAINING,), events=(end,), logs={"stderr.log": log})
    found = Diagnosis(verdict="diagnosed", causes=(name_cause(guessed, "something", {}),))
    cause = cause_of(found, part, stage)
    assert cause.signature.name == named
    assert error.partition(": ")[2] in cause.cause or not named.endswith("-error")


def test_an_objection_that_no_class_names_is_a_warning() -> None:
    """What a rule holds against the rows is never lost."""
    objections = (Objection(code="DAT219", message="all rows are the same", stage="data", severity=Severity.ERROR),)
    found = judged(played(), stopped(), resumed(), objections=objections)
    assert [each.code for each in found.warnings] == ["DAT219"]


@pytest.mark.parametrize("rule", rules_of_rows())
def test_what_is_wrong_with_every_row_has_a_class_or_may_be_meant(rule: Rule) -> None:
    """A rehearsal of rows that are all damaged alike fails, unless such rows may be meant."""
    counts_no_rows = rule.code in ("DAT241", "RWD110")
    assert prevented_by(rule.code) or rule.may_be_meant or counts_no_rows


def test_training_that_is_refused_before_its_first_step_has_made_none() -> None:
    """It is refused amid `train`, where there is no checkpoint to go on from: steps, evaluation and saves did not run."""
    error = "ValueError: No valid checkpoint found in output directory (out)"
    trains = {"event": "fact", "about": "trains", "stage": "resume"}
    end: Telling = {"event": "end", "status": "failed", "because": error}

    def say(_part: PartResult, _stage: Any) -> Cause:
        return name_cause("checkpoint-not-found", error, {})

    found = judge({"whole": played(code=1, hook_events=(*PASSED, trains), events=(end,))}, (), say)

    assert [each.stage for each in found.failures] == ["resume"]
    skipped = {each.name: each.because for each in found.stages if each.status == "not_rehearsed"}
    assert {skipped[name] for name in ("step", "evaluate", "save", "stop")} == {
        "the script failed at `resume`, before its first step"
    }
    assert status(found, "model") == "pass"


def test_evaluation_that_fails_before_the_first_step_is_why_there_is_none() -> None:
    """A trainer that evaluates first, and fails there, is no script without a trainer."""
    error = "ValueError: no"
    trains = {"event": "fact", "about": "trains", "stage": "step"}
    failed = {"event": "failed", "stage": "evaluate", "error": error}
    end: Telling = {"event": "end", "status": "failed", "because": error}

    found = judged(played(code=1, hook_events=(*PASSED, trains, failed), events=(end,)))

    because = {each.name: each.because for each in found.stages if each.status == "not_rehearsed"}
    assert status(found, "evaluate") == "fail"
    assert because["step"] == "the script failed at `evaluate`, before its first step"


def test_script_that_went_on_did_not_fail_where_something_is_wrong() -> None:
    """What is wrong though nothing fails keeps no later stage from running: those have reasons of their own."""
    told = {"event": "fault", "class": "no-trainable-parameters", "stage": "model", "because": "none", "evidence": {}}

    found = judged(played(hook_events=(*PASSED, told)), stopped(), resumed())

    because = {each.name: each.because for each in found.stages if each.status == "not_rehearsed"}
    assert because["evaluate"] == "the script does not evaluate"
    assert because["push"] == "the script pushes nothing"


UNTRUE = {"event": "fault", "class": "labels-misaligned", "stage": "step", "because": "shifted twice", "evidence": {}}
STOP_FAILED = stopped(code=1, events=({"event": "end", "status": "failed", "because": "OSError: disk"},))
OVER = stopped(code=0, events=tuple(steps(s1=2.0, s2=1.5)))
SLOW: Telling = {"over": "longer than 9 s", "elapsed_s": 9.0, "code": None}
EXPORTS = (
    {"event": "stage", "name": "save", "elapsed_s": 1, "at": 1.0},
    {"event": "enter", "name": "export", "at": 8.9},
)


@pytest.mark.parametrize(
    ("parts", "stage", "said"),
    [
        (
            (played(hook_events=(*PASSED, UNTRUE)), stopped(), resumed()),
            "stop",
            "`step` failed, and a training that fails",
        ),
        (
            (played(hook_events=(*PASSED, UNTRUE)), stopped(), resumed()),
            "resume",
            "`step` failed, and a training that fails",
        ),
        (
            (played(hook_events=(*PASSED, *EXPORTS), **SLOW), stopped()),
            "resume",
            "ended at `export`: longer than 9 s here",
        ),
        ((played(), OVER), "resume", "training was over before the step to stop in"),
        ((played(), STOP_FAILED), "resume", "the training that was to be stopped failed"),
        ((played(), stopped(events=())), "resume", "there was no checkpoint to go on from"),
    ],
)
def test_stop_and_resume_are_skipped_for_what_kept_them(parts: tuple[PartResult, ...], stage: str, said: str) -> None:
    """Not for a training, or a checkpoint, that there was."""
    skipped = {str(each.name): each.because for each in judged(*parts).stages if each.status == "not_rehearsed"}

    assert said in str(skipped[stage]), skipped


@pytest.mark.parametrize(
    ("raised_in", "names"),
    [
        ("/env/lib/python3.11/site-packages/trl/trainer/dpo_trainer.py", ["dataset-bad-row-values"]),
        ("/job/rows.py", ["user-code-error", "dataset-bad-row-values"]),
    ],
)
def test_a_library_that_fails_at_a_bad_row_is_no_second_failure(raised_in: str, names: list[str]) -> None:
    """Whatever it raises; what a function of the user's own raises may be another fault than the row's."""
    error = 'TypeError: can only concatenate list (not "NoneType") to list'
    log = f'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n  File "{raised_in}", line 7, in f\n{error}\n'
    failed = {"event": "failed", "stage": "tokenize", "error": error}
    raised = played(code=1, hook_events=(*PASSED, failed), logs={"stderr.log": log})
    objected = Objection(code="DAT206", message="Row 20 has null in `rejected`", stage="data", severity=Severity.ERROR)

    found = judged(raised, objections=(objected,))

    assert [each.cause.signature.name for each in found.failures] == names


def test_rows_that_fail_come_with_a_fix_that_names_no_other_column() -> None:
    """The rule tells the column; the class of failure has only an example."""

    def say(_part: PartResult, _stage: Any) -> Cause:
        return name_cause("dataset-bad-row-values", "", {"type": "NoneType"})

    error = "AttributeError: 'NoneType' object has no attribute 'endswith'"
    raised = played(code=1, hook_events=(*PASSED, {"event": "failed", "stage": "tokenize", "error": error}))
    objected = Objection(code="DAT206", message="row 20 has null in `rejected`", stage="data", severity=Severity.ERROR)

    for objections in ((objected,), ()):
        (failure,) = judge({"whole": raised}, objections, say).failures
        assert "`text`" not in failure.cause.fix
        assert ("DAT206" in failure.cause.fix) == bool(objections)


def test_resume_that_nobody_tried_is_skipped_for_what_kept_it() -> None:
    """The checkpoint is there; the script failed after its training, and so nothing was started from it."""
    end: Telling = {"event": "end", "status": "failed", "because": "KeyError: 'loss'"}
    ended = {"event": "script_ended", "stage": "push"}

    found = judged(played(code=1, hook_events=(*PASSED, ended), events=(*steps(s1=2.0), end)), stopped())

    assert status(found, "stop") == "pass"
    assert {each.name: each.because for each in found.stages}["resume"] == (
        "a job is resumed only where it comes to its end, and the script failed at `push`"
    )


def test_evaluation_that_was_not_asked_for_says_which_setting_asks() -> None:
    """Rows to evaluate on are given, and the strategy is to evaluate never."""
    training = {"event": "fact", "about": "training", "may_evaluate": True, "arguments": {}}

    found = judged(played(hook_events=(*PASSED, training)), stopped(), resumed())

    because = {each.name: each.because for each in found.stages}
    assert because["evaluate"] == '`eval_strategy` is "no", so nothing is evaluated on the `eval_dataset`'


@pytest.mark.parametrize("evaluates", [True, False])
def test_loop_is_neither_stopped_nor_said_to_train_nothing(evaluates: bool) -> None:
    """It trains, and may evaluate, in lines of its own."""
    loop = {"event": "fact", "about": "loop", "evaluates": evaluates}

    found = judged(played(hook_events=(*PASSED, loop), events=()))

    because = {each.name: each.because or "" for each in found.stages}
    assert ("evaluates as part of `step`" in because["evaluate"]) == evaluates
    assert "without a Trainer is not stopped" in because["stop"]
    assert "without a Trainer is not resumed" in because["resume"]


def test_a_failure_after_training_stands_at_the_stage_that_was_gone_through_last() -> None:
    """A script that pushes nothing does not fail in `push`."""
    told = [{"event": "enter", "name": name} for name in ("import", "model", "step", "save", "step")]
    ended = [{"event": "script_ended", "stage": "push"}]
    assert judged(played(code=1, hook_events=[*told, *ended])).failures[0].stage == "step"
    pushed = [{"event": "enter", "name": "push"}]
    assert judged(played(code=1, hook_events=[*told, *pushed, *ended])).failures[0].stage == "push"


@pytest.mark.parametrize(("evidence", "names"), [({"unsaved": 3}, []), ({}, ["resume-diverges"])])
def test_weights_that_are_not_saved_are_reported_once(evidence: dict[str, int], names: list[str]) -> None:
    """A resumed training differs because of them; because of another fault of what is saved it does not."""
    fault = {"event": "fault", "class": "no-checkpoint-saved", "stage": "save", "because": "the adapter is frozen"}
    whole = played(hook_events=(*PASSED, {**fault, "evidence": evidence}))
    found = judged(whole, stopped(), resumed(events=tuple(steps(s4=3.0))))
    assert [each.cause.signature.name for each in found.failures] == ["no-checkpoint-saved", *names]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("again", [True, False])
def test_failure_is_never_reported_with_a_pass(stage: StageName, again: bool) -> None:
    """The whole path may show what is wrong with a stage that other processes go through, and that these pass."""
    told = {"event": "fault", "class": "too-few-training-steps", "stage": stage, "because": "none left", "evidence": {}}
    whole = played(hook_events=(*PASSED, told))

    found = judged(whole, stopped(), resumed()) if again else judged(whole)

    assert refuses(found.failures[0])
    assert not found.passed
    assert status(found, stage) == "fail"
