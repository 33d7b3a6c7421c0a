"""Rendered scripts: tidy Python that holds what its job asks for, and nothing of it as code."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.catalog.builtin import CONFIG_FOR, builtin_columns, load_source
from holdfast.catalog.builtin.stdlib_docstrings import rows
from holdfast.catalog.environment.stack import load_stack
from holdfast.catalog.formats import types_of_rows
from holdfast.core.errors import UsageError
from holdfast.core.job.methods import Method
from holdfast.core.job_file.job import Job
from holdfast.engine.script.python_source import render_block
from holdfast.engine.script.render import referred_files, render_script

TOKEN = "hf_" + "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8cF0xLrU"
SCORE = 'def score(completions, **_):\n    """Count."""\n    return [float(len(c)) for c in completions]\n'
# As PEP 723 finds a header.
HEADER = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")

# Jobs that together reach every part of the templates.
JOBS: dict[str, dict[str, Any]] = {
    "sft": {},
    "dpo": {"method": "dpo"},
    "grpo": {"method": "grpo", "rewards": ["accuracy_reward", "my rewards.py:score"]},
    "reward": {"method": "reward", "dataset": {"path": "data.csv.gz", "eval_fraction": 0.1}},
    "kto": {"method": "kto", "peft": {}},
    "rloo": {
        "method": "rloo",
        "rewards": ["think_format_reward"],
        "dataset": {"path": "d/d", "map": "package.rows:chat"},
    },
    "builtin": {
        "model": "builtin:tiny-chat",
        "dataset": {"path": "builtin:stdlib-docstrings", "eval_split": "test", "rows": 9},
        "early_stopping": {},
    },
    "lora": {"peft": {"r": 4, "target_modules": ["q_proj"]}, "quantization": {"load_in_4bit": True}},
    "unshuffled": {"method": "grpo", "rewards": ["think_format_reward"], "train": {"shuffle_dataset": False}},
    "int8": {"peft": {"r": 4}, "quantization": {"load_in_8bit": True}},
    "stream": {
        "dataset": {
            "path": "d/d",
            "config": "en",
            "streaming": True,
            "eval_split": "test",
            "rows": 9,
            "map": "m.py:score",
        },
        "train": {"max_steps": 9},
    },
    "local": {"dataset": {"path": "./folder", "rows": 9, "eval_fraction": 0.5}, "model": {"path": "~/models/x"}},
    "template": {
        "model": {"path": "m/m", "chat_template": "chat.jinja", "revision": "main", "trust_remote_code": True}
    },
    "cloned": {"method": "dpo", "model": {"path": "m/m", "chat_template": "Qwen/Qwen3-0.6B"}},
    "cloned-sft": {"model": {"path": "m/m", "chat_template": "Qwen/Qwen3-0.6B", "dtype": "auto"}},
    "push": {
        "output": {"push_to": "me/model", "private": False},
        "track": {"with": "trackio", "space": "me/space", "group": "g"},
        "environment": {"secrets": ["HF_TOKEN"]},
    },
    "wandb": {"track": {"with": "wandb", "group": "g", "project": "p", "run": "r"}},
    "tensorboard": {"track": {"with": "tensorboard"}},
    "mlflow": {"track": {"with": "mlflow", "group": "g"}},
    "fsdp": {"where": {"strategy": "fsdp"}},
    "zero3": {"where": {"strategy": "zero3"}, "train": {"bf16": True, "model_init_kwargs": {"use_cache": False}}},
    "system": {"environment": {"system": ["cmake"], "variables": {"HF_HUB_OFFLINE": "1"}}},
    "stopping": {
        "dataset": {"path": "d/d", "eval_split": "test"},
        "early_stopping": {
            "patience": 2,
            "threshold": 0.1,
            "metric": "eval_mean_token_accuracy",
            "greater_is_better": True,
        },
        "train": {"eval_strategy": "epoch", "gradient_checkpointing": False},
    },
    "measuring": {
        "dataset": {"path": "d/d", "eval_split": "test"},
        "early_stopping": {"metric": "eval_bleu"},
        "samples": {"prompts": 0, "metric": ["bleu", "rougeL", "m.py:score"], "rows": 9},
    },
    "measuring-stream": {
        "method": "dpo",
        "dataset": {"path": "d/d", "eval_split": "test", "streaming": True},
        "train": {"max_steps": 9},
        "samples": {"metric": "exact_match"},
    },
}
METHODS = [method.value for method in Method]


def job(**asked: Any) -> Job:
    return Job.model_validate({"method": "sft", "model": "m/m", "dataset": "d/d", **asked})


def render(given: Job, name: str = "job") -> str:
    sources = {file: SCORE if file.endswith(".py") else "{{ messages }}" for file in referred_files(given)}
    return render_script(given, name=name, sources=sources)


def run_ruff(*arguments: str, script: str) -> str:
    command = [sys.executable, "-m", "ruff", *arguments, "--isolated", "--line-length=120", "-"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    return f"exit code {done.returncode}\n{done.stdout}{done.stderr}" if done.returncode else ""


def function(script: str, name: str, **world: Any) -> Any:
    """Return one function of a script, living in a world of its own."""
    found = next(node for node in ast.parse(script).body if isinstance(node, ast.FunctionDef) and node.name == name)
    exec(compile(ast.unparse(found), "script", "exec"), world)
    return world[name]


@pytest.mark.parametrize("name", JOBS)
def test_a_script_is_as_tidy_as_a_person_would_leave_it(name: str) -> None:
    """The formatter would change nothing, and the linter finds nothing: no unused import, no name that is not there."""
    script = render(job(**JOBS[name]))
    # E501: what the user wrote may be long. S: it prints nothing secret, and starts programs that the job names.
    assert run_ruff("check", "--select=E,F,W,I,B,UP,SIM,RUF100,PIE,RET", "--ignore=E501", script=script) == ""
    assert run_ruff("format", "--diff", script=script) == ""


@pytest.mark.parametrize("tools", [None, ["add"], '["add"]'])
def test_measured_answers_are_asked_for_with_the_tools_of_their_rows(tools: list[str] | str | None) -> None:
    """As training writes them: a column of lists, or of their JSON."""

    class Tokenizer:
        def apply_chat_template(self, messages: Any, *, tools: Any, **_: Any) -> str:
            return f"{tools} {messages[-1]['content']}"

        def __call__(self, text: str, **_: Any) -> dict[str, str]:
            return {"input_ids": text}

    chat = [{"role": "user", "content": "1 plus 1"}, {"role": "assistant", "content": "2"}]
    script = render(job(**JOBS["measuring"]))
    measured = function(script, "measured_row", json=json, answered=function(script, "answered"))

    row = measured({"messages": chat, "tools": tools}, Tokenizer())

    assert row["tokens"] == f"{['add'] if tools else None} 1 plus 1"
    assert row["reference"] == "2"


@pytest.mark.parametrize("name", JOBS)
def test_a_script_is_the_same_each_time(name: str) -> None:
    """A script can be compared with an earlier one of the same job."""
    assert render(job(**JOBS[name])) == render(job(**JOBS[name]))


HOSTILE = "x\"; import os; os.system('id') #\n'''\n\"\"\"\n# /// script\n{{ 7 * 7 }} {% endif %}\\"


def places_for_text(value: str) -> dict[str, dict[str, Any]]:
    """Jobs that hold a text in every place that takes any text."""
    return {
        "model": {
            "model": {"path": "m/" + value, "revision": value, "attn_implementation": value, "chat_template": value}
        },
        "dataset": {"dataset": {"path": "d/" + value, "config": value, "split": value, "eval_split": value}},
        "train": {"train": {"key" + value: value, "list": [value], "model_init_kwargs": {value: value}}},
        "peft": {"peft": {value: value}, "quantization": {value: value}},
        "track": {"track": {"with": "trackio", "project": value, "run": value, "group": value, "space": value}},
        "output": {"output": {"folder": value, "push_to": value}},
        "environment": {"environment": {"system": [value], "variables": {value: value}, "secrets": [value]}},
        "stopping": {"dataset": {"path": "d", "eval_split": "e"}, "early_stopping": {"metric": value}},
        "file": {"method": "grpo", "rewards": [value.replace("\n", " ") + ".py:score"]},
        "template": {"model": {"path": "m", "chat_template": value + ".jinja"}},
    }


def headers(script: str) -> list[str]:
    return [found.group() for found in HEADER.finditer(script)]


def skeleton(script: str) -> str:
    """A script's code with every constant taken out."""
    tree = ast.parse(script)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.value, node.kind = "", None
    return ast.dump(tree)


