"""What stands before a training program on a command line: launchers, environments, wrappers.

Source: the argument parsers of torch 2.13 (`torch.distributed.run`), accelerate 1.15 (`accelerate launch`),
huggingface_hub 2.4 (`hf jobs`), uv 0.13 (`uv run --help`), deepspeed's runner, and Slurm's srun.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from holdfast.adapters.readers.command_line.words import ASSIGNMENT, ELIDED, Word
from holdfast.catalog.environment.launcher_options import OPTIONS, LauncherOptions
from holdfast.catalog.environment.misspelt_commands import misspelt_word
from holdfast.core.backends import BACKEND_KEY, HF_JOBS
from holdfast.core.document import Key, Unknown
from holdfast.core.text import Place

PASSED: Final = "passed over"
"""For a word that stands between a launcher's options and the program, and says nothing of the job."""
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


@dataclass(frozen=True, slots=True)
class LauncherCommand:
    """A program that starts another.

    Attributes:
        words: What it is called by, such as `accelerate launch`.
        flags: Its options that take no value, spelled with hyphens.
        keys: The keys of a Document that its options with values say something of; `+` marks a list.
        constant: What it says by itself.
        takes: The key of the word that stands between its options and the program, if there is one.
        switches: What its options without a value say: a key and its value.
    """

    words: tuple[str, ...]
    flags: frozenset[str] = frozenset()
    keys: Mapping[str, str] = field(default_factory=dict[str, str])
    constant: Mapping[str, Any] = field(default_factory=dict[str, Any])
    takes: str = ""
    switches: Mapping[str, tuple[str, Any]] = field(default_factory=dict[str, tuple[str, Any]])


