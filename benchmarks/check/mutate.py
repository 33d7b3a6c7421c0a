"""Faults put into good scripts: arguments renamed, added, moved, retyped, dropped, combined, and names that are gone.

A mutation is one edit of the text, or two; the tables hold what people really write: names of older releases, slips of the
fingers, values of a wrong kind, arguments that contradict each other.
"""

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from benchmarks.check.stale import COMBINED, GONE, METHODS, MISPLACED, REMOVED, RENAMED, WRONG_VALUES

KINDS: Final = ("rename", "misspell", "remove", "move", "retype", "drop", "combine", "import", "method")
PATIENCE: Final = 500
"""Draws in a row that give nothing new."""
WORDS: Final = ("'many'", "[1]", "{'a': 1}", "None", "'3'", "-1", "object()", "'true'")
"""Values of a kind that few arguments take."""


@dataclass(frozen=True, slots=True)
class Mutation:
    """One mutation of a script.

    Attributes:
        kind: What was done, of `KINDS`.
        what: The same in words.
        text: The script with it.
    """

    kind: str
    what: str
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of some text, by offsets."""

    start: int
    end: int
    text: str


class Script:
    """A script's text with its calls and imports, and where they stand."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = ast.parse(text)
        self.starts = [0]
        for line in text.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))
        self.calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        self.imports = [node for node in ast.walk(self.tree) if isinstance(node, ast.ImportFrom)]

    def span(self, node: ast.expr | ast.keyword | ast.alias) -> tuple[int, int]:
        """Return where a node begins and ends; its lines must be ASCII up to there."""
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self.starts[node.lineno - 1] + node.col_offset, self.starts[end_line - 1] + end

    def edited(self, *edits: Edit) -> str:
        """Return the text with edits that do not overlap."""
        text = self.text
        for edit in sorted(edits, key=lambda each: -each.start):
            text = text[: edit.start] + edit.text + text[edit.end :]
        return text

    def added(self, call: ast.Call, written: str) -> Edit:
        """Return the edit that gives a call one more argument."""
        close = self.span(call)[1] - 1
        before = self.text[:close].rstrip()
        lead = "" if before.endswith(("(", ",")) else ", "
        return Edit(len(before), len(before), lead + written)

    def dropped(self, call: ast.Call, argument: ast.expr | ast.keyword) -> Edit:
        """Return the edit that takes an argument out of a call."""
        start, end = self.span(argument)
        rest = self.text[end : self.span(call)[1]]
        comma = len(rest) - len(rest.lstrip())
        return Edit(start, end + (comma + 1 if rest.lstrip().startswith(",") else 0), "")


def name_of(call: ast.Call) -> str:
    """Return the last part of what is called: `SFTConfig`, `from_pretrained`."""
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")


def mutations(text: str, seed: int) -> Iterator[Mutation]:
    """Yield mutations of a script, the same for the same seed; each once, until there seem to be no others."""
    draw, script = random.Random(seed), Script(text)  # noqa: S311 - no secret is drawn
    makers = {
        "rename": _renamed,
        "misspell": _misspelt,
        "remove": _with_removed,
        "move": _moved,
        "retype": _retyped,
        "drop": _without,
        "combine": _combined,
        "import": _imported,
        "method": _called,
    }
    seen: dict[str, None] = {}
    in_vain = 0
    while in_vain < PATIENCE:
        kind = draw.choice(KINDS)
        made = makers[kind](script, draw)
        in_vain += 1
        if made and made[1] != text and made[1] not in seen and _parses(made[1]):
            seen[made[1]] = None
            in_vain = 0
            yield Mutation(kind, *made)


Made = tuple[str, str] | None


def _renamed(script: Script, draw: random.Random) -> Made:
    options = [
        (call, keyword, old)
        for call, keyword in _keywords(script)
        for old in RENAMED.get(name_of(call), {}).get(keyword.arg or "", ())
        + RENAMED["*"].get((keyword.arg or "") if _is_config(call) else "", ())
    ]
    return _with_name(script, draw, options)


def _misspelt(script: Script, draw: random.Random) -> Made:
    options = [
        (call, keyword, _slip(keyword.arg or "", draw))
        for call, keyword in _keywords(script)
        if _is_config(call) or name_of(call).endswith("Trainer")
    ]
    return _with_name(script, draw, options)


def _with_name(script: Script, draw: random.Random, options: Sequence[tuple[ast.Call, ast.keyword, str]]) -> Made:
    if not options:
        return None
    call, keyword, new = draw.choice(options)
    start, _ = script.span(keyword)
    text = script.edited(Edit(start, start + len(keyword.arg or ""), new))
    return f"{name_of(call)}({keyword.arg} -> {new})", text


def _with_removed(script: Script, draw: random.Random) -> Made:
    options = [(call, written) for call in script.calls for written in _removed(call) if not _gives(call, written)]
    if not options:
        return None
    call, written = draw.choice(options)
    return f"{name_of(call)}({written})", script.edited(script.added(call, written))


def _removed(call: ast.Call) -> tuple[str, ...]:
    return REMOVED.get(name_of(call), ()) + (REMOVED["*"] if _is_config(call) else ())


