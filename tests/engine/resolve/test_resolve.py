"""Which versions a project gets, by the history of releases alone."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import packaging.requirements
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from holdfast.adapters.declared.uv import ask_uv
from holdfast.catalog.api import packages, released
from holdfast.core.environment.requirement import (
    Origin,
    ProjectRequirements,
    Requirement,
    RequirementProblem,
    parse_requirement,
)
from holdfast.core.environment.versions import admits, admits_newer, admits_older, can_meet, counts
from holdfast.core.text.places import Place
from holdfast.engine.resolve import USUAL_PYTHON, Resolution, choose_python, resolve, resolved_by
from holdfast.engine.resolve.releases import environment_of

HISTORIES: Mapping[str, Mapping[str, Any]] = {
    "trl": {
        "versions": ["0.7.0", "0.12.2", "0.19.0", "1.0.0", "1.16.0"],
        "dates": ["2023-08-30", "2024-12-06", "2025-06-20", "2026-03-30", "2026-10-15"],
        "python": [[0, ">=3.8"], [4, ">=3.11"]],
        "requires": [
            [0, ["transformers>=4.31", "datasets", 'numpy<2; platform_system == "Windows"']],
            [1, ["transformers<4.47", "datasets>=2.21"]],
            [2, ["transformers>=4.51", "datasets>=3"]],
            [4, ["transformers>=4.56.2", "datasets>=4"]],
        ],
        "extras": [
            [0, {"peft": ["peft>=0.8"]}],
            [4, {"peft": ["peft>=0.8"], "vllm": ["vllm<=0.31"], "all": ["trl[peft]"]}],
        ],
    },
    "transformers": {
        "versions": ["4.36.0", "4.40.0", "4.46.3", "4.56.2", "5.0.0", "5.23.0"],
        "dates": ["2023-12-01", "2024-04-01", "2024-11-01", "2025-09-01", "2026-01-01", "2026-10-20"],
        "requires": [
            [0, ["huggingface-hub>=0.19,<1", "tokenizers<0.19,>=0.14"]],
            [1, ["huggingface-hub>=0.19,<1", "tokenizers<0.22,>=0.19"]],
            [4, ["huggingface-hub>=1,<3", "tokenizers>=0.22"]],
        ],
    },
    "datasets": {"versions": ["2.14.0", "3.0.0", "4.0.0", "5.2.0"], "requires": [[0, ["huggingface_hub>=0.16"]]]},
    "huggingface_hub": {"versions": ["0.17.0", "0.30.0", "1.0.0", "2.4.0"]},
    "peft": {"versions": ["0.7.0", "0.21.2"], "requires": [[0, ["transformers", "huggingface_hub>=0.17"]]]},
    "bitsandbytes": {"versions": ["0.39.0", "0.50.2"]},
}
NEWEST = {"trl": "1.16.0", "transformers": "5.23.0", "datasets": "5.2.0", "huggingface_hub": "2.4.0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("histories")
    for package, about in HISTORIES.items():
        line = json.dumps({"package": package, "made": "2026-11-21", **about})
        (path / f"{package}.history").write_text(f"@\t{line}\n", encoding="utf-8")
    return path


def requirement(text: str, *, constraint: bool = False) -> Requirement:
    found = parse_requirement(text, Place("requirements.txt"))
    assert isinstance(found, Requirement)
    return replace(found, constraint=constraint)


def declared(
    *texts: str, kind: Origin = "requirements", python: str = "", before: str = "", unsure: str = ""
) -> ProjectRequirements:
    requirements = tuple(requirement(text.removeprefix("-c "), constraint=text.startswith("-c ")) for text in texts)
    return ProjectRequirements(kind=kind, requirements=requirements, python=python, before=before, unsure=unsure)


def ask(folder: Path, *texts: str, python: str = "") -> Resolution:
    return resolve(declared(*texts, python=python), folder=folder)


def test_a_bare_name_takes_the_newest_of_all_that_it_needs(folder: Path) -> None:
    """And nothing that it does not need."""
    found = ask(folder, "trl")

    assert found.newest == NEWEST
    assert (found.lowest, found.unknown, found.conflict, found.date) == (None, {}, None, "2026-11-21")
    assert found.declared["trl"].text == "trl"


def test_what_is_declared_of_one_decides_the_others(folder: Path) -> None:
    """The newest trl that can do with an old transformers; the newest transformers that an old trl admits."""
    assert ask(folder, "trl", "transformers==4.46.3").newest["trl"] == "0.12.2"
    assert ask(folder, "trl==0.12.2").newest["transformers"] == "4.46.3"
    assert ask(folder, "trl", "huggingface-hub<1").newest["transformers"] == "4.56.2"


def test_a_package_without_a_history_decides_too(folder: Path) -> None:
    """`tokenizers` says which transformers fits."""
    assert ask(folder, "transformers", "tokenizers==0.15.2").newest == {
        "transformers": "4.36.0",
        "huggingface_hub": "0.30.0",
    }
    assert ask(folder, "transformers", "tokenizers<0.22", "numpy<2").newest["transformers"] == "4.56.2"


def test_python_decides_which_release_runs(folder: Path) -> None:
    """Unless the project does not admit the usual one."""
    assert ask(folder, "trl", python=">=3.9,<3.11").newest["trl"] == "1.0.0"
    assert ask(folder, "trl", python=">=3.9").python == "3.12"


def test_an_extra_brings_what_it_stands_for(folder: Path) -> None:
    """An extra may stand for others."""
    assert ask(folder, "trl[peft]").newest["peft"] == "0.21.2"
    assert ask(folder, "trl[all]").newest["peft"] == "0.21.2"
    assert "peft" not in ask(folder, "trl[nonsense]").newest


def test_a_marker_that_does_not_hold_does_not_count(folder: Path) -> None:
    """Jobs run on Linux."""
    found = ask(folder, 'trl==0.12.2; sys_platform == "win32"', 'trl==1.0.0; python_version >= "3.10"')

    assert found.newest["trl"] == "1.0.0"


def test_the_lowest_takes_each_declared_floor(folder: Path) -> None:
    """What is not declared, or has no floor, stays the newest that fits."""
    found = ask(folder, "trl>=0.19", "peft")

    assert found.newest["trl"] == "1.16.0"
    assert found.lowest is not None
    assert found.lowest["trl"] == "0.19.0"
    assert found.lowest["peft"] == "0.21.2"
    assert found.lowest["transformers"] == "5.23.0"


def test_a_floor_at_the_newest_has_no_other_lowest(folder: Path) -> None:
    """Nothing is checked twice for nothing."""
    assert ask(folder, "trl>=1.16").lowest is None
    assert ask(folder, "trl==1.0.0").lowest is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("trl==1.17.0", "newer than 1.16.0"),
        ("trl>=2", "newer than 1.16.0"),
        ("trl==0.4.7", "older than 0.7.0"),
        ("trl<0.5", "older than 0.7.0"),
        ("trl==0.13.0", "none of the releases"),
        ("trl @ git+https://github.com/huggingface/trl.git", "taken from git+https"),
        ("trl @ file:///wheels/trl.whl", "taken from file"),
    ],
)
def test_a_version_outside_the_history_is_unknown(folder: Path, text: str, reason: str) -> None:
    """It is never taken for the newest."""
    found = ask(folder, text)

    assert "trl" not in found.newest
    assert reason in found.unknown["trl"]
    assert found.conflict is None


def test_doubt_spreads_to_what_depends_on_the_unknown(folder: Path) -> None:
    """But not to what is pinned, or to packages that have nothing to do with it."""
    found = ask(folder, "datasets==2.0.0", "transformers==4.40.0", "bitsandbytes")

    assert found.newest == {"transformers": "4.40.0", "bitsandbytes": "0.50.2"}
    assert set(found.unknown) == {"datasets", "huggingface_hub"}


def test_a_release_newer_than_the_history_needs_no_less_than_the_newest(folder: Path) -> None:
    """So what is bare beside it stays the newest."""
    found = ask(folder, "trl==1.17.0", "transformers")

    assert found.newest["transformers"] == "5.23.0"
    assert set(found.unknown) == {"trl"}


def test_releases_older_than_the_history_are_thought_of(folder: Path) -> None:
    """A transformers that fits may be too old to be known: that is no conflict."""
    found = ask(folder, "transformers", "tokenizers==0.12")

    assert found.conflict is None
    assert "older than 4.36.0" in found.unknown["transformers"]


def test_a_package_that_caps_others_leaves_them_unknown(folder: Path) -> None:
    """Which transformers vllm admits is not in the history; trl and peft it leaves alone."""
    found = ask(folder, "trl", "vllm", "peft")

    assert found.newest["trl"] == "1.16.0"
    assert "vllm" in found.unknown["transformers"]


def test_what_a_release_needs_may_cap_others(folder: Path) -> None:
    """The vllm of trl's extra decides which transformers fits; and if that is held back, perhaps which trl."""
    free, held = ask(folder, "trl[vllm]"), ask(folder, "trl[vllm]", "huggingface-hub<1")

    assert "vllm" in free.unknown["transformers"]
    assert free.newest["trl"] == "1.16.0"
    assert "trl" in held.unknown