@pytest.mark.parametrize("place", places_for_text(""))
def test_what_a_job_says_is_never_code(place: str) -> None:
    """Quotes, line breaks, template signs and comments in a value change a script's constants and nothing else."""
    hostile, harmless = render(job(**places_for_text(HOSTILE)[place])), render(job(**places_for_text("word")[place]))
    assert skeleton(hostile) == skeleton(harmless)
    assert headers(hostile) == headers(harmless)
    assert len(headers(hostile)) == 1


def test_the_name_of_a_job_is_never_code() -> None:
    """A file may be called anything."""
    assert skeleton(render(job(), HOSTILE)) == skeleton(render(job(), "word"))


@pytest.mark.parametrize(
    "text", [HOSTILE, "", "a\r\nb\n", "tab\tnull\0\n", "ends in '''", 'ends in "', "\\", "x = 1\n", "é\u2028"]
)
def test_a_text_that_travels_arrives_as_it_was(text: str) -> None:
    """A file inside a script is the file, whatever is in it."""
    assert eval(render_block(text)) == text  # noqa: S307 - an expression is what it must be


def test_a_header_names_exact_versions_with_their_reasons() -> None:
    """`uv run` makes the environment that the tests ran with."""
    script = render(job(**JOBS["lora"]))
    found = HEADER.search(script)
    assert found
    lines = [line.removeprefix("# ") for line in found["content"].splitlines()]
    header = tomllib.loads("\n".join(lines))
    stack = load_stack()
    wanted = ("torch", "transformers", "trl", "accelerate", "datasets", "huggingface-hub", "peft", "bitsandbytes")
    assert header == {
        "requires-python": ">=3.11",
        "dependencies": [f"{name}=={stack[name].version}" for name in wanted],
    }
    assert all("  # " in line for line in lines if "==" in line)


