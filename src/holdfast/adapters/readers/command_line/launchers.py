"""What stands before a training program on a command line: launchers, environments, wrappers."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from holdfast.adapters.readers.command_line.launcher_commands import (
    LAUNCHERS,
    MOST_WORDS,
    PASSED_OVER,
    REQUIREMENTS,
    LauncherCommand,
)
from holdfast.adapters.readers.command_line.words import ASSIGNMENT, ELIDED, Word
from holdfast.catalog.environment.launcher_options import OPTIONS
from holdfast.catalog.environment.misspelt_commands import misspelt_word
from holdfast.core.job.document import Key, Unknown
from holdfast.core.text.places import Place

NOT_SAID: Final = Unknown("a variable of the shell")


@dataclass
class Launch:
    """What the words before a program say.

    Attributes:
        words: What is left to read.
        values: What was said, by dotted key of a Document.
        places: Where.
        by: The launchers, outermost first.
        hides_arguments: Whether a variable starts the program, which may give it any arguments.
    """

    words: Sequence[Word]
    values: dict[str, Any] = field(default_factory=dict[str, Any])
    places: dict[Key, Place] = field(default_factory=dict[Key, Place])
    by: tuple[str, ...] = ()
    hides_arguments: bool = False

    def say(self, key: str, value: Any, place: Place) -> None:
        """Note a value under a key; what stands nearer to the program counts."""
        self.values[key] = value
        self.places[tuple(key.split("."))] = place

    def add(self, key: str, value: Any, place: Place) -> None:
        """Note one more value of a list."""
        listed = [*self.values.get(key, []), value]
        self.values[key] = listed
        self.places[*key.split("."), len(listed) - 1] = place


AS_MODULE: Final = ("-m", "--module")
PYTHON: Final = re.compile(r"(?:.*/)?python(?:3(?:\.\d+)?)?")
PYTHON_FLAGS: Final = frozenset({"-u", "-O", "-OO", "-B", "-E", "-I", "-s", "-S", "-v", "-q"})


NEXT_REQUIREMENT: Final = re.compile(r",(?=\s*[A-Za-z])(?![^\[]*\])")
"""Several may be given as one; a comma within one stands before an operator."""
VARIABLES: Final = "environment.variables+"
COUNT: Final = re.compile(r"[0-9]{1,9}")
NAME: Final = re.compile(r"[A-Za-z_]\w*")
OPTION: Final = re.compile(r"-.", re.DOTALL)
SCRIPT: Final = ".py"
UNKNOWN_OPTIONS: Final = "launch.unknown_options"
"""Options that a launcher does not take: each a mapping of `launcher` and `option`."""
MISSPELT: Final = "launch.misspelt"
"""Words that start nothing: each a mapping of `word` and what is `meant`."""
LOOKED_AT: Final = 3
"""The first words of a command: a program with its subcommand, or `python -m` with a module."""
OF_ANY_LAUNCHER: Final = ("where.processes", "where.world_size", "where.nodes")


def peel(words: Sequence[Word]) -> Launch:
    """Return the launchers before a training program, with the program's own words left over."""
    launch = Launch(list(words))
    while launch.words and any(take(launch) for take in STEPS):
        pass
    return launch


def _correct_word(launch: Launch) -> bool:
    """Put the word that is meant in place of one that is misspelt; False if none is."""
    begun = [word.text if word.known else "" for word in launch.words[:LOOKED_AT]]
    found = misspelt_word([_python(begun[0]), *begun[1:], *(word.text for word in launch.words[LOOKED_AT:])])
    if found is None:
        return False
    word = launch.words[found.index]
    launch.add(MISSPELT, {"word": word.text, "meant": found.meant}, word.place)
    corrected = replace(word, text=found.meant)
    launch.words = [*launch.words[: found.index], corrected, *launch.words[found.index + 1 :]]
    return True


def _take_variable(launch: Launch) -> bool:
    """Take off a variable that is set for this command alone; False if there is none."""
    word = launch.words[0]
    found = None if word.quoted and "=" not in word.text else ASSIGNMENT.fullmatch(word.text)
    if found is None:
        return False
    launch.say(f"environment.variables.{found['name']}", found["value"] if word.known else NOT_SAID, word.place)
    launch.words = launch.words[1:]
    return True


def _take_launcher(launch: Launch) -> bool:
    """Take off a launcher with its options; False if there is none."""
    launcher = _launcher_of(launch.words)
    if launcher is None:
        return False
    for key, value in launcher.constant.items():
        launch.say(key, value, launch.words[0].place)
    launch.by = (*launch.by, launcher.name)
    launch.words = _after_options(launch.words[len(launcher.words) :], launcher, launch)
    if launcher.takes and launch.words:
        if launcher.takes != PASSED_OVER:
            _note(launch, launcher.takes, launch.words[0].text, launch.words[0])
        launch.words = launch.words[1:]
    return True


def _take_hidden_launcher(launch: Launch) -> bool:
    """Take off a variable of the shell in place of a launcher, as in `$LAUNCHER train.py`; False if there is none."""
    word = launch.words[0]
    launcher = LauncherCommand((word.text,))
    if not _hides_options(launch.words, launcher):
        return False
    for key in OF_ANY_LAUNCHER:
        launch.say(key, NOT_SAID, word.place)
    launch.hides_arguments = True
    launch.words = _after_options(launch.words[1:], launcher, launch)
    return True


def _hides_options(words: Sequence[Word], launcher: LauncherCommand) -> bool:
    """True if the first word may be options, because a program follows it."""
    return is_hidden(words[0]) and _starts_program(words[1:], launcher)


def is_hidden(word: Word) -> bool:
    """True if it is not known how a word begins: it may be a command, an option, several words or none."""
    return not word.known and (word.text.startswith(("$", "`")) or word.text in ELIDED)


