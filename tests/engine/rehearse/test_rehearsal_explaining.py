"""What a failed rehearsal says: the user's own line and function, the key of their job file, and the fix of this very case."""

from collections.abc import Mapping
from typing import Any

import pytest

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.diagnose.diagnosis import Cause, Evidence
from holdfast.core.diagnose.log import Traceback
from holdfast.core.job.document import Document
from holdfast.core.rehearse.rehearsal import Failure, Objection, PartResult, Rehearsal
from holdfast.core.run.training_event import TrainingEnded
from holdfast.engine.diagnose import read_log
from holdfast.engine.diagnose.kept_lines import LogQuery
from holdfast.engine.diagnose.values import fill
from holdfast.engine.rehearse.advising import advise
from holdfast.engine.rehearse.circumstances import Circumstances
from holdfast.engine.rehearse.explaining import FailureContext, explain_failures
from holdfast.engine.rehearse.naming import name_cause
from holdfast.engine.rehearse.tracebacks import FailingLine, without_own_frames
from holdfast.engine.rehearse.usage import find_usage_problem
from holdfast.signatures import all_signatures

PACKAGES = "/venv/lib/python3.11/site-packages"
CALLBACK = """\
from transformers import TrainerCallback

class Log(TrainerCallback):
    def on_log(self, args, state, control, logs=None, **kwargs):
        self.history.append(logs["loss"])

trainer.train()
"""
REWARD = """\
def exact(completions, answer, **kwargs):
    return [score(each) for each in completions]

def score(text):
    return float(answr in text)
"""


def raised(*frames: str, error: str) -> str:
    """Return a traceback, each frame given as `file:line function: code`."""
    lines = ["Traceback (most recent call last):"]
    for frame in frames:
        where, _, code = frame.partition(": ")
        place, function = where.split(" ")
        file, _, line = place.rpartition(":")
        lines += [f'  File "{file}", line {line}, in {function}', f"    {code}", "    ~~~~^^^^"]
    return "\n".join([*lines, error, ""])


def traceback_of(log: str) -> Traceback:
    return read_log([("stderr.log", iter([log.encode()]))], LogQuery()).tracebacks[-1]


def explained(  # noqa: PLR0913 - one for each thing that is known of a failure
    log: str,
    *,
    sources: Mapping[str, str],
    name: str = "user-code-error",
    stage: Any = "step",
    job: Document | None = None,
    facts: tuple[Mapping[str, Any], ...] = (),
    blame: Any = "unknown",
    fix: str = "",
    **scene: Any,
) -> Failure:
    """Return the one failure of a script that ended with a traceback."""
    error = log.strip().splitlines()[-1]
    end = TrainingEnded(status="failed", because=error)
    hook_events = tuple({"event": "fact", **each} for each in facts)
    played = PartResult(part="whole", code=1, events=(end,), hook_events=hook_events, logs={"stderr.log": log})
    shown = tuple(Evidence(path="stderr.log", line=1, text=line.strip()) for line in log.strip().splitlines()[::-1])
    cause = name_cause(name, error, {})
    cause = type(cause)(
        signature=cause.signature, confidence=0.9, evidence=shown[:4], cause=cause.cause, fix=fix or cause.fix
    )
    found = Rehearsal(stages=(), failures=(Failure(stage=stage, cause=cause, part="whole", blame=blame),))
    given: dict[str, Any] = {"target": "train.py", **scene}
    at = FailureContext(
        parts={"whole": played}, tracebacks={"whole": traceback_of(log)}, sources=sources, job=job, **given
    )
    return explain_failures(found, at).failures[0]


CALLED = (
    "train.py:7 <module>: trainer.train()",
    f"{PACKAGES}/transformers/trainer_callback.py:545 call_event: result = getattr(callback, event)(",
)


def test_callback_that_fails_is_named_with_its_class_and_line() -> None:
    """Not `trainer.train()`, which the script's outermost frame shows, and no paragraph on formatting functions."""
    log = raised(*CALLED, 'train.py:5 on_log: self.history.append(logs["loss"])', error="KeyError: 'loss'")

    found = explained(log, sources={"train.py": CALLBACK})

    assert (found.where, found.function, found.role) == ("train.py:5", "Log.on_log", "callback")
    assert found.code == 'self.history.append(logs["loss"])'
    assert found.cause.cause == "The callback `Log.on_log` raises KeyError: 'loss'."
    assert found.cause.fix == "Correct `Log.on_log` at train.py:5."


def test_function_that_a_reward_calls_is_told_with_the_reward() -> None:
    """The line is the innermost of the user's own, in whatever file; the name that was meant is in the fix."""
    log = raised(
        "train.py:7 <module>: trainer.train()",
        f"{PACKAGES}/trl/trainer/grpo_trainer.py:1626 _calculate_rewards: output_reward_func = reward_func(",
        "rewards.py:2 exact: return [score(each) for each in completions]",
        "rewards.py:5 score: return float(answr in text)",
        error="NameError: name 'answr' is not defined",
    )

    found = explained(log, name="grpo-reward-function-error", sources={"train.py": CALLBACK, "rewards.py": REWARD})

    assert found.where == "rewards.py:5"
    assert "`score`, called by the reward function `exact`, uses `answr`" in found.cause.cause
    assert found.cause.fix == "Write `answer` instead of `answr` at rewards.py:5."


TWO_REWARDS = "def long(completions, **kwargs):\n    return [1.0]\n\n\ndef short(completions, **kwargs):\n    total = sum(map(len, completions))\n    return total\n"


@pytest.mark.parametrize(("name", "first", "where"), [("short", 5, "rewards.py:7"), ("long", 1, "rewards.py:2")])
@pytest.mark.parametrize("job", [True, False])
def test_the_one_of_two_rewards_that_returned_no_list_is_named(name: str, first: int, where: str, job: bool) -> None:
    """Its line is in no traceback; the hooks report which function was called last. A job's script has no line of its own."""
    log = raised(
        CALLED[0],
        f"{PACKAGES}/trl/trainer/grpo_trainer.py:1626 _calculate_rewards: output_reward_func = [",
        error="TypeError: 'float' object is not iterable",
    )
    sources = {"rewards.py": TWO_REWARDS} | ({} if job else {"train.py": CALLBACK})
    called = {"about": "rewarded", "function": name, "line": first}

    found = explained(log, name="grpo-reward-function-error", sources=sources, facts=(called,))

    assert (found.where, found.function) == (where, name)
    assert found.cause.cause.startswith(f"The reward function `{name}` returns a float.")


