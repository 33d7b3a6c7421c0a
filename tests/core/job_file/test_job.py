"""A job file's mistakes are told all at once, in a person's words, each with its place; and the schema agrees."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.errors import JobError
from holdfast.core.job.methods import Method
from holdfast.core.job_file.job import Job, job_schema, known_keys, parse_duration, parse_job
from tools.job_schema import SCHEMAS, render_schema

LEAST = "method: sft\nmodel: tiny\ndataset: rows.jsonl\n"
EVERYTHING = """\
name: capybara-sft
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: trl-lib/Capybara
rewards: [accuracy_reward]
peft: {r: 16, lora_alpha: 32, target_modules: all-linear}
quantization: {load_in_4bit: true}
train: {learning_rate: 2.0e-5, num_train_epochs: 1, per_device_train_batch_size: 4, max_length: 1024}
early_stopping: {patience: 3, metric: eval_loss}
environment: {python: ">=3.11", requirements: ["trl==1.16.0"], system: [], variables: {}, secrets: [HF_TOKEN]}
where: {backend: local, hardware: null, nodes: 1, processes: auto, strategy: ddp, timeout: 4h, budget_usd: 10, options: {}}
track: {with: trackio,
        project: p, run: r, group: g, space: null}
output: {folder: runs, push_to: user/name, private: true, gguf: [q4_k_m]}
evaluate: [{dataset: held-out.jsonl, metric: accuracy}]
recover: {attempts: 3, allow: [batch_size, checkpointing, optimizer, hardware, learning_rate, skip_batches, unknown_once]}
notify: {webhook: null}
seed: 42
"""
LONG_FORMS = """\
method: grpo
model: {path: tiny, revision: main, dtype: bfloat16, attn_implementation: sdpa, trust_remote_code: false, chat_template: c.jinja}
dataset: {path: d, config: c, split: train, eval_split: test, eval_fraction: 0.1, rows: 5000, seed: 42, streaming: false, map: "my_module:fn"}
samples: {prompts: 0, max_new_tokens: 16}
"""
VALIDATOR = Draft202012Validator(job_schema())


def values_of(text: str) -> dict[str, Any]:
    return dict(JobFileReader().read(text, "job.yaml").values)


def parsed(text: str) -> Job:
    return parse_job(JobFileReader().read(text, "job.yaml"))


def problems(text: str) -> list[JobError]:
    with pytest.raises(ExceptionGroup) as raised:
        parsed(text)
    assert all(isinstance(problem, JobError) for problem in raised.value.exceptions)
    return [problem for problem in raised.value.exceptions if isinstance(problem, JobError)]


def told(text: str) -> list[str]:
    """Each problem as people read it, on one line."""
    return [f"{p.spot.line}:{p.spot.column} {p.what}; {p.fix}" for p in problems(text)]


def test_five_mistakes_get_five_messages() -> None:
    """Unknown keys and wrong types are told together, in the order of the file, each with its line and column."""
    text = """\
metod: sft
model: tiny
dataset:
  path: rows.jsonl
  streaming: yes
train: 3
learning_rate: 2e-5
evaluate:
  - dataset: rows.jsonl
    metrc: loss
