"""The command line: verbs, exit codes and messages are what the contract says."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import holdfast
from holdfast.app import VERBS, load_api
from holdfast.cli.main import cli, run_command

ROOT = Path(__file__).parents[2]
JOB = """\
method: sft
model: builtin:tiny-chat
dataset: builtin:stdlib-docstrings
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's empty folder, on a machine without a GPU and without a token."""
    monkeypatch.chdir(tmp_path)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HOLDFAST_RUNS", "NUM_GPUS_OVERRIDE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hf"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return tmp_path


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Type a command that answers in JSON; return its exit code and its answer."""
    code = run_command([*words, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def test_every_verb_is_a_command_an_export_and_in_the_readme() -> None:
    """Faces, package and docs name the same things."""
    readme = (ROOT / "README.md").read_text()

    exported = {name for name in holdfast.__all__ if name.islower()}
    assert set(cli.list_commands(None)) - {"mcp"} == set(VERBS) == {*exported, "catalog"}  # type: ignore[arg-type]  # no context is needed
    for name in VERBS:
        command = cli.get_command(None, name)  # type: ignore[arg-type]  # no context is needed
        assert command is not None
        assert command.help
        assert name == "catalog" or getattr(holdfast, name) is load_api(name)  # `holdfast.catalog` is what it updates
        assert f"`holdfast {name}" in readme
    assert "`holdfast mcp`" in readme


def test_five_mistakes_give_five_messages(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All mistakes of a job file at once, each with its line, and exit code 2; nothing is made."""
    (here / "job.yaml").write_text(
        "method: sftt\nmodle: m\ndataset: {path: d, row: 5}\ntrain: 3\nwhere: {timeout: soon}\n"
    )
    code, answer = ask(capsys, "run", "job.yaml")

    assert code == 2
    assert answer["verb"] == "run"
    assert [error["line"] for error in answer["errors"]] == [1, 2, 3, 4, 5] or len(answer["errors"]) == 6
    assert all(error["fix"] for error in answer["errors"])
    assert any("did you mean `model`" in error["fix"] for error in answer["errors"])
    assert not (here / "runs").exists()