@pytest.mark.parametrize(
    ("asked", "package"),
    [
        ({"track": {"with": "wandb"}}, "wandb"),
        ({"track": {"with": "mlflow"}}, "mlflow"),
        ({"method": "grpo", "rewards": ["accuracy_reward"]}, "math-verify"),
        ({"train": {"log_completions": True}}, "rich"),
        ({"where": {"strategy": "zero2"}}, "deepspeed"),
        ({"model": "builtin:tiny-chat"}, "tokenizers"),
    ],
)
def test_a_header_names_what_only_some_jobs_need(asked: dict[str, Any], package: str) -> None:
    """A tracker, a reward or a strategy that needs a package brings it along; other jobs do without."""
    assert f'"{package}==' in render(job(**asked))
    assert f'"{package}==' not in render(job())


def test_a_job_may_pin_its_own_versions() -> None:
    """A requirement of the job's takes the place of ours, or joins them."""
    script = render(
        job(environment={"requirements": ["Torch>=2.12", "flash_attn==2.8.3", "trl[quantization]==1.16.2"]})
    )
    assert all(text in script for text in ('"Torch>=2.12"', '"flash_attn==2.8.3"', '"trl[quantization]==1.16.2"'))
    assert "torch==2" not in script
    assert '"trl==' not in script


@pytest.mark.parametrize("pin", ["trl==1.15.0", "trl", "TRL>=1.0", "trl~=1.16", "trl @ git+https://x/trl"])
def test_another_trl_is_refused(pin: str) -> None:
    """The script is written for one line of versions; a user is told which."""
    with pytest.raises(UsageError, match=r"TRL 1\.16"):
        render(job(environment={"requirements": [pin]}))


