"""Releases merged into lines of text, and read back."""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.catalog.api import Api
from holdfast.history.entries import Callee, ClassEntry, ModuleEntry, ParameterEntry, Release
from holdfast.history.format.ranges import Column, read_ranges, write_ranges
from holdfast.history.format.release_history import ReleaseHistory, parse_history
from holdfast.history.format.weave import Weave, common_order, read_weave

NAMES = ["alpha", "beta", "gamma", "delta"]
HOME = "trl.config.Config"


def release(version: str, cls: ClassEntry | None = None, **names: str) -> Release:
    """Make a release with one module and perhaps one class."""
    return Release(
        package="trl",
        version=version,
        date="2026-01-01",
        python=">=3.10",
        requires=["transformers"],
        extras={},
        modules={"trl": ModuleEntry(names=names)},
        classes={HOME: cls} if cls else {},
    )


def history(*releases: Release) -> ReleaseHistory:
    """Add releases one after the other."""
    grown = ReleaseHistory("trl", "2026-01-01")
    for each in releases:
        grown.add(each)
    return grown


def line(text: str, head: str) -> dict[str, object]:
    """Return what stands behind a head."""
    lines = (each.split("\t") for each in text.splitlines())
    found: dict[str, object] = {name: json.loads(data) for name, data in lines}[head]
    return found


parameters = st.builds(
    ParameterEntry,
    default=st.sampled_from([None, "1", "None", "'x'"]),
    annotation=st.sampled_from([None, "int", "str | None"]),
    choices=st.sampled_from([None, ["a", "b"]]),
    enforced=st.booleans(),
    warnings=st.lists(
        st.tuples(st.sampled_from("mn"), st.sampled_from(["", "x > 1"]), st.booleans()), max_size=2, unique=True
    ),
)
callees = {
    "parameters": st.dictionaries(st.sampled_from(NAMES), parameters, max_size=4),
    "positional": st.sampled_from([None, 0, 2]),
    "keywords": st.sampled_from([None, "open", "forward"]),
    "shims": st.sampled_from([{}, {"old": "alpha"}, {"old": None}]),
    "deprecated": st.sampled_from([None, "gone soon"]),
}
programs = st.lists(st.sampled_from(["def f():", "    a", "    b", "    c"]), min_size=1, max_size=4).map("\n".join)
classes = st.builds(
    ClassEntry,
    **callees,
    kind=st.sampled_from(["dataclass", "init", "plain"]),
    bases=st.sampled_from([[], ["transformers.TrainingArguments"]]),
    methods=st.dictionaries(st.sampled_from(["train", "save"]), st.builds(Callee, **callees), max_size=2),
    checks=st.dictionaries(st.sampled_from(["__init__", "__post_init__"]), programs, max_size=2),
)
versions = st.lists(st.sampled_from(["0.9.0", "0.10.0", "1.0.0", "1.0.1", "2.0"]), min_size=1, max_size=5, unique=True)


@given(st.data(), versions)
@settings(max_examples=150, deadline=None)
def test_a_text_gives_back_what_it_was_made_of(data: st.DataObject, order: list[str]) -> None:
    """Whatever the releases hold and in whatever order they come: reading and writing change no letter."""
    grown = history(*(release(version, data.draw(st.none() | classes)) for version in order))
    text = grown.text()

    assert parse_history(text).text() == text


@given(st.data(), versions)
@settings(max_examples=100, deadline=None)
def test_the_order_of_adding_does_not_matter(data: st.DataObject, order: list[str]) -> None:
    """A patch of an older line comes after the newest release, and takes its place among the versions."""
    each = {
        version: release(version, data.draw(st.none() | classes), **data.draw(st.sampled_from([{}, {"A": "trl.x.A"}])))
        for version in order
    }
    for one in each.values():
        for cls in one.classes.values():
            cls.checks = {}  # how lines are woven depends on what was there first

    assert history(*each.values()).text() == history(*(each[version] for version in sorted(order, key=numbers))).text()


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_what_is_asked_of_a_history_is_what_was_put_in(data: st.DataObject) -> None:
    """Through the reader: parameters in order, defaults, choices, shims and checks of each release."""
    entries = {version: data.draw(classes) for version in ("1.0.0", "1.1.0", "1.2.0")}
    text = history(*(release(version, entry, Config=HOME) for version, entry in entries.items())).text()
    for version, entry in entries.items():
        api = reader(text, version)
        found = api.signature("trl.Config")

        assert found is not None
        if entry.kind != "dataclass" and entry.keywords != "forward":
            assert list(found.parameters)[: entry.positional] == list(entry.parameters)[: entry.positional]
            assert found.positional == entry.positional
        assert set(found.parameters) == set(entry.parameters)
        assert found.shims == entry.shims
        for name, parameter in entry.parameters.items():
            assert found.parameters[name].choices == tuple(parameter.choices or ())
            assert found.parameters[name].annotation == (parameter.annotation or "")
        assert {each.method: each.text for each in api.checks("trl.Config")} == entry.checks