"""

    assert told(text) == [
        "1:1 unknown key `metod`; did you mean `method`?",
        "5:3 `dataset.streaming` is the text 'yes': it should be true or false; write `true`",
        "6:1 `train` is 3: it should be a mapping; write its keys under `train:`, on lines of their own, indented",
        "7:1 unknown key `learning_rate`; put it under `train:`",
        "10:5 unknown key `evaluate.0.metrc`; did you mean `evaluate.0.metric`?",
    ]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (
            "rewards: accuracy_reward",
            "is the text 'accuracy_reward': it should be a list; put it in brackets: `rewards: [acc",
        ),
        ("evaluate: a.jsonl", "it should be a list; put it in brackets: `evaluate: [{dataset: a.jsonl}]`"),
        (
            "evaluate: [a.jsonl]",
            "`evaluate.0` is the text 'a.jsonl': it should be a mapping; write a mapping, such as `- dataset",
        ),
        ("seed: '42'", "`seed` is the text '42': it should be a whole number; write `42`"),
        ("dataset: {path: d, rows: 10_000}", "is the text '10_000': it should be a whole number; write `10000`"),
        ("dataset: {path: d, rows: 1e4}", "`dataset.rows` is 10000.0: it should be a whole number; write `10000`"),
        ("dataset: {path: d, eval_fraction: 1}", "`dataset.eval_fraction` is 1: it should be below 1;"),
        ("dataset: {path: d, eval_split: 0.1}", "a share of the rows, write `eval_fraction: 0.1` instead"),
        ("dataset: {path: d, eval_split: 3}", "`dataset.eval_split` is 3: it should be text; write text, in quotes"),
        ("dataset: {path: d, map: rows.py}", "name the function, too: `rows.py:FUNCTION`"),
        ("dataset: {path: d, map: fn}", "it should be `file.py:function` or `module:function`;"),
        ("dataset: {path: ''}", "`dataset.path` is the text '': it should be text with something in it;"),
        ("dataset: [d]", "`dataset` is a list: it should be text, or a mapping with a `path`;"),
        ("method: sfx", "it should be one of sft, dpo, grpo, reward, kto or rloo; did you mean `sft`?"),
        ("method: SFT", "it should be one of sft, dpo, grpo, reward, kto or rloo; did you mean `sft`?"),
        ("where: {timeout: 4}", "a duration is a number above 0 and a unit, such as 90s, 30m, 4h or 1.5d, not '4';"),
        ("where: {timeout: 0h}", "not '0h';"),
        ("where: {processes: two}", "it is a whole number above 0, or auto, not 'two';"),
        ("where: {processes: true}", "it is a whole number above 0, or auto, not True;"),
        ("where: {budget_usd: .inf}", "`where.budget_usd` is inf: it should be a finite number;"),
        ("where: {seed: 1}", "unknown key `where.seed`; put it at the top level or under `dataset:`"),
        ("timeout: 4h", "unknown key `timeout`; put it under `where:`"),
        ("epochs: 3", "unknown key `epochs`; did you mean `train.num_train_epochs`?"),
        ("zzz: 1", "an argument of the trainer stands under `train:`"),
        ("output: {zzz: 1}", "unknown key `output.zzz`; use one of folder, push_to, private, gguf"),
        ("model:", "`model` is empty; write `model: Qwen/Qwen2.5-0.5B`"),
        (
            "name: a b",
            "it should be letters, digits, `.`, `_` and `-`, a letter or digit first, at most 128 characters;",
        ),
        ("seed: -1", "`seed` is -1: it should be at least 0;"),
    ],
)
def test_message_says_what_and_how(line: str, message: str) -> None:
    """A wrong value is shown as it is written, with what should stand there and how to write it."""
    key = line.partition(":")[0]
    rest = "".join(other for other in LEAST.splitlines(keepends=True) if not other.startswith(f"{key}:"))
    (problem,) = told(f"{rest}{line}\n")

    assert message in problem
    assert problem.startswith(f"{len(rest.splitlines()) + 1}:")


def test_keys_of_the_data_that_do_not_fit_are_told_at_once() -> None:
    """Each at its own place."""
    job = "method: sft\nmodel: m\ndataset:\n  path: rows.jsonl\n"

    assert told(f"{job}  sample: stratified\n  weight: 2\n") == [
        "5:3 `dataset.sample`: `stratified` needs `rows` (how many are chosen) and `by` (a column); correct `dataset.sample`",
        "6:3 `dataset.weight`: it is for mixtures, and there is no other dataset in `mix`; correct `dataset.weight`",
    ]
    assert told(f"{job}  by: topic\n  sample: head\n") == [
        "5:3 `dataset.by`: it is for `sample: stratified` and `sample: length`; correct `dataset.by`",
        "6:3 `dataset.sample`: `head` needs `rows` (how many are chosen); correct `dataset.sample`",
    ]


def test_missing_keys_are_told() -> None:
    """Each key that every job has is asked for, at the place it is missing from."""
    assert told("name: x\nevaluate:\n  - metric: loss\n") == [
        "None:None missing key `method`; write `method: sft`",
        "None:None missing key `model`; write `model: Qwen/Qwen2.5-0.5B`",
        "None:None missing key `dataset`; write `dataset: trl-lib/Capybara`",
        "3:5 `evaluate.0`: name a `dataset`, or a benchmark `task`; correct `evaluate.0`",
    ]


def test_secrets_are_never_shown() -> None:
    """A wrong value that may be a secret is named by its kind alone."""
    text = (
        LEAST
        + "environment: {variables: {A: 98765}, secrets: hf_98765, python: 3.98765}\nnotify: {webhook: {a: '98765'}}\n"
    )

    assert "98765" not in "".join(told(text))
    assert len(problems(text)) == 4


def test_key_with_nothing_after_it_is_as_good_as_none() -> None:
    """All lines under a key may be commented out."""
    empty = "".join(f"{name}:\n" for name in known_keys(()) if name not in ("method", "model", "dataset"))

    assert parsed(LEAST + empty) == parsed(LEAST)


def test_short_and_long_forms_are_the_same_job() -> None:
    """A model or dataset may be named alone."""
    long = "method: sft\nmodel: {path: tiny}\ndataset:\n  path: rows.jsonl\n"

    assert parsed(LEAST) == parsed(long)
    assert parsed(EVERYTHING).track.with_ == "trackio"


@pytest.mark.parametrize("text", [LEAST, EVERYTHING, LONG_FORMS], ids=["least", "everything", "long forms"])
def test_schema_accepts_what_jobs_may_say(text: str) -> None:
    """The documented job files are jobs, to the parser and to an editor's schema."""
    assert parsed(text).method
    assert list(VALIDATOR.iter_errors(values_of(text))) == []


