"""The runtime has torch's allocator expand its segments where the driver supports it, and nothing else sets the allocator.

A library with the name of the driver's stands in its place.
"""

import importlib.metadata
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.adapters.payload import load_runtime
from holdfast.engine.run.attempt import render_attempt
from holdfast.payload import runtime
from tests.helpers.tiny import quiet_environment

DRIVER = """
int cuInit(unsigned flags) { return INIT; }
int cuDeviceGet(int *device, int place) { *device = 7; return 0; }
int cuDeviceGetAttribute(int *found, int attribute, int device) { *found = attribute == 102 && device == 7 && SUPPORT; return 0; }
"""
SHOW = "import os\nprint(os.environ.get('PYTORCH_CUDA_' + 'ALLOC' + '_CONF'), os.environ.get('PYTORCH_' + 'ALLOC' + '_CONF'))\n"
SET = f"{runtime.EXPANDABLE} None"
LEFT = "None None"
COMPILER = shutil.which("cc")

needs_compiler = pytest.mark.skipif(COMPILER is None, reason="there is no C compiler")


@pytest.fixture(scope="module")
def drivers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return the folder of a driver that supports such segments, of one that does not, and of one without a GPU."""
    found = {}
    for name, init, support in (("able", 0, 1), ("unable", 0, 0), ("no-gpu", 100, 1)):
        folder = tmp_path_factory.mktemp(name)
        (folder / "driver.c").write_text(DRIVER)
        words = [f"-DINIT={init}", f"-DSUPPORT={support}", "-shared", "-fPIC", "-o", "libcuda.so.1", "driver.c"]
        subprocess.run([str(COMPILER), *words], cwd=folder, check=True)
        found[name] = str(folder)
    return found


def allocator(folder: Path, script: str, *arguments: str, **variables: str) -> str:
    """Return what a script finds the allocator set to."""
    (folder / "attempt.py").write_text(render_attempt(script, "train.py", load_runtime()))
    done = subprocess.run(
        [sys.executable, "attempt.py", *arguments],
        env=quiet_environment(HOLDFAST_ATTEMPT=str(folder), **variables),
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout.strip()


@needs_compiler
@pytest.mark.parametrize(("driver", "expected"), [("able", SET), ("unable", LEFT), ("no-gpu", LEFT)])
def test_segments_expand_where_the_driver_supports_that(
    tmp_path: Path, drivers: dict[str, str], driver: str, expected: str
) -> None:
    assert allocator(tmp_path, SHOW, LD_LIBRARY_PATH=drivers[driver]) == expected


@needs_compiler
@pytest.mark.parametrize(
    ("script", "arguments", "variables", "expected"),
    [
        ("", (), {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:512"}, "max_split_size_mb:512 None"),
        ("", (), {"PYTORCH_ALLOC_CONF": "expandable_segments:False"}, "None expandable_segments:False"),
        ("", ("--use_vllm", "true"), {}, LEFT),
        ("# Unsloth sets the allocator itself.\n", (), {}, LEFT),
        ('import os\nos.environ.setdefault("PYTORCH_ALLOC_CONF", "backend:native")\n', (), {}, "None backend:native"),
    ],
)
def test_who_sets_the_allocator_decides_alone(
    tmp_path: Path,
    drivers: dict[str, str],
    script: str,
    arguments: tuple[str, ...],
    variables: dict[str, str],
    expected: str,
) -> None:
    """The job or the environment by either name, the script, and what a library does that the script names."""
    found = allocator(tmp_path, script + SHOW, *arguments, LD_LIBRARY_PATH=drivers["able"], **variables)
    assert found == expected


@needs_compiler
@pytest.mark.parametrize(
    ("text", "expected"), [("use_vllm: true\n", LEFT), ("learning_rate: 1.0e-5\n", SET), ("x" * 10 + "\xff", SET)]
)
@pytest.mark.parametrize("arguments", [("--config", "grpo.yaml"), ("--config=grpo.yaml",)], ids=["apart", "joined"])
def test_a_file_that_an_argument_names_decides_too(
    tmp_path: Path, drivers: dict[str, str], arguments: tuple[str, ...], text: str, expected: str
) -> None:
    """TRL's `TrlParser` reads `--config`."""
    (tmp_path / "grpo.yaml").write_text(text, encoding="latin-1")
    assert allocator(tmp_path, SHOW, *arguments, "x" * 5000, LD_LIBRARY_PATH=drivers["able"]) == expected


@needs_compiler
@pytest.mark.parametrize(
    ("release", "expected"),
    [
        ("0.20.0", False),
        ("0.9.2+cu128", False),
        ("0.20.1", True),
        ("0.21.0rc1", True),
        ("1", True),
        ("dev", False),
        (None, True),
    ],
)
def test_with_an_old_vllm_segments_do_not_expand(
    drivers: dict[str, str], monkeypatch: pytest.MonkeyPatch, release: str | None, *, expected: bool
) -> None:
    """Whoever imports it: a module beside the script may."""
    install(monkeypatch, torch="2.13.0", **({"vllm": release} if release else {}))
    assert expands(drivers, monkeypatch) is expected


def test_without_a_driver_nothing_is_set_or_said(tmp_path: Path) -> None:
    assert allocator(tmp_path, SHOW) == LEFT


@needs_compiler
@pytest.mark.parametrize(
    ("release", "system", "expected"),
    [
        ("2.13.0+cu130", "6.1.0", True),
        ("2.1.0", "6.1.0", True),
        ("2.0.1", "6.1.0", False),
        ("2.13.0", "5.15.167.4-microsoft-standard-WSL2", False),
        ("unknown", "6.1.0", False),
    ],
)
def test_old_releases_of_torch_and_wsl_keep_their_segments(
    drivers: dict[str, str], monkeypatch: pytest.MonkeyPatch, release: str, system: str, *, expected: bool
) -> None:
    install(monkeypatch, torch=release)
    monkeypatch.setattr(os, "uname", lambda: type("uname", (), {"release": system}))
    assert expands(drivers, monkeypatch) is expected


def install(monkeypatch: pytest.MonkeyPatch, **releases: str) -> None:
    """Have these packages installed, and no other."""

    def version(name: str) -> str:
        if name in releases:
            return releases[name]
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", version)


def expands(drivers: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> bool:
    """Return whether segments of a program expand with a driver that supports that."""
    for name in runtime.ALLOCATORS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LD_LIBRARY_PATH", drivers["able"])
    runtime.expand_segments("train()")
    return os.environ.pop(runtime.ALLOCATOR, None) == runtime.EXPANDABLE  # or it would be set for other tests