@pytest.mark.parametrize(
    ("error", "cause", "fix"),
    [
        (
            "TypeError: exact() missing 1 required positional argument: 'anwser'",
            "takes `anwser`, and the rows have no such column; they have `prompt` and `answer`",
            "Write `answer` instead of `anwser` at rewards.py:1.",
        ),
        (
            "TypeError: exact() missing 1 required positional argument: 'difficulty'",
            "takes `difficulty`",
            "Take one of these columns at rewards.py:1.",
        ),
    ],
)
def test_reward_function_that_was_called_in_vain_is_named_with_its_own_line(error: str, cause: str, fix: str) -> None:
    """Python raises where it is called: the file that the function stands in is in no frame, and the trainer was given it."""
    sources = {"train.py": CALLBACK, "rewards.py": "def exact(completions, anwser, **kwargs):\n    return []\n"}
    log = raised(CALLED[0], f"{PACKAGES}/trl/trainer/grpo_trainer.py:1626 _calculate_rewards: f(", error=error)
    training = {"about": "training", "trainer": ["GRPOTrainer"], "columns": ["prompt", "answer"]}

    found = explained(log, name="dataset-missing-column", sources=sources, facts=(training,))

    assert (found.where, found.function, found.role) == ("rewards.py:1", "exact", "reward function")
    assert cause in found.cause.cause
    assert found.cause.fix == fix


@pytest.mark.parametrize(
    ("error", "where"),
    [
        (
            "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--max_seq_length', '128']",
            "sft.yaml:2",
        ),
        ("ValueError: Some specified arguments are not used by the HfArgumentParser: ['--path', 'json']", ""),
        ("ValueError: Some specified arguments are not used by the HfArgumentParser: ['--max_tokens', '1']", ""),
    ],
)
def test_setting_of_a_command_line_stands_in_its_file(error: str, where: str) -> None:
    """No line of the user's own is in the traceback of TRL's command; a file of settings is theirs all the same."""
    settings = "model_name_or_path: tiny\nmax_seq_length: 128\ndatasets:\n  - path: json\n"
    log = raised(f"{PACKAGES}/trl/scripts/sft.py:150 <module>: parser.parse_args_and_config()", error=error)

    found = explained(log, name="trl-config-arg-renamed", sources={"sft.yaml": settings})

    assert found.where == where
    assert found.code == ("max_seq_length: 128" if where else "")


PARSED = """\
from trl import SFTConfig, SFTTrainer

args, = HfArgumentParser(SFTConfig).parse_args_into_dataclasses()
config = SFTConfig(eval_strategy="no")
trainer = SFTTrainer(
    args=args,
    processing_class=tokenizer,
)
"""


@pytest.mark.parametrize(
    ("flags", "where"),
    [
        ({}, "train.py:3"),
        ({"--lr": FailingLine(path="launch.sh", line=4)}, "train.py:3"),
        (
            {"--evaluation_strategy": FailingLine(path="launch.sh", line=9, code="--evaluation_strategy steps")},
            "launch.sh:9",
        ),
    ],
)
def test_flag_that_a_parser_refuses_is_none_of_the_settings_in_the_script(
    flags: Mapping[str, FailingLine], where: str
) -> None:
    """The advice of the class names other settings, which the script gives rightly: it is the command line that is at fault."""
    error = (
        "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--evaluation_strategy', 'steps']"
    )
    log = raised(
        "train.py:3 <module>: args, = HfArgumentParser(SFTConfig).parse_args_into_dataclasses()",
        f"{PACKAGES}/transformers/hf_argparser.py:348 parse_args_into_dataclasses: raise ValueError(",
        error=error,
    )
    fix = "Use `eval_strategy` instead of `evaluation_strategy`. `Trainer(tokenizer=…)` is `processing_class=…`."

    found = explained(log, name="transformers-arg-removed", sources={"train.py": PARSED}, fix=fix, flags=flags)

    assert found.where == where


def test_what_a_class_says_of_cases_without_values_is_not_said_of_one_that_has_them() -> None:
    """A sentence for the case that the releases are not told holds no value all the same."""
    signature = next(each for each in all_signatures() if each.name == "transformers-arg-removed")
    filled = fill(signature.fix, {"old": "evaluation_strategy", "new": "eval_strategy"})
    cause = Cause(signature=signature, confidence=0.9, evidence=(), cause="", fix=filled)

    _, fix = advise(cause, Circumstances(error=""))

    assert fix == "Use `eval_strategy` instead of `evaluation_strategy`."


@pytest.mark.parametrize(
    ("said", "moved"),
    [
        (", but got weight is on cpu, different from other tensors on cuda:0", "`weight`"),
        (", but found at least two devices, cuda:0 and cpu!", "the tensor that is elsewhere"),
    ],
)
def test_tensor_on_another_device_comes_with_what_to_move(said: str, moved: str) -> None:
    """The user's own loss is where weights of classes are left behind."""
    source = "class Own(Trainer):\n    def compute_loss(self, model, inputs):\n        return self.loss(model(**inputs).logits)\n"
    log = raised(
        CALLED[0],
        f"{PACKAGES}/transformers/trainer.py:900 training_step: loss = self.compute_loss(model, inputs)",
        "train.py:3 compute_loss: return self.loss(model(**inputs).logits)",
        f"{PACKAGES}/torch/nn/modules/loss.py:1393 forward: return F.cross_entropy(",
        error=f"RuntimeError: Expected all tensors to be on the same device{said}",
    )

    found = explained(log, sources={"train.py": source})

    assert (
        found.cause.fix
        == f"Move {moved} to the model's device at train.py:3: `tensor.to(model.device)`, or make it there."
    )


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        ("AttributeError: 'list' object has no attribute 'strip'", '`completion[0]["content"]`'),
        ("AttributeError: 'dict' object has no attribute 'lower'", '`completion[0]["content"]`'),
        ("TypeError: expected string or bytes-like object, got 'list'", '`completion[0]["content"]`'),
        ("TypeError: string indices must be integers, not 'str'", "Use a completion as it is"),
        ("AttributeError: 'list' object has no attribute 'tolist'", "Correct `tolist`"),
    ],
)
def test_reward_function_that_takes_completions_for_something_else_is_told_what_they_are(error: str, fix: str) -> None:
    """Texts for prompts that are texts, and lists of messages for conversations."""
    log = raised(
        CALLED[0],
        f"{PACKAGES}/trl/trainer/grpo_trainer.py:1626 _calculate_rewards: output_reward_func = reward_func(",
        "rewards.py:2 exact: return [score(each) for each in completions]",
        error=error,
    )

    found = explained(log, name="grpo-reward-function-error", sources={"train.py": CALLBACK, "rewards.py": REWARD})

    assert fix in found.cause.fix


@pytest.mark.parametrize(
    ("caller", "role"),
    [
        (f"{PACKAGES}/torch/utils/data/_utils/fetch.py:55 fetch: return self.collate_fn(data)", "collator"),
        (f"{PACKAGES}/trl/trainer/sft_trainer.py:1200 _func: return formatting_func(example)", "formatting function"),
        (f"{PACKAGES}/transformers/trainer.py:4400 evaluation_loop: self.compute_metrics(", "metric function"),
    ],
)
def test_function_is_told_by_what_calls_it(caller: str, role: str) -> None:
    """The user gave it to a library, and reads its name there."""
    source = "def mine(given):\n    return given[7]\n"
    log = raised(caller, "train.py:2 mine: return given[7]", error="IndexError: list index out of range")

    found = explained(log, sources={"train.py": source})

    assert (found.role, found.function) == (role, "mine")