def test_schema_is_sound_and_describes_every_key() -> None:
    """The schema is valid draft 2020-12, and says of every key what it is for."""
    schema = job_schema()
    Draft202012Validator.check_schema(schema)

    for part in (schema, *schema["$defs"].values()):
        for name, asked in part.get("properties", {}).items():
            assert asked.get("description"), name


def test_kept_schema_is_up_to_date() -> None:
    """The copy that editors use is the one the code gives."""
    for path, make in SCHEMAS.items():
        assert path.read_text(encoding="utf-8") == render_schema(make), "python -m tools.job_schema"


ANYTHING = st.recursive(
    st.sampled_from(
        [None, True, False, 0, 1, -1, 5, 0.5, 2**40, "auto", "sft", "4h", "a b", "", "x:y", "main", "none"]
    ),
    lambda parts: st.lists(parts, max_size=2) | st.dictionaries(st.sampled_from(["path", "x", "a"]), parts, max_size=2),
    max_leaves=3,
)


@given(st.data())
@settings(deadline=None, max_examples=300)
def test_parser_and_schema_agree(data: st.DataObject) -> None:
    """What the schema refuses the parser refuses, and the other way round; and it never fails in another way."""
    job: dict[str, Any] = {"method": "sft", "model": "tiny", "dataset": "rows.jsonl"}
    for _ in range(data.draw(st.integers(1, 3))):
        name = data.draw(st.sampled_from(known_keys(())))
        names = known_keys((name,))
        inner = st.dictionaries(st.sampled_from(names), ANYTHING, max_size=2) if names else ANYTHING
        shape = st.lists(inner, max_size=2) if name == "evaluate" else inner
        job[name] = data.draw(st.one_of(ANYTHING, shape))
    text = json.dumps(job)

    try:
        parsed(text)
    except* JobError:
        assert not VALIDATOR.is_valid(values_of(text))
    else:
        assert VALIDATOR.is_valid(values_of(text))


def test_durations() -> None:
    """A duration has one of four units."""
    assert [parse_duration(text) for text in ("90s", "30m", "4h", "1.5d")] == [90, 1800, 14400, 129600]
    for wrong in ("4", "h", "-4h", "4 h", "4h\n", "0s", "1e3s", "9" * 400 + "d"):
        with pytest.raises(ValueError, match="a duration is"):
            parse_duration(wrong)


def test_methods_that_generate() -> None:
    """Only the online methods sample completions and need rewards."""
    assert {method for method in Method if method.generates} == {Method.GRPO, Method.RLOO}


@pytest.mark.parametrize("key", ["few_shot: 5", "limit: 20", "allow_code: true"])
def test_keys_of_benchmark_tasks_need_one(key: str) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        parsed(f"{LEAST}evaluate:\n- {{dataset: rows.jsonl, {key}}}\n")
    assert f"`{key.partition(':')[0]}` is for benchmark tasks" in str(raised.value)

    parsed(f"{LEAST}evaluate:\n- {{task: arc_easy, {key}}}\n")


def test_an_evaluation_that_was_written_out_whole_is_read_again() -> None:
    """As the plan of a run has it."""
    job = parsed(f"{LEAST}evaluate:\n- {{dataset: rows.jsonl}}\n")
    assert Job.model_validate(job.model_dump(mode="json", by_alias=True)).evaluate == job.evaluate
