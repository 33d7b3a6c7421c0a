"""Where a script runs: its header says it, and what is set goes before."""

from pathlib import Path

import pytest

from holdfast.app.run.placement import read_placement
from holdfast.core.errors import UsageError

ON = "where.backend=hf-jobs"
HEADER = """# /// script
# dependencies = ["trl"]
# [tool.hf-jobs]
# flavor = "a10g-large"
# timeout = 7200
# image = "huggingface/trl"
# name = "mine"
# secrets = ["HF_TOKEN"]
# volumes = ["hf://datasets/me/rows:/data"]
# [tool.hf-jobs.env]
# A = "1"
# ///
print(1)
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "train.py").write_text(HEADER)
    return str(tmp_path / "train.py")


def test_the_header_is_honoured(script: str) -> None:
    """Each key as a job file has it."""
    placed = read_placement(script, [ON])

    assert (placed.where.backend, placed.where.hardware, placed.where.timeout_s) == ("hf-jobs", "a10g-large", 7200)
    assert placed.where.options == {"image": "huggingface/trl", "volumes": ["hf://datasets/me/rows:/data"]}
    assert (placed.environment.secrets, placed.environment.variables) == (["HF_TOKEN"], {"A": "1"})


def test_what_is_set_goes_before_the_header(script: str) -> None:
    """What is not about the place is left over, for others to refuse."""
    sets = [ON, "where.hardware=t4-small", "where.options.image=python:3.12", "train.max_steps=3"]
    placed = read_placement(script, sets)

    assert (placed.where.hardware, placed.where.options["image"]) == ("t4-small", "python:3.12")
    assert placed.environment.variables == {"A": "1"}
    assert placed.sets == ("train.max_steps=3",)


@pytest.mark.parametrize("hours", [(1, 2, 1), (2, 1, 2), (1, 1, 2)])
def test_the_last_of_several_overrides_holds(script: str, hours: tuple[int, ...]) -> None:
    """Also one that says what an earlier one said."""
    placed = read_placement(script, [f"where.timeout={each}h" for each in hours])

    assert placed.where.timeout_s == hours[-1] * 3600


def test_on_this_machine_the_header_says_nothing(script: str) -> None:
    assert not read_placement(script, []).is_elsewhere
    assert read_placement("job.yaml", [ON]).sets == (ON,)


@pytest.mark.parametrize(
    ("line", "sets", "told"),
    [
        ("# ssh = true", [], "`ssh` of [tool.hf-jobs]"),
        ("# network_group = 'a'", [], "`network_group` of [tool.hf-jobs]"),
        ("", ["where.timeout=4 hours"], "where.timeout"),
        ("", ["where.unknown=1"], "where.unknown"),
        ("", ["where.hardware.name=1"], "`where.hardware.name` cannot be set"),
    ],
)
def test_what_cannot_be_honoured_is_refused(script: str, line: str, sets: list[str], told: str) -> None:
    """With what it is, and how to correct it."""
    Path(script).write_text(HEADER.replace('# name = "mine"', line or '# name = "mine"'))
    with pytest.raises(UsageError) as error:
        read_placement(script, [ON, *sets])

    assert told.removeprefix("where.") in error.value.what
    assert error.value.fix


def test_a_script_on_this_machine_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing else of `where` can be said of it."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("import trl\n")

    placement = read_placement("train.py", ["where.stall_timeout=40s", "where.timeout=2h", "where.hardware=h100"])

    assert (placement.where.stall_timeout_s, placement.where.timeout_s) == (40.0, 7200.0)
    assert placement.sets == ("where.hardware=h100",)
