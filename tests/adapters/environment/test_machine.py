"""What is known of this machine agrees with the drivers, the environment and the container around it."""

import os
import shutil
import sys
from pathlib import Path

import psutil
import pytest

from holdfast.adapters.environment.machine import LocalMachine, count_cpus, select_gpus
from holdfast.core.check.facts import Gpu, Machine
from holdfast.core.errors import UsageError

T4 = "0, GPU-1111, Tesla T4, 15360, 7.5"
A100 = "1, GPU-2222, NVIDIA A100-SXM4-80GB, 81920, 8.0"


def driver(folder: Path, *lines: str, exit_code: int = 0) -> dict[str, str]:
    """Put an `nvidia-smi` on a PATH of its own that answers as the real one does."""
    program = folder / "nvidia-smi"
    asked = "index,uuid,name,memory.total,compute_cap"
    told = "\n".join(lines)
    program.write_text(
        f"#!{sys.executable}\nimport sys\n"
        f"assert '--query-gpu={asked}' in sys.argv and '--format=csv,noheader,nounits' in sys.argv\n"
        f"print({told!r})\nsys.exit({exit_code})\n"
    )
    program.chmod(0o755)
    return {"PATH": str(folder)}


def look(environment: dict[str, str], **places: Path) -> Machine:
    return LocalMachine(environment, **places).fetch()


def test_gpus_are_what_the_driver_says(tmp_path: Path) -> None:
    """Name, memory and compute capability come from `nvidia-smi`, in its order."""
    gpus = look(driver(tmp_path, T4, A100)).gpus

    assert gpus == (
        Gpu(name="Tesla T4", memory_bytes=15360 << 20, capability=(7, 5)),
        Gpu(name="NVIDIA A100-SXM4-80GB", memory_bytes=81920 << 20, capability=(8, 0)),
    )
    assert [gpu.bf16 for gpu in gpus] == [False, True]


@pytest.mark.parametrize(
    ("visible", "names"),
    [
        ("1", ["NVIDIA A100-SXM4-80GB"]),
        ("1,0", ["NVIDIA A100-SXM4-80GB", "Tesla T4"]),
        (" 0 , 1 ", ["Tesla T4", "NVIDIA A100-SXM4-80GB"]),
        ("GPU-2222", ["NVIDIA A100-SXM4-80GB"]),
        ("GPU-2", ["NVIDIA A100-SXM4-80GB"]),
        ("", []),
        ("-1", []),
        ("0,7,1", ["Tesla T4"]),
    ],
)
def test_visible_devices_are_read_as_cuda_reads_them(tmp_path: Path, visible: str, names: list[str]) -> None:
    """Numbers and UUIDs choose and order; what is not there ends the list; nothing hides all."""
    environment = {**driver(tmp_path, T4, A100), "CUDA_VISIBLE_DEVICES": visible}

    assert [gpu.name for gpu in look(environment).gpus] == names


@pytest.mark.parametrize(
    "environment",
    [
        pytest.param({"PATH": ""}, id="no-driver"),
        pytest.param({}, id="no-path"),
    ],
)
def test_no_driver_is_no_gpu(environment: dict[str, str]) -> None:
    """A machine without `nvidia-smi` has no GPUs, and that is no error."""
    assert look(environment).gpus == ()


def test_a_broken_driver_is_no_gpu(tmp_path: Path) -> None:
    """A driver that fails, or says something else, is not believed."""
    assert look(driver(tmp_path, "NVIDIA-SMI has failed", exit_code=9)).gpus == ()
    assert look(driver(tmp_path, "No devices were found", "[N/A], [N/A], x, [N/A], [N/A]")).gpus == ()


def test_the_environment_counts_where_no_driver_answers() -> None:
    """Without a driver the visible devices are counted, and nobody claims to know what they are."""
    gpus = select_gpus(None, {"CUDA_VISIBLE_DEVICES": "0,1"})

    assert [gpu.capability for gpu in gpus] == [(0, 0), (0, 0)]