@pytest.mark.parametrize(
    "words",
    [
        ["run", "none.yaml"],
        ["check", "none.yaml"],
        ["check", "train.py", "--select", "XYZ"],
        ["run", "job.yaml", "--set", "nonsense"],
        ["run", "job.yaml", "--set", "train.max_steps: 3"],
        ["run", "job.yaml", "--on", "moon"],
        ["run", "job.yaml", "--set", "where.options={partition: gpu}"],
        ["run"],
        ["run", "--", "train.py"],
        ["run", "train.py", "5"],
        ["rehearse", "train.py", "5"],
        ["run", "job.yaml", "--no-such-option"],
        ["run", "job.yaml", "--runs", "job.yaml"],
        ["show", "nobody"],
        ["resume", "nobody"],
        ["stop", "nobody"],
        ["logs", "nobody"],
        ["watch", "nobody"],
        ["verify", "none"],
        ["explain", "XYZ999"],
        ["render", "none.yaml"],
        ["render", "train.py"],
        ["sing"],
    ],
    ids=" ".join,
)
def test_a_wrong_question_is_said_clearly(words: list[str], here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit code 2, what, where and how to fix, and never a traceback."""
    (here / "job.yaml").write_text(JOB)
    (here / "train.py").write_text("import trl\n")
    code = run_command(words)
    told = capsys.readouterr()

    assert code == 2
    assert told.out == ""
    assert all(part in told.err for part in ("error:", "where:", "fix:"))
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["chekc", "train.py"], "`check`"),
        (["check", "train.py", "--strct"], "`--strict`"),
        (["catalog", "updat"], "`update`"),
        (["check", "trian.py"], "`train.py`"),
        (["run", "jbo.yaml"], "`job.yaml`"),
        (["explain", "AGR101"], "`ARG101`"),
        (["check", "train.py", "--select", "ARQ"], "`ARG`"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, list) else "",
)
def test_what_is_misspelt_gets_the_nearest(
    words: list[str], meant: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command, an option, a file, a rule."""
    (here / "job.yaml").write_text(JOB)
    (here / "train.py").write_text("import trl\n")

    assert run_command(words) == 2
    assert f"did you mean {meant}?" in capsys.readouterr().err


def test_a_bare_call_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """Each with its whole first sentence on one line of 80 columns, and exit code 2."""
    assert run_command([]) == 2
    told = capsys.readouterr().err
    assert "error" not in told

    for verb in VERBS:
        command = cli.get_command(None, verb)  # type: ignore[arg-type]  # no context is needed
        assert command is not None
        assert command.help
        sentence = command.help.partition("\n")[0]
        assert any(line.split(maxsplit=1) == [verb, sentence] for line in told.splitlines()), verb
    assert max(map(len, told.splitlines())) <= 80


REFUSED = {
    "ARG101": "train: {max_seq_length: 512}",
    "EVL101": "train: {eval_strategy: steps}",
    "EVL102": "dataset: {path: 'builtin:stdlib-docstrings', eval_split: test}\n"
    "train: {load_best_model_at_end: true, eval_strategy: steps, eval_steps: 30, save_steps: 50}",
    "CMB101": "method: grpo\nrewards: [accuracy_reward]\ntrain: {num_generations: 3, per_device_train_batch_size: 4}",
    "CMB102": "dataset: {path: 'builtin:stdlib-docstrings', streaming: true}",
    "MOD101": "quantization: {load_in_4bit: true}",
    "PRC101": "model: {path: 'builtin:tiny-chat', attn_implementation: flash_attention_2}",
    "JOB101": "train: {max_steps: 200000}\nwhere: {timeout: 2m}",
    "HUB102": "output: {push_to: me/model}",
    "DAT101": "method: dpo\ndataset: {path: 'rows.jsonl'}",
    "DAT102": "dataset: {path: none.jsonl}",
    "MOD102": "model: ./folder",
    "JOB103": "where: {nodes: 2}",
}


@pytest.mark.parametrize("code", REFUSED)
def test_run_refuses_a_bad_job(code: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each rule stops its bad job before anything starts; the ledger keeps the run as what it was."""
    said = dict(line.split(": ", 1) for line in [*JOB.splitlines(), *REFUSED[code].splitlines()])
    (here / "job.yaml").write_text("".join(f"{key}: {value}\n" for key, value in said.items()))
    (here / "rows.jsonl").write_text('{"text": "a"}\n')
    (here / "folder").mkdir()
    exit_code, answer = ask(capsys, "run", "job.yaml")
    codes = {finding["code"] for target in answer["check"]["targets"] for finding in target["findings"]}

    assert (exit_code, answer["stage"], answer["attempts"]) == (1, "failed", [])
    assert code in codes
    assert answer["because"].startswith("refused by check: ")
    assert ask(capsys, "show", answer["run"])[1]["because"] == answer["because"]
    assert code in Path(answer["folder"], "report.html").read_text()


@pytest.mark.parametrize("example", sorted(ROOT.glob("examples/*.yaml")), ids=lambda path: path.stem)
def test_every_example_passes(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing to object to, and no rule that could not be asked."""
    code, answer = ask(capsys, "check", str(example))

    assert code == 0
    assert [(target["findings"], target["skipped"]) for target in answer["targets"]] == [([], [])]


def test_an_empty_dataset_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It would end in a cryptic StopIteration."""
    (here / "empty.jsonl").write_text("")
    (here / "job.yaml").write_text(JOB.replace("builtin:stdlib-docstrings", "empty.jsonl"))
    code, answer = ask(capsys, "run", "job.yaml")

    assert (code, answer["because"]) == (1, "refused by check: DAT102")


def test_a_refused_run_cannot_be_resumed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There is nothing to go on with; the message says what was wrong."""
    (here / "job.yaml").write_text(JOB + "train: {max_seq_length: 512}\n")
    _, refused = ask(capsys, "run", "job.yaml")
    code, answer = ask(capsys, "resume", refused["run"])

    assert code == 2
    assert "refused by check: ARG101" in answer["errors"][0]["what"]


def test_an_unwritable_runs_folder_is_said_clearly(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The folder is a file, or below one: exit code 2 and a way out."""
    (here / "job.yaml").write_text(JOB)
    code, answer = ask(capsys, "run", "job.yaml", "--runs", str(here / "job.yaml" / "runs"))

    assert code == 2
    assert "--runs" in answer["errors"][0]["fix"]


def test_a_runs_folder_that_is_not_there_is_a_mistake(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that is mistyped does not read as if there were no runs."""
    code, answer = ask(capsys, "runs", "--runs", str(here / "rums"))

    assert (code, answer["errors"][0]["where"]) == (2, "--runs")


def test_one_unreadable_file_does_not_hide_the_others(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Among several targets it is a finding of its own, with its line."""
    (here / "good.yaml").write_text(JOB)
    (here / "bad.yaml").write_text("method: sft\nmodle: m\n")
    code, answer = ask(capsys, "check", "good.yaml", "bad.yaml", "none.yaml")
    found = {target["path"]: [finding["code"] for finding in target["findings"]] for target in answer["targets"]}

    assert (code, answer["verdict"]) == (1, "fail")
    assert found["good.yaml"] == []
    assert set(found["bad.yaml"]) == set(found["none.yaml"]) == {"SYN001"}
    assert 2 in [finding["line"] for finding in answer["targets"][1]["findings"]]


def test_findings_show_the_line_and_the_place(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As compilers do: path, line, column, code, the line itself and a mark under it."""
    (here / "job.yaml").write_text(JOB + "train:\n  max_seq_length: 512\n")
    code = run_command(["check", "job.yaml"])
    told = capsys.readouterr().out

    assert code == 1
    assert "job.yaml:5:3: ARG101" in told
    assert "^^^^^^^^^^^^^^" in told
    assert "\x1b[" not in told


def test_a_script_is_rendered_to_standard_output_or_a_file(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What `render` prints is what it writes, and Python can read it."""
    (here / "job.yaml").write_text(JOB)
    assert run_command(["render", "job.yaml"]) == 0
    printed = capsys.readouterr().out
    assert run_command(["render", "job.yaml", "-o", "train.py"]) == 0

    assert capsys.readouterr() == ("", "wrote train.py\n")
    assert (here / "train.py").read_text() == printed
    compile(printed, "train.py", "exec")
    assert "holdfast" not in {
        line.split()[1].split(".")[0] for line in printed.splitlines() if line.startswith("import ")
    }


def test_rules_and_keys_are_explained(capsys: pytest.CaptureFixture[str]) -> None:
    """By code, by name, and the job file's keys as JSON Schema."""
    assert run_command(["explain", "arg101"]) == 0
    by_code = capsys.readouterr().out
    assert run_command(["explain", "renamed-argument"]) == 0

    assert by_code == capsys.readouterr().out
    assert "## Why is this bad" in by_code
    assert ask(capsys, "explain", "job")[1]["title"] == "holdfast job"


def test_a_missing_environment_is_said_before_anything_is_made(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the packages and without uv the message says what to install."""
    (here / "job.yaml").write_text(JOB + "environment: {requirements: [surely-not-installed==1]}\n")
    monkeypatch.setattr("holdfast.adapters.environment.interpreters.find_uv", lambda: None)
    code, answer = ask(capsys, "run", "job.yaml")

    assert code == 2
    assert "pip install" in answer["errors"][0]["fix"]


def test_quick_questions_do_not_import_what_they_do_not_need() -> None:
    """`--version` and `check` start in no time because they leave torch, pandas and the web alone."""
    program = (
        "import sys; from holdfast.cli.main import run_command; run_command(sys.argv[1:]); "
        "print([name for name in ('torch', 'trl', 'transformers', 'jinja2', 'libcst', 'httpx') if name in sys.modules])"
    )
    words = [sys.executable, "-c", program, "check", str(ROOT / "examples" / "quickstart.yaml")]
    told = subprocess.run(words, check=True, capture_output=True, text=True).stdout

    assert told.splitlines()[-1] == "[]"


def test_the_help_of_check_shows_an_option_that_argparse_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["check", "--help"]) == 0
    example = " ".join(capsys.readouterr().out.split())
    assert "trl sft --model_name_or_path" in example, "`--model` alone is ambiguous: TRL refuses it"


def test_quiet_shows_only_the_findings(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing at all where there are none; the exit code is the same."""
    bad = here / "bad.py"
    bad.write_text('from trl import SFTConfig\n\nSFTConfig("out", max_lenght=1)\n')
    (here / "good.py").write_text('from trl import SFTConfig\n\nSFTConfig("out", max_length=1)\n')
    assert run_command(["check", "--offline", "-q", "good.py"]) == 0
    assert capsys.readouterr().out == ""
    assert run_command(["check", "--offline", "-q", "bad.py"]) == 1
    first, *rest = capsys.readouterr().out.splitlines()
    assert "ARG106" in first
    assert not any("no problems" in line or "error in" in line or "skipped" in line for line in rest)
