"""`holdfast inspect`, as typed: what it says of files, folders, job files and datasets of the Hub, and how it leaves."""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from holdfast.app.inspect.verb import inspect
from holdfast.cli.main import run_command
from holdfast.core.errors import UsageError
from tests.helpers.hub import loopback_hub
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

Row = dict[str, Any]


def chat(number: int, answer: str = "It is four.") -> Row:
    asked = {"role": "user", "content": f"What is {number} plus 2?"}
    return {"messages": [asked, {"role": "assistant", "content": f"{answer} {number}"}]}


CHATS = [chat(number) for number in range(20)]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, rows: Iterable[Row]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


Ask = Callable[..., tuple[int, dict[str, Any]]]


@pytest.fixture(name="ask")
def asking(capsys: pytest.CaptureFixture[str]) -> Ask:
    """Type a command that answers in JSON; return its exit code and its answer."""

    def typed(*words: str) -> tuple[int, dict[str, Any]]:
        code = run_command(["inspect", *words, "--format", "json"])
        return code, json.loads(capsys.readouterr().out)

    return typed


def test_a_healthy_dataset_is_told_in_the_words_of_the_contract(here: Path, ask: Ask) -> None:
    """Rows, columns with types, format, types, and for each method whether it is ready."""
    write(here / "chat.jsonl", CHATS)

    code, told = ask("chat.jsonl")

    assert code == 0
    assert told["dataset"] == {
        "path": "chat.jsonl",
        "split": "train",
        "rows": 20,
        "columns": {"messages": "list<struct<role: string, content: string>>"},
        "lacking": {},
    }
    assert (told["format"], told["types"]) == ("conversational", ["language modeling"])
    assert told["methods"]["sft"] == {"ready": True, "mapping": None, "removes": []}
    assert told["methods"]["dpo"]["ready"] is False
    assert "chosen" in told["methods"]["dpo"]["because"]
    assert (told["problems"], told["tokens"]) == ([], None)


def test_an_asked_method_that_is_not_ready_comes_with_code_that_makes_it_so(here: Path, ask: Ask) -> None:
    """Exit code 1, and a mapping whose rows are ready."""
    write(
        here / "alpaca.jsonl", [{"instruction": f"Add {n} and 2.", "input": "", "output": str(n + 2)} for n in range(9)]
    )

    code, told = ask("alpaca.jsonl", "--method", "sft")

    assert code == 1
    assert told["methods"]["sft"]["removes"] == ["instruction", "input", "output"]
    names: dict[str, Any] = {}
    exec(told["methods"]["sft"]["mapping"], names)
    write(
        here / "mapped.jsonl",
        [names["rewrite"](json.loads(line)) for line in (here / "alpaca.jsonl").read_text().splitlines()],
    )
    assert ask("mapped.jsonl", "--method", "sft")[0] == 0


def test_a_method_that_is_ready_with_a_caveat_comes_with_code_that_removes_it(
    here: Path, ask: Ask, capsys: pytest.CaptureFixture[str]
) -> None:
    """ShareGPT's `human` and `gpt` go to the template as they are, which may leave them out: sft is ready, and the code is there."""
    turns = [{"from": "human", "value": "Hi."}, {"from": "gpt", "value": "Hello."}]
    write(here / "shared.jsonl", [{"conversations": turns}] * 3)

    code, told = ask("shared.jsonl", "--method", "sft")

    assert (code, told["methods"]["sft"]["ready"]) == (0, True)
    assert "`human`" in told["methods"]["sft"]["caveat"]
    assert '"human": "user"' in told["methods"]["sft"]["mapping"]
    run_command(["inspect", "shared.jsonl"])
    assert "def rewrite(row)" in capsys.readouterr().out


def test_rows_that_fail_are_told_by_number(here: Path, ask: Ask) -> None:
    """How many, and which, beside the sentence."""
    rows = [*CHATS]
    rows[3] = {"messages": []}
    write(here / "chat.jsonl", rows)

    _, told = ask("chat.jsonl")

    (problem,) = [each for each in told["problems"] if each["rows"] == [3]]
    assert problem["count"] == 1
    assert problem["message"].startswith("Row 3 has")


