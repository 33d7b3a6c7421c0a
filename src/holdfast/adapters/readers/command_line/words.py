"""A shell's words, with the place of each: as much of the language as launch scripts use.

Covered: quotes, escapes, line continuations, comments, also between options (a substitution of nothing: `# …`), lists of commands,
redirections, variables set to plain words.
Not covered: what a shell computes (substitutions, arithmetic, arrays, functions): such a word is not known.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from holdfast.core.text.places import LineIndex, Place

TOKEN = re.compile(
    r"""(?P<space>(?:[ \t]|\\\r?\n)+)
      | (?P<comment>(?:(?<=\s)|(?<![^\n]))\#[^\n]*|`[ \t]*\#[^`\n]*`)
      | (?P<here><<-?\s*(?P<quote>['"]?)(?P<mark>\w+)(?P=quote))
      | (?P<redirect>[0-9]*(?:>>|>&|>\||<&|<>|>|<)|&>>?)
      | (?P<end>\r?\n|&&|\|\||;;?|[|&()])
      | (?P<single>'[^']*')
      | (?P<double>"(?:[^"\\]|\\.)*")
      | (?P<computed>\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\$\{(?!\w*\})[^}]*\})
      | (?P<variable>\$(?:\w+|\{\w+\}|[@*\#?!$-]))
      | (?P<escape>\\.)
      | (?P<plain>[^\s\\'"`$;&|<>()]+|.)""",
    re.VERBOSE | re.DOTALL,
)
DEFAULT = re.compile(r"\$\{(?P<name>\w+):?-(?P<default>[^${}\"'`\\]*)\}")
"""A variable with a default, which stands for it if it is not set."""
IN_QUOTES = re.compile(r"(?P<variable>\$(?:\w+|\{\w+\}|[@*#?!$-]))|(?P<computed>\$[({]|`)|\\(?P<escape>[\"\\$`\n])")
BETWEEN: Final = frozenset({"space", "comment", "end", "redirect", "here"})
LONGEST_VALUE: Final = 1 << 16
"""Characters of a variable that is put in; a few lines that double one would fill the memory."""
EXPORT: Final = "export"
DECLARATIONS: Final = frozenset({EXPORT, "declare", "local", "readonly"})
ASSIGNMENT = re.compile(r"(?P<name>[A-Za-z_]\w*)=(?P<value>.*)", re.DOTALL)
ELIDED: Final = frozenset({"...", "…"})
"""Words that stand for options which are not shown, as documentation writes them."""


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    Attributes:
        text: What the program is given, as far as it is known.
        place: Where it is written.
        known: Whether that is all of it.
        quoted: Whether a part of it stands in quotes: then it is no assignment, no glob, and one word.
        subshells: The subshells that it stands in, by number, the outermost first.
    """

    text: str
    place: Place
    known: bool = True
    quoted: bool = False
    subshells: tuple[int, ...] = ()


CommandWords = list[Word]


def split_commands(text: str, path: str, environment: Mapping[str, str] | None = None) -> Iterator[CommandWords]:
    r"""Yield the commands of a shell's text, with the variables put in that it sets to plain words before.

    With the environment that it will be started in, variables of that are put in too, and what stands in for those not set.

    >>> [[word.text for word in command] for command in split_commands("N=2\ntorchrun --nproc $N a.py # two", "run.sh")]
    [['torchrun', '--nproc', '2', 'a.py']]
    >>> [[word.text for word in command] for command in split_commands("a.py `# the model` --model x", "run.sh")]
    [['a.py', '--model', 'x']]
    >>> [[word.text for word in command] for command in split_commands("A='-x 1'\ntrl sft $A \"$A\"", "run.sh")]
    [['trl', 'sft', '-x', '1', '-x 1']]
    """
    yield from _split(Scanner(text, path, environment))


def read_exports(text: str, path: str, environment: Mapping[str, str] | None) -> dict[str, str]:
    r"""Return the variables that a shell's text gives to what it starts, as far as their values are known.

    >>> read_exports("export A=1 B\nC=2\nexport C D=$(date)", "run.sh", None)
    {'A': '1', 'C': '2'}
    """
    return {name: value for name, (value, _) in placed_exports(text, path, environment).items()}


def placed_exports(text: str, path: str, environment: Mapping[str, str] | None = None) -> dict[str, tuple[str, Place]]:
    """Return the same, each with the place where it is exported last."""
    scanner = Scanner(text, path, environment)
    for _ in _split(scanner):
        pass
    found = ((name, scanner.variables.get(name), place) for name, place in scanner.exported.items())
    return {name: (value, place) for name, value, place in found if value is not None}


def _split(scanner: "Scanner") -> Iterator[CommandWords]:
    """Yield the commands of a text, and keep the variables that it sets."""
    for command in scanner.commands():
        words = command[1:] if command[0].text in DECLARATIONS else command
        if command[0].text == EXPORT:
            scanner.export(words)
        elif all(ASSIGNMENT.fullmatch(word.text) for word in words):
            scanner.assign(words)
        else:
            yield command


class Scanner:
    """Goes through a shell's text from piece to piece, and puts words and commands together."""

    def __init__(self, text: str, path: str, environment: Mapping[str, str] | None) -> None:
        self.variables: dict[str, str | None] = dict(environment or {})
        self._has_defaults = environment is not None
        self.exported: dict[str, Place] = {}  # in order
        self._text, self._path, self._lines = text, path, LineIndex(text)
        self._command: CommandWords = []
        self._parts: list[WordPart] = []
        self._start = 0
        self._redirected = False
        self._subshells: tuple[int, ...] = ()

    def commands(self) -> Iterator[CommandWords]:
        """Yield each command's words. What is read of later ones depends on the variables set meanwhile."""
        offset, document = 0, ""
        while found := TOKEN.match(self._text, offset):
            kind, offset = self._kind(found), found.end()
            if kind not in BETWEEN:
                self._add_part(kind, found)
                continue
            self._end_word(found.start())
            self._redirected = self._redirected or kind == "redirect"
            document = found["mark"] if kind == "here" else document
            if kind == "end":
                yield from self._end_command()
                self._enter_or_leave(found)
                offset, document = self._after(document, offset), ""
        self._end_word(len(self._text))
        yield from self._end_command()

    def export(self, words: Sequence[Word]) -> None:
        """Hand variables on to what the text starts; some are set along with it."""
        self.exported |= {word.text.partition("=")[0]: word.place for word in words}
        self.assign(words)

    def assign(self, words: Sequence[Word]) -> None:
        """Set the variables that words give values."""
        for word in words:
            setting = ASSIGNMENT.fullmatch(word.text)
            if setting:
                known = word.known and len(setting["value"]) <= LONGEST_VALUE
                self.variables[setting["name"]] = setting["value"] if known else None

    def _add_part(self, kind: str, found: re.Match[str]) -> None:
        """Add a piece to the word that is being read."""
        self._start = self._start if self._parts else found.start()
        filled = self._filled(found[0])
        kind = "plain" if kind == "computed" and filled != found[0] else kind
        self._parts.append(_part(kind, filled, self.variables))

    def _filled(self, text: str) -> str:
        """Return a piece of a word with `${NAME:-DEFAULT}` filled in, where it is known what is set."""
        if not self._has_defaults or text.startswith("'"):
            return text
        return DEFAULT.sub(self._value, text)

    def _value(self, match: re.Match[str]) -> str:
        """Return the value of a variable with a default; its source text where the environment is unknown."""
        value = self.variables.get(match["name"], "")
        return match[0] if value is None else value or match["default"]

    @staticmethod
    def _kind(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        return "here" if kind in ("quote", "mark") else kind

    def _end_word(self, end: int) -> None:
        """Add the word that ends here to the command, unless it is where output goes."""
        if not self._parts:
            return
        if not self._redirected:
            place = self._lines.place(self._path, self._start, end)
            self._command += [self._word(parts, place) for parts in _fields(self._parts)]
        self._redirected, self._parts = False, []

    def _word(self, parts: Sequence["WordPart"], place: Place) -> Word:
        """Return the word that some pieces are together."""
        text = "".join(part.text for part in parts)
        quoted = any(part.quoted for part in parts)
        known = all(part.known for part in parts) and (quoted or text not in ELIDED)
        return Word(text, place, known, quoted, self._subshells)

    def _end_command(self) -> Iterator[CommandWords]:
        if self._command:
            command, self._command = self._command, []
            yield command

    def _enter_or_leave(self, end: re.Match[str]) -> None:
        """Note that a parenthesis begins or ends a subshell."""
        if end[0] == "(":
            self._subshells = (*self._subshells, end.start() + 1)
        elif end[0] == ")":
            self._subshells = self._subshells[:-1]

    def _after(self, mark: str, offset: int) -> int:
        """Return where a here-document that ends with a mark is over; without a mark there is none."""
        if not mark:
            return offset
        ending = re.compile(rf"^\s*{re.escape(mark)}\s*$", re.MULTILINE).search(self._text, offset)
        return ending.end() if ending else len(self._text)


@dataclass(frozen=True, slots=True)
class WordPart:
    """A piece of a word: what it stands for, whether that is known, whether it is quoted, and whether it is a variable's value."""

    text: str
    known: bool = True
    quoted: bool = False
    expanded: bool = False


def _fields(parts: Sequence[WordPart]) -> list[list[WordPart]]:
    """Return the words that the pieces of one give: the value of a variable is split at its spaces, unless it is assigned."""
    if ASSIGNMENT.match(parts[0].text) and not parts[0].expanded:
        return [list(parts)]
    fields: list[list[WordPart]] = [[]]
    for part in parts:
        if not part.expanded:
            fields[-1].append(part)
            continue
        pieces = [[WordPart(text)] if text else [] for text in re.split(r"[ \t\n]+", part.text)]
        fields[-1] += pieces[0]
        fields += pieces[1:]
    return [field for field in fields if field]


def _part(kind: str, text: str, variables: Mapping[str, str | None]) -> WordPart:
    match kind:
        case "single":
            return WordPart(text[1:-1], quoted=True)
        case "double":
            inner, known = _in_quotes(text[1:-1], variables)
            return WordPart(inner, known, quoted=True)
        case "escape":
            return WordPart(text[1:], quoted=True)
        case "variable":
            value = variables.get(text.strip("${}"))
            return WordPart(text, known=False) if value is None else WordPart(value, expanded=True)
        case _:
            return WordPart(text, known=kind != "computed")


def _in_quotes(text: str, variables: Mapping[str, str | None]) -> tuple[str, bool]:
    known = True
    result, done = "", 0
    for found in IN_QUOTES.finditer(text):
        result += text[done : found.start()]
        value = variables.get(found[0].strip("${}")) if found["variable"] else found["escape"]
        known = known and value is not None
        result += found[0] if value is None else value.replace("\n", "")
        done = found.end()
    return result + text[done:], known