def test_column_that_is_spelled_wrong_comes_with_the_one_that_was_meant() -> None:
    """The columns are those that the script has loaded; the page of the class names those of every method."""
    source = 'def to_text(row):\n    return {"text": row["anwser"]}\n'
    log = raised(
        f"{PACKAGES}/datasets/arrow_dataset.py:3636 map: for content in Dataset._map_single(",
        f"{PACKAGES}/datasets/arrow_dataset.py:3882 apply_function: processed_inputs = function(",
        'train.py:2 to_text: return {"text": row["anwser"]}',
        f"{PACKAGES}/datasets/formatting/formatting.py:299 __getitem__: value = self.data[key]",
        error="KeyError: 'anwser'",
    )
    loaded = {"about": "dataset", "path": "json", "columns": ["question", "answer"]}

    found = explained(log, name="dataset-missing-column", stage="data", sources={"train.py": source}, facts=(loaded,))

    assert found.cause.cause == "The rows have no column `anwser`; they have `question` and `answer`."
    assert found.cause.fix == "Write `answer` instead of `anwser` at train.py:2."
    assert found.role == "`map` function"


def test_evidence_has_neither_marks_nor_code_of_libraries() -> None:
    """`~~~^^^^` points at a line that is not shown, and `self.data[key]` is nobody's fault."""
    log = raised(
        "train.py:1 <module>: trainer.train()",
        f"{PACKAGES}/datasets/formatting/formatting.py:299 __getitem__: value = self.data[key]",
        error="KeyError: 'chosen'",
    )

    found = explained(log, name="dataset-missing-column", sources={"train.py": "trainer.train()\n"})

    assert [each.text for each in found.cause.evidence] == ["KeyError: 'chosen'"]


def test_frames_of_holdfast_are_not_the_script_s() -> None:
    """What is put around the libraries stands between their frames; a user cannot do anything about it."""
    ours = f"{PACKAGES}/holdfast/payload/rehearsal/trainers/__init__.py"
    log = raised(*CALLED, f"{ours}:194 _train: shown = train(trainer)", "train.py:5 on_log: x", error="KeyError: 'x'")

    cleaned = without_own_frames(log)

    assert "holdfast" not in cleaned
    assert "shown = train(trainer)" not in cleaned
    assert [frame.function for frame in traceback_of(cleaned).frames] == ["<module>", "call_event", "on_log"]


def test_frames_of_holdfast_are_not_those_of_one_of_several_processes() -> None:
    """Each line is marked with its rank, and lines of two may alternate. A stack ends with the launcher that a rank was forked from."""
    ours = '  File "/home/me/holdfast/payload/rehearsal/trainers/faults.py", line 63 in raise_error'
    log = [
        '[rank0]:   File "train.py", line 3, in <module>',
        f"[rank1]: {ours}",
        "[rank0]:     trainer.train()",
        "[rank1]:     raise error(OUT_OF_MEMORY)",
        "[rank1]: OutOfMemoryError: CUDA out of memory",
    ]
    stack = [
        "Stack (most recent call first):",
        ours,
        '  File "train.py", line 3 in <module>',
        '  File "/home/me/holdfast/payload/rehearsal/launching.py", line 50 in _play_rank',
        '  File "/v/torch/distributed/elastic/multiprocessing/api.py", line 700 in _wrap',
        '  File "/home/me/holdfast/payload/rehearsal/__main__.py", line 185 in <module>',
    ]

    assert without_own_frames("\n".join(log)).splitlines() == [log[0], log[2], log[4]]
    twice = without_own_frames("\n".join([*stack, *stack])).splitlines()
    assert twice == [stack[0], stack[2]] * 2


FORMATS = """\
def fmt(batch):
    return ["a", "b"]

trainer = SFTTrainer(
    model="tiny",
    formatting_func=fmt,
)
"""


REWARDED = """
def length(completions, **kwargs):
    return [float(len(each)) for each in completions]

def right(completions, **kwargs):
    print(completions)

trainer = GRPOTrainer(
    model="tiny",
    reward_funcs={},
)
trainer.train()
"""
COUNTED = "ValueError: The reward function 'length' returned 1 rewards, but 4 were expected."


@pytest.mark.parametrize(
    ("given", "error", "said", "at"),
    [
        ("right", "TypeError: 'NoneType' object is not iterable", "`right` returns nothing", "train.py:5"),
        ("[right]", "TypeError: 'float' object is not iterable", "`right` returns a float", "train.py:5"),
        (
            "length",
            "TypeError: must be real number, not str",
            "`length` returns what the trainer refuses",
            "train.py:3",
        ),
        ("[right, length]", COUNTED, "`length` returns what the trainer refuses", "train.py:3"),
    ],
)
def test_reward_function_whose_result_is_of_no_use_is_shown_and_not_the_training(
    given: str, error: str, said: str, at: str
) -> None:
    """The function has returned when the trainer raises, so no frame of it is in the traceback."""
    source = REWARDED.replace("{}", given)
    log = raised(
        "train.py:12 <module>: trainer.train()",
        f"{PACKAGES}/trl/trainer/grpo_trainer.py:1300 _calculate_rewards: rewards = torch.tensor(output)",
        error=error,
    )
    found = explained(log, name="grpo-reward-function-error", stage="step", sources={"train.py": source})

    assert found.where == at
    assert found.cause.signature.name == "grpo-reward-function-error"
    assert said in found.cause.cause
    assert found.cause.fix == f"Return a number for each completion at {at}."


def test_no_reward_function_is_blamed_where_several_could_have_failed() -> None:
    log = raised(
        "train.py:12 <module>: trainer.train()",
        f"{PACKAGES}/trl/trainer/grpo_trainer.py:1300 _calculate_rewards: rewards = torch.tensor(output)",
        error="TypeError: 'NoneType' object is not iterable",
    )
    source = REWARDED.replace("{}", "[right, length]")
    found = explained(log, name="grpo-reward-function-error", stage="step", sources={"train.py": source})

    assert found.where == "train.py:12"


def test_formatting_function_that_returns_a_list_is_blamed_and_not_the_rows() -> None:
    """The exception is raised in TRL, behind the function's end: it is found by the call that it was given to."""
    log = raised(
        "train.py:4 <module>: trainer = SFTTrainer(",
        f"{PACKAGES}/trl/trainer/sft_trainer.py:1294 add_eos: example[field].endswith(eos_token)",
        error="AttributeError: 'list' object has no attribute 'endswith'",
    )

    found = explained(log, name="dataset-bad-row-values", stage="tokenize", sources={"train.py": FORMATS})

    assert (found.cause.signature.name, found.blame) == ("user-code-error", "code")
    assert (found.where, found.function) == ("train.py:2", "fmt")
    assert "The formatting function `fmt` returns a list" in found.cause.cause


JOB = """\
method: dpo
model: ./tiny
dataset: {path: qa.jsonl, map: "mapping.py:to_text"}
train:
  max_steps: 10
  optim: adamw_8bit_torch
"""


def job() -> Document:
    return JobFileReader().read(JOB, "job.yaml")