def refusals() -> dict[str, tuple[dict[str, Any], str]]:
    return {
        "no such model": ({"model": "builtin:huge"}, "builtin:huge"),
        "no such dataset": ({"dataset": "builtin:all"}, "builtin:all"),
        "no reward": ({"method": "grpo"}, "no reward"),
        "unknown reward": ({"method": "rloo", "rewards": ["nice"]}, "nice"),
        "keyword": ({"dataset": {"path": "d", "map": "m.py:import"}}, "names no function"),
        "no module": ({"dataset": {"path": "d", "map": "a b:c"}}, "names no function"),
        "not defined": ({"method": "rloo", "rewards": ["r.py:other"]}, "defines no `other`"),
        "fraction of a stream": ({"dataset": {"path": "d", "streaming": True, "eval_fraction": 0.1}}, "stream"),
        "stream of a built-in": ({"dataset": {"path": "builtin:stdlib-docstrings", "streaming": True}}, "stream"),
        "folder of its own": ({"train": {"output_dir": "x"}}, "output_dir"),
        "date": ({"train": {"run": date(2026, 1, 1)}}, "date"),
        "no mapping": ({"train": {"model_init_kwargs": "{}"}}, "mapping"),
        "no requirement": ({"environment": {"requirements": ["-e ."]}}, "not a requirement"),
        "no python": ({"environment": {"python": 'x"\n'}}, "names no Python"),
    }


@pytest.mark.parametrize("case", refusals())
def test_what_cannot_be_rendered_is_refused(case: str) -> None:
    """A job that no script could serve is told so, with the place and a way out."""
    asked, said = refusals()[case]
    with pytest.raises(UsageError, match=re.escape(said)) as error:
        render(job(**asked))
    assert error.value.fix
    assert error.value.where


def test_a_file_that_is_no_python_is_refused_with_its_line() -> None:
    """A typo in a reward function is found before anything is started."""
    asked = job(method="grpo", rewards=["r.py:score"])
    with pytest.raises(UsageError) as error:
        render_script(asked, name="job", sources={"r.py": "x = 1\ndef score(:\n"})
    assert error.value.spot.line == 2


def test_files_that_a_job_names_are_named_once() -> None:
    """Whoever calls reads each file once: rewards, map, chat template."""
    asked = job(
        method="grpo",
        rewards=["a.py:x", "accuracy_reward", "a.py:y"],
        dataset={"path": "d", "map": "b.py:z"},
        model={"path": "m", "chat_template": "c.jinja"},
    )
    assert referred_files(asked) == ("a.py", "b.py", "c.jinja")
    assert referred_files(job(dataset={"path": "d", "map": "module:z"})) == ()


# Names that TRL 1.16 or transformers 5.23 took away, or that do harm there. They stand in advice that is still passed on.
STALE = (
    "warmup_ratio",
    "max_seq_length",
    "evaluation_strategy",
    "overwrite_output_dir",
    "logging_dir",
    "save_safetensors",
    "group_by_length",
    "no_cuda",
    "jit_mode_eval",
    "max_prompt_length",
    "push_to_hub_model_id",
    "push_to_hub_organization",
    "push_to_hub_token",
    "torch_dtype",
    "low_cpu_mem_usage",
    "safe_serialization",
    "is_bf16_supported",
    "trackio.init",
    "trackio.finish",
    "torch.cuda.amp",
    "hf_transfer",
    "HF_HUB_ENABLE_HF_TRANSFER",
    "gradient_checkpointing",
    "PPOTrainer",
    "tokenizer=",
    "every_save",
    "resume_from_checkpoint=True",
    "examples/scripts",
    "device_map",
)


@pytest.mark.parametrize("name", ["plain", "full"])
@pytest.mark.parametrize("method", METHODS)
def test_no_script_says_what_is_stale(name: str, method: str) -> None:
    """What the libraries no longer take, or never did as the tutorials say, is in no script."""
    full = {"peft": {"r": 4}, "quantization": {"load_in_4bit": True}, "track": {"with": "trackio"}}
    full |= {"output": {"push_to": "me/m"}, "dataset": {"path": "d/d", "eval_fraction": 0.1}, "early_stopping": {}}
    rewards = {"rewards": ["accuracy_reward"]} if Method(method).generates else {}
    script = render(job(method=method, **rewards, **(full if name == "full" else {})))
    assert [word for word in STALE if word in script] == []


def test_a_script_holds_only_what_its_job_needs() -> None:
    """A plain job's script says nothing of adapters, trackers, the Hub or early stopping."""
    script = render(job())
    for word in (
        "LoraConfig",
        "BitsAndBytes",
        "trackio",
        "push",
        "EarlyStopping",
        "class Samples",
        "FILES",
        "apt-get",
        "wandb",
    ):
        assert word not in script, word


