"""The attempt's one file: the script in it is the script that was given, whatever it contains."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.payload import load_runtime
from holdfast.engine.run.attempt import render_attempt, render_text
from tests.helpers.tiny import quiet_environment

HEADER = """\
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""
UV = Path(sysconfig.get_path("scripts")) / "uv"


def script_in(attempt: str) -> str:
    """Return the script that an attempt would run."""
    space = {"__name__": "attempt", "__file__": "attempt.py"}
    exec(compile(attempt, "attempt.py", "exec"), space)
    return space["SCRIPT"]


@pytest.mark.parametrize(
    "script",
    [
        "print('hello')\n",
        "",
        '"""Docstring."""\n',
        "x = '''a'''\n",
        "x = '''a'''; y = \"\"\"b\"\"\"\n",
        "x = 1\\",
        "x = '",
        "a\r\nb",
        "path = r'C:\\new\\table'\nprint('é\\u00e9 𝄞')\n",
        HEADER + "import trl\n",
        "#!/usr/bin/env python\n" + HEADER + "\nx = '''quoted'''\n",
    ],
)
def test_the_script_arrives_unharmed(script: str) -> None:
    """Quotes, backslashes, line ends, other alphabets, headers."""
    assert script_in(render_attempt(script, "train.py", load_runtime())) == script


@given(st.text(alphabet=st.sampled_from("ab'\"\\\n\r# /é𝄞\t\0"), max_size=30))
def test_any_text_can_be_held(text: str) -> None:
    """A literal stands for the text it was made of, and never begins a metadata block."""
    literal = render_text(text)

    assert eval(f"({literal})") == text  # noqa: S307 - made on the spot
    assert not any(line.startswith("# /// ") for line in literal.splitlines())


def test_a_script_is_embedded_so_that_people_can_read_it() -> None:
    """Its lines stand as they are."""
    script = 'import trl\n\nprint("C:\\new")\n'

    assert script in render_attempt(script, "train.py", load_runtime())


@pytest.mark.parametrize("before", ["", "#!/usr/bin/env python\n", '"""Trains."""\n\n'])
def test_the_header_is_at_the_top_and_there_only(before: str) -> None:
    """Uv reads lines, not Python: a second block in a string would be an error."""
    attempt = render_attempt(before + HEADER + "import trl\n", "train.py", load_runtime())

    assert attempt.startswith(HEADER)
    assert sum(line.startswith("# /// script") for line in attempt.splitlines()) == 1


def test_a_script_without_a_header_gives_an_attempt_without() -> None:
    """Nothing is made up."""
    assert "\n# /// script" not in render_attempt("import trl\n", "train.py", load_runtime())


@pytest.mark.parametrize("words", [[sys.executable], [str(UV), "run", "--offline", "--python", sys.executable]])
def test_an_attempt_runs_with_python_and_with_uv(tmp_path: Path, words: list[str]) -> None:
    """Without holdfast at hand; hostile words arrive as they are."""
    script = HEADER + "import sys\nassert 'holdfast' not in sys.modules\nprint(sys.argv)\n"
    (tmp_path / "attempt.py").write_text(render_attempt(script, "train.py", load_runtime()))
    hostile = ["two words", "$(touch pwned)", "; echo", "--help", "", "new\nline"]
    done = subprocess.run(
        [*words, "attempt.py", *hostile],
        cwd=tmp_path,
        env=quiet_environment(PYTHONPATH="", UV_CACHE_DIR=os.environ.get("UV_CACHE_DIR", str(tmp_path / "cache"))),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"{['train.py', *hostile]}\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name != "cache") == [
        "attempt.py",
        "holdfast-attempt",
    ]