def test_line_of_a_job_s_failure_is_one_of_the_job_file() -> None:
    """Nobody has seen the script that is rendered from it, so its line 212 says nothing."""
    choices = "['adamw_torch', 'adamw_torch_8bit', 'sgd']"
    error = f"ValueError: adamw_8bit_torch is not a valid OptimizerNames, please select one of {choices}"
    log = raised("job.yaml:212 <module>: config = DPOConfig(", error=error)

    found = explained(log, name="invalid-config-value", stage="import", sources={}, job=job(), target="job.yaml")

    assert (found.where, found.key) == ("job.yaml:6", "train.optim")
    assert found.cause.fix == "Write `adamw_torch_8bit` at job.yaml:6."


def test_rows_of_a_job_that_lack_a_column_are_those_of_its_dataset() -> None:
    """The trainer asks for it, and no line of anybody's."""
    log = raised(
        "job.yaml:212 <module>: trainer = DPOTrainer(",
        f"{PACKAGES}/trl/trainer/dpo_trainer.py:50 tokenize: example['chosen']",
        error="KeyError: 'chosen'",
    )
    given = {"about": "training", "trainer": ["DPOTrainer"], "columns": ["question", "answer"]}

    found = explained(
        log, name="dataset-missing-column", stage="tokenize", sources={}, job=job(), target="job.yaml", facts=(given,)
    )

    assert (found.where, found.key) == ("job.yaml:3", "dataset")
    assert "`DPOTrainer` reads it" in found.cause.cause
    assert "before job.yaml:3; `holdfast inspect job.yaml`" in found.cause.fix


def test_function_that_a_job_names_keeps_its_own_line() -> None:
    """The file is the user's, and the key says how the job came by it."""
    source = 'def to_text(row):\n    return row["x"]\n'
    log = raised(
        "job.yaml:140 rewrite: return rows.map(function)",
        f"{PACKAGES}/datasets/arrow_dataset.py:3636 map: for content in Dataset._map_single(",
        f"{PACKAGES}/datasets/arrow_dataset.py:3882 apply_function: processed_inputs = function(",
        'mapping.py:2 to_text: return row["x"]',
        error="TypeError: string indices must be integers",
    )

    found = explained(log, stage="data", sources={"mapping.py": source}, job=job(), target="job.yaml")

    assert (found.where, found.function, found.key) == ("mapping.py:2", "to_text", "dataset.map")


def test_variable_of_the_environment_that_is_not_set_is_named() -> None:
    """With how to set it for a rehearsal."""
    source = 'import os\nname = os.environ["MODEL_NAME"]\n'
    log = raised(
        'train.py:2 <module>: name = os.environ["MODEL_NAME"]',
        "<frozen:679 __getitem__: x",
        error="KeyError: 'MODEL_NAME'",
    )

    found = explained(log, stage="import", sources={"train.py": source})

    assert "`MODEL_NAME=… holdfast rehearse train.py`" in found.cause.fix


def test_advice_of_a_class_is_no_paragraph() -> None:
    """Where nothing is known of the case, the first sentence stands; the page has all of them."""
    log = raised("train.py:1 <module>: trainer.train()", error="RuntimeError: something else")

    found = explained(log, name="labels-not-padded-collator", sources={"train.py": "trainer.train()\n"})

    assert found.cause.fix.count(". ") == 0
    assert found.cause.fix in found.cause.signature.fix


USAGE = "usage: train.py [-h] --model MODEL [--data DATA]\n"


@pytest.mark.parametrize(
    ("code", "log", "arguments", "wanted"),
    [
        (2, f"{USAGE}train.py: error: the following arguments are required: --model, data\n", (), ("--model", "data")),
        (2, f"{USAGE}train.py: error: unrecognized arguments: --modle x\n", ("--modle", "x"), ()),
        (
            2,
            "Usage: train.py [OPTIONS]\nTry 'train.py --help'.\n\nError: Missing option '--model'.\n",
            (),
            ("--model",),
        ),
        (
            1,
            raised("train.py:3 <module>: path = sys.argv[1]", error="IndexError: list index out of range"),
            (),
            ("argument 1",),
        ),
    ],
)
def test_script_that_lacks_an_argument_is_a_wrong_question(
    code: int, log: str, arguments: tuple[str, ...], wanted: tuple[str, ...]
) -> None:
    """Nothing of the job was gone through, so nothing failed."""
    found = find_usage_problem(PartResult(part="whole", code=code, logs={"stderr.log": log}), arguments)

    assert found is not None
    assert found.wanted == wanted


@pytest.mark.parametrize(
    ("code", "log", "arguments"),
    [
        (1, f"{USAGE}train.py: error: the following arguments are required: --model\n", ()),
        (2, "error: the disk is full\n", ()),
        (1, raised("train.py:3 <module>: x = names[1]", error="IndexError: list index out of range"), ()),
        (1, raised("train.py:3 <module>: x = sys.argv[1]", error="IndexError: list index out of range"), ("a",)),
    ],
)
def test_other_failures_are_no_wrong_question(code: int, log: str, arguments: tuple[str, ...]) -> None:
    """A subcommand's words in a log, another exit code, another list."""
    assert find_usage_problem(PartResult(part="whole", code=code, logs={"stderr.log": log}), arguments) is None


WORKER = (
    f"{PACKAGES}/datasets/arrow_dataset.py:3882 apply_function: processed_inputs = function(",
    "train.py:5 fix: return clean(row)",
    "train.py:2 clean: return row.strip()",
)
CLEANS = """\
def clean(row):
    return row.strip()

def fix(row):
    return clean(row)

rows = rows.map(fix, num_proc=2)
"""


def test_function_that_failed_in_a_worker_is_named_and_not_the_call_that_started_it() -> None:
    """With several processes the worker's traceback stands within that of the call; good rows fail there too, so it is the code."""
    error = "AttributeError: 'dict' object has no attribute 'strip'"
    worker = raised(*WORKER, error=error)
    caller = raised(
        "train.py:7 <module>: rows = rows.map(fix, num_proc=2)",
        f"{PACKAGES}/multiprocess/pool.py:774 get: raise self._value",
        error=error,
    )
    log = f'multiprocess.pool.RemoteTraceback: \n"""\n{worker}"""\n\nThe above exception was the direct cause of the following exception:\n\n{caller}'

    found = explained(log, name="dataset-bad-row-values", stage="data", sources={"train.py": CLEANS}, blame="code")

    assert (found.where, found.cause.signature.name) == ("train.py:2", "user-code-error")
    assert found.cause.cause.startswith("`clean`, called by the `map` function `fix`, asks a `dict` for `strip`")
    assert all(not each.text.startswith(("Traceback", '"""', "The above")) for each in found.cause.evidence)


