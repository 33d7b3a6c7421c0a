"""Whose fault a failed rehearsal is, asked of real scripts: their data, their model, or their code."""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from msgspec import convert

from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.rehearsal.server import RehearsalServer
from holdfast.app.rehearse.isolating import isolate
from holdfast.app.rehearse.observing import observe
from holdfast.app.rehearse.playing import Replayer as Replays
from holdfast.app.rehearse.playing import judge_parts, run_parts
from holdfast.app.rehearse.rehearsing import make_part_request
from holdfast.catalog.builtin.known_good import good_value, load_known_models, load_known_rows
from holdfast.cli.main import run_command
from holdfast.cli.text.rehearsal import render_rehearsal
from holdfast.core.rehearse.rehearsal import Failure, Rehearsal, StageName
from holdfast.engine.rehearse.isolating import Instead, Replay, find_blame
from holdfast.engine.rehearse.known_rows import RecordedRows, Row, typed_rows, usual_rows
from holdfast.engine.rehearse.naming import name_cause
from holdfast.results.rehearse import RehearseResult
from tests.helpers.fault_world import DAMAGES
from tests.helpers.rehearsal_jobs import ANSWER, CHAT, Job, job, plain
from tests.helpers.sampling import sampled
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

TRAINERS = {"sft": "SFT", "dpo": "DPO", "kto": "KTO", "reward": "Reward", "grpo": "GRPO", "rloo": "RLOO"}
FILE = 'dataset = load_dataset("json", data_files="data/{}.jsonl", split="train")'
MAPPED = "dataset = dataset.map(lambda row: {}, remove_columns=dataset.column_names)"
QUESTIONS = '{"question": f"{i} plus 1 equals?", "answer": f"It is {i + 1}. #### {i + 1}"}'
TURNS = '{"messages": [{"role": "user", "content": row["question"]}, {"role": "assistant", "content": row["answer"].strip()}]}'
LATE = """class Late(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        state.losses.append(1)
"""
CANNOT = """class Again(TrainerCallback):
    def on_train_begin(self, args, state, control, **kwargs):
        assert state.global_step == 0, "begin at the beginning"
"""
METRICS = """def metrics(predictions):
    return {"accuracy": predictions.accuracy}
"""
PAIRS = f'"prompt": [{CHAT}], "chosen": [{ANSWER}]'
ACCURATE = "compute_metrics=metrics, eval_dataset=dataset.select(range(32, 64))"


@dataclass(frozen=True)
class Case:
    """A script that fails.

    Attributes:
        job: It.
        blame: Whose fault that is.
        files: What lies beside it, by path.
    """

    job: Job
    blame: str
    files: Mapping[str, str] = field(default_factory=dict[str, str])


