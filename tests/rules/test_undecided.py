"""A rule that could not decide counts as skipped: whatever is hidden of a bad example, it never passes in silence.

Every rule's bad examples are walked: each value that they write is hidden in turn, and each fact withheld.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import pytest

from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import Case, Finding, Rule, Skip
from holdfast.core.check.reference import Lookup
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Key, Unknown, leaves, render_key
from holdfast.core.job.hidden import hidden_in, track_reads, untracked
from holdfast.core.text.places import Place
from holdfast.engine.check.rule_runner import MissingFact, run_rules
from holdfast.rules import all_rules
from tests.rules.test_rules import facts_of, read

Facts = Mapping[str, object]
NOWHERE = Place("train.py")

SHOWS_NOTHING: Final = {
    "HUB103": "looks for secrets that stand in a file: what the file does not show is none",
    "HUB106": "looks for texts in a mapping of secrets that stand for a variable: a value that is not shown is no such text",
}
"""Rules for which a hidden value is a good one, and why."""


def with_value(value: Any, key: Key, new: Any) -> Any:
    """A nested value with another at a key path."""
    if not key:
        return new
    part, *rest = key
    if isinstance(value, Mapping):
        return {**value, part: with_value(value[part], tuple(rest), new)}
    return type(value)(with_value(each, tuple(rest), new) if at == part else each for at, each in enumerate(value))


def paths(value: Any, key: Key = ()) -> Iterator[Key]:
    """The key paths of all that a value holds, and of itself."""
    yield key
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list | tuple) else ()
    for part, each in parts:
        yield from paths(each, (*key, part))


def hidden(document: Document) -> Iterator[tuple[str, Document]]:
    """The document with each of its values hidden, named by where it stands."""
    for key in {path[:depth] for path, _ in leaves(document.values) for depth in range(1, len(path) + 1)}:
        calls = tuple(with_argument(call, key) for call in document.calls)
        yield render_key(key), replace(document, values=with_value(document.values, key, Unknown()), calls=calls)
    for at, call in enumerate(document.calls):
        for key in paths(call.positional):
            if key:
                given = replace(call, positional=with_value(call.positional, key, Unknown()))
                calls = (*document.calls[:at], given, *document.calls[at + 1 :])
                yield f"{call.key}, position {render_key(key)}", replace(document, calls=calls)


def with_argument(call: Call, key: Key) -> Call:
    """A call with what stands under a key of the document hidden, if that is of its arguments."""
    owner = tuple(call.key.split("."))
    inside = key[len(owner) :]
    if tuple(map(str, key[: len(owner)])) != owner or not inside or inside[0] not in call.arguments:
        return call
    return replace(call, arguments=with_value(call.arguments, inside, Unknown()))


def withheld(rule: Rule, facts: Facts) -> Iterator[tuple[str, Facts]]:
    """The facts without each that the rule names, without what was seen of each thing, and without each count."""
    for name in sorted(rule.needs - {"job"}):
        fact = facts.get(name)
        yield name, {**facts, name: MissingFact("nobody could say")}
        if isinstance(fact, Dataset) and fact.rows is not None:
            yield f"{name}.rows", {**facts, name: replace(fact, rows=None)}
        if isinstance(fact, Dataset) and rule.code not in ("DAT102", "DAT131"):  # the first reports it
            yield f"{name}.problem", {**facts, name: Dataset(problem="no such file: rows.jsonl")}
        seen = [each for each in fact if isinstance(each, Lookup)] if isinstance(fact, list | tuple) else []
        for at, each in enumerate(seen):
            yield (
                f"{name}.{at}",
                {**facts, name: [*seen[:at], *seen[at + 1 :], Lookup(each.reference, None, "offline")]},
            )


def decides(rule: Rule, documents: Sequence[Document], facts: Facts) -> bool:
    """Whether a rule objects, or is skipped."""
    return any(isinstance(each, Finding | Skip) for one in documents for each in run_rules([rule], one, facts))


def silences(rule: Rule, case: Case) -> Iterator[str]:
    """What can be hidden of a bad example so that the rule says nothing at all."""
    documents, facts = read(case.kind, case.source), facts_of(case)
    for at, document in enumerate(documents):
        for name, variant in hidden(document):
            if not decides(rule, [*documents[:at], variant, *documents[at + 1 :]], facts):
                yield name
    yield from (name for name, fewer in withheld(rule, facts) if not decides(rule, documents, fewer))


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_no_rule_passes_what_it_could_not_see(rule: Rule) -> None:
    """Where a rule objects, hiding a value leaves the finding, or makes it a skip."""
    silent = [(at, name) for at, case in enumerate(rule.bad) for name in silences(rule, case)]

    assert bool(silent) == (rule.code in SHOWS_NOTHING), silent


CALL: Final = Call(
    path="trl.SFTConfig",
    label="SFTConfig",
    key="train",
    arguments={"packing": Unknown("handed on"), "seed": 1, "report_to": ["wandb", Unknown("read")]},
    positional=("out", Unknown("typed")),
    place=NOWHERE,
    name_place=NOWHERE,
)


@pytest.mark.parametrize(
    ("read_by", "noted"),
    [
        (lambda call: call.arguments["packing"], {"train.packing"}),
        (lambda call: call.arguments.get("packing"), {"train.packing"}),
        (lambda call: call.arguments.get("seed"), set[str]()),
        (lambda call: call.arguments.get("max_length"), set[str]()),
        (lambda call: "packing" in call.arguments, set[str]()),
        (lambda call: [*call.arguments], set[str]()),
        (lambda call: call.arguments["report_to"], {"train.report_to"}),
        (lambda call: next(iter(call.arguments.values())), {"train.packing"}),
        (lambda call: dict(call.arguments.items()), {"train.packing", "train.report_to"}),
        (lambda call: dict(call.arguments), {"train.packing", "train.report_to"}),
        (lambda call: {**call.arguments}, {"train.packing", "train.report_to"}),
        (lambda call: {} | call.arguments, {"train.packing", "train.report_to"}),
        (lambda call: call.positional[0], set[str]()),
        (lambda call: call.positional[-1], {"train.1"}),
        (lambda call: call.positional[1:], {"train.1"}),
        (lambda call: dict(zip(("output_dir",), call.positional, strict=False)), set[str]()),
        (lambda call: [*call.positional], {"train.1"}),
        (lambda call: untracked(call).arguments["packing"], set[str]()),
    ],
)
def test_what_is_read_is_noted(read_by: Any, noted: set[str]) -> None:
    """However it is read; names alone are no secret."""
    reads: dict[str, Unknown] = {}
    read_by(track_reads(CALL, reads.setdefault))

    assert reads.keys() == noted


def test_a_call_that_hides_nothing_stays_itself() -> None:
    """Watching costs nothing where there is nothing to watch."""
    plain = replace(CALL, arguments={"seed": 1}, positional=())

    assert track_reads(plain, print) is plain
    assert untracked(plain) is plain
    assert hidden_in({"a": [1, (2, Unknown("deep"))]}) == Unknown("deep")