def test_path_is_corrected_where_it_is_written() -> None:
    """The line that failed has a variable."""
    source = 'def load(path):\n    return load_dataset("json", data_files=path)\n\nrows = load("data/chat.jsonl")\n'
    log = raised(
        "train.py:4 <module>: rows = load(x)",
        'train.py:2 load: return load_dataset("json", data_files=path)',
        f"{PACKAGES}/datasets/load.py:900 load_dataset: x",
        error="FileNotFoundError: Unable to find '/home/me/data/chat.jsonl'",
    )

    found = explained(log, name="dataset-not-found", stage="data", sources={"train.py": source})

    assert found.cause.fix == "Correct `data/chat.jsonl` at train.py:4, or run what makes it first."


def test_modules_of_an_adapter_are_those_of_this_model() -> None:
    """Those of five other architectures help nobody."""
    error = "ValueError: Target modules {'query', 'value'} not found in the base model."
    log = raised("train.py:1 <module>: SFTTrainer(", f"{PACKAGES}/peft/x.py:3 inject: raise", error=error)
    model = {"about": "model", "linear": {"embed_tokens": 9, "q_proj": 9, "v_proj": 9}}

    found = explained(
        log, name="lora-target-modules-not-found", stage="model", sources={"train.py": "SFTTrainer("}, facts=(model,)
    )

    assert found.cause.cause == "The model has no modules `query`, `value`."
    assert "`q_proj` and `v_proj`; or write `all-linear`" in found.cause.fix


def test_failure_that_no_exception_told_has_a_short_fix_too() -> None:
    """The sentences on adapters are for scripts that make one."""
    played = PartResult(part="whole", code=0)
    cause = name_cause("no-trainable-parameters", "no parameter of the model is trained", {})
    found = Rehearsal(stages=(), failures=(Failure(stage="model", cause=cause),))

    def fix(source: str) -> str:
        at = FailureContext(target="train.py", parts={"whole": played}, sources={"train.py": source})
        return explain_failures(found, at).failures[0].cause.fix

    assert fix("trainer = SFTTrainer(model=model)") == (
        "Leave `requires_grad` of what is to be trained as it is, or train an adapter."
    )
    assert "is_trainable=True" in fix("model = PeftModel.from_pretrained(base, folder)")


def test_failure_of_a_job_blames_no_script_of_the_user_s() -> None:
    """They wrote none: neither its lines nor their functions are told."""
    log = raised("job.yaml:212 <module>: trainer.train()", f"{PACKAGES}/torch/x.py:3 f: x", error="TypeError: odd")

    found = explained(log, sources={}, job=job(), target="job.yaml")

    assert (found.cause.signature.title, found.where) == (
        "The job fails for a reason that no class of failure knows",
        "",
    )
    assert found.cause.cause == "TypeError: odd."
    assert "`holdfast check job.yaml`" in found.cause.fix


def test_rows_of_a_job_that_are_not_there_are_told_at_their_key() -> None:
    """The path in the message is absolute, and stands in the job file as it was written."""
    log = raised("job.yaml:129 load: raise", error="FileNotFoundError: no such data: /home/me/qa.jsonl")

    found = explained(log, name="dataset-not-found", stage="data", sources={}, job=job(), target="job.yaml")

    assert (found.where, found.key) == ("job.yaml:3", "dataset.path")
    assert found.cause.fix == "Correct `dataset.path` at job.yaml:3."


WEIGHTS = "ValueError: Number of reward weights (3) must match number of reward functions (1)"


@pytest.mark.parametrize(
    ("setting", "error", "key"),
    [
        ("reward_weights: [1.0, 2.0]", WEIGHTS, "train.reward_weights"),
        ("reward_weights: [1.0, 2.0]", "ValueError: `reward_weights` is too long", "train.reward_weights"),
        ("gradient_checkpointing_kwargs: {use_reentrant: 3}", "TypeError: use_reentrant is 3", "train.gradient_checkpointing_kwargs"),
        ("model_init_kwargs: {num_labels: 2}", "ValueError: the number of labels", "model"),
    ],
)  # fmt: skip
def test_a_setting_is_named_as_libraries_write_it(setting: str, error: str, key: str) -> None:
    """With underscores or as words, and of a list or a mapping by its own name."""
    text = f"method: grpo\nmodel: m\ndataset: {{path: d}}\ntrain:\n  max_steps: 3\n  {setting}\n"
    written = JobFileReader().read(text, "job.yaml")
    log = raised("job.yaml:129 main: trainer()", f"{PACKAGES}/trl/x.py:3 f: raise", error=error)

    found = explained(log, name="invalid-config-value", stage="model", sources={}, job=written, target="job.yaml")

    assert (found.where, found.key) == ("job.yaml:2" if key == "model" else "job.yaml:6", key)


@pytest.mark.parametrize("given", ["reward_weights=[1.0]", "num_generations=4"])
def test_a_setting_that_a_message_writes_as_words_is_found_in_a_script(given: str) -> None:
    source = f"args = GRPOConfig(\n    {given},\n)\ntrainer = GRPOTrainer(args=args)\n"
    log = raised("train.py:4 <module>: trainer", f"{PACKAGES}/trl/x.py:3 __init__: raise", error=WEIGHTS)

    found = explained(log, name="invalid-config-value", stage="model", sources={"train.py": source})

    assert found.where == ("train.py:2" if "weights" in given else "train.py:4")


def test_choices_that_a_library_lists_are_in_the_fix() -> None:
    """Without the punctuation in which it lists them."""
    error = (
        'ValueError: Specified `attn_implementation="flash_attention_9"` is not supported. The only possible arguments are '
        '`attn_implementation="eager"`, `"attn_implementation=sdpa"`.'
    )
    log = raised("train.py:1 <module>: load()", f"{PACKAGES}/transformers/x.py:3 f: raise", error=error)

    found = explained(log, name="invalid-config-value", stage="model", sources={"train.py": "load()\n"})

    assert found.cause.cause == "`attn_implementation` takes no `flash_attention_9`."
    assert found.cause.fix == "Take one of `eager` and `sdpa` at train.py:1."


def test_line_of_a_notebook_is_that_of_its_cell() -> None:
    """Its cells are run as one program, whose lines nobody has seen."""
    source = "import trl\n\ndef to_text(row):\n    return row[7]\n\nrows.map(to_text)\n"
    log = raised("train.ipynb:6 <module>: x", "train.ipynb:4 to_text: return row[7]", error="KeyError: 7")

    found = explained(
        log, stage="data", sources={"train.ipynb": source}, target="train.ipynb", cells=((1, 1), (3, 4), (6, 5))
    )

    assert found.where == "train.ipynb:cell 4:2"
    assert found.cause.fix == "Correct `to_text` at train.ipynb:cell 4:2."


@pytest.mark.parametrize(
    ("error", "cause", "fix"),
    [
        (
            "AttributeError: 'CausalLMOutput' object has no attribute 'los'",
            "`loss` asks a `CausalLMOutput` for `los`, which it does not have.",
            "Correct `los` at train.py:2.",
        ),
        (
            "AttributeError: 'NoneType' object has no attribute 'strip'",
            "`loss` asks None for `strip`, which it does not have.",
            "Correct `strip` at train.py:2.",
        ),
        (
            "AttributeError: module 'trl' has no attribute 'PPO'",
            "`loss` asks `trl` for `PPO`, which it does not have.",
            "Correct `PPO` at train.py:2, or install a release that has it.",
        ),
    ],
)
def test_attribute_that_an_object_lacks_is_named_at_the_line_that_asks(error: str, cause: str, fix: str) -> None:
    """Another release has it, or nobody does: of a module that is worth a word."""
    log = raised("train.py:2 loss: return out.los", error=error)

    found = explained(log, name="import-api-removed", sources={"train.py": "def loss(out):\n    return out.los\n"})

    assert (found.cause.cause, found.cause.fix) == (cause, fix)


