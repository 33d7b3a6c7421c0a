"""The package in Python: one path or several, the options' names, errors with what, where and fix."""

import ast
import inspect
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import holdfast
from holdfast.cli.main import cli

ROOT = Path(__file__).parents[2]
JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n"
VERBS = [name for name in holdfast.__all__ if name.islower()]
TARGETS = {
    "targets", "code", "data", "target", "run", "checkpoint", "job",
}  # fmt: skip
NOT_OPTIONS = {
    "arguments",  # after `--`
    "cache",  # --no-cache
    "edits",  # --format says whether
    "on_progress", "observer", "warm", "confirm",  # who is there meanwhile
    "limit_s",  # --limit
}  # fmt: skip
FACE = {"format_", "verbose", "quiet", "html", "help", "output", "all_", "watch", "on", "for"}
"""Options about what is printed, and the short form of `--set for=SCENARIO`."""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's folder with a good job."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.yaml").write_text(JOB)
    return tmp_path


def test_a_path_stands_for_a_list_of_one(here: Path) -> None:
    """As text or as a Path, alone or with others."""
    for targets in ("job.yaml", Path("job.yaml"), ["job.yaml"], (Path("job.yaml"),)):
        answer = holdfast.check(targets, offline=True)
        assert [target["path"] for target in answer["targets"]] == ["job.yaml"]
    (here / "job.log").write_text("torch.OutOfMemoryError: CUDA out of memory.\n")
    assert holdfast.diagnose("job.log")["paths"] == holdfast.diagnose([Path("job.log")])["paths"]
    assert holdfast.render(Path("job.yaml")) == holdfast.render("job.yaml")
    (here / "runs").mkdir()
    assert holdfast.runs(runs=here / "runs") == holdfast.runs(runs=str(here / "runs"))


@pytest.mark.usefixtures("here")
def test_overrides_are_a_mapping_or_text() -> None:
    """A mapping of keys to values, a list as on the command line, or one of them."""
    for given in ({"train.max_steps": 20}, ["train.max_steps=20"], "train.max_steps=20"):
        assert '"max_steps": 20,' in holdfast.render("job.yaml", set=given)


def test_a_method_that_there_is_not_is_an_error_of_the_user(here: Path) -> None:
    """As an argument, and as an override; Python's own error would say nothing of what there is."""
    (here / "rows.jsonl").write_text('{"text": "a"}\n')
    for options in ({"method": "sftt"}, {"set": "method=sftt"}):
        with pytest.raises(holdfast.UsageError, match=r"no method is called 'sftt'(.|\n)*did you mean `sft`"):
            holdfast.inspect("rows.jsonl", **options)  # type: ignore[arg-type]  # a wrong call, on purpose


def test_codes_are_a_text_or_a_list() -> None:
    """With commas, as ruff takes them."""
    stale = str(ROOT / "benchmarks" / "good" / "sft_lora.py")
    for codes in ("MOD,PRC", ["MOD", "PRC"], ("MOD106",)):
        found = holdfast.check(stale, select=codes, offline=True)["targets"][0]["findings"]
        assert {finding["code"] for finding in found} == {"MOD106"}


WRONG: Mapping[str, Callable[[], object]] = {
    "nothing": lambda: holdfast.check([]),
    "no file": lambda: holdfast.check("none.yaml"),
    "no rule": lambda: holdfast.check("job.yaml", select="ARQ"),
    "no schema, checked": lambda: holdfast.check("broken.yaml"),
    "no schema, run": lambda: holdfast.run("broken.yaml"),
    "no schema, rendered": lambda: holdfast.render("broken.yaml"),
    "no script": lambda: holdfast.rehearse("none.py"),
    "no dataset": lambda: holdfast.inspect("none.jsonl"),
    "no log": lambda: holdfast.diagnose("none.log"),
    "no page": lambda: holdfast.explain("ARG999"),
    "no checkpoint": lambda: holdfast.verify("none"),
    "no run to show": lambda: holdfast.show("nobody"),
    "no run to watch": lambda: holdfast.watch("nobody"),
    "no run to resume": lambda: holdfast.resume("nobody"),
}


@pytest.mark.parametrize("question", WRONG)
def test_every_error_is_a_holdfast_error(question: str, here: Path) -> None:
    """What happened, where, and how to fix it; of several mistakes, all of them."""
    (here / "broken.yaml").write_text("method: sftt\nmodle: m\n")
    with pytest.raises(holdfast.HoldfastError) as raised:
        WRONG[question]()
    error = raised.value
    assert all(part for part in (error.what, str(error.where), error.fix))
    assert "where:" in str(error)
    if isinstance(error, ExceptionGroup):
        assert str(error).count("fix:") == len(error.exceptions) > 1


@pytest.mark.parametrize("verb", VERBS)
def test_arguments_are_called_as_the_options(verb: str) -> None:
    """Each option is an argument, and each argument an option, of the same name."""
    command = cli.get_command(None, verb)  # type: ignore[arg-type]  # a wrong call, on purpose
    assert command is not None
    options = {max(param.opts, key=len).removeprefix("--").replace("-", "_") for param in command.params}
    options = {name.removeprefix("no_") if name in ("no_rehearse", "no_cache") else name for name in options}
    options = {"try_first" if name == "try" else name for name in options}  # a word of Python's own
    options = {"scenario" if (verb, name) == ("study", "for") else name for name in options}  # another one
    parameters = set(inspect.signature(getattr(holdfast, verb)).parameters)

    assert parameters - TARGETS - NOT_OPTIONS <= options
    assert options - FACE - TARGETS - {"limit", "cache", "format", "arguments", "all"} <= parameters


@pytest.mark.parametrize("verb", VERBS)
def test_every_function_has_an_example(verb: str) -> None:
    """`help(holdfast.check)` shows how to call it."""
    documentation = inspect.getdoc(getattr(holdfast, verb)) or ""
    assert ">>> import holdfast\n" in documentation
    assert f"holdfast.{verb}(" in documentation


def test_type_checkers_see_every_verb() -> None:
    """Those that are imported when they are used, and no others."""
    tree = ast.parse(Path(holdfast.__file__).read_text())
    (block,) = (each for each in tree.body if isinstance(each, ast.If))
    assert not [
        each for each in tree.body if isinstance(each, ast.Import | ast.ImportFrom)
    ]  # Ctrl-C meanwhile shows a traceback
    assert {each.targets[0].id for each in block.body if isinstance(each, ast.Assign)} == set(VERBS)  # type: ignore[attr-defined]  # names


def test_names_can_be_completed() -> None:
    """`dir` lists the verbs before they are imported."""
    assert set(VERBS) <= set(dir(holdfast))
