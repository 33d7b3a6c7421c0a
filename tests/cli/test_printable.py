"""What others wrote reaches a terminal as text alone."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.storage.ledger import Ledger
from holdfast.cli.main import run_command
from holdfast.cli.text.printable import printable
from holdfast.core.run.event import Closed, Event, RunRequested, RunStage, Starting
from holdfast.core.run.requested_job import RequestedJob

ATTACKS = {
    "clipboard": "\x1b]52;c;cm0gLXJmIH4=\x07",
    "clipboard of tmux": "\x1bPtmux;\x1b\x1b]52;c;cm0gLXJm\x07\x1b\\\\",
    "title": "\x1b]0;pwned\x1b\\\\",
    "clear": "\x1b[2J\x1b[H",
    "up": "\x1b[5A\x1b[2K",
    "answer": "\x1b[6n\x1b[c",
    "alternate screen": "\x1b[?1049h",
    "eight bits": "\x9b2J\x9d52;c;cm0=\x9c",
    "bell and backspaces": "\x07\x08\x08\x08",
    "cut off": "\x1b]52;c;cm0gLXJm",
    "keys": "\x1b[>4;2m\x1bc\x1b(0",
}
TURNING = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""What turns the direction of reading round."""
HARMFUL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[[\d;]*m)")


@given(st.text(st.sampled_from("\x1b[]0;m52c\x07\\\\\x9b?hHJPX^_ \n\r\tab"), max_size=60))
def test_nothing_but_colours_is_left(text: str) -> None:
    """Whatever is put together."""
    assert not HARMFUL.search(printable(text))


@given(
    st.text(st.characters(exclude_categories=["Cc", "Cs"], exclude_characters=TURNING), max_size=60),
    st.sampled_from(["", "\x1b[1;31m", "\n", "\t"]),
)
def test_text_and_colours_stay(text: str, mark: str) -> None:
    """In every language."""
    assert printable(mark + text + mark) == mark + text + mark


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_run_shows_no_control_sequences(tmp_path: Path, attack: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Of an exception, of a target's name, and of a training process."""
    text = f"before {ATTACKS[attack]} after"
    about = RequestedJob(job="a", target=text, backend="local")
    events: list[Event] = [
        RunRequested(at_s=1, folder=str(tmp_path / "a"), about=about),
        Starting(at_s=2, attempt=1, backend="local"),
    ]
    Ledger(tmp_path).append("a", [*events, Closed(at_s=3, stage=RunStage.FAILED, because=text)])
    (tmp_path / "a" / "attempts" / "1").mkdir(parents=True)
    for stream in ("stdout", "stderr"):
        (tmp_path / "a" / "attempts" / "1" / f"{stream}.log").write_text(f"{text}\n", encoding="utf-8")
    for verb in (
        ["show", "a"],
        ["runs"],
        ["resume", text],
        ["show", text],
        ["logs", "a"],
        ["diagnose", "a"],
        ["watch", text],
    ):
        run_command([*verb, "--runs", str(tmp_path)])
        out = capsys.readouterr()
        assert not HARMFUL.search(out.out + out.err), verb
    run_command(["show", "a", "--runs", str(tmp_path), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["because"] == text


@pytest.mark.parametrize("attack", ATTACKS)
def test_data_and_scripts_show_no_control_sequences(
    tmp_path: Path, attack: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names of columns, values, arguments and files."""
    monkeypatch.chdir(tmp_path)
    text = ATTACKS[attack]
    rows = [json.dumps({f"a{text}": "x", "text": f"b{text}"}), json.dumps({"text": text})]
    Path("rows.jsonl").write_text("\n".join(rows), encoding="utf-8")
    Path("train.py").write_text(
        f"from trl import SFTConfig\nSFTConfig(loss_type={text!r}, output_dir={text!r})\n", encoding="utf-8"
    )
    Path("log.txt").write_text(f"Traceback (most recent call last):\nValueError: {text} is no loss\n", encoding="utf-8")
    for words in (
        ["inspect", "rows.jsonl", "--method", "dpo"],
        ["check", "train.py", "--offline"],
        ["diagnose", "log.txt"],
    ):
        run_command(words)
        out = capsys.readouterr()
        assert not HARMFUL.search(out.out + out.err), words