@pytest.mark.parametrize(
    ("name", "module", "cause", "fix"),
    [
        (
            "missing-module",
            "peft",
            "train.py:1 imports `peft`, which is not installed where the job runs.",
            "Add `peft` to the script's header or its project's requirements, or correct the name.",
        ),
        (
            "missing-module",
            "data.loading",
            "train.py:1 imports `data.loading`; `data` is there, but has no module `loading`.",
            "Correct the name at train.py:1, or add the file.",
        ),
    ],
)
def test_a_module_that_a_package_lacks_is_not_said_to_lack_the_package(
    name: str, module: str, cause: str, fix: str
) -> None:
    """Python imports the package first, and names the first that is not there."""
    log = raised("train.py:1 <module>: import it", error=f"ModuleNotFoundError: No module named '{module}'")

    found = explained(log, name=name, stage="import", sources={"train.py": "import it\n"})

    assert (found.cause.cause, found.cause.fix) == (cause, fix)


def test_the_end_of_a_file_name_is_not_taken_for_the_file() -> None:
    """`jsonl` is written in the script as a format, and every path of rows ends with it."""
    source = 'if kind == "jsonl":\n    rows = load_dataset("json", data_files=path)\n'
    log = raised(
        "train.py:2 <module>: rows = load(x)",
        f"{PACKAGES}/datasets/load.py:900 load_dataset: x",
        error="FileNotFoundError: Unable to find '/home/me/data/chat.jsonl'",
    )

    found = explained(log, name="dataset-not-found", stage="data", sources={"train.py": source})

    assert found.cause.fix == "Correct `/home/me/data/chat.jsonl` at train.py:2, or run what makes it first."


def test_a_folder_that_an_earlier_stage_writes_is_not_looked_up_on_the_hub() -> None:
    """The path of a folder in a folder has the form of a name on the Hub."""
    log = raised(
        "train.py:2 <module>: model = PeftModel.from_pretrained(x)",
        f"{PACKAGES}/peft/peft_model.py:441 from_pretrained: x",
        error="OSError: outputs/sft-lora is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'",
    )

    found = explained(log, name="model-not-found", stage="model", sources={"train.py": "\nmodel = x\n"})

    assert (
        found.cause.cause
        == "`outputs/sft-lora` is not a folder on this machine, and the Hub has no model of that name."
    )
    assert found.cause.fix == "Correct the path at train.py:2, or run what makes the folder first."


def test_what_the_script_itself_objects_to_is_not_told_as_the_trainer_s_objection() -> None:
    """Its words may be those of a library."""
    source = 'def check(rows):\n    raise ValueError(f"Dataset missing columns: {missing}")\n'
    log = raised("train.py:2 check: raise ValueError(missing)", error="ValueError: Dataset missing columns: ['prompt']")

    found = explained(log, name="dataset-missing-column", stage="data", sources={"train.py": source})

    assert found.cause.cause == "`check` itself raises ValueError: Dataset missing columns: ['prompt']."
    assert found.cause.fix == "Correct what it complains about, or the condition at train.py:2."


def test_a_module_of_python_itself_is_not_told_as_what_the_script_calls() -> None:
    """It does what a library tells it."""
    log = raised(
        "train.py:2 <module>: trainer.train()",
        f"{PACKAGES}/transformers/tokenization_utils_base.py:2500 save_pretrained: x",
        "/usr/lib/python3.12/json/encoder.py:200 encode: x",
        "/usr/lib/python3.12/json/encoder.py:180 default: x",
        error="TypeError: Object of type dtype is not JSON serializable",
    )

    found = explained(log, stage="save", sources={"train.py": "\ntrainer.train()\n"})

    assert found.cause.cause == "`save_pretrained` writes settings as JSON, and one of them is a `dtype`."
    assert "a tokenizer takes no `dtype`" in found.cause.fix


@pytest.mark.parametrize(
    ("kind", "argument", "fix"),
    [
        ("SFTConfig", "max_seq_length", "Write `max_length` for `max_seq_length` at train.py:2."),
        (
            "DPOConfig",
            "warmup_ratio",
            "Write `warmup_steps` for `warmup_ratio` at train.py:2: `warmup_steps` below 1 is a part of all steps.",
        ),
        ("TrainingArguments", "evaluation_strategy", "Write `eval_strategy` for `evaluation_strategy` at train.py:2."),
        (
            "SFTConfig",
            "group_by_length",
            "Write `train_sampling_strategy='group_by_length'` for `group_by_length` at train.py:2.",
        ),
        (
            "GRPOConfig",
            "max_prompt_length",
            "Remove `max_prompt_length` at train.py:2: prompts are no longer cut: shorten or drop long ones in the data.",
        ),
        (
            "LoraConfig",
            "warmup_ratio",
            "Rename or remove `warmup_ratio` at train.py:2; `holdfast check train.py` knows what became of it.",
        ),
    ],
)
def test_an_argument_that_was_renamed_is_told_with_its_new_name(kind: str, argument: str, fix: str) -> None:
    """`holdfast check` says the same; `LoraConfig` never had the arguments of a trainer."""
    log = raised(
        f"train.py:2 <module>: args = {kind}(x)",
        error=f"TypeError: {kind}.__init__() got an unexpected keyword argument '{argument}'",
    )

    found = explained(
        log, name="transformers-arg-removed", stage="import", sources={"train.py": f"\nargs = {kind}({argument}=1)\n"}
    )

    assert found.cause.fix == fix


def test_a_flag_that_the_settings_lost_is_told_alone() -> None:
    """The class has a list of all that went."""
    error = "ValueError: Some specified arguments are not used by the HfArgumentParser: ['--overwrite_output_dir']"
    log = raised("train.py:2 <module>: parser.parse_args_into_dataclasses()", error=error)

    found = explained(log, name="transformers-arg-removed", stage="import", sources={"train.py": "\nx\n"})

    assert found.cause.cause == "The settings have no `--overwrite_output_dir`."
    assert found.cause.fix.startswith("Remove `overwrite_output_dir` at train.py:2")


def test_a_line_that_python_cannot_read_is_named() -> None:
    """Nothing of the script ran; a quotation mark within a field of an f-string is read since Python 3.12."""
    log = raised("train.py:1 <module>: x", error="SyntaxError: f-string: unmatched '['")

    found = explained(log, stage="import", sources={"train.py": "x"})

    assert found.cause.cause == "The job's Python does not understand train.py:1: SyntaxError: f-string: unmatched '['."
    assert "newer Python" in found.cause.fix