TORCHRUN_KEYS = {"--nproc-per-node": "where.processes", "--nnodes": "where.nodes"}
TORCHRUN_FLAGS = frozenset({"--standalone", "--no-python", "--run-path", "--virtual-local-rank"})
TORCHRUN_SAYS = {"where.processes": 1, "where.nodes": 1}
"""What torchrun does by itself: one process on one machine."""
UV_FLAGS = frozenset(
    [
        "--no-project",
        "--isolated",
        "--active",
        "--no-sync",
        "--locked",
        "--frozen",
        "--script",
        "-s",
        "--quiet",
        "-q",
        "--verbose",
        "-v",
        "--offline",
        "--all-extras",
        "--dev",
        "--no-dev",
        "--no-cache",
        "-n",
        "--refresh",
        "-U",
        "--upgrade",
        "--exact",
        "--no-editable",
        "--no-env-file",
        "--managed-python",
        "--no-managed-python",
        "--no-config",
        "--all-groups",
        "--all-packages",
        "--compile-bytecode",
        "--gui-script",
        "--no-binary",
        "--no-build",
        "--no-build-isolation",
        "--no-default-groups",
        "--no-index",
        "--no-progress",
        "--no-python-downloads",
        "--no-require-build-hashes",
        "--no-sources",
        "--only-dev",
        "--reinstall",
        "--require-build-hashes",
        "--system-certs",
    ]
)
REQUIREMENTS = "environment.requirements+"
NEXT_REQUIREMENT = re.compile(r",(?=\s*[A-Za-z])(?![^\[]*\])")
"""Several may be given as one; a comma within one stands before an operator."""
COUNT = re.compile(r"[0-9]{1,9}")
NAME = re.compile(r"[A-Za-z_]\w*")
UV_KEYS = {
    **dict.fromkeys(("--with", "-w"), REQUIREMENTS),
    **dict.fromkeys(("--python", "-p"), "environment.python"),
    "--exclude-newer": "launch.before",
    "--with-requirements": "launch.unread",
}
JOB_KEYS = {
    "--flavor": "where.hardware",
    "--timeout": "where.timeout",
    "--secrets": "environment.secrets+",
    "-s": "environment.secrets+",
    "--env": "environment.variables+",
    "-e": "environment.variables+",
    "--namespace": "where.options.namespace",
    "--image": "where.options.image",
}
HUB_FLAGS = frozenset({"--detach", "-d", "--dry-run", "--json", "--quiet", "-q"})
ON_HUB = {BACKEND_KEY: HF_JOBS.name}
ACCELERATE = (
    ("accelerate", "launch"),
    ("accelerate-launch",),
    ("python", "-m", "accelerate.commands.launch"),
    ("python", "-m", "accelerate", "launch"),
)
ACCELERATE_FLAGS = frozenset(
    {"--quiet", "-q", "--cpu", "--multi-gpu", "--tpu", "--ipex", "--use-xpu", "--use-deepspeed", "--use-fsdp"}
    | {"--dynamo-use-fullgraph", "--dynamo-use-dynamic", "--dynamo-use-regional-compilation", "--same-network"}
    | {"--use-parallelism-config", "--use-megatron-lm", "--no-python", "--tpu-cluster", "--no-tpu-cluster"}
    | {"--tpu-use-sudo", "--downcast-bf16", "--fp8-use-autocast-during-eval", "--debug", "--enable-cpu-affinity"}
    | {"--use-tp"}
)
ACCELERATE_KEYS = {
    "--num-processes": "where.world_size",
    "--num-machines": "where.nodes",
    "--mixed-precision": "where.mixed_precision",
    "--config-file": "where.accelerate_config",
    "--zero-stage": "where.zero_stage",
    "--fsdp-sharding-strategy": "where.fsdp_sharding",
    "--fsdp-reshard-after-forward": "where.fsdp_sharding",
    **dict.fromkeys(("--fsdp-offload-params", "--offload-optimizer-device", "--offload-param-device"), "where.offload"),
}
ACCELERATE_SWITCHES: Final[Mapping[str, tuple[str, Any]]] = {
    "--multi-gpu": ("where.distributed_type", "MULTI_GPU"),
    "--use-deepspeed": ("where.distributed_type", "DEEPSPEED"),
    "--use-fsdp": ("where.distributed_type", "FSDP"),
}
LAUNCHERS: Final = (
    LauncherCommand(("torchrun",), TORCHRUN_FLAGS, TORCHRUN_KEYS, TORCHRUN_SAYS),
    LauncherCommand(("python", "-m", "torch.distributed.run"), TORCHRUN_FLAGS, TORCHRUN_KEYS, TORCHRUN_SAYS),
    LauncherCommand(
        ("python", "-m", "torch.distributed.launch"), TORCHRUN_FLAGS | {"--use-env"}, TORCHRUN_KEYS, TORCHRUN_SAYS
    ),
    *(LauncherCommand(words, ACCELERATE_FLAGS, ACCELERATE_KEYS, switches=ACCELERATE_SWITCHES) for words in ACCELERATE),
    LauncherCommand(
        ("deepspeed",),
        frozenset({"--no-ssh", "--no-ssh-check", "--module", "--no-python", "--no-local-rank", "--force-multi"})
        | {"--save-pid", "--elastic-training", "--bind-cores-to-rank", "--quiet", "-q"},
        {"--num-gpus": "where.processes", "--num-nodes": "where.nodes"},
    ),
    LauncherCommand(
        ("srun",), frozenset({"--exclusive", "--label", "-l", "--unbuffered", "-u", "--overlap", "-v", "--verbose"})
    ),
    LauncherCommand(("uv", "run"), UV_FLAGS, UV_KEYS),
    LauncherCommand(("hf", "jobs", "uv", "run"), HUB_FLAGS, {**JOB_KEYS, **UV_KEYS}, ON_HUB),
    LauncherCommand(("hf", "jobs", "run"), HUB_FLAGS, JOB_KEYS, ON_HUB, "where.options.image"),
    LauncherCommand(("uvx",), UV_FLAGS, {**UV_KEYS, "--from": REQUIREMENTS}),
    LauncherCommand(("uv", "tool", "run"), UV_FLAGS, {**UV_KEYS, "--from": REQUIREMENTS}),
    *(
        LauncherCommand((word, "run"), frozenset({"--no-capture-output", "--live-stream"}))
        for word in ("conda", "mamba", "micromamba")
    ),
    LauncherCommand(("timeout",), frozenset({"--foreground", "--preserve-status", "-v", "--verbose"}), takes=PASSED),
    LauncherCommand(("numactl",)),
    LauncherCommand(("env",), frozenset({"-i", "--ignore-environment"})),
    *(
        LauncherCommand((word,), frozenset({"-E", "-H", "-n", "-p", "-v", "-w", "-f"}))
        for word in ("nohup", "time", "exec", "sudo", "command", "setsid")
    ),
    *(LauncherCommand((word,)) for word in ("if", "then", "else", "elif", "while", "until", "do", "!", "{")),
    *(LauncherCommand((word, "run")) for word in ("poetry", "pipenv", "pdm", "hatch", "rye")),
)
MOST_WORDS: Final = max(len(each.words) for each in LAUNCHERS)
AS_MODULE: Final = ("-m", "--module")
PYTHON: Final = re.compile(r"(?:.*/)?python(?:3(?:\.\d+)?)?")
PYTHON_FLAGS: Final = frozenset({"-u", "-O", "-OO", "-B", "-E", "-I", "-s", "-S", "-v", "-q"})


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
    while launch.words and (
        _assigned(launch) or _launched(launch) or _launched_by_variable(launch) or _corrected(launch)
    ):
        pass
    return launch


def _corrected(launch: Launch) -> bool:
    """Put the word that is meant in place of one that is misspelt, and note that."""
    begun = [word.text if word.known else "" for word in launch.words[:LOOKED_AT]]
    found = misspelt_word([_python(begun[0]), *begun[1:], *(word.text for word in launch.words[LOOKED_AT:])])
    if found is None:
        return False
    word = launch.words[found.index]
    launch.add(MISSPELT, {"word": word.text, "meant": found.meant}, word.place)
    corrected = replace(word, text=found.meant)
    launch.words = [*launch.words[: found.index], corrected, *launch.words[found.index + 1 :]]
    return True