def _rows(*odd: object, count: int = 40) -> str:
    """Return rows of questions as JSON Lines, with some that are odd in their midst."""
    good = [{"question": f"{i} plus 1 equals?", "answer": f"It is {i + 1}. #### {i + 1}"} for i in range(count)]
    rows = [*good[: count // 2], *odd, *good[count // 2 :]]
    return "".join(f"{each if isinstance(each, str) else json.dumps(each)}\n" for each in rows)


CASES = (
    Case(
        job("answer-is-null-in-a-row", "SFT", shape=FILE.format("nulls") + "\n" + MAPPED.format(TURNS)),
        "data",
        {"data/nulls.jsonl": _rows({"question": "0 plus 1?", "answer": None})},
    ),
    Case(
        job(
            "number-that-is-none",
            "GRPO",
            shape=FILE.format("numbers")
            + '\ndataset = dataset.map(lambda row: {"prompt": row["question"], "answer": str(int(row["answer"].split("####")[1]))})',
        ),
        "data",
        {"data/numbers.jsonl": _rows({"question": "0 plus 1?", "answer": "It is one."})},
    ),
    Case(
        job("line-that-is-no-json", "SFT", shape=FILE.format("broken") + "\n" + MAPPED.format(TURNS)),
        "data",
        {"data/broken.jsonl": _rows('{"question": "0 plus 1?", "answer": "It')},
    ),
    Case(job("pairs-without-rejected", "DPO", row=f"{{{PAIRS}}}"), "data"),
    Case(job("labels-as-texts", "KTO", row='{"prompt": f"{i}?", "completion": "yes", "label": "good"}'), "data"),
    Case(
        job(
            "prompts-by-another-name",
            "GRPO",
            row='{"question": f"{i} plus 1 equals?"}',
            top="def reward(completions, **kwargs):\n    return [len(each[0]['content']) / 100 for each in completions]\n",
            given="reward_funcs=reward",
        ),
        "data",
    ),
    Case(job("messages-as-text", "SFT", row=f'{{"messages": str([{CHAT}, {ANSWER}])}}'), "data"),
    Case(
        job(
            "message-of-an-unknown-shape",
            "SFT",
            row=f'{{"messages": [{CHAT}, {ANSWER}] if i != 20 else [{{"content": "hm", "role": None}}]}}',
            model='"work/tiny_strict"',
        ),
        "data",
    ),
    Case(
        job(
            "two-users-in-a-row",
            "SFT",
            row=f'{{"messages": [{CHAT}, {ANSWER}] if i else [{CHAT}, {CHAT}]}}',
            model='"work/tiny_strict"',
        ),
        "data",
    ),
    Case(
        job("files-are-not-there", "SFT", shape=FILE.format("nowhere") + "\n" + MAPPED.format(TURNS)),
        "data",
    ),
    Case(job("template-that-does-not-close", "SFT", model='"work/tiny_template"'), "model"),
    Case(
        replace(
            plain("nothing-to-pad-with"),
            source=plain("nothing-to-pad-with").source.replace("work/tiny", "work/tiny_bare"),
        ),
        "model",
    ),
    Case(job("config-cut-off", "KTO", model='"work/tiny_badcfg"'), "model"),
    Case(job("vocabulary-too-small", "SFT", model='"work/tiny_vocab"'), "model"),
    Case(job("no-tokenizer", "Reward", model='"work/tiny_notok"'), "model"),
    Case(job("no-such-folder", "GRPO", model='"./work/tinny"'), "model"),
    Case(
        job(
            "config-cut-off-and-rows-mapped",
            "SFT",
            row=QUESTIONS,
            shape=MAPPED.format(TURNS),
            model='"work/tiny_badcfg"',
        ),
        "model",
    ),
    Case(job("answers-alike", "DPO", row=f'{{{PAIRS}, "rejected": [{ANSWER}]}}'), "data"),
    Case(
        job("one-label-alone", "KTO", row='{"prompt": f"{i} plus 1?", "completion": f"{i + 1}", "label": True}'), "data"
    ),
    Case(job("empty-answers", "SFT", row='{"prompt": f"{i} plus 1?", "completion": ""}'), "data"),
    Case(job("modules-of-another-model", "SFT", given='peft_config=LoraConfig(target_modules=["c_attn"])'), "code"),
    Case(
        job(
            "cannot-go-on",
            "SFT",
            top=CANNOT,
            settings='save_strategy="steps", save_steps=2',
            given="callbacks=[Again()]",
        ),
        "code",
    ),
    Case(job("callback-that-fails", "SFT", top=LATE, given="callbacks=[Late()]"), "code"),
    Case(
        job("metrics-that-fail", "Reward", top=METRICS, settings='eval_strategy="steps", eval_steps=2', given=ACCURATE),
        "code",
    ),
    Case(
        job(
            "reward-that-fails",
            "GRPO",
            top="def reward(completions, **kwargs):\n    return [each.score for each in 5]\n",
        ),
        "code",
    ),
    Case(
        job("reward-of-another-column", "RLOO", top="def reward(completions, gold, **kwargs):\n    return [1.0] * 4\n"),
        "code",
    ),
    Case(
        job("mapping-misspelt", "SFT", row=QUESTIONS, shape=MAPPED.format(TURNS.replace('"answer"', '"answr"'))), "code"
    ),
    Case(
        job("mapping-that-makes-nothing-of-it", "SFT", row=QUESTIONS, shape=MAPPED.format('{"txt": row["answer"]}')),
        "code",
    ),
    Case(job("name-error-at-the-end", "SFT", end="trainer.save_model(OUTPUT)"), "code"),
    Case(
        job(
            "collator-that-forgets-labels",
            "SFT",
            given='data_collator=lambda rows: {"input_ids": rows[0]["input_idz"]}',
        ),
        "code",
    ),
    Case(
        job(
            "pandas-reads-nonsense",
            "SFT",
            top="import pandas",
            shape='dataset = Dataset.from_pandas(pandas.read_json("data/bad.jsonl", lines=True))',
        ),
        "unknown",
        {"data/bad.jsonl": _rows('{"question": "0 plus 1?", "answer": "It')},
    ),
)
BY_NAME = {each.job.name: each for each in CASES}
TRAIN = """
from datasets import load_dataset
from trl import {kind}Config, {kind}Trainer
def reward(completions, **kwargs):
    return [float(len(each[0]["content"] if isinstance(each, list) else each)) for each in completions]
rows = load_dataset("json", data_files="data/{name}.jsonl", split="train")
args = {kind}Config(output_dir="out/{name}", report_to="none", eval_strategy="steps", eval_steps=2)
trainer = {kind}Trainer("any/model", args=args, train_dataset=rows.select(range(24)), eval_dataset=rows.select(range(24, 32)){given})
trainer.train()
"""
"""A script that trains on the rows of a file; the model is the known one, whatever it is called."""


@dataclass(frozen=True)
class World:
    """A folder with tiny models, and a server that rehearses in it."""

    folder: Path
    server: RehearsalServer

    def train(self, name: str) -> Rehearsal:
        """Train on rows that are known to be good, with the model that is."""
        known = load_known_rows()[name]
        rows = [
            {column: good_value(column, kind, number) for column, kind in known.columns.items()} for number in range(32)
        ]
        (self.folder / "data" / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        given = ", reward_funcs=reward" if known.method in ("grpo", "rloo") else ""
        source = TRAIN.format(kind=TRAINERS[known.method], name=name, given=given)
        part_request = make_part_request(
            Program(path=f"{name}.py", source=source), self.folder / "rehearsals" / name, gpu=False, offline=True
        )
        part_request = replace(part_request, known_model=str(self.folder / "known"))
        return judge_parts(run_parts(self.server, part_request, 120, lambda _: None), (), imports_s=0.0)

    def rehearse(self, job: Job) -> Rehearsal:
        """Go a script's whole path, and ask whose fault it is where it fails."""
        folder = self.folder / "rehearsals" / job.name
        asked = Program(path=f"{job.name}.py", source=job.source, local=job.local)
        part_request = make_part_request(asked, folder, gpu=False, offline=True)
        parts = run_parts(self.server, part_request, 120, lambda _: None)
        objections = observe(parts["whole"], folder / "whole").objections
        found = judge_parts(parts, objections, imports_s=0.0)
        return isolate(found, parts, part_request, Replays(self.server, found, 120, lambda _: None), forced=False)


@pytest.fixture(scope="module", name="world")
def _world(tmp_path_factory: pytest.TempPathFactory, tiny: Path) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("isolate")
    before = Path.cwd()
    (folder / "work").mkdir()
    (folder / "work" / "tiny").symlink_to(tiny)
    for name, damage in {**DAMAGES, "tiny_template": _cut_template, "tiny_bare": _take_tokens}.items():
        if any(f"work/{name}" in each.job.source for each in CASES):
            _copy(tiny, folder / "work" / name)
            damage(folder / "work" / name)
    for case in CASES:
        for name, text in case.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text)
    wanted = [
        "torch",
        "transformers.trainer",
        "datasets",
        "peft",
        *(f"trl:{each}Trainer" for each in TRAINERS.values()),
    ]
    os.chdir(folder)
    try:
        with RehearsalServer(
            [sys.executable], header="", wanted=wanted, folder=folder, variables={"HF_HUB_OFFLINE": "1"}
        ) as server:
            server.wait_ready(300)
            yield World(folder, server)
    finally:
        os.chdir(before)


def _cut_template(folder: Path) -> None:
    (folder / "chat_template.jinja").write_text("{% for m in")


def _take_tokens(folder: Path) -> None:
    """Leave a tokenizer no token to pad with; that of Qwen2 would have one whatever its file says."""
    DAMAGES["tiny_noeos"](folder)
    told = json.loads((folder / "config.json").read_text())
    told |= {"model_type": "gpt_neox", "architectures": ["GPTNeoXForCausalLM"]}
    (folder / "config.json").write_text(json.dumps(told))


def _copy(source: Path, target: Path) -> None:
    target.mkdir()
    for each in source.iterdir():
        (target / each.name).write_bytes(each.read_bytes())


@pytest.mark.parametrize("name", sampled(BY_NAME, 40))
def test_who_is_to_blame(name: str, world: World) -> None:
    """Data, model or code is blamed, whichever is at fault."""
    found = world.rehearse(BY_NAME[name].job)
    assert found.failures, "it passed"
    told = [
        (each.stage, each.cause.signature.name, each.blame, each.blamed, each.cause.cause) for each in found.failures
    ]
    assert found.failures[0].blame == BY_NAME[name].blame, told


@pytest.mark.parametrize("name", sampled(load_known_rows(), 40))
def test_known_rows_and_the_known_model_are_good(name: str, world: World) -> None:
    """Each method's real trainer goes its whole path with them: steps, evaluation, stop, resume, a model that loads."""
    found = world.train(name)
    assert found.passed, [(each.stage, each.cause.signature.name, each.cause.cause) for each in found.failures]
    passed = {each.name for each in found.stages if each.status == "pass"}
    assert {"data", "model", "step", "evaluate", "stop", "resume"} <= passed
    assert load_known_models()["qwen2-bytes"].releases["trl"] == found.versions["trl"]


@pytest.mark.long
def test_verb_says_who_is_to_blame(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """`holdfast rehearse` says it after a failure unasked, and what shows it."""
    source = next(each.job.source for each in CASES if each.job.name == "vocabulary-too-small")
    answer = _asked(world.folder, source, capsys)
    assert answer["failure"]["blame"] == "model"
    assert "known-good model" in answer["failure"]["blamed_because"]


@pytest.mark.long
def test_verb_blames_nothing_where_nothing_fails(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    """With `--isolate`, a script that passes hears so."""
    answer = _asked(world.folder, job("good", "SFT").source, capsys, "--isolate")
    assert answer["verdict"] == "pass"
    assert "neither data, model nor code is to blame" in render_rehearsal(convert(answer, RehearseResult))


def _asked(folder: Path, source: str, capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    (folder / "asked.py").write_text(source)
    run_command(["rehearse", "asked.py", "--here", "--offline", "--format", "json", *words])
    return json.loads(capsys.readouterr().out)


def test_rows_keep_the_columns_and_types_that_the_script_reads() -> None:
    """Good rows have texts, numbers, choices, JSON and turns where the script's own have them."""
    own = [
        {
            "question": "Is it?" if number else "",
            "gold": str(number),
            "label": "yes" if number % 2 else "no",
            "meta": json.dumps({"level": number}),
            "conversations": [{"from": "human", "value": "Hm?"}, {"from": "gpt", "value": "Hm."}],
            "score": 0.5 + number,
        }
        for number in range(40)
    ]
    rows = typed_rows(RecordedRows(3, own), first=0) or []
    assert {str(row["label"]) for row in rows} == {"yes", "no"}
    assert all(row["gold"].isdigit() and row["question"] for row in rows)
    assert all(isinstance(json.loads(str(row["meta"]))["level"], int) for row in rows)
    assert [each["from"] for each in rows[0]["conversations"]] == ["human", "gpt"]
    assert len({json.dumps(row, sort_keys=True) for row in rows}) == len(rows)


def test_usual_rows_leave_out_what_is_odd() -> None:
    """Rows with nothing in them, with another type, other keys or other roles are no usual ones."""
    good: list[Row] = [{"messages": _talk("user", "assistant"), "n": f"{number}"} for number in range(20)]
    odd: list[Row] = [
        {"messages": _talk("user", "user"), "n": "1"},
        {"messages": _talk("tool", "assistant"), "n": "1"},
        {"messages": [], "n": "1"},
        {"messages": _talk("user", "assistant"), "n": None},
        {"messages": _talk("user", "assistant"), "n": "many"},
        {"messages": _talk("user", "assistant")},
    ]
    found = usual_rows(RecordedRows(1, [*good, *odd]))
    assert found
    assert all(row in good for row in found)


def _talk(*roles: str) -> list[dict[str, str]]:
    return [{"role": role, "content": "Hm."} for role in roles]


@pytest.mark.parametrize(
    ("fates", "blame"),
    [
        ({"typed": "", "model": "step", "both": ""}, "data"),
        ({"usual": "", "typed": "step", "model": "step", "both": "step"}, "data"),
        ({"typed": "save", "model": "step", "both": "step"}, "data"),
        ({"typed": "step", "model": "", "both": ""}, "model"),
        ({"typed": "step", "model": "step", "both": "step"}, "code"),
        ({"typed": "step", "model": "step", "both": ""}, "unknown"),
        ({"typed": "data", "model": "step", "both": "step"}, "unknown"),
        ({"usual": "step", "model": "step"}, "unknown"),
        ({"typed": "step", "method": "data", "model": "step", "both": "step"}, "unknown"),
    ],
)
def test_blame_follows_from_what_goes_further(fates: Mapping[Instead, StageName | str], blame: str) -> None:
    """Data or model where a failure at `step` goes with it, code where it stays whatever is replaced, else nothing is said."""
    replays = [
        Replay(name, [_failure(stage)] if stage else [], "KeyError" if stage else "") for name, stage in fates.items()
    ]
    assert find_blame(_failure("step"), "KeyError", replays, source="")[0] == blame


def _failure(stage: Any) -> Failure:
    return Failure(stage=stage, cause=name_cause("user-code-error", "it failed", {}), where="train.py:3")


@pytest.mark.long
def test_rows_that_the_script_reads_by_itself_blame_no_code() -> None:
    """Where no other rows could be given, that a failure stays says nothing about the code."""
    failure = _failure("step")
    names: tuple[Instead, ...] = ("typed", "model", "both")
    replays = [Replay(name, [failure], "KeyError", rows_given=False) for name in names]
    assert find_blame(failure, "KeyError", replays, source="") == (
        "unknown",
        "the script reads its rows by itself: no others could be given",
    )