def test_rows_of_the_evaluation_split_are_looked_for_in_training(here: Path, ask: Ask) -> None:
    """The same row in both is told."""
    (here / "data").mkdir()
    write(here / "data" / "train.jsonl", CHATS)
    write(here / "data" / "test.jsonl", [CHATS[5], chat(100)])

    _, told = ask("data", "--eval-split", "test")

    assert [each["name"] for each in told["problems"]] == ["leaked-rows"]


def cut_parquet(path: Path) -> None:
    pl.DataFrame({"text": ["a" * 100] * 1000}).write_parquet(path)
    path.write_bytes(path.read_bytes()[:-200])


def break_line(path: Path) -> None:
    lines = [json.dumps({"text": f"row {number}"}) for number in range(1000)]
    lines[700] = '{"text": "broken'
    path.write_text("\n".join(lines))


def cut_gzip(path: Path) -> None:
    whole = gzip.compress(
        "".join(json.dumps({"text": f"row {number} {os.urandom(40).hex()}"}) + "\n" for number in range(2000)).encode()
    )
    path.write_bytes(whole[: len(whole) // 2])


@pytest.mark.parametrize(
    ("name", "make", "told"),
    [
        ("rows.parquet", cut_parquet, "Parquet"),
        ("rows.jsonl", break_line, "701"),
        ("rows.jsonl.gz", cut_gzip, ""),
        ("rows.json", lambda path: path.write_bytes(b""), ""),
        ("rows.csv", lambda path: path.write_bytes(b"\x00\x01\x02\xff" * 500), ""),
        ("folder", lambda path: path.mkdir(), "no data"),
    ],
)
def test_data_that_cannot_be_read_is_a_finding(
    name: str, make: Callable[[Path], object], told: str, here: Path, ask: Ask
) -> None:
    """Never a traceback: a finding of severity error that says what, with the line where there are lines."""
    make(here / name)

    code, answer = ask(name)

    assert code == 1
    errors = [each["message"] for each in answer["problems"] if each["severity"] == "error"]
    assert errors
    assert told in " ".join(errors)


@pytest.mark.parametrize(
    "words",
    [
        ["nothing.jsonl"],
        ["./nothing"],
        ["builtin:tiny-chat"],
        ["owner/name", "--offline"],
        ["chat.jsonl", "--set", "nonsense"],
        ["chat.jsonl", "--html", "page.html"],
        ["chat.jsonl", "--model", "./no-model", "--offline"],
    ],
)
def test_a_wrong_question_is_exit_code_2(words: list[str], here: Path, ask: Ask) -> None:
    """What, where, and how to fix it."""
    write(here / "chat.jsonl", CHATS)

    code, answer = ask(*words)

    assert code == 2
    assert all(error["what"] and error["fix"] for error in answer["errors"])


def test_a_job_file_brings_its_settings(here: Path, ask: Ask, tiny: Path) -> None:
    """Its dataset, method, model and `max_length`, with overrides; the page is drawn beside the answer."""
    write(here / "chat.jsonl", [*CHATS, chat(99, "four " * 60)])
    (here / "job.yaml").write_text(f"method: sft\nmodel: {tiny}\ndataset: chat.jsonl\ntrain: {{max_length: 64}}\n")

    code, told = ask("job.yaml", "--html", "page.html")

    assert code == 0
    assert (told["method"], told["tokens"]["max_length"], told["tokens"]["truncated"]) == ("sft", 64, 1)
    assert told["tokens"]["truncated_fraction"] == round(1 / 21, 4)
    assert told["samples"][0]["row"] == 0
    assert "max_length" in (here / "page.html").read_text()
    assert ask("job.yaml", "--set", "train.max_length=512")[1]["tokens"]["truncated"] == 0


def test_text_is_for_people(here: Path, capsys: pytest.CaptureFixture[str], tiny: Path) -> None:
    """What it is, who can train on it, how long rows are, and what of one is learned from."""
    write(here / "chat.jsonl", CHATS)

    assert run_command(["inspect", "chat.jsonl", "--model", str(tiny)]) == 0

    told = capsys.readouterr().out
    for words in ("20 rows", "language modeling, conversational", "dpo: no `chosen`", "tokens are trained on"):
        assert words in told


def inspect_there(hub: Any, *words: str) -> tuple[int, dict[str, Any]]:
    """Type it in a process of its own, for which the Hub is where it is told."""
    program = "import sys; from holdfast.cli.main import main; main(sys.argv[1:])"
    asked = [sys.executable, "-c", program, "inspect", *words, "--format", "json"]
    done = subprocess.run(asked, check=False, capture_output=True, text=True, env={**os.environ, **hub.variables})
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout)


def test_a_dataset_of_the_hub_is_read_like_a_file(here: Path) -> None:
    """Its rows, by its own name and by a former one; a name with a mistake gets the right one; a closed one says so."""
    write(here / "train.jsonl", CHATS)
    with loopback_hub() as hub:
        hub.add_dataset("me/chats", {"train.jsonl": (here / "train.jsonl").read_bytes()})
        hub.add_dataset("you/closed", {"train.jsonl": b"{}"}, gated="manual")
        hub.rename("dataset", "me/chats", "me/conversations")

        code, told = inspect_there(hub, "me/chats")
        assert (code, told["dataset"]["rows"]) == (0, 20)
        code, told = inspect_there(hub, "me/conversation")
        assert code == 2
        assert "me/conversations" in told["errors"][0]["fix"]
        code, told = inspect_there(hub, "you/closed")
        assert (code, "no access" in told["errors"][0]["what"]) == (2, True)
        hub.hang("/api/datasets")
        code, told = inspect_there(hub, "me/others")
        assert code == 2


ALPACA = [{"instruction": f"Add {n} and 2.", "input": "", "output": str(n + 2)} for n in range(9)]


def typed(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Type a command; return its exit code and what it printed for people."""
    code = run_command(["inspect", *words])
    return code, capsys.readouterr().out


def test_tokens_are_counted_through_the_mapping_that_was_tried(here: Path, ask: Ask, tiny: Path) -> None:
    """The rows are not ready as they are; how long they will be is what somebody asks who names a model."""
    write(here / "alpaca.jsonl", ALPACA)

    _, told = ask("alpaca.jsonl", "--model", str(tiny))

    assert (told["mapped"], told["tokens"]["rows"]) == ("sft", 9)
    assert told["tokens"]["max"] > 5
    assert told["samples"][0]["part"] == "completion"
    write(here / "chat.jsonl", CHATS)
    assert ask("chat.jsonl", "--model", str(tiny))[1]["mapped"] is None


def test_each_mapping_that_is_announced_below_is_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Of several one is printed; the others say how to get them."""
    write(here / "alpaca.jsonl", ALPACA)

    _, told = typed(capsys, "alpaca.jsonl")

    assert told.count("mapping below") == told.count("def rewrite(row)") == 1
    assert "grpo: no `prompt`; `--method grpo` gives a mapping" in told
    assert "def rewrite(row)" in typed(capsys, "alpaca.jsonl", "--method", "grpo")[1]


def test_verdict_on_rows_that_no_method_takes_is_no_pass(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is wrong with a row, and nobody can train on them."""
    write(here / "alpaca.jsonl", ALPACA)
    write(here / "odd.jsonl", [{"a": n} for n in range(9)])
    write(here / "chat.jsonl", CHATS)

    code, told = typed(capsys, "alpaca.jsonl")
    assert told.endswith("no method is ready; the mapping above makes the rows ready for sft\n")
    assert code == 0  # no method was asked for

    assert typed(capsys, "odd.jsonl")[1].endswith("no method is ready\n")
    code, told = typed(capsys, "chat.jsonl", "--method", "dpo")
    assert (code, told.splitlines()[-1]) == (1, "not ready for dpo")
    assert typed(capsys, "chat.jsonl")[1].endswith("No row problems found\n")


@pytest.mark.parametrize("words", [[], ["--method", "sft"]])
def test_a_method_is_ready_but_for_rows_that_fail(
    words: list[str], here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Columns that fit are no promise about each row."""
    write(here / "some.jsonl", [*CHATS, {"messages": "text"}])
    write(here / "dull.jsonl", [*CHATS, CHATS[4]])

    assert "ready sft, once the errors below are corrected\n" in typed(capsys, "some.jsonl", *words)[1]
    assert "ready sft\n" in typed(capsys, "dull.jsonl", *words)[1]


def test_one_row_is_told_by_its_number(here: Path, ask: Ask) -> None:
    """No share of one among twenty."""
    write(here / "chat.jsonl", [*CHATS, CHATS[4]])

    (problem,) = ask("chat.jsonl")[1]["problems"]

    assert problem["message"] == "Row 20 duplicates an earlier row"


@pytest.mark.parametrize("name", ["rows.csv", "rows.jsonl", "rows.txt"])
def test_encoding_is_named_with_the_argument_that_reads_it(name: str, here: Path, ask: Ask) -> None:
    """Each of them was loaded by `datasets` with that argument, and by none without."""
    line = json.dumps({"text": "café"}, ensure_ascii=False) if name.endswith("jsonl") else "café"
    (here / name).write_bytes(
        f"text\n{line}\n{line}\n".encode("cp1252") if name == "rows.csv" else f"{line}\n".encode("cp1252")
    )

    code, told = ask(name)

    assert code == 1
    assert any('`encoding="cp1252"` reads it' in each["message"] for each in told["problems"])


def test_model_that_the_hub_does_not_have_is_a_wrong_question(here: Path) -> None:
    """A misspelt name is no dataset without tokens."""
    write(here / "chat.jsonl", CHATS)
    with loopback_hub() as hub:
        code, told = inspect_there(hub, "chat.jsonl", "--model", "me/no-model")

    assert code == 2
    assert "the Hub has no model me/no-model" in told["errors"][0]["what"]


ASKED = {"role": "user", "content": "What is the weather in Rome?"}
SUNNY = {"role": "assistant", "content": "Sunny."}
NAMED = {"role": "assistant", "content": "Rain.", "name": "bot"}


def calling(arguments: object) -> list[Row]:
    call = {"type": "function", "function": {"name": "weather", "arguments": arguments}}
    return [
        ASKED,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": "sunny", "name": "weather"},
        SUNNY,
    ]


UNEVEN: dict[str, tuple[str, Row]] = {
    "calls of tools": ("sft", {"messages": calling({"city": "Rome"}), "tools": '[{"type": "function"}]'}),
    "a name in some messages": ("sft", {"messages": [ASKED, NAMED]}),
    "prompts with a name": ("grpo", {"prompt": [{**ASKED, "name": "ada"}, SUNNY, ASKED]}),
    "completions with a name": ("kto", {"prompt": [ASKED], "completion": [SUNNY, ASKED, NAMED], "label": True}),
    "pairs, one with a name": ("dpo", {"prompt": [ASKED], "chosen": [SUNNY], "rejected": [SUNNY, ASKED, NAMED]}),
    "pairs that hold their prompt": ("reward", {"chosen": [ASKED, SUNNY], "rejected": [ASKED, NAMED]}),
    "ShareGPT with weights": (
        "sft",
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yes?", "weight": 1}]},
    ),
}


@pytest.mark.parametrize("name", UNEVEN)
def test_messages_whose_keys_differ_are_messages(here: Path, ask: Ask, name: str) -> None:
    """`datasets` 5 types such a column `List(Json)`; the trainers of TRL 1.16 train on each of these."""
    method, row = UNEVEN[name]
    write(here / "rows.jsonl", [{**row, "id": number} for number in range(8)])

    code, told = ask("rows.jsonl", "--method", method)

    assert (code, told["methods"][method]["ready"]) == (0, True)
    assert told["format"] == "conversational"
    assert "list<json>" in told["dataset"]["columns"].values()


def test_arguments_that_are_text_are_found_where_keys_differ(here: Path, ask: Ask) -> None:
    """OpenAI's interface gives them so; a content that quotes such a call is none."""
    quoted = {"role": "user", "content": '{"function": {"name": "weather", "arguments": "{}"}}'}
    write(here / "text.jsonl", [{"messages": [quoted, *calling('{"city": "Rome"}')[1:]]}] * 8)
    write(here / "object.jsonl", [{"messages": [quoted, *calling({"city": "Rome", "arguments": "x"})[1:]]}] * 8)

    found = {name: {each["code"] for each in ask(f"{name}.jsonl")[1]["problems"]} for name in ("text", "object")}

    assert ["DAT226" in found[name] for name in ("text", "object")] == [True, False]


MAPPED = """method: grpo
model: builtin:tiny-chat
dataset: {path: rows.jsonl, map: "own.py:asked"}
"""


def test_a_job_s_map_is_not_held_against_its_rows(here: Path, ask: Ask) -> None:
    """It runs before the trainer reads them, and `inspect` runs nothing of the user's; with `--rewards` it does."""
    jobs = here / "jobs"
    jobs.mkdir()
    (jobs / "job.yaml").write_text(MAPPED)
    (jobs / "own.py").write_text("def asked(row):\n    return {'prompt': row['q'], 'answer': row['a']}\n")
    (here / "rewards.py").write_text("def right(completions, answer, **kwargs):\n    return [1.0 for _ in answer]\n")
    write(jobs / "rows.jsonl", [{"q": f"What is {number}?", "a": str(number)} for number in range(8)])

    code, told = ask("jobs/job.yaml", "--rewards", "rewards.py:right")

    assert (code, told["rewritten_by"]) == (0, "own.py:asked")
    assert told["dataset"]["path"] == str(Path("jobs", "rows.jsonl"))
    assert set(told["rewards"][0]["rewards"]) == {1.0}


def test_what_a_job_s_map_keeps_from_being_judged_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The answers are null before the map, and nobody knows what they are after it."""
    (here / "job.yaml").write_text(MAPPED.replace("grpo", "sft"))
    write(
        here / "rows.jsonl",
        [{"messages": [chat(n)["messages"][0], {"role": "assistant", "content": None}]} for n in range(4)],
    )

    run_command(["inspect", "job.yaml"])

    told = capsys.readouterr().out
    assert (
        "DAT214 skipped: needs dataset.map (what the rows are after `dataset.map` is not known before the job runs)"
        in told
    )
    assert "tokens not known: `own.py:asked` rewrites the rows first, and is not run here" in told
    assert told.endswith("1 rule skipped; no other row problems found; tokens not counted\n")


def test_a_map_that_fails_is_bad_usage(here: Path, ask: Ask) -> None:
    """What it raised, and where."""
    (here / "job.yaml").write_text(MAPPED)
    (here / "own.py").write_text("def asked(row):\n    return {'prompt': row['question']}\n")
    write(here / "rows.jsonl", [{"q": "What?"}] * 8)

    code, told = ask("job.yaml", "--rewards", "own.py:asked")

    assert code == 2
    assert "KeyError: 'question' (own.py, line 2)" in told["errors"][0]["what"]


def test_a_mapping_names_a_row_that_it_leaves_out_once_and_only_what_it_does(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "odd.csv").write_text(",Question ,ANSWER\n" + "0,Why?,So.\n" * 9 + ",,\n")
    run_command(["inspect", "odd.csv", "--method", "sft"])
    text = capsys.readouterr().out
    assert "`keep` leaves out 1 row without a usable value in `Question ` and `ANSWER`: 9" in text
    assert "'Question '" in text.partition("not   sft")[0]
    assert "Unnamed: 0" in text
    assert "an unnamed column, such as the index of a table" in text

    write(here / "asked.jsonl", [{"prompt": "1 + 1?", "solution": 2}] * 9)
    run_command(["inspect", "asked.jsonl", "--method", "grpo", "--set", "rewards=[accuracy_reward]"])
    text = capsys.readouterr().out
    assert ".map(rewrite)" in text
    assert "remove_columns" not in text


def test_rows_without_tokens_are_counted_once(here: Path, ask: Ask, tiny: Path) -> None:
    """A row that is null is told as such, and not again as one that the template raises on."""
    rows = CHATS[:8]
    write(here / "chat.jsonl", [*rows, {"messages": None}, {"messages": []}])
    _, answer = ask("chat.jsonl", "--method", "sft", "--model", str(tiny))
    assert [each["code"] for each in answer["problems"]] == ["DAT206", "DAT207"]


def test_what_to_do_without_the_hub_names_no_option_that_needs_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["inspect", "acme/rows", "--offline"]) == 2
    assert "name a file or a folder" in capsys.readouterr().err


def test_a_split_that_is_not_there_is_all_that_is_said(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Which method fits no rows at all is no news."""
    write(here / "chat.jsonl", CHATS)

    code, told = typed(capsys, "chat.jsonl", "--split", "test")

    assert code == 1
    assert "DAT201 chat.jsonl has no split `test`; it has train" in told
    assert not re.search(r"(?m)^(not|ready) |0 rows", told)


@pytest.mark.parametrize(
    ("words", "where"),
    [("x=y", "--set x"), ("datset.split=train", "--set datset.split"), ("dataset.rows=abc", "--set dataset.rows")],
)
def test_an_override_that_no_job_has_is_no_request(
    words: str, where: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(here / "rows.jsonl", [{"text": "a"}, {"text": "b"}])

    code = run_command(["inspect", "rows.jsonl", "--set", words])

    assert code == 2
    assert where in capsys.readouterr().err


def test_rows_without_a_usable_value_are_named_beside_their_column(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also of a column that no trainer reads: a reward or a mapping may."""
    rows: list[dict[str, Any]] = [{"instruction": f"do {n}", "output": f"did {n}", "gold": f"{n}"} for n in range(30)]
    rows[3]["instruction"], rows[9]["instruction"] = "", "  "
    del rows[5]["gold"]
    write(here / "alpaca.jsonl", rows)

    text = typed(capsys, "alpaca.jsonl")[1]

    assert "instruction  string  blank in 2 of 30 rows (6.7 %; the first are 3, 9)" in text
    assert "gold         string  null in 1 of 30 rows (3.3 %; the first is 5)" in text
    assert "output       string\n" in text


def test_equal_answers_are_found_beside_one_of_another_type(here: Path, ask: Ask) -> None:
    rows: list[dict[str, Any]] = [{"prompt": f"p {n}", "chosen": f"a {n}", "rejected": f"b {n}"} for n in range(30)]
    rows[3]["chosen"] = rows[3]["rejected"]
    rows[6]["chosen"] = 5
    write(here / "pairs.jsonl", rows)

    _, told = ask("pairs.jsonl", "--method", "dpo")

    assert {each["code"] for each in told["problems"]} == {"DAT204", "DAT216"}


def test_rows_that_a_method_takes_and_may_misread_are_not_plainly_ready(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Roles that templates do not know are one problem, and the verdict does not pass over what the method's own line says."""
    shared = [{"from": "human", "value": "Who?"}, {"from": "gpt", "value": "I."}]
    write(here / "shared.jsonl", [{"conversations": shared}] * 3)

    text = typed(capsys, "shared.jsonl")[1]
    assert "ready sft, but the chat template gets the roles `human` and `gpt` unchanged" in text
    assert text.count("DAT209") == 1
    assert "the role `human` in 3 (for example row 0), the role `gpt` in 3 (for example row 0)" in text
    assert "shared.jsonl, train: 3 rows, numbered from 0\n" in text
    assert text.splitlines()[-1].endswith("no method is ready without the caveat above")


def test_a_column_of_several_types_is_said_to_be_one(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"prompt": "a", "completion": "b", "meta": {"x": 1} if at % 2 else "x"} for at in range(4)]
    write(here / "mixed.jsonl", rows)

    assert "  meta        json, values of several types\n" in typed(capsys, "mixed.jsonl")[1]


def test_rows_of_which_none_can_be_tokenized_have_no_lengths(
    tiny: Path, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A model without a chat template writes no chat; that half of the rows have up to 0 tokens says nothing."""
    shutil.copytree(tiny, here / "plain")
    (here / "plain" / "chat_template.jinja").unlink()
    write(here / "chat.jsonl", CHATS)

    text = typed(capsys, "chat.jsonl", "--model", "./plain")[1]
    assert "tokens not known: no row can be tokenized\n" in text
    assert "up to 0 tokens" not in text


def test_a_column_without_a_name_is_a_column(tmp_path: Path) -> None:
    """As some exporters write it."""
    (tmp_path / "rows.jsonl").write_text('{"": "x", "text": "y"}\n')
    result = inspect(tmp_path / "rows.jsonl", offline=True)
    assert [*result.dataset.columns] == ["", "text"]


def test_a_slice_of_thousands_of_digits_is_refused(tmp_path: Path) -> None:
    """Python reads no number of so many digits."""
    (tmp_path / "rows.jsonl").write_text('{"text": "y"}\n')
    with pytest.raises(UsageError, match="as many rows"):
        inspect(tmp_path / "rows.jsonl", split=f"train[:{'9' * 5000}%]", offline=True)