def test_requirements_that_exclude_one_another_are_named(folder: Path) -> None:
    """With the one that is to blame, and not those that are not."""
    found = ask(folder, "peft", "trl==0.12.2", "transformers==5.0.0")

    assert found.conflict is not None
    assert "`trl==0.12.2` and `transformers==5.0.0`" in found.conflict
    assert "trl 0.12.2 needs transformers<4.47" in found.conflict
    assert "peft" not in found.conflict
    assert found.newest == {"trl": "0.12.2", "transformers": "5.0.0"}


def test_the_rest_of_a_long_list_is_not_to_blame(folder: Path) -> None:
    """Neither what no library needs, nor what one needs and may have."""
    others = [*(f"package-{number}==1.{number}" for number in range(40)), "numpy>=1.20", "torch"]

    found = ask(folder, *others[:20], "trl==0.12.2", *others[20:], "transformers==5.0.0")

    assert found.conflict is not None
    assert found.conflict.startswith("`trl==0.12.2` and `transformers==5.0.0` cannot be installed together")


def test_a_package_that_no_library_needs_may_exclude_itself(folder: Path) -> None:
    """It alone is to blame then."""
    found = ask(folder, "trl", "something>2,<1", "another==1")

    assert found.conflict is not None
    assert "something" in found.conflict
    assert "trl" not in found.conflict