@pytest.mark.parametrize("number", ["9999999999", "1" + 30 * "0", 5000 * "9"])
def test_a_number_of_gpus_that_no_machine_has_is_a_wrong_question(number: str) -> None:
    """It is the variable that is to be corrected; no list of so many is made."""
    with pytest.raises(UsageError) as raised:
        select_gpus(None, {"NUM_GPUS_OVERRIDE": number})
    assert raised.value.where == "NUM_GPUS_OVERRIDE"
    assert (
        select_gpus([("GPU-1", Gpu(name="T4", memory_bytes=1, capability=(7, 5)))], {"CUDA_VISIBLE_DEVICES": number})
        == ()
    )


@pytest.mark.parametrize(("override", "count"), [("1", 1), ("0", 0), ("3", 3), ("many", 2), ("²", 2), ("-1", 2)])
def test_the_override_has_the_last_word(tmp_path: Path, override: str, count: int) -> None:
    """`NUM_GPUS_OVERRIDE` says how many GPUs there are; what is no number says nothing."""
    environment = {**driver(tmp_path, T4, A100), "NUM_GPUS_OVERRIDE": override}

    assert len(look(environment).gpus) == count


@pytest.mark.parametrize(
    "where",
    ["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HOME", "HF_TOKEN_PATH", "XDG_CACHE_HOME"],
)
def test_a_token_is_found_where_the_hub_client_looks(tmp_path: Path, where: str) -> None:
    """In the environment, or in the file that a login writes."""
    paths = {
        "HF_HOME": tmp_path / "token",
        "HF_TOKEN_PATH": tmp_path,
        "XDG_CACHE_HOME": tmp_path / "huggingface" / "token",
    }
    environment = {"HF_HOME": "/nowhere", where: str(tmp_path) if where in paths else "hf_x"}
    if where in paths:
        token = tmp_path / "file" if where == "HF_TOKEN_PATH" else paths[where]
        token.parent.mkdir(exist_ok=True)
        token.write_text("hf_x\n")
        environment[where] = str(token) if where == "HF_TOKEN_PATH" else str(tmp_path)
    if where == "XDG_CACHE_HOME":
        del environment["HF_HOME"]

    assert look(environment).hub_token
    assert not look({"HF_HOME": "/nowhere", "HF_TOKEN": " "}).hub_token


def test_variables_are_names_of_what_is_set() -> None:
    """A variable that is empty counts as not set, and no value is kept."""
    assert look({"A": "secret", "B": "", "HF_HOME": "/nowhere"}).variables == {"A", "HF_HOME"}


def test_cores_and_memory_are_those_of_the_container(tmp_path: Path) -> None:
    """The limits of a cgroup bind, in version 2 and in version 1; without any, the machine's own count."""
    second, first, none = tmp_path / "v2", tmp_path / "v1", tmp_path / "none"
    for folder in (second, first / "cpu", first / "memory", none):
        folder.mkdir(parents=True)
    (second / "cpu.max").write_text("100000 100000\n")
    (second / "memory.max").write_text("1048576\n")
    (first / "cpu" / "cpu.cfs_quota_us").write_text("50000\n")
    (first / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    (first / "memory" / "memory.limit_in_bytes").write_text("2097152\n")
    (none / "cpu.max").write_text("max 100000\n")
    (none / "memory.max").write_text("max\n")

    assert count_cpus(second) == count_cpus(first) == 1
    assert look({}, cgroup=second).memory_bytes == 1 << 20
    assert look({}, cgroup=first).memory_bytes == 2 << 20
    assert look({}, cgroup=none).memory_bytes == psutil.virtual_memory().total
    assert count_cpus(none) == len(os.sched_getaffinity(0))


def test_disk_is_that_of_the_folder_or_its_nearest_parent(tmp_path: Path) -> None:
    """A runs folder that is not there yet has the disk of where it will be."""
    free = look({}, folder=tmp_path / "not" / "yet").free_disk_bytes

    assert free == pytest.approx(shutil.disk_usage(tmp_path).free, rel=0.05)


def test_packages_are_looked_up_by_name() -> None:
    """An installed package has its version; another is not there."""
    packages = look({}).packages

    assert packages["psutil"] == psutil.__version__
    assert "no-such-package" not in packages
    assert "psutil" in set(packages)