def reader(text: str, version: str) -> Api:
    """Return what a reader says of one version of a text."""
    with TemporaryDirectory() as folder:  # one of its own for each, since the reader keeps what it read
        Path(folder, "trl.history").write_text(text)
        return Api({"trl": version}, folder=Path(folder))


def numbers(version: str) -> list[int]:
    """Return a version's numbers."""
    return [int(part) for part in version.split(".")]


def test_names_stand_after_their_home_and_in_their_ranges() -> None:
    """What was moved stands in two ranges, with a home each; another name there stands after a colon."""
    text = history(
        release("1.0", A="trl.x.A", B="trl.x.B", plain="", Old="trl.x.New"),
        release("1.1", A="trl.y.A", B="trl.x.B", plain=""),
    ).text()

    assert line(text, "m trl")["n"] == {"0": "@trl.x A Old:New", "0-": "plain @trl.x B", "1-": "@trl.y A"}


def test_a_value_that_stays_is_written_once() -> None:
    """Also through a release in which the class was not there."""
    cls = ClassEntry(kind="init", parameters={"a": ParameterEntry("1")}, positional=1)
    text = history(release("1.0", cls), release("1.1"), release("1.2", cls)).text()

    assert line(text, f"c {HOME}") == {"r": "0,2-", "k": "init", "n": 1, "p": {"a": {"d": "1"}}}


def test_an_inherited_parameter_is_written_once() -> None:
    """With the class that it is from; unless that class has it otherwise."""
    base = ClassEntry(kind="init", parameters={"a": ParameterEntry("1", "int"), "b": ParameterEntry("2")}, positional=2)
    own = ClassEntry(
        kind="init",
        parameters={
            "a": ParameterEntry("1", "int", home="trl.Base"),
            "b": ParameterEntry("3", home="trl.Base"),
            "c": ParameterEntry(None),
        },
        positional=3,
    )
    one = release("1.0", own)
    one.classes["trl.Base"] = base
    text = history(one).text()
    entry = line(text, f"c {HOME}")

    assert entry["i"] == {"trl.Base": {"0-": "a"}}
    assert set(entry["p"]) == {"b", "c"}  # type: ignore[call-overload]  # JSON
    assert parse_history(text).text() == text


def test_a_program_is_written_by_its_lines() -> None:
    """A line that all releases have stands once."""
    first, second = (
        ClassEntry(checks={"__init__": f"def f():\n    a\n{more}    z"}) for more in ("    b\n", "    c\n")
    )
    text = history(release("1.0", first), release("1.1", second)).text()

    assert line(text, f"c {HOME}")["x"] == [
        ["0-", "__init__", "def f():\n    a"],
        ["0", "__init__", "    b"],
        ["1-", "__init__", "    c"],
        ["0-", "__init__", "    z"],
    ]


@given(st.lists(programs, min_size=1, max_size=6))
def test_a_weave_gives_back_every_text(texts: list[str]) -> None:
    """In the order of its lines, and after being written."""
    weave = Weave()
    for index, text in enumerate(texts):
        weave.put(index, text)
    again = read_weave(weave.write(len(texts) - 1), len(texts) - 1)

    for index, text in enumerate(texts):
        assert "\n".join(line for column, line in again.lines if column.at(index)) == text


@given(st.lists(st.permutations(NAMES).flatmap(lambda names: st.integers(0, 4).map(lambda n: names[:n]))))
def test_a_common_order_holds_every_name_once_and_the_first_order(orders: list[list[str]]) -> None:
    """The newest release's order always stands."""
    common = common_order(orders)

    assert sorted(common) == sorted({name for order in orders for name in order})
    places = [common.index(name) for name in orders[0]] if orders else []
    assert places == sorted(places)


@given(st.sets(st.integers(0, 12)))
def test_ranges_are_read_as_they_were_written(indices: set[int]) -> None:
    """Whatever the gaps."""
    column = Column()
    for index in sorted(indices):
        column.put(index, value=True)

    assert read_ranges(write_ranges(column.spans(), 12), 12) == column.spans()
    assert {index for first, last in column.spans() for index in range(first, last + 1)} == indices


def test_a_text_that_is_no_history_is_refused() -> None:
    """By a ValueError."""
    with pytest.raises((ValueError, KeyError)):
        parse_history("not a history\n")