def test_a_requirement_may_exclude_itself(folder: Path) -> None:
    """No version is both."""
    found = ask(folder, "trl>=1,<0.19")

    assert found.conflict is not None
    assert found.newest == {}


def test_a_python_that_a_pin_does_not_run_with_is_a_conflict(folder: Path) -> None:
    """Where the project says which Python."""
    found = ask(folder, "trl==1.16.0", python="==3.10.*")

    assert found.conflict is not None
    assert "Python 3.10" in found.conflict


def test_what_a_newer_release_might_allow_is_no_conflict(folder: Path) -> None:
    """Nobody knows what it needs."""
    found = ask(folder, "transformers>=4.40", "huggingface_hub>=3")

    assert found.conflict is None
    assert found.newest == {}
    assert set(found.unknown) == {"transformers", "huggingface_hub"}


def test_a_constraint_limits_what_is_needed_and_brings_nothing(folder: Path) -> None:
    """As `pip install -c` does."""
    found = ask(folder, "trl", "-c transformers==4.56.2", "-c peft==0.7.0")

    assert found.newest["transformers"] == "4.56.2"
    assert "peft" not in found.newest


def test_releases_after_a_day_do_not_count(folder: Path) -> None:
    """As uv's `exclude-newer`."""
    assert resolve(declared("trl", before="2025-01-01"), folder=folder).newest["trl"] == "0.12.2"