def test_a_module_of_the_project_itself_is_not_looked_for_among_requirements() -> None:
    """A script in `src/` or `scripts/` imports the package of its project, which nobody installed."""
    log = raised("scripts/dpo.py:1 <module>: import it", error="ModuleNotFoundError: No module named 'alignment'")

    found = explained(
        log,
        name="missing-module",
        stage="import",
        sources={"scripts/dpo.py": "import it\n"},
        own_modules={"alignment": "src"},
    )

    assert found.cause.cause == "scripts/dpo.py:1 imports `alignment`, which is in `src`, where Python does not look."
    assert found.cause.fix.endswith("start the script with `PYTHONPATH=src`.")


def test_a_dataset_without_its_owner_is_not_told_about_names_to_push_to() -> None:
    """The name was right for years."""
    error = "huggingface_hub.errors.HfUriError: Invalid HF URI 'hf://datasets/imdb@aa2f51/.huggingface.yaml'. Repository id must be 'namespace/name', got 'imdb'."
    log = raised('train.py:2 <module>: load_dataset("imdb")', error=error)

    found = explained(log, name="hub-repo-id-invalid", stage="data", sources={"train.py": '\nload_dataset("imdb")\n'})

    assert found.cause.cause.startswith("`imdb` has no owner")
    assert found.cause.fix.startswith("Write the name as its page on the Hub shows it at train.py:2")


def test_a_module_that_a_library_lost_is_told_with_the_release_that_had_it() -> None:
    """The library is installed: to add it to the requirements would change nothing."""
    log = raised(
        "train.py:1 <module>: from trl.experimental.bco import BCOConfig",
        error="ModuleNotFoundError: No module named 'trl.experimental.bco'",
    )

    found = explained(
        log,
        name="import-api-removed",
        stage="import",
        sources={"train.py": "from trl.experimental.bco import BCOConfig\n"},
    )

    assert "not installed" not in found.cause.cause
    assert "Add `trl`" not in found.cause.fix


def test_collator_reads_other_rows_than_the_script_has_loaded() -> None:
    """The trainer has made tokens of them."""
    log = raised(
        f"{PACKAGES}/torch/utils/data/_utils/fetch.py:55 fetch: return self.collate_fn(data)",
        'train.py:2 collate: return [row["text"] for row in rows]',
        error="KeyError: 'text'",
    )
    given = {"about": "training", "trainer": ["SFTTrainer"], "columns": ["prompt", "completion"]}
    source = 'def collate(rows):\n    return [row["text"] for row in rows]\n'

    found = explained(log, name="dataset-missing-column", sources={"train.py": source}, facts=(given,))

    assert found.cause.cause == "The collator `collate` reads `text`, and the rows that it is given have none."
    assert "`input_ids`" in found.cause.fix


def test_a_precision_that_wants_a_gpu_is_told_with_the_setting_that_does_without() -> None:
    """What a container or a driver lacks is on the class's page."""
    error = "ValueError: Your setup doesn't support bf16/gpu. You need to assign use_cpu if you want to train the model on CPU."
    log = raised("train.py:2 <module>: args = SFTConfig(bf16=True)", error=error)

    found = explained(log, name="no-gpu-visible", sources={"train.py": "\nargs = SFTConfig(bf16=True)\n"})

    assert found.cause.cause == "`bf16` asks for a GPU, and this process finds none."
    assert found.cause.fix.startswith("Write `use_cpu=True` or `bf16=False` at train.py:2")


def test_a_sentence_of_a_library_ends_once() -> None:
    """Its own full stop and ours are one."""
    signature = next(each for each in all_signatures() if each.name == "invalid-config-value")
    said = "The library says: `max_length` is too small.."
    cause = Cause(signature=signature, confidence=0.9, evidence=(), cause=said, fix="")
    assert advise(cause, Circumstances(error=""))[0] == said.removesuffix(".")


FILES: list[tuple[dict[str, object], str]] = [
    ({"path": "json", "data_files": "rows.jsonl"}, "rows.jsonl --method dpo"),
    ({"path": "json", "data_files": ["a.jsonl", "b.jsonl"]}, "a.jsonl --method dpo"),
    ({"path": "parquet", "data_dir": "rows"}, "rows --method dpo"),
    ({"path": "csv", "data_files": {"train": ["rows.csv"], "test": "test.csv"}}, "rows.csv --method dpo"),
    ({"path": "trl-lib/pairs"}, "trl-lib/pairs --method dpo"),
]


@pytest.mark.parametrize(("rows", "words"), FILES)
def test_command_that_shows_the_rows_names_a_file(rows: dict[str, object], words: str) -> None:
    """The builder of `load_dataset("json", data_files=…)` is nothing that `inspect` can read."""
    log = raised(
        "train.py:3 <module>: DPOTrainer(", f"{PACKAGES}/trl/x.py:5 f: row['chosen']", error="KeyError: 'chosen'"
    )
    facts = ({"about": "dataset", **rows}, {"about": "training", "trainer": ["DPOTrainer"], "columns": ["question"]})

    found = explained(log, name="dataset-missing-column", stage="tokenize", sources={}, facts=facts)

    assert f"`holdfast inspect {words}`" in found.cause.fix


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ('rows = rows.rename_columns({"chosen": "good", "rejected": "bad"})', "train.py:1 renames it to `good`"),
        ('rows = rows.rename_column("chosen", "good")', "train.py:1 renames it to `good`"),
        ('rows = rows.remove_columns("chosen")', "train.py:1 removes it"),
        ('rows = rows.map(f, remove_columns=["id", "chosen"])', "train.py:1 removes it"),
        ("rows = rows.map(f, remove_columns=rows.column_names)", "the script renames or removes it"),
    ],
)
@pytest.mark.parametrize("columns", [["prompt", "chosen"], {"train": ["prompt", "chosen"], "test": []}])
def test_column_that_the_script_takes_away_is_not_sought_in_the_data(source: str, told: str, columns: object) -> None:
    """`inspect` says of such data that they are ready: they had the column when they were loaded."""
    log = raised(
        "train.py:3 <module>: DPOTrainer(", f"{PACKAGES}/trl/x.py:5 f: row['chosen']", error="KeyError: 'chosen'"
    )
    loaded = {"about": "dataset", "path": "json", "data_files": "d.jsonl", "columns": columns}
    training = {"about": "training", "trainer": ["DPOTrainer"], "columns": ["prompt"]}

    found = explained(
        log,
        name="dataset-missing-column",
        stage="tokenize",
        sources={"train.py": source},
        facts=(loaded, training),
    )

    assert f"The rows had it when they were loaded; {told}." in found.cause.cause
    assert "inspect" not in found.cause.fix
    assert "train.py:" in found.cause.fix


def test_what_a_rehearsal_says_to_do_is_kept() -> None:
    """Its own fix fits its own reason; the class's is for the cases that gave none."""
    cause = name_cause("no-trainable-parameters", "`beta` is 0", {}, fix="Give `beta` a value above 0.")
    scene = FailureContext(target="train.py", parts={"whole": PartResult(part="whole", code=0)})

    found = explain_failures(Rehearsal(stages=(), failures=(Failure(stage="step", cause=cause),)), scene)

    assert found.failures[0].cause.fix == "Give `beta` a value above 0."