class Gpu:
    """Stands for `torch`, with one GPU of a generation, or none."""

    def __init__(self, capability: tuple[int, int] | None) -> None:
        self.cuda = SimpleNamespace(
            is_available=lambda: capability is not None, get_device_capability=lambda: capability
        )


@pytest.mark.parametrize(
    ("capability", "chosen"),
    [
        (None, {"use_cpu": True, "bf16": False}),
        ((7, 5), {"fp16": True}),  # a T4, which says that it supports bf16 and emulates it
        ((8, 0), {"bf16": True}),
        ((9, 0), {"bf16": True}),
    ],
)
def test_precision_is_what_the_gpu_really_does(capability: tuple[int, int] | None, chosen: dict[str, bool]) -> None:
    """bf16 from Ampere on, fp16 before it, float32 on a CPU."""
    assert function(render(job()), "choose_arithmetic", torch=Gpu(capability))() == chosen


@pytest.mark.parametrize("train", [{"bf16": True}, {"fp16": True}])
def test_a_precision_that_the_user_names_stands_alone(train: dict[str, bool]) -> None:
    """Two formats at once would be refused, so the machine's gives way."""
    assert function(render(job(train=train)), "choose_arithmetic", torch=Gpu((8, 0)))() == {}


@pytest.mark.parametrize(
    ("train", "schedule"),
    [
        ({}, {"eval_strategy": "steps", "eval_steps": 0.1, "save_steps": 0.1, "save_total_limit": 2}),
        ({"eval_steps": 50}, {"eval_strategy": "steps", "save_steps": 50, "save_total_limit": 2}),
        ({"eval_strategy": "epoch"}, {"save_strategy": "epoch", "save_total_limit": 2}),
        ({"save_steps": 7, "save_total_limit": 9}, {"eval_strategy": "steps", "eval_steps": 0.1}),
    ],
)
def test_the_best_model_is_among_the_checkpoints(train: dict[str, Any], schedule: dict[str, Any]) -> None:
    """Early stopping keeps the best model, so what is evaluated is saved, as far as the job does not say otherwise."""
    script = render(job(dataset={"path": "d/d", "eval_split": "e"}, early_stopping={}, train=train))
    config = function(
        script,
        "training_config",
        SEED=1,
        TRAIN=train,
        SFTConfig=dict,
        torch=Gpu(None),
        choose_arithmetic=dict,
        choose_loading=dict,
    )()
    keys = ("eval_strategy", "eval_steps", "save_strategy", "save_steps", "save_total_limit")
    assert {key: config[key] for key in keys if key in config} == {**train, **schedule}
    assert config["load_best_model_at_end"]


@pytest.mark.parametrize(
    ("row", "prompt"),
    [
        ({"prompt": "Who?", "completion": "I."}, "Who?"),
        (
            {"messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
            [{"role": "user", "content": "a"}],
        ),
        (
            {"chosen": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]},
            [{"role": "user", "content": "a"}],
        ),
        ({"text": "one two three four five six seven eight nine"}, "one two three four five six seven eight"),
        ({"input_ids": [1, 2]}, ""),
    ],
)
def test_a_prompt_is_what_comes_before_the_answer(row: dict[str, Any], prompt: object) -> None:
    """Samples show how the model goes on, so they give it no part of the answer."""
    script = render(job(dataset={"path": "d/d", "eval_split": "test"}))
    assert function(script, "prompt_of")(row) == prompt


@pytest.mark.parametrize("method", METHODS)
def test_the_built_in_dataset_has_the_columns_it_is_said_to_have(method: str) -> None:
    """Rules judge a built-in dataset by its catalog entry; the rows keep to it."""
    config = CONFIG_FOR[Method(method)]
    train, test = rows(config, "train"), rows(config, "test")
    assert len(train) > 3000
    assert len(test) > 300
    said = builtin_columns("builtin:stdlib-docstrings", None, Method(method))
    assert types_of_rows(train + test) == said


def test_no_answer_of_the_built_in_dataset_stands_in_both_splits() -> None:
    """What is evaluated on was never trained on."""
    answers = {split: {row["answer"] for row in rows("prompts", split)} for split in ("train", "test")}
    assert not answers["train"] & answers["test"]