def test_what_is_installed_is_taken_as_it_is(folder: Path) -> None:
    """Nothing is added, nothing is refused."""
    found = resolve(declared("trl==0.12.2", "transformers==5.0", "peft==0.9", kind="environment"), folder=folder)

    assert found.newest == {"trl": "0.12.2", "transformers": "5.0.0"}
    assert set(found.unknown) == {"peft"}
    assert found.conflict is None


def test_where_nothing_is_declared_all_are_the_newest_that_fit_together(folder: Path) -> None:
    """So a script that declares nothing can still be checked."""
    found = resolve(ProjectRequirements(), folder=folder)

    assert found.newest == {**NEWEST, "peft": "0.21.2", "bitsandbytes": "0.50.2"}
    assert found.declared == {}


def test_where_it_is_in_doubt_what_counts_nothing_is_known(folder: Path) -> None:
    """And the doubt is told."""
    found = resolve(declared("trl", unsure="two files disagree"), folder=folder)

    assert found.newest == {}
    assert found.unknown["trl"] == "two files disagree"


def test_a_requirement_that_hides_its_version_is_unknown(folder: Path) -> None:
    """And says why."""
    hidden = replace(requirement("trl"), unknown="`trl==$V` holds a variable")
    found = resolve(
        ProjectRequirements(kind="dockerfile", requirements=(hidden, requirement("bitsandbytes"))), folder=folder
    )

    assert found.newest == {"bitsandbytes": "0.50.2"}
    assert found.unknown["trl"] == "`trl==$V` holds a variable"


def test_several_requirements_of_one_package_count_together(folder: Path) -> None:
    """However they spell its name."""
    assert ask(folder, "huggingface-hub>=0.20", "huggingface_hub<1").newest == {"huggingface_hub": "0.30.0"}


def test_no_answer_is_given_to_what_cannot_be_read() -> None:
    """It is a problem with a place."""
    found = parse_requirement("trl=>1", Place("requirements.txt", 3))

    assert found == RequirementProblem("'trl=>1' is not a requirement", Place("requirements.txt", 3))


@pytest.mark.parametrize(
    ("specifier", "python"),
    [("", "3.12"), (">=3.13", "3.14"), ("~=3.9.0", "3.9"), ("==3.11.4", "3.11"), ("<3", "3.12")],
)
def test_the_usual_python_runs_a_project_that_admits_it(specifier: str, python: str) -> None:
    """Else the newest that it admits."""
    assert choose_python(specifier) == python


def test_another_s_answer_is_taken_as_far_as_the_history_goes(folder: Path) -> None:
    """As `--resolve uv` gives it."""
    answer = {"trl": "1.16", "transformers": "5.24.0", "numpy": "2.0"}
    found = resolved_by(declared("trl"), answer, lowest={"trl": "1.0.0"}, folder=folder, python=USUAL_PYTHON)

    assert found.newest == {"trl": "1.16.0"}
    assert found.lowest == {"trl": "1.0.0"}
    assert set(found.unknown) == {"transformers"}
    assert set(found.declared) == {"trl"}


@pytest.mark.long
@pytest.mark.parametrize(
    "texts",
    [
        ("trl>=0.12.0", "peft>=0.7.0", "transformers>=4.36.0", "accelerate>=0.24.0", "trackio"),
        ("trl==0.19.1",),
        ("trl", "transformers==4.46.3", "datasets"),
        ("trl[peft,quantization]<1", "huggingface_hub<1"),
        ("transformers[torch]~=4.50", "accelerate==1.2.1"),
        ("peft<=0.15", "trl>=0.9"),
    ],
)
def test_uv_takes_the_same(texts: tuple[str, ...]) -> None:
    """With what is on the registry today; it may have what was released after the history was made."""
    asked = declared(*texts, "-c torch==2.13.0")
    ours, theirs = resolve(asked, python="3.12"), ask_uv(asked, "3.12")
    if any(theirs.get(name) not in (None, *released(name)) for name in packages()):
        pytest.skip("the registry has newer releases than the history")

    assert ours.conflict is None
    assert ours.newest == {name: version for name, version in theirs.items() if name in ours.newest}
    assert set(ours.newest) >= {requirement.package for requirement in asked.requirements if not requirement.constraint}