def _launcher_of(words: Sequence[Word]) -> LauncherCommand | None:
    names = [_python(word.text) for word in words[:MOST_WORDS]]
    if len(words) > 1 and is_hidden(words[0]) and words[1].text == "-m":
        names[0] = "python"
    return next((each for each in LAUNCHERS if tuple(names[: len(each.words)]) == each.words), None)


def _python(text: str) -> str:
    return "python" if PYTHON.fullmatch(text) else text.rpartition("/")[2] if text.startswith(("/", ".")) else text


def _starts_program(words: Sequence[Word], launcher: LauncherCommand) -> bool:
    """True if words are a launcher's options, some of them perhaps hidden, with a program of Python after them."""
    while words:
        if _is_program(words):
            return True
        if is_hidden(words[0]):
            words = words[1:]
        elif _may_be_option(words[0], launcher):
            words = words[_words_of(words, launcher) :]
        else:
            return False
    return False


def _is_program(words: Sequence[Word]) -> bool:
    text = words[0].text
    starts = text in AS_MODULE or text.endswith(SCRIPT) or PYTHON.fullmatch(text) or _launcher_of(words)
    return bool(starts)


def _may_be_option(word: Word, launcher: LauncherCommand) -> bool:
    """True if a launcher takes an option, or may: it is not known which options it has."""
    known, option = OPTIONS.get(launcher.name), word.text.partition("=")[0]
    return option.startswith("-") and bool(not known or known.takes(option) or known.meant(option))


def _words_of(words: Sequence[Word], launcher: LauncherCommand) -> int:
    """Return how many words an option is, with its value."""
    option, _, inline = words[0].text.partition("=")
    known = OPTIONS.get(launcher.name)
    meant = known.meant(option) if known and not known.takes(option) else None
    name = _hyphened(meant or option)
    glued = not option.startswith("--") and len(option) > len("-x")
    script_follows = name not in launcher.keys and len(words) > 1 and words[1].text.endswith(SCRIPT)
    return 1 if inline or glued or name in launcher.flags or script_follows else 2


def _hyphened(option: str) -> str:
    return f"--{option[2:].replace('_', '-')}" if option.startswith("--") else option


def _after_options(words: Sequence[Word], launcher: LauncherCommand, launch: Launch) -> Sequence[Word]:
    """Note a launcher's options, and return what follows them; before a module's name the `-m`, wherever it stood."""
    module: list[Word] = []
    given: set[str] = set()
    while words:
        word, rest = words[0], words[1:]
        if _hides_options(words, launcher):
            _hide(launch, launcher, given, word)
            words = rest
        elif word.text in AS_MODULE:
            module, words = [word], rest
        elif word.text == "--":
            return [*module, *rest]
        elif OPTION.match(word.text):
            words = _after_option(words, launcher, launch, given)
        else:
            break
    return [*module, *words]


def _after_option(words: Sequence[Word], launcher: LauncherCommand, launch: Launch, given: set[str]) -> Sequence[Word]:
    """Note an option of a launcher, and return what follows it."""
    _note_unknown(launch, launcher, words[0])
    taken = _words_of(words, launcher)
    _note_option(launch, launcher, given, words[:taken], has_value=len(words) >= taken)
    return words[taken:]


def _note_option(
    launch: Launch, launcher: LauncherCommand, given: set[str], words: Sequence[Word], *, has_value: bool
) -> None:
    """Note what an option of a launcher says, with its value if it has one."""
    option, _, inline = words[0].text.partition("=")
    name = _hyphened(option)
    if switched := launcher.switches.get(name):
        launch.say(*switched, words[0].place)
    if (key := launcher.keys.get(name)) and has_value:
        given.add(key)
        _note(launch, key, inline or words[-1].text, words[-1])


def _note_unknown(launch: Launch, launcher: LauncherCommand, word: Word) -> None:
    """Note an option that the launcher does not take."""
    known, option = OPTIONS.get(launcher.name), word.text.partition("=")[0]
    if known and not known.takes(option) and (word.known or option != word.text):
        launch.add(UNKNOWN_OPTIONS, {"launcher": launcher.name, "option": option}, word.place)


def _hide(launch: Launch, launcher: LauncherCommand, given: set[str], word: Word) -> None:
    """Note that a word may give any of a launcher's options."""
    for key in launcher.keys.values():
        if not key.endswith("+") and key not in given:
            launch.say(key, NOT_SAID, word.place)


def _note(launch: Launch, key: str, text: str, word: Word) -> None:
    if key == VARIABLES:
        _note_variable(launch, text, word)
    elif key.endswith("+"):
        for value in _listed(key, text, word):
            launch.add(key[:-1], value, word.place)
    else:
        value = text if word.known else NOT_SAID
        launch.say(key, read_number(value) if key.startswith("where.") else value, word.place)


def _note_variable(launch: Launch, text: str, word: Word) -> None:
    name, _, value = text.partition("=")
    if NAME.fullmatch(name):
        launch.say(f"environment.variables.{name}", value if word.known else NOT_SAID, word.place)


def _listed(key: str, text: str, word: Word) -> list[Any]:
    """Return the values that a word adds to a list."""
    if not word.known:
        return [NOT_SAID]
    return [each.strip() for each in NEXT_REQUIREMENT.split(text)] if key == REQUIREMENTS else [text]


def read_number(value: Any) -> Any:
    """Return the whole number that a text is; anything else as it is."""
    return int(value) if isinstance(value, str) and COUNT.fullmatch(value) else value


STEPS: Final[tuple[Callable[[Launch], bool], ...]] = (
    _take_variable,
    _take_launcher,
    _take_hidden_launcher,
    _correct_word,
)
"""Each takes one thing off the words before the program; False if it finds none."""
