"""Every closed set of names that a user types gets the nearest one for a misspelt name."""

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from holdfast.cli.main import cli, run_command
from holdfast.core.text.nearest import nearest, suggest_one


def choices() -> Iterator[tuple[str, str, str]]:
    """Yield each option that takes one of a few values, with each of these that is long enough to be misspelt."""
    context = click.Context(cli)
    for verb in cli.list_commands(context):
        command = cli.get_command(context, verb)
        for param in command.params if command else ():
            if isinstance(param.type, click.Choice):
                yield from ((verb, param.opts[0], str(value)) for value in param.type.choices if len(str(value)) > 2)


@pytest.mark.parametrize(("verb", "option", "value"), list(choices()))
def test_misspelt_value_of_an_option_gets_the_nearest(
    verb: str, option: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two letters changed places, as fingers do it."""
    typed = f"{value[0]}{value[2]}{value[1]}{value[3:]}"
    if typed == value:
        pytest.skip("both letters are the same")

    assert run_command([verb, "x", option, typed]) == 2
    assert f"did you mean `{value}`?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["run", "job.yaml", "--set", "where.backend=locl"], "local"),
        (["evaluate", "builtin:tiny-chta", "--on", "builtin:stdlib-docstrings"], "builtin:tiny-chat"),
        (["evaluate", "builtin:tiny-chat", "--on", "builtin:stdlib-docstring"], "builtin:stdlib-docstrings"),
        (["render", "job.yaml", "--set", "model=builtin:tiny-chta"], "builtin:tiny-chat"),
        (["render", "job.yaml", "--set", "dataset=builtin:stdlib-docstring"], "builtin:stdlib-docstrings"),
        (
            ["render", "job.yaml", "--set", "method=grpo", "--set", "rewards=[think_fromat_reward]"],
            "think_format_reward",
        ),
    ],
)
def test_misspelt_name_gets_the_nearest(
    words: list[str], meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOLDFAST_RUNS", str(tmp_path / "runs"))
    (tmp_path / "job.yaml").write_text("method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n")

    assert run_command(words) in (1, 2)
    shown = capsys.readouterr()
    assert f"did you mean `{meant}`?" in shown.err + shown.out


def test_name_that_is_like_none_gets_them_all() -> None:
    assert nearest("banana", ("sft", "dpo")) is None
    assert suggest_one("banana", ("sft", "dpo")) == "use one of sft, dpo"


def test_a_dry_run_has_other_names(capsys: pytest.CaptureFixture[str]) -> None:
    """`run` names what does the same; of `study`, it is an option, and elsewhere the nearest option counts."""
    assert run_command(["run", "job.yaml", "--dry-run"]) == 2
    said = capsys.readouterr().err

    assert "there is no option `--dry-run`" in said
    assert all(f"`holdfast {each}`" in said for each in ("check", "rehearse", "plan"))
    assert "--runs" not in said


@pytest.mark.parametrize(
    ("command", "option", "meant"), [("run", "--detatch", "--detach"), ("plan", "--hardwar", "--hardware")]
)
def test_a_misspelt_option_still_gets_the_nearest(
    command: str, option: str, meant: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command([command, "job.yaml", option]) == 2
    assert f"did you mean `{meant}`?" in capsys.readouterr().err
