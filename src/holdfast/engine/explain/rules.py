"""A rule's page in Markdown, made from the rule alone: whole, for the docs, and short enough for one screen."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import unified_diff
from textwrap import fill
from typing import Any, Final

from holdfast.core.check.finding import Case, Rule
from holdfast.core.job.document import DocumentKind

LANGUAGES: Mapping[DocumentKind, str] = {"job": "yaml", "script": "python", "command": "sh"}
PLURAL: Mapping[DocumentKind, str] = {
    "script": "scripts",
    "command": "command lines",
    "job": "job files",
    "data": "datasets",
}
NEEDS: Mapping[str, str] = {
    **dict.fromkeys(("account", "datasets", "links", "models", "repo_files", "spaces", "targets"), "the Hub"),
    **dict.fromkeys(("machine", "processes"), "this machine"),
    **dict.fromkeys(("hub_token", "variables"), "the environment"),
    "dataset": "the dataset's columns",
    "model": "the model's files",
    "tensors": "the model's weights",
    "scan": "the rows",
    "tokens": "the tokenizer",
    "rewarded": "the reward functions",
    "resolution": "the requirements",
}
"""What a rule looks at beside the file, by the name of the fact."""
WIDTH: Final = 100  # characters of a line below an example
SHOWN: Final = 2  # messages below an example of the short page
LONG: Final = 4  # lines of an example; of a longer one, the short page shows what changes


@dataclass(frozen=True, slots=True)
class RuleExample:
    """A source that a rule objects to, and what it says of it.

    Attributes:
        case: The source.
        messages: What the rule says, with lines; where things outside stand otherwise, after an `or`.
    """

    case: Case
    messages: tuple[str, ...] = ()


def no_messages(_: Case) -> tuple[str, ...]:
    """Return nothing: what a rule says of an example is not known without reading it."""
    return ()


def render_page(rule: Rule, objections: Callable[[Case], Iterable[str]] = no_messages) -> str:
    """Return a rule's whole page: its docstring, all of its examples, and what it rests on.

    Args:
        rule: The rule.
        objections: Gives what the rule says of one of its bad examples.
    """
    examples = find_examples(rule, objections)
    instead = find_replacement(rule, examples[0].case)
    fine = _other_sources(rule, [*(each.case for each in examples), *([instead] if instead else [])])
    blocks = [
        "## Example",
        *(_render_case(each.case, each.messages) for each in examples),
        *(["## Use instead", _render_case(instead)] if instead else []),
        *(["## Also fine"] if fine else []),
        *map(_render_case, fine),
    ]
    return _render(rule, blocks)


def render_short_page(rule: Rule, objections: Callable[[Case], Iterable[str]]) -> str:
    """Return a rule's page with one short example, and what to write instead: about one screen."""
    examples = find_examples(rule, objections)
    pairs = [(each, instead) for each in examples if (instead := find_replacement(rule, each.case))]
    shortest = min(examples, key=lambda each: len(_lines(each.case)))
    example, instead = min(pairs, key=lambda pair: _length(pair[0].case, pair[1]), default=(shortest, None))
    blocks = [
        "## Example\n" + _render_case(example.case, example.messages[:SHOWN]),
        *(["## Use instead\n" + _render_change(example.case, instead)] if instead else []),
    ]
    return _render(rule, blocks)


def find_examples(rule: Rule, objections: Callable[[Case], Iterable[str]]) -> list[RuleExample]:
    """Return a rule's bad examples, each source once, with what the rule says of it, as things stand outside."""
    found: dict[tuple[str, ...], RuleExample] = {}
    for case in rule.bad:
        messages = tuple(objections(case))
        before = found.setdefault(_identity(case), RuleExample(case, messages))
        others = (f"or {each}" for each in messages if each not in before.messages)
        found[_identity(case)] = replace(before, messages=(*before.messages, *others))
    return list(found.values())


def find_replacement(rule: Rule, bad: Case) -> Case | None:
    """Return the replacement for a bad example: its fix, else the rule's first good example, if it is comparable.

    None if the two differ only by what lies outside, or where that is an example of another kind.
    """
    if bad.fixed is not None:
        source: dict[str, Any] = {bad.kind: bad.fixed}
        return replace(bad, fixed=None, **source)
    good = rule.good[0]
    is_comparable = (good.kind, good.versions) == (bad.kind, bad.versions)
    return good if is_comparable and good.source not in {each.source for each in rule.bad} else None


def _other_sources(rule: Rule, shown: Iterable[Case]) -> list[Case]:
    """Return the good examples that were not shown yet, each source once."""
    known = {_identity(each) for each in shown}
    others = {_identity(each): each for each in rule.good if _identity(each) not in known}
    return list(others.values())


def _identity(case: Case) -> tuple[str, ...]:
    return (case.source.strip(), *(f"{name} {version}" for name, version in sorted(case.versions.items())))


def _render(rule: Rule, examples: Sequence[str]) -> str:
    _, _, sections = (rule.explain or "").partition("\n")
    before, _, safety = sections.strip().partition("## Fix safety\n")
    parts = [
        f"# {rule.code} {rule.name}",
        rule.summary,
        " · ".join(_properties(rule)),
        before.strip(),
        *examples,
        f"## Fix safety\n{safety.strip()}",
        f"## References\n{rule.source}",
    ]
    return "\n\n".join(parts) + "\n"


def _properties(rule: Rule) -> Iterator[str]:
    yield f"Severity: {rule.severity}"
    yield f"Checks: {', '.join(text for kind, text in PLURAL.items() if kind in rule.kinds)}"
    yield f"Versions: {'those that the file gets' if 'api' in rule.needs else 'all'}"
    if needs := sorted({NEEDS[name] for name in rule.needs if name in NEEDS}):
        yield f"Needs: {', '.join(needs)}"
    always = all(case.fixed is not None for case in rule.bad)
    yield f"Fix: {('automatic' if always else 'sometimes automatic') if rule.fixable else 'none'}"
    yield f"Since: holdfast {rule.since}"


def _render_case(case: Case, messages: Iterable[str] = ()) -> str:
    """Return one example as a block: the versions it holds for, the source, and what the rule says of it."""
    versions = ", ".join(f"{package} {version}" for package, version in case.versions.items())
    found = [fill(each, WIDTH, initial_indent="# ", subsequent_indent="#   ") for each in messages]
    block = "\n".join([f"```{LANGUAGES[case.kind]}", case.source.strip(), *found, "```"])
    return f"*with {versions}*\n\n{block}" if versions else block


def _render_change(bad: Case, instead: Case) -> str:
    """Return the replacement for an example as text: the whole where that is short, else the lines that change."""
    changed, after = _changes(bad, instead), _lines(instead)
    if len(after) <= LONG or len(changed) >= len(after):
        return _render_case(instead)
    return "\n".join(["```diff", *changed, "```"])


def _changes(bad: Case, instead: Case) -> list[str]:
    """Return the lines that change, each with the sign that a diff gives it."""
    _, _, *diff = unified_diff(_lines(bad), _lines(instead), lineterm="", n=0)
    return [line for line in diff if not line.startswith("@@")]


def _length(bad: Case, instead: Case) -> int:
    return len(_lines(bad)) + len(_changes(bad, instead))


def _lines(case: Case) -> list[str]:
    return case.source.strip().splitlines()