def _moved(script: Script, draw: random.Random) -> Made:
    configs = [call for call in script.calls if _is_config(call)]
    trainers = [call for call in script.calls if name_of(call).endswith("Trainer")]
    if not configs or not trainers:
        return None
    if draw.random() < 0.5:  # noqa: PLR2004 - as often as not
        written = draw.choice(MISPLACED)
        call = draw.choice(configs)
        return f"{name_of(call)}({written})", script.edited(script.added(call, written))
    config, trainer = draw.choice(configs), draw.choice(trainers)
    keywords = [each for each in config.keywords if each.arg]
    if not keywords:
        return None
    keyword = draw.choice(keywords)
    written = ast.unparse(keyword)
    edits = script.dropped(config, keyword), script.added(trainer, written)
    return f"{name_of(config)} -> {name_of(trainer)}({written})", script.edited(*edits)


def _retyped(script: Script, draw: random.Random) -> Made:
    options = [(call, each) for call, each in _keywords(script) if isinstance(each.value, ast.Constant | ast.List)]
    if not options:
        return None
    call, keyword = draw.choice(options)
    known = WRONG_VALUES.get(keyword.arg or "", ())
    written = draw.choice(known) if known and draw.random() < 0.7 else draw.choice(WORDS)  # noqa: PLR2004 - mostly those
    start, end = script.span(keyword.value)
    return f"{name_of(call)}({keyword.arg}={written})", script.edited(Edit(start, end, written))


def _without(script: Script, draw: random.Random) -> Made:
    matter = [call for call in script.calls if _matters(call)]
    options: list[tuple[ast.Call, ast.expr | ast.keyword]] = [(call, each) for call in matter for each in call.args]
    options += [(call, each) for call in matter for each in call.keywords if each.arg]
    if not options:
        return None
    call, argument = draw.choice(options)
    return f"{name_of(call)} without {ast.unparse(argument)}", script.edited(script.dropped(call, argument))


def _combined(script: Script, draw: random.Random) -> Made:
    options = [
        (call, written)
        for call in script.calls
        for written in COMBINED.get(name_of(call), ()) + (COMBINED["*"] if _is_training(call) else ())
    ]
    if not options:
        return None
    call, written = draw.choice(options)
    edits, added = [], []
    given = {keyword.arg: keyword for keyword in call.keywords}
    for name, value in written.items():
        if name in given:
            edits.append(Edit(*script.span(given[name].value), value))
        else:
            added.append(f"{name}={value}")
    if added:
        edits.append(script.added(call, ", ".join(added)))
    return f"{name_of(call)}({', '.join(f'{n}={v}' for n, v in written.items())})", script.edited(*edits)


def _imported(script: Script, draw: random.Random) -> Made:
    options = [
        (node, alias, name)
        for node in script.imports
        for alias in node.names
        for name in (*GONE.get((node.module or "").partition(".")[0], ()), _slip(alias.name, draw))
        if (node.module or "").partition(".")[0] in GONE and node.module == (node.module or "").partition(".")[0]
    ]
    if not options:
        return None
    node, alias, name = draw.choice(options)
    start, end = script.span(alias)
    # The old name is kept beside the new one, so that one thing alone is wrong.
    written = f"{ast.unparse(alias)}, {name}"
    return f"from {node.module} import {name}", script.edited(Edit(start, end, written))


def _called(script: Script, draw: random.Random) -> Made:
    methods = [
        call
        for call in script.calls
        if isinstance(call.func, ast.Attribute)
        and isinstance(call.func.value, ast.Name)
        and call.func.value.id == "trainer"
    ]
    if not methods:
        return None
    known = [name for call in script.calls for name in METHODS.get(name_of(call), ())]
    if not known:
        return None
    call, name = draw.choice(methods), draw.choice(known)
    start, _ = script.span(call)
    _, end = script.span(call.func)
    return f"trainer.{name}()", script.edited(Edit(start, end, f"trainer.{name}"))


def _slip(name: str, draw: random.Random) -> str:
    """Return a name as a tired person may write it."""
    if len(name) < 3:  # noqa: PLR2004 - too short to slip in
        return name + "s"
    at = draw.randrange(1, len(name) - 1)
    made = draw.choice(
        (
            name[:at] + name[at + 1 :],
            name[:at] + name[at] + name[at:],
            name[: at - 1] + name[at : at + 1] + name[at - 1 : at] + name[at + 1 :],
            name.replace("_", "", 1),
            name + "s",
            name.removesuffix("s"),
        )
    )
    return made if made.isidentifier() and made != name else name + "s"


def _keywords(script: Script) -> Iterator[tuple[ast.Call, ast.keyword]]:
    return ((call, keyword) for call in script.calls if _matters(call) for keyword in call.keywords if keyword.arg)


def _gives(call: ast.Call, written: str) -> bool:
    return any(keyword.arg == written.partition("=")[0] for keyword in call.keywords)


def _is_training(call: ast.Call) -> bool:
    return name_of(call) in RENAMED and name_of(call) not in ("LoraConfig", "BitsAndBytesConfig") and _is_config(call)


def _is_config(call: ast.Call) -> bool:
    name = name_of(call)
    return name[:1].isupper() and name.endswith(("Config", "TrainingArguments")) and name != "PromptTuningConfig"


def _matters(call: ast.Call) -> bool:
    name = name_of(call)
    return _is_config(call) or name.endswith("Trainer") or name in ("load_dataset", "get_peft_model")


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