def _assigned(launch: Launch) -> bool:
    """Take a variable off that is set for this command alone."""
    word = launch.words[0]
    found = None if word.quoted and "=" not in word.text else ASSIGNMENT.fullmatch(word.text)
    if found is None:
        return False
    launch.say(f"environment.variables.{found['name']}", found["value"] if word.known else NOT_SAID, word.place)
    launch.words = launch.words[1:]
    return True


def _launched(launch: Launch) -> bool:
    """Take a launcher and its options off."""
    launcher = _launcher_of(launch.words)
    if launcher is None:
        return False
    for key, value in launcher.constant.items():
        launch.say(key, value, launch.words[0].place)
    launch.by = (*launch.by, " ".join(launcher.words))
    launch.words = _after_options(launch.words[len(launcher.words) :], launcher, launch)
    if launcher.takes and launch.words:
        if launcher.takes != PASSED:
            _note(launch, launcher.takes, launch.words[0].text, launch.words[0])
        launch.words = launch.words[1:]
    return True


def _launched_by_variable(launch: Launch) -> bool:
    """Take a variable of the shell off that stands where a launcher does: `$LAUNCHER train.py`."""
    word = launch.words[0]
    launcher = LauncherCommand((word.text,))
    if not is_hidden(word) or not _starts_program(launch.words[1:], launcher):
        return False
    for key in OF_ANY_LAUNCHER:
        launch.say(key, NOT_SAID, word.place)
    launch.hides_arguments = True
    launch.words = _after_options(launch.words[1:], launcher, launch)
    return True


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
    known = OPTIONS.get(" ".join(launcher.words))
    while words:
        word = words[0]
        if word.text in AS_MODULE or word.text.endswith(SCRIPT) or PYTHON.fullmatch(word.text) or _launcher_of(words):
            return True
        if not is_hidden(word) and not word.text.startswith("-"):
            return False
        option = word.text.partition("=")[0]
        if known and not is_hidden(word) and not (known.takes(option) or known.meant(option)):
            return False
        words = words[1:] if is_hidden(word) else words[_words_of(words, launcher) :]
    return False


def _words_of(words: Sequence[Word], launcher: LauncherCommand) -> int:
    """Return how many words an option is, with its value."""
    option, _, inline = words[0].text.partition("=")
    known = OPTIONS.get(" ".join(launcher.words))
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
    said: set[str] = set()
    known = OPTIONS.get(" ".join(launcher.words))
    while words:
        word = words[0]
        if is_hidden(word) and _starts_program(words[1:], launcher):
            _hide(launch, launcher, said, word)
            words = words[1:]
            continue
        if not word.text.startswith("-") or word.text == "-":
            break
        if word.text in AS_MODULE:
            module, words = [word], words[1:]
            continue
        if word.text == "--":
            words = words[1:]
            break
        if known:
            _note_unknown(launch, launcher, known, word)
        taken = _words_of(words, launcher)
        _note_option(launch, launcher, said, words[:taken], has_value=len(words) >= taken)
        words = words[taken:]
    return [*module, *words]


def _note_option(
    launch: Launch, launcher: LauncherCommand, said: set[str], words: Sequence[Word], *, has_value: bool
) -> None:
    """Note what an option of a launcher says, with its value if it has one."""
    option, _, inline = words[0].text.partition("=")
    name = _hyphened(option)
    if switched := launcher.switches.get(name):
        launch.say(*switched, words[0].place)
    if (key := launcher.keys.get(name)) and has_value:
        said.add(key)
        _note(launch, key, inline or words[-1].text, words[-1])


def _note_unknown(launch: Launch, launcher: LauncherCommand, known: LauncherOptions, word: Word) -> None:
    """Note an option that the launcher does not take."""
    option = word.text.partition("=")[0]
    if not known.takes(option) and (word.known or option != word.text):
        launch.add(UNKNOWN_OPTIONS, {"launcher": " ".join(launcher.words), "option": option}, word.place)


def _hide(launch: Launch, launcher: LauncherCommand, said: set[str], word: Word) -> None:
    """Note that a word may give any of a launcher's options."""
    for key in launcher.keys.values():
        if not key.endswith("+") and key not in said:
            launch.say(key, NOT_SAID, word.place)


def _note(launch: Launch, key: str, text: str, word: Word) -> None:
    value = text if word.known else NOT_SAID
    if key == "environment.variables+":
        name, _, setting = text.partition("=")
        if NAME.fullmatch(name):
            launch.say(f"environment.variables.{name}", setting if word.known else NOT_SAID, word.place)
    elif key == REQUIREMENTS and word.known:
        for requirement in NEXT_REQUIREMENT.split(text):
            launch.add(key[:-1], requirement.strip(), word.place)
    elif key.endswith("+"):
        launch.add(key[:-1], value, word.place)
    else:
        launch.say(key, read_number(value) if key.startswith("where.") else value, word.place)


def read_number(value: Any) -> Any:
    """Return the whole number that a text is; anything else as it is."""
    return int(value) if isinstance(value, str) and COUNT.fullmatch(value) else value
