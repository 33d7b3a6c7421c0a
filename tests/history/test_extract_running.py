"""What is read from sources against what the running libraries say of themselves."""

import json
import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.environment.wheels import read_installed
from holdfast.catalog.api import BUILTIN, Api, newest, released
from holdfast.core.job.api import REQUIRED, CallSignature
from holdfast.core.job.document import Unknown
from holdfast.history.format.release_history import ReleaseHistory
from holdfast.history.release import read_release
from tests.helpers import running_signatures

UV = str(Path(sys.executable).with_name("uv"))
SCRIPT = Path(running_signatures.__file__)
STACKS = {
    "0.26.2": "transformers==4.57.6 peft==0.18.0 accelerate==1.12.0 datasets==4.4.1 huggingface_hub==0.36.0 pyarrow<22",
    "0.19.1": "transformers==4.53.3 peft==0.15.2 accelerate==1.8.1 datasets==3.6.0 huggingface_hub==0.33.4 pyarrow<20",
    "0.12.2": "transformers==4.46.3 peft==0.13.2 accelerate==1.1.1 datasets==3.1.0 huggingface_hub==0.26.5 pyarrow<20",
    "0.9.6": "transformers==4.42.4 peft==0.11.1 accelerate==0.32.1 datasets==2.20.0 huggingface_hub==0.23.5 pyarrow<20",
    "0.7.11": "transformers==4.37.2 peft==0.8.2 accelerate==0.27.2 datasets==2.17.1 huggingface_hub==0.21.4 pyarrow<20",
}
"""What went with older releases of trl when these came out."""
WITH_THEM = "torch==2.13.0 numpy<2 pandas<2.3 pyarrow-hotfix tyro rich requests setuptools"
"""What old releases need and do not pin."""
NO_CLASS = {"trl.FDivergenceType"}
"""Enums of plain values, which the history does not describe."""

BY_BUILTINS = ("Error", "Warning")
"""Ends of the names of classes that Python's own make: nothing is claimed of these."""

MOST_BY_POSITION = 5
"""Fields of a dataclass that somebody may give by position."""

Told = Mapping[str, Any]


def ask(python: str) -> Told:
    """Return what the libraries of an environment say of themselves."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TRL_EXPERIMENTAL_SILENCE": "1", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run([python, str(SCRIPT)], capture_output=True, text=True, check=True, env=environment)
    told: Told = json.loads(done.stdout.splitlines()[-1])
    return told


@pytest.fixture(scope="module")
def told() -> Told:
    """What the installed libraries say."""
    return ask(sys.executable)


def differences(path: str, running: Told, read: CallSignature) -> Iterator[str]:
    """Yield what a signature that was read has otherwise than the running one."""
    names, more = list(running["names"]), running["keywords"] or running["more"]
    missing = [name for name in names if name not in read.parameters]
    if missing and not (read.open and more):
        yield f"{path} lacks {missing}"
    if not missing and not more:
        yield from closed_differences(path, running, read)


def closed_differences(path: str, running: Told, read: CallSignature) -> Iterator[str]:
    """Yield the differences of something that takes nothing beside its parameters."""
    names, read_names = list(running["names"]), list(read.parameters)
    most = min(read.positional or 0, running["positional"])  # of none is anything claimed where nobody knows
    most = min(most, MOST_BY_POSITION) if running["dataclass"] else most
    if extra := set(read_names) - set(names):
        yield f"{path} has {sorted(extra)}, which it does not take"
    elif read_names[:most] != names[:most]:
        yield f"{path} has {read_names} in another order"
    if (read.open or read.swallows) and not path.endswith(BY_BUILTINS):
        yield f"{path} is said to take any keyword"
    required = {name for name, each in read.parameters.items() if each.default is REQUIRED}
    if required != set(running["required"]):
        yield f"{path} requires {sorted(required)}, not {running['required']}"
    defaults = {name: read.parameters[name].default for name in running["defaults"] if name in read.parameters}
    for name, value in defaults.items():
        if not isinstance(value, Unknown) and repr(value) != running["defaults"][name]:
            yield f"{path}({name}) defaults to {value!r}, not {running['defaults'][name]}"


def compare(api: Api, told: Told) -> tuple[int, list[str], list[str]]:
    """Return how many signatures were compared, what differs, and what is not described."""
    found, unknown = [], []
    for path, running in told["signatures"].items():
        read = api.signature(path)
        if read is None:
            unknown.append(path)
        else:
            found += list(differences(path, running, read))
    return len(told["signatures"]) - len(unknown), found, unknown


def installed(folder: Path, told: Told) -> Api:
    """Read the installed packages, and nothing else."""
    site = Path(sysconfig.get_path("purelib"))
    for package in told["versions"]:
        sources = read_installed(site, package)
        history = ReleaseHistory(package)
        history.add(read_release(package, sources.version, "", sources.metadata, sources.modules))
        (folder / f"{package}.history").write_text(history.text(), encoding="utf-8")
    return Api(told["versions"], folder=folder)


@pytest.mark.long
@pytest.mark.train
def test_installed_libraries_take_what_their_sources_say(tmp_path: Path, told: Told) -> None:
    """Every public class and function of trl and peft, and what scripts use of the others: names, order, defaults."""
    compared, found, unknown = compare(installed(tmp_path, told), told)

    assert found == []
    assert compared > 200
    assert {path for path in unknown if path.startswith("trl.")} <= NO_CLASS


@pytest.mark.long
@pytest.mark.train
def test_the_catalog_says_the_same_of_the_installed_versions(told: Told) -> None:
    """Merged with all other releases, nothing of it changed."""
    known = {package: version for package, version in told["versions"].items() if version in released(package)}
    compared, found, _ = compare(Api(known), {**told, "signatures": only(told["signatures"], known)})

    assert found == []
    assert compared > 0


def only(signatures: Told, packages: Mapping[str, str]) -> Told:
    """Keep the signatures of some packages."""
    return {path: each for path, each in signatures.items() if path.partition(".")[0] in packages}


@pytest.mark.long
@pytest.mark.train
def test_the_catalog_knows_the_names_that_can_be_imported(told: Told) -> None:
    """None of those that the installed libraries offer is said to be missing."""
    api = Api(told["versions"], folder=BUILTIN)
    paths = [path.rpartition(".") for path in told["signatures"] if path.count(".") == 1]

    assert [path for path in paths if api.has_name(path[0], path[2]) is False] == []


@pytest.mark.long
@pytest.mark.train
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("trl", STACKS)
def test_the_catalog_is_right_about_older_stacks(trl: str, tmp_path: Path) -> None:
    """In an environment that uv makes: needs a registry."""
    environment = tmp_path / "venv"
    python = str(environment / "bin" / "python")
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, str(environment)], check=True)
    wanted = [f"trl=={trl}", *STACKS[trl].split(), *WITH_THEM.split()]
    subprocess.run([UV, "pip", "install", "--quiet", "--python", python, *wanted], check=True)
    told = ask(python)
    compared, found, _ = compare(Api(told["versions"]), told)

    assert found == []
    assert compared > 100


def test_the_catalog_is_small() -> None:
    """All histories together stay under 3 MB, and hold every package."""
    files = list(BUILTIN.glob("*.history"))

    assert sum(file.stat().st_size for file in files) < 3_000_000
    assert set(newest()) == {
        "trl",
        "transformers",
        "peft",
        "accelerate",
        "datasets",
        "huggingface_hub",
        "trackio",
        "bitsandbytes",
    }
