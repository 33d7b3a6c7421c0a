"""`holdfast check` behaves as people know it from the best linters."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click import unstyle

from holdfast import check
from holdfast.app.check.many import share_out
from holdfast.app.check.target import TargetOutcome
from holdfast.app.check.target_request import TargetRequest
from holdfast.cli.main import run_command
from holdfast.cli.text.findings import render_finding, render_findings
from holdfast.core.environment.requirement import ProjectRequirements
from holdfast.core.errors import SourceError, UsageError
from tests.helpers.results import checked, finding, target

HEADER = "# /// script\n# dependencies = ['trl==1.16.0', 'transformers==5.23.0']\n# ///\n"
GOOD = HEADER + "from trl import SFTConfig\n\nargs = SFTConfig(output_dir='out', max_length=512)\n"
STALE = GOOD.replace("max_length", "max_seq_length")
BROKEN = HEADER + "from trl import SFTConfig\n\nargs = SFTConfig(\n"
HIDDEN = (
    HEADER
    + "from elsewhere import build\nfrom trl import SFTTrainer\n\nSFTTrainer(model=build(), args=build(), train_dataset=build())\n"
)
JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's empty folder, with a cache of its own."""
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    return folder


def ask(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    """Check; return the exit code and the answer."""
    code = run_command(["check", *words, "--format", "json"])
    return code, json.loads(capsys.readouterr().out)


def tell(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """Check; return the exit code and what a person reads."""
    code = run_command(["check", *words])
    told = capsys.readouterr()
    return code, told.out + told.err


def codes(answer: dict[str, Any], only: str = "") -> dict[str, list[str]]:
    """Return the codes of the findings in each target, those that begin so."""
    return {
        target["path"]: [found["code"] for found in target["findings"] if found["code"].startswith(only)]
        for target in answer["targets"]
    }


def test_a_folder_is_checked_and_what_is_not_ours_is_counted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Scripts and jobs by their paths, in order; the rest in numbers."""
    (here / "sub").mkdir()
    (here / "sub" / "train.py").write_text(STALE)
    (here / "good.py").write_text(GOOD)
    (here / "setup.py").write_text("import setuptools\n")
    (here / "job.yaml").write_text(JOB)
    (here / "ci.yml").write_text("on: push\n")
    (here / "bytes.py").write_bytes(b"import trl\0")
    code, answer = ask(capsys, ".")
    found = codes(answer, "ARG")

    assert code == 1
    assert found == {"good.py": [], "job.yaml": [], "sub/train.py": ["ARG101"]}
    assert answer["others"] == 1
    assert answer["passed_over"] == [{"path": "bytes.py", "because": "is binary"}]


def test_a_folder_without_anything_to_check_is_told(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is no error, but nobody shall take it for a pass of something."""
    (here / "a.py").write_text("")
    code, told = tell(capsys, ".")

    assert code == 0
    assert told == "nothing to check in 0 files; 1 other file uses none of the libraries\n"


def test_the_versions_stand_in_the_report(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With where they come from, once for files that have the same."""
    (here / "a.py").write_text(GOOD)
    (here / "b.py").write_text(GOOD)
    _, told = tell(capsys, ".")
    line = next(line for line in told.splitlines() if "checked against" in line)

    assert line.startswith("2 files: checked against ")
    assert "trl 1.16.0" in line
    assert "transformers 5.23.0" in line


def test_python_that_is_none_is_a_finding(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Alone or among others, said once, with its line; a file that is not there is a wrong question."""
    (here / "broken.py").write_text(BROKEN)
    (here / "good.py").write_text(GOOD)
    alone, among = ask(capsys, "broken.py"), ask(capsys, "broken.py", "good.py")

    assert alone[0] == among[0] == 1
    assert codes(alone[1]) == {"broken.py": ["SYN001"]}
    assert among[1]["targets"][0] == alone[1]["targets"][0]
    assert alone[1]["targets"][0]["findings"][0]["line"] is not None
    assert alone[1]["targets"][0]["kind"] == "script"
    assert ask(capsys, "none.py")[0] == 2
    assert codes(ask(capsys, "none.py", "good.py")[1], "SYN") == {"none.py": ["SYN001"], "good.py": []}


@pytest.mark.parametrize(
    "content",
    [
        b"\0\0",
        b"\xff\xfe",
        b"print 'hello'\nfrom trl import SFTConfig\n",
        b"(" * 5000,
        b"x = " + b"-" * 50_000 + b"1\n",
        b"x = " + b"+".join([b"1"] * 20_000),
        b"def f():\n\treturn 1\n        return 2\n",
        "# -*- coding: latin-1 -*-\nx = 'ü'\n".encode("latin-1"),
        b"\xef\xbb\xbffrom trl import SFTConfig\n",
        b"from trl import SFTConfig\r\nx = 1\r",
        b"x = 9" + b"9" * 10_000,
        b"\x0c\n",
        b"",
    ],
    ids=range(13),
)
def test_hostile_files_are_answered(content: bytes, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Alone with exit code 0, 1 or 2 and one object; among others never more than a finding. Never a traceback."""
    (here / "hostile.py").write_bytes(content)
    (here / "hostile.ipynb").write_bytes(content)
    (here / "good.py").write_text(GOOD)
    for name in ("hostile.py", "hostile.ipynb"):
        alone, answer = ask(capsys, name)
        code, among = ask(capsys, name, "good.py")

        assert alone in (0, 1, 2)
        assert ("targets" in answer) is (alone != 2)
        assert code in (0, 1)
        assert codes(among)["good.py"] == []


def test_a_mark_at_the_beginning_and_another_encoding_are_read(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As Python reads them."""
    (here / "marked.py").write_bytes(b"\xef\xbb\xbf" + STALE.encode())
    (here / "latin.py").write_bytes(f"# -*- coding: latin-1 -*-\n{STALE}x = 'ü'\n".encode("latin-1"))
    found = codes(ask(capsys, "marked.py", "latin.py")[1], "")

    assert "ARG101" in found["marked.py"]
    assert "ARG101" in found["latin.py"]


def test_a_comment_lets_a_finding_pass_and_is_counted(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is no failure, and --verbose and JSON tell the reason."""
    (here / "train.py").write_text(STALE.rstrip() + "  # holdfast: ignore[ARG101] an old machine\n")
    code, answer = ask(capsys, "train.py", "--select", "ARG")
    (let_pass,) = answer["targets"][0]["suppressed"]

    assert (code, answer["verdict"]) == (0, "pass")
    assert (let_pass["code"], let_pass["suppressed_by"]) == ("ARG101", {"line": 6, "reason": "an old machine"})
    assert "1 finding suppressed by comments" in tell(capsys, "train.py", "--select", "ARG")[1]
    assert "by the comment in line 6: an old machine" in tell(capsys, "train.py", "--select", "ARG", "-v")[1]


def test_a_skip_is_told_and_fails_only_when_asked(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A rule that would have to guess is no pass; with --strict it fails."""
    (here / "train.py").write_text(HIDDEN)
    _, answer = ask(capsys, "train.py")
    skipped = answer["targets"][0]["skipped"]
    _, told = tell(capsys, "train.py", "--verbose")

    assert skipped
    assert [skip["code"] for skip in skipped if f"{skip['code']} skipped" not in told] == []
    assert "not checked" in told
    assert [ask(capsys, "train.py", *words)[0] for words in ([], ["--strict"])] == [0, 1]


def skip(number: int, *reasons: str) -> dict[str, Any]:
    return {"code": f"DAT10{number}", "missing": ["dataset"], "because": "; ".join(reasons), "reasons": reasons}


def test_many_skips_are_one_line_with_their_reasons() -> None:
    """Of one target, or of one with findings; of all others together, each rule once. --verbose names each."""
    reasons = ["offline", "offline", "computed at run time"]
    skipped = [skip(n, because) for n, because in enumerate(reasons)]
    first, second = (target(path=path, skipped=skipped) for path in ("a.py", "b.py"))
    alone = list(render_findings(checked(first), {}))
    among = list(render_findings(checked(first, second), {}))
    named = list(render_findings(checked(first), {}, verbose=True))

    assert unstyle(alone[0]) == "a.py: 3 rules skipped: offline (2); computed at run time (1); --verbose names them"
    assert [unstyle(line) for line in among] == [
        "2 files without findings: 3 rules skipped in at least one: offline (2); computed at run time (1); --verbose names them",
        "no problems found in 2 files; 3 rules not checked",
    ]
    assert len(named) == 4


def test_a_rule_that_was_skipped_is_counted_once() -> None:
    """A rule that lacks two facts counts under the first reason, so that the counts add up."""
    skipped = [skip(0, "no folder"), skip(1, "no folder", "no data"), skip(2, "no data: rows; labels", "no folder")]
    told = unstyle(next(iter(render_findings(checked(target(path="a.py", skipped=skipped)), {}))))

    assert told == "a.py: 3 rules skipped: no folder (2); no data: rows; labels (1); --verbose names them"


def test_a_long_line_is_cut_around_the_place() -> None:
    """Nobody reads a line of ten thousand characters."""
    line = "a" * 5000 + "wrong" + "b" * 5000
    place = {"line": 1, "column": 5001, "end_line": 1, "end_column": 5006}
    found = finding(**place)
    _, shown, mark = map(unstyle, render_finding(found, line))

    assert len(shown) < 200
    assert shown[mark.index("^") : mark.rindex("^") + 1] == "wrong"


def test_a_projects_settings_hold_and_the_command_line_goes_before(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Select, ignore, strict, by file and by folder."""
    (here / "train.py").write_text(STALE)
    (here / "old").mkdir()
    (here / "old" / "train.py").write_text(STALE)
    (here / "holdfast.toml").write_text('select = ["ARG"]\nper-file-ignores = {"old/*" = ["ARG101"]}\n')
    found = codes(ask(capsys, ".")[1])

    assert found == {"old/train.py": [], "train.py": ["ARG101"]}
    (here / "holdfast.toml").write_text('ignore = ["ARG101"]\nexclude = ["/old"]\n')
    assert codes(ask(capsys, ".")[1], "ARG") == {"train.py": []}
    assert codes(ask(capsys, ".", "--select", "ARG101")[1]) == {"train.py": ["ARG101"]}
    assert codes(ask(capsys, "old/train.py", "--select", "ARG")[1]) == {"old/train.py": ["ARG101"]}
    (here / "holdfast.toml").write_text("strict = true\n")
    (here / "train.py").write_text(HIDDEN)
    assert [ask(capsys, "train.py", *words)[0] for words in ([], ["--no-strict"])] == [1, 0]


@pytest.mark.parametrize(
    ("settings", "words", "fix"),
    [
        ("selct = []\n", ["train.py"], "did you mean `select`?"),
        ('ignore = ["AGR101"]\n', ["train.py"], "did you mean"),
        ("", ["train.py", "--select", "ARQ"], "did you mean"),
        ("", ["train.py", "--ignore", "E501"], "codes begin with ARG, "),
        ("strict = 3\n", ["."], "write it such as"),
    ],
)
def test_mistakes_in_settings_and_codes_are_wrong_questions(
    settings: str, words: list[str], fix: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, where, and the way out."""
    (here / "train.py").write_text(GOOD)
    (here / "holdfast.toml").write_text(settings)
    code, answer = ask(capsys, *words)

    assert code == 2
    assert fix in answer["errors"][0]["fix"]


def test_named_files_can_be_passed_over_like_those_of_a_folder(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As a hook needs it that names every file of a commit."""
    (here / "train.py").write_text(STALE)
    (here / "ci.yml").write_text("on: push\n")
    (here / "setup.py").write_text("import setuptools\n")
    words = ("train.py", "ci.yml", "setup.py")
    code, answer = ask(capsys, *words, "--force-exclude", "--select", "ARG")

    assert (code, codes(answer), answer["others"]) == (1, {"train.py": ["ARG101"]}, 1)
    assert "SYN001" in codes(ask(capsys, *words)[1])["ci.yml"]
    assert ask(capsys, "ci.yml", "--force-exclude")[0] == 0


def test_a_file_named_twice_is_checked_once(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By itself and by its folder."""
    (here / "train.py").write_text(GOOD)

    assert list(codes(ask(capsys, "train.py", ".", "train.py")[1])) == ["train.py"]


def test_what_was_found_is_found_again_until_something_changes(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file, a module beside it, its requirements, the options; --no-cache asks anew and keeps nothing."""
    (here / "train.py").write_text(STALE.replace("512", "SIZE").replace("from trl", "from sizes import SIZE\nfrom trl"))
    (here / "sizes.py").write_text("SIZE = 512\n")
    (here / "other.py").write_text(GOOD)
    (here / "holdfast.toml").write_text("")
    kept = here / ".holdfast_cache"

    def found(*words: str) -> dict[str, list[str]]:
        return codes(ask(capsys, ".", "--select", "ARG", *words)[1])

    assert found("--no-cache")["train.py"] == ["ARG101"]
    assert not kept.exists()
    first = found()
    entries = {path: path.stat().st_mtime_ns for path in kept.glob("*.json")}
    assert found() == first
    assert {path: path.stat().st_mtime_ns for path in kept.glob("*.json")} == entries
    (here / "train.py").write_text(GOOD)
    assert found()["train.py"] == []
    assert "train.py" not in {path.name for path in kept.iterdir()}
    shutil.rmtree(kept)
    assert found()["train.py"] == []


def test_the_cache_says_word_for_word_what_a_check_says(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """But for the time that it took."""
    (here / "train.py").write_text(STALE)
    (here / "broken.py").write_text(BROKEN)
    told = [ask(capsys, ".", *words)[1] for words in (["--no-cache"], [], [])]
    for answer in told:
        answer.pop("elapsed_s")

    assert told[0] == told[1] == told[2]


def test_without_settings_the_users_own_cache_is_used(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is left in a folder that says nothing of holdfast."""
    (here / "a.py").write_text(GOOD)
    (here / "b.py").write_text(GOOD)
    ask(capsys, ".")

    assert sorted(path.name for path in here.iterdir()) == ["a.py", "b.py"]
    assert len(list((here.parent / "cache" / "holdfast" / "check").glob("*.json"))) == 2


@pytest.mark.long
def test_several_processes_say_the_same_in_the_same_order(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever is done first."""
    for number in range(60):
        (here / f"train_{number:02}.py").write_text(STALE if number % 7 else BROKEN)
    _, answer = ask(capsys, ".", "--no-cache")
    _, again = ask(capsys, *sorted(codes(answer), reverse=True), "--no-cache", "--force-exclude")

    assert list(codes(answer)) == sorted(codes(answer))
    assert again["targets"] == answer["targets"][::-1]


def shouted(question: TargetRequest) -> TargetOutcome:
    return TargetOutcome(target(path=question.path.upper()), frozenset())


@pytest.mark.parametrize("processes", [1, 2, 3])
def test_answers_come_in_the_order_of_the_questions(processes: int) -> None:
    """However many processes share them."""
    questions = [TargetRequest(path=f"a{number}") for number in range(50)]

    assert [told.result.path for told in share_out(questions, shouted, processes)] == [
        f"A{number}" for number in range(50)
    ]


def test_statistics_count_by_rule(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Counts with the names, the most frequent first, and which are fixable; the same in JSON."""
    for name in ("a.py", "b.py"):
        (here / name).write_text(
            "from trl import SFTConfig\n\nSFTConfig('out', max_seq_length=1, warmup_ratio=0.1, nonsense=1)\n"
        )
    code = run_command(["check", ".", "--statistics", "--offline"])
    lines = capsys.readouterr().out.splitlines()
    assert code == 1
    assert lines[0] == "4  ARG101  [*] renamed-argument"
    assert lines[1] == "2  ARG106  [ ] unknown-argument"
    assert lines[-1].startswith("6 errors in 2 files")
    assert not any(line.startswith("a.py") for line in lines)

    run_command(["check", ".", "--statistics", "--offline", "--format", "json"])
    first = json.loads(capsys.readouterr().out)["statistics"][0]
    assert first == {"code": "ARG101", "name": "renamed-argument", "count": 4, "fixable": 4, "unsafe_fixable": 0}


def test_formats_of_other_programs(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF with the text's own columns, GitHub's commands with a last line for people; the same exit codes."""
    (here / "train.py").write_text(STALE.replace("output_dir='out'", "output_dir='🤗'"))
    code = run_command(["check", "train.py", "--format", "sarif", "--select", "ARG"])
    log = json.loads(capsys.readouterr().out)
    (result,) = log["runs"][0]["results"]
    _, plain = ask(capsys, "train.py", "--select", "ARG")
    _, github = tell(capsys, "train.py", "--format", "github", "--select", "ARG")

    assert code == 1
    assert result["locations"][0]["physicalLocation"]["region"]["startColumn"] == (
        plain["targets"][0]["findings"][0]["column"] + 1
    )
    assert github.startswith("::error file=train.py,line=6,")
    assert "1 error in 1 file" in github


def test_uv_is_asked_when_told_so_and_its_answer_is_not_kept(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By option or by the project's settings; what it cannot say is not known, and nothing is claimed."""
    asked: list[str] = []

    def ask_uv(declared: ProjectRequirements, python: str, *, lowest: bool = False) -> dict[str, str]:
        asked.append(f"{declared.origin} {python} {lowest}")
        if len(asked) > 4:
            raise SourceError("no network", where="uv", fix="wait")
        return {"trl": "0.12.0", "transformers": "4.46.1"}

    monkeypatch.setattr("holdfast.adapters.declared.uv.ask_uv", ask_uv)
    for name in ("a.py", "b.py"):
        (here / name).write_text(STALE.replace("==1.16.0", "").replace("==5.23.0", ""))
    (here / "holdfast.toml").write_text('select = ["ARG"]\n')
    first = ask(capsys, "a.py", "--resolve", "uv")[1]["targets"][0]
    (here / "holdfast.toml").write_text('select = ["ARG"]\nresolve = "uv"\n')
    answers = [target for _ in range(2) for target in ask(capsys, ".")[1]["targets"]]

    assert first["resolved"] == {"trl": "0.12.0", "transformers": "4.46.1"}
    assert first["findings"] == []
    assert first["because"].endswith("as uv resolves it")
    assert [answer["resolved"] for answer in answers] == [first["resolved"], {}, {}, {}]
    assert codes(ask(capsys, "a.py", "--resolve", "catalog")[1]) == {"a.py": ["ARG101"]}


def test_standard_input_is_a_script(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """Named `-`, alone, and under the settings of the working folder."""
    monkeypatch.setattr("sys.stdin", Lines(STALE))
    (here / "holdfast.toml").write_text('select = ["ARG"]\n')

    assert codes(ask(capsys, "-")[1]) == {"-": ["ARG101"]}


def test_a_notebook_from_standard_input_is_refused(capsys: pytest.CaptureFixture[str], monkeypatch: Any) -> None:
    """Its JSON happens to be an expression of Python, of which nothing would be said."""
    cell = {"cell_type": "code", "source": "from trl import SFTConfig\nSFTConfig('o', max_seq_length=1)"}
    monkeypatch.setattr("sys.stdin", Lines(json.dumps({"cells": [cell]})))
    code, told = tell(capsys, "-")
    assert code == 2
    assert "standard input is a notebook" in told


class Lines:
    """Standard input that holds a text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self) -> str:
        return self._text

    def isatty(self) -> bool:
        return False


def test_a_notebook_says_cell_and_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And shows the line of the cell."""
    sources = ["# Title", "from trl import SFTConfig", "x = 1\nargs = SFTConfig(output_dir='out', max_seq_length=512)"]
    kinds = ["markdown", "code", "code"]
    cells = [
        {"cell_type": kind, "metadata": {}, "source": source.splitlines(keepends=True), "outputs": []}
        for kind, source in zip(kinds, sources, strict=True)
    ]
    text = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
    (here / "train.ipynb").write_text(text)
    (here / "requirements.txt").write_text("trl==1.16.0\ntransformers==5.23.0\n")
    code, told = tell(capsys, "train.ipynb", "--select", "ARG")

    assert code == 1
    assert "train.ipynb:cell 3:2:36: ARG101" in told
    assert "    2 | args = SFTConfig(output_dir='out', max_seq_length=512)" in told
    assert f"      | {' ' * 35}^^^^^^^^^^^^^^" in told


ROWS_FILE = """
from datasets import load_dataset
from trl import SFTTrainer

rows = load_dataset("json", data_files="rows.jsonl", split="train")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", train_dataset=rows)
"""


def imported(here: Path, script: str, names: list[str]) -> str:
    """Return those of some modules that a check of a script imports, as a list is printed."""
    (here / "train.py").write_text(script)
    program = (
        "import sys; from holdfast.cli.main import run_command; run_command(['check', '--offline', 'train.py']); "
        f"print([name for name in {names!r} if name in sys.modules])"
    )
    told = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, cwd=here)
    return told.stdout.splitlines()[-1]


def test_a_quick_check_imports_nothing_that_it_does_not_need(here: Path) -> None:
    """One script: no patterns, no processes, no YAML, no schema, and no other command."""
    slow = ["pathspec", "concurrent.futures", "multiprocessing", "pydantic", "ruamel.yaml", "libcst", "jinja2", "rich"]
    slow += ["holdfast.engine.diagnose", "holdfast.engine.plan", "holdfast.engine.rehearse"]  # other commands
    assert imported(here, STALE, slow) == "[]"


def test_the_check_of_a_script_with_local_data_needs_no_schema_of_jobs(here: Path) -> None:
    (here / "rows.jsonl").write_text('{"text": "a"}\n')
    assert imported(here, ROWS_FILE, ["polars", "pydantic", "ruamel.yaml", "libcst"]) == "['polars']"


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="it reads what is new in 3.12")
@pytest.mark.parametrize("line", ['print(f"{names["a"]}")', "type Name = str", "def first[T](each: T) -> T: ..."])
def test_syntax_of_a_newer_python_is_skipped(tmp_path: Path, line: str) -> None:
    """Nothing is said of such a script, for or against: no error, and no pass."""
    script = tmp_path / "train.py"
    script.write_text(f"{line}\n")

    answer = check([str(script)], offline=True)

    assert answer["verdict"] == "pass"
    assert [skip["code"] for skip in answer["targets"][0]["skipped"]] == ["SYN001"]
    assert check([str(script)], offline=True, strict=True)["verdict"] == "fail"


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.csv.gz", "rows.parquet", "ROWS.CSV"])
def test_data_is_for_inspect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """A data file is not a job: the error names the command that looks at data."""
    monkeypatch.chdir(tmp_path)
    Path(name).write_text('{"text": "a"}\n', encoding="utf-8")

    with pytest.raises(UsageError) as raised:
        check([name])

    assert f"holdfast inspect {name}" in raised.value.fix


def test_a_folders_shell_scripts_are_checked(tmp_path: Path) -> None:
    """Those that start a training. What they share with the script that they run is told once, at that script."""
    (tmp_path / "train.py").write_text(
        'from trl import SFTConfig, SFTTrainer\n\nargs = SFTConfig("out", max_lenght=1)\n'
        'SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)\n'
    )
    for name, line in (("a.sh", "torchrun --nnode_s 1 train.py"), ("b.sbatch", "python train.py"), ("c.sh", "ls a.py")):
        (tmp_path / name).write_text(f"{line}\n")
    answer = check(str(tmp_path), offline=True, cache=False, select=["ARG106", "DST112"])
    found = {Path(one["path"]).name: [each["code"] for each in one["findings"]] for one in answer["targets"]}
    assert found == {"a.sh": ["DST112"], "b.sbatch": [], "train.py": ["ARG106"]}