def test_function_that_a_library_calls_with_other_arguments_is_named_by_its_own_line() -> None:
    """Python raises where it is called; the user's line that led there is `trainer.train()`."""
    source = "class Right:\n    def __call__(self, completions, target): ...\n\n\ntrainer.train()\n"
    log = raised(
        "train.py:5 <module>: trainer.train()",
        f"{PACKAGES}/trl/trainer/grpo_trainer.py:1500 _calculate_rewards: output = reward_func(",
        error="TypeError: Right.__call__() missing 1 required positional argument: 'target'",
    )

    found = explained(log, name="dataset-missing-column", sources={"train.py": source})

    assert (found.where, found.function, found.role) == ("train.py:2", "Right.__call__", "reward function")
    assert found.code == "def __call__(self, completions, target): ..."


def test_own_call_that_does_not_fit_is_the_line_that_calls() -> None:
    """There the caller is the user, too."""
    source = "def clean(row, more): ...\n\n\nclean(1)\n"
    log = raised(
        "train.py:4 <module>: clean(1)", error="TypeError: clean() missing 1 required positional argument: 'more'"
    )

    assert explained(log, sources={"train.py": source}).where == "train.py:4"


OWN_TASK = """
lora = LoraConfig(
    task_type="CAUSAL_LM",
)
trainer = RewardTrainer(model, peft_config=lora)
"""


def test_setting_that_a_trainer_objects_to_is_named_by_its_own_line() -> None:
    """The line that failed is the trainer's; the one to change is where the adapter got its task."""
    log = raised(
        "train.py:5 <module>: trainer = RewardTrainer(model, peft_config=lora)",
        f"{PACKAGES}/peft/peft_model.py:1900 __init__: self.base_model.prepare_inputs_for_generation",
        error="AttributeError: 'LlamaForSequenceClassification' object has no attribute 'prepare_inputs_for_generation'",
    )

    found = explained(log, name="invalid-config-value", stage="model", sources={"train.py": OWN_TASK})

    assert (found.where, found.code) == ("train.py:3", 'task_type="CAUSAL_LM",')
    assert 'Write `task_type="SEQ_CLS"` at train.py:3' in found.cause.fix


def test_what_is_wrong_though_nothing_is_raised_is_named_by_the_setting() -> None:
    """Where it is given once; where it is given twice, nobody knows which is meant."""
    cause = name_cause("no-trainable-parameters", "`beta` is 0", {}, fix="Give `beta` a value above 0.")
    failed = Rehearsal(stages=(), failures=(Failure(stage="step", cause=cause),))

    def where(source: str) -> str:
        at = FailureContext(
            target="train.py", parts={"whole": PartResult(part="whole", code=0)}, sources={"train.py": source}
        )
        return explain_failures(failed, at).failures[0].where

    assert where("args = DPOConfig(\n    beta=0.0,\n)") == "train.py:2"
    assert where("one, other = DPOConfig(beta=0.0), DPOConfig(beta=0.0)") == ""
    assert where("args = DPOConfig()\nplot(beta=1)") == ""


def test_text_that_is_kept_in_the_batches_on_purpose_is_named_with_its_setting() -> None:
    log = raised(
        "train.py:9 <module>: trainer.train()",
        f"{PACKAGES}/transformers/tokenization_utils_base.py:760 convert_to_tensors: raise ValueError(",
        error="ValueError: Perhaps your features (`text` in this case) have excessive nesting",
    )
    training = {"about": "training", "trainer": ["Trainer"], "arguments": {"remove_unused_columns": False}}

    found = explained(log, name="dataset-field-case-mismatch", sources={"train.py": "x = 1"}, facts=(training,))

    assert "`remove_unused_columns=False` leaves the column `text`" in found.cause.cause
    assert 'remove_columns=["text"]' in found.cause.fix


@pytest.mark.parametrize(
    ("source", "function", "where"),
    [
        ("def encode(row):\n    row['labels'] = [-100]\n    return row\n", "encode", "train.py:2"),
        ("class Own:\n    def __call__(self, rows):\n        return {'labels': -100}\n", "__call__", "train.py:3"),
        ("def a(row):\n    row['labels'] = 1\n\ndef b(row):\n    row['labels'] = 2\n", "", ""),
        ("args = SFTConfig(max_length=8)\ndef encode(row):\n    row['labels'] = [-100]\n", "", "train.py:1"),
    ],
)
def test_the_function_that_masks_all_labels_is_named(source: str, function: str, where: str) -> None:
    """Where one function alone sets labels, and no setting is at fault."""
    because = "`max_length=8` cuts every row" if "max_length" in source else "no token of any batch is trained on"
    failure = Failure(stage="tokenize", cause=name_cause("completion-mask-drops-everything", because, {}), part=None)
    context = FailureContext(
        target="train.py", parts={"whole": PartResult(part="whole", code=0)}, sources={"train.py": source}
    )

    (told,) = explain_failures(Rehearsal(stages=(), failures=(failure,)), context).failures

    assert (told.function, told.where) == (function, where)
    assert (f"`{function}` sets them" in told.cause.cause) == bool(function)


@pytest.mark.parametrize(
    ("error", "fix"),
    [
        (
            "ValueError: You set `assistant_only_loss=True`, but the dataset is not conversational. This option is only …",
            "Remove `assistant_only_loss=True` at train.py:2, or make messages of the rows before",
        ),
        (
            "ValueError: You passed `sync_ref_model=True` while `beta` is 0.",
            "Change `sync_ref_model=True` at train.py:2, or the setting that the message names beside it.",
        ),
    ],
)
def test_a_setting_that_a_message_quotes_is_what_to_change(error: str, fix: str) -> None:
    """That the message says what is allowed helps nobody."""
    log = raised("train.py:2 <module>: trainer = Trainer(args=args)", error=error)

    found = explained(log, name="invalid-config-value", sources={"train.py": "\ntrainer = Trainer(args=args)\n"})

    assert found.cause.fix.startswith(fix)


def test_failure_that_a_warning_foresaw_is_told_with_its_figures_and_once() -> None:
    """The exception says only that an index is out of range; another warning stays what it is."""
    because = "the script adds 2 to the 427 tokens of its tokenizer, and the embedding of the model has 427 rows"
    cause = name_cause("token-id-out-of-embedding-range", "IndexError: index out of range in self", {})
    foreseen = Objection(code="token-id-out-of-embedding-range", message=because, stage="tokenize")
    other = Objection(code="eval-train-leak", message="evaluated on training rows", stage="data")
    found = Rehearsal(stages=(), failures=(Failure(stage="step", cause=cause),), warnings=(foreseen, other))

    played = PartResult(part="whole", code=1)
    told = explain_failures(found, FailureContext(target="train.py", parts={"whole": played}, sources={"train.py": ""}))
    assert told.failures[0].cause.cause == because
    assert told.warnings == (other,)
