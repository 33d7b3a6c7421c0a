"""Files that were made to hurt: each concerns itself alone, and none is waited for, read without an end, or able to end a check."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.sampling import sampled
from tests.helpers.tiny import quiet_environment

GOOD = 'from trl import SFTConfig\nSFTConfig(output_dir="o", learnin_rate=1)\n'
DEEP = "[" * 50_000 + "]" * 50_000
HEADER = "# /// script\n# dependencies = {}\n# ///\n" + GOOD
ALIASES = "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{','.join([f'*{chr(97 + n)}'] * 9)}]\n" for n in range(9))
JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: {path: %s}\n"

FILES: dict[str, tuple[str, str | bytes]] = {
    "an encoding of bytes": ("t.py", "# coding: zip\n" + GOOD),
    "an encoding of letters": ("t.py", "# coding: rot13\n" + GOOD),
    "an encoding that always fails": ("t.py", "# coding: undefined\n" + GOOD),
    "a version of 5,000 digits": ("t.py", HEADER.format(f'["trl=={"9" * 5000}"]')),
    "such a version in a requirements file": ("requirements.txt", f"trl=={'9' * 5000}\n"),
    "a list of 50,000 levels in a header": ("t.py", HEADER.format(DEEP)),
    "in a project file": ("pyproject.toml", f"[project]\ndependencies = {DEEP}\n"),
    "in a lock": ("uv.lock", f"version = {DEEP}\n"),
    "a number of 10,000 digits in a project file": ("pyproject.toml", f"a = {'9' * 10_000}\n"),
    "brackets in a script": ("t.py", f"{GOOD}x = {'(' * 5000}{')' * 5000}\n"),
    "an endless sum": ("t.py", f"x = {'1+' * 20_000}1\n{GOOD}"),
    "an endless attribute": ("t.py", f"x = a{'.b' * 20_000}\n{GOOD}"),
    "a zero byte": ("t.py", 'x = "\0"\n' + GOOD),
    "another encoding": ("t.py", b"\xff\xfe\x00" + GOOD.encode()),
    "requirements that include themselves": ("requirements.txt", "-r requirements.txt\ntrl\n"),
    "an open notebook": ("t.ipynb", '{"cells":' + "[" * 100_000),
    "an open job file": ("job.yaml", f"method: sft\nmodel: {'[' * 20_000}\n"),
    "aliases of aliases": ("job.yaml", f"a: &a [x]\n{ALIASES}method: sft\nmodel: x\ndataset: y\n"),
    "a path of 10,000 letters": ("job.yaml", JOB % ("a" * 10_000)),
    "a folder of 300 letters": ("job.yaml", JOB % f"a/{'b' * 300}/c"),
    "one line of 100,000 letters": ("setup.cfg", f"[options]\ninstall_requires =\n {'x' * 100_000}\n"),
}
PLACES: dict[str, Callable[[Path], object]] = {
    "a module that is imported": lambda folder: os.mkfifo(folder / "helper.py"),
    "a project file": lambda folder: os.mkfifo(folder / "pyproject.toml"),
    "requirements": lambda folder: os.mkfifo(folder / "requirements.txt"),
    "a script": lambda folder: os.mkfifo(folder / "t.py"),
    "a device": lambda folder: (folder / "t.py").symlink_to("/dev/zero"),
    "a device as requirements": lambda folder: (folder / "requirements.txt").symlink_to("/dev/zero"),
    "a device that is imported": lambda folder: (folder / "helper.py").symlink_to("/dev/zero"),
    "a folder": lambda folder: (folder / "pyproject.toml").mkdir(),
    "a link to itself": lambda folder: (folder / "t.py").symlink_to("t.py"),
}


def check(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-m", "holdfast", "check", *words, "--offline"]
    return subprocess.run(
        program, cwd=folder, env=quiet_environment(), capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize("name", sampled(FILES, 3))
def test_a_hostile_file_concerns_itself_alone(tmp_path: Path, name: str) -> None:
    """The others of its folder are checked, against what is known of their versions, and no failure of ours is told."""
    file, text = FILES[name]
    (tmp_path / "good.py").write_text(GOOD, encoding="utf-8")
    (tmp_path / file).write_bytes(text.encode() if isinstance(text, str) else text)
    done = check(tmp_path, ".")

    assert "good.py" in done.stdout
    assert "learnin_rate" in done.stdout or "rules skipped: uv.lock is not valid TOML" in done.stdout
    assert done.returncode in (0, 1)
    assert "Traceback" not in done.stderr
    assert "holdfast failed" not in done.stdout


@pytest.mark.parametrize("name", sampled(FILES, 4))
def test_a_hostile_file_has_a_clear_error(tmp_path: Path, name: str) -> None:
    """Checked by itself, it ends with findings or a wrong request, never with a traceback."""
    file, text = FILES[name]
    (tmp_path / file).write_bytes(text.encode() if isinstance(text, str) else text)
    done = check(tmp_path, file)

    assert done.returncode in (0, 1, 2)
    assert "Traceback" not in done.stderr, done.stderr[-2000:]


@pytest.mark.parametrize("name", sampled(PLACES, 3))
def test_what_is_no_file_is_not_waited_for(tmp_path: Path, name: str) -> None:
    """FIFOs, devices, folders and links in the place of files."""
    (tmp_path / "good.py").write_text(f"import helper\n{GOOD}", encoding="utf-8")
    PLACES[name](tmp_path)
    done = check(tmp_path, ".")

    assert done.returncode == 1
    assert "learnin_rate" in done.stdout
    assert "Traceback" not in done.stderr


def test_data_that_is_the_whole_disk_is_left_alone(tmp_path: Path) -> None:
    """A job whose dataset is `/`: an answer, and no traceback for what nobody may read."""
    (tmp_path / "job.yaml").write_text(JOB % "/", encoding="utf-8")

    assert "Traceback" not in check(tmp_path, "job.yaml").stderr