def test_a_rejected_answer_has_its_words_in_another_order() -> None:
    """A pair always differs in nothing but that, and the draw is the same each time."""
    pairs = rows("preference", "test")
    answers = [[row[name][0]["content"] for name in ("chosen", "rejected")] for row in pairs]
    assert all(chosen != rejected for chosen, rejected in answers)
    assert all(sorted(chosen.split()) == sorted(rejected.split()) for chosen, rejected in answers)
    assert pairs == rows("preference", "test") != rows("preference", "test", seed=1)


def test_the_built_in_dataset_runs_nothing_that_it_reads() -> None:
    """The standard library is parsed; modules that would open a browser or print a poem stay where they are."""
    script = f"import sys\n{load_source('stdlib_docstrings.py')}\nassert rows('messages', 'test')\n"
    script += "assert not {'this', 'antigravity', 'tkinter', 'asyncio'} & set(sys.modules)\n"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_unknown_configurations_have_no_columns() -> None:
    """A rule that asks for what is not there learns so."""
    assert builtin_columns("builtin:stdlib-docstrings", "other", Method.SFT) == {}
    assert builtin_columns("d/d", None, Method.SFT) == {}
    with pytest.raises(ValueError, match="other"):
        rows("other", "train")


def test_settings_can_be_kept_as_json() -> None:
    """What a script records of its job is what its top says."""
    script = render(job(**JOBS["stream"]))
    top = script[script.index("NAME = ") : script.index("# The machine:")]
    world: dict[str, Any] = {}
    exec(top, world)
    assert json.loads(json.dumps(world["SETTINGS"])) == world["SETTINGS"]
    assert world["SETTINGS"]["TRAIN"] == {"max_steps": 9}
    assert world["SETTINGS"]["ROWS"] == 9


@pytest.mark.parametrize(
    ("train", "kept"),
    [
        ({"hub_token": "hf_secret"}, {}),
        ({"seed": 4, "hub_token": "hf_secret", "max_steps": 2}, {"seed": 4, "max_steps": 2}),
        (
            {"max_steps": 2, "teacher": {"parts": [{"api_key": TOKEN}, 3]}},
            {"max_steps": 2, "teacher": {"parts": [{}, 3]}},
        ),
    ],
)
def test_the_settings_beside_a_checkpoint_hold_no_token(train: dict[str, Any], kept: dict[str, Any]) -> None:
    """They are pushed with the model; the trainer gets the token all the same."""
    script = render(job(train=train))
    space: dict[str, Any] = {}
    exec(script[script.index("NAME = ") : script.index("# The machine:")], space)

    assert space["TRAIN"] == train
    assert space["SETTINGS"]["TRAIN"] == kept
    assert 'record["config"] = without_secrets(record["config"])' in script


def test_the_configuration_beside_a_checkpoint_holds_no_token() -> None:
    """Of a model that is loaded with one."""
    script = render(job(train={"model_init_kwargs": {"token": TOKEN, "revision": "main"}}))
    space: dict[str, Any] = {}
    exec(script[script.index("NAME = ") : script.index("# The machine:")], space)

    assert space["without_secrets"]({"a": [{"token": TOKEN}], "b": 1}) == {"a": [{}], "b": 1}
    assert 'record["config"] = without_secrets(record["config"])' in script


@pytest.mark.parametrize("blanks", ["my data", "data"])
def test_the_record_beside_a_checkpoint_has_no_folder_and_each_word(tmp_path: Path, blanks: str) -> None:
    """A text that begins with a slash may be a word or a prompt; a folder with blanks is one if it is there."""
    here = tmp_path / blanks / "rows.jsonl"
    here.parent.mkdir()
    here.touch()
    script = render(job())
    is_path = function(script, "is_path", Path=Path, os=os)
    named = function(script, "without_folders", Path=Path, is_path=is_path)
    words = ["/no_think", "/think\nWeigh pros/cons", "/", "/rate from 1/10 to 10/10", "data/rows.jsonl", "", 3]

    assert named({"words": words, "files": [str(here), "/srv/gone/a.py"]}) == {
        "words": words,
        "files": ["rows.jsonl", "a.py"],
    }