VERSIONS = st.tuples(st.integers(0, 3), st.integers(0, 3)).map(lambda each: f"{each[0]}.{each[1]}")
CLAUSES = st.tuples(st.sampled_from([">=", "<=", "==", "!=", ">", "<", "~="]), VERSIONS).map("".join)
SPECIFIERS = st.lists(CLAUSES, max_size=3).map(",".join)


LONGER = st.lists(st.integers(0, 3), min_size=1, max_size=4).map(lambda each: ".".join(map(str, each)))
ODD = st.tuples(LONGER, st.sampled_from(["", "", "", ".*", "rc1", ".dev0", ".post1", "+cpu"])).map("".join)
OPERATORS = st.sampled_from([">=", "<=", "==", "!=", ">", "<", "~=", "==="])
ANY_SPECIFIERS = st.lists(st.tuples(OPERATORS, ODD).map("".join), max_size=3).map(", ".join)


@given(ANY_SPECIFIERS, ODD)
def test_versions_are_compared_as_packaging_does(specifier: str, version: str) -> None:
    """The short way gives what the long one gives."""
    try:
        expected = SpecifierSet(specifier).contains(Version(version), prereleases=True)
    except (InvalidSpecifier, InvalidVersion):
        expected = True

    assert admits(specifier, version) is expected


@given(st.sampled_from(["trl", "hugging.face_hub ", "a-b[x, Y_z]", "c []"]), ANY_SPECIFIERS)
def test_requirements_are_read_as_packaging_does(name: str, specifier: str) -> None:
    """Likewise."""
    found = parse_requirement(name + specifier, Place("r"))
    try:
        expected = packaging.requirements.Requirement(name + specifier)
    except packaging.requirements.InvalidRequirement:
        assert isinstance(found, RequirementProblem)
        return

    assert isinstance(found, Requirement)
    assert found.name == canonicalize_name(expected.name)
    assert found.extras == set(map(canonicalize_name, expected.extras))
    assert SpecifierSet(found.specifier) == expected.specifier


@pytest.mark.parametrize(
    "marker",
    [
        'python_version < "3.11"',
        "python_version >= '3.9'",
        'python_version == "3.12"',
        'sys_platform == "linux"',
        'platform_system != "Windows" and python_version > "3.8"',
        'extra == "peft"',
        'platform_machine == "x86_64" or platform_machine == "arm64"',
    ],
)
def test_markers_hold_as_packaging_says(marker: str) -> None:
    """On Linux, for the Python in use."""
    environment = environment_of("3.12")

    assert counts(marker, environment) is Marker(marker).evaluate(dict(environment))


@given(SPECIFIERS, SPECIFIERS, VERSIONS)
def test_only_what_cannot_be_met_is_denied(first: str, second: str, version: str) -> None:
    """A version that fits both is never overlooked."""
    if version in SpecifierSet(first) and version in SpecifierSet(second):
        assert can_meet([first, second])


@given(SPECIFIERS, VERSIONS, VERSIONS)
def test_versions_on_either_side_are_never_overlooked(specifier: str, version: str, than: str) -> None:
    """Whether what is outside the history may fit."""
    numbers = [tuple(map(int, each.split("."))) for each in (version, than)]
    if version in SpecifierSet(specifier):
        assert admits_older(specifier, than) or numbers[0] >= numbers[1]
        assert admits_newer(specifier, than) or numbers[0] <= numbers[1]
