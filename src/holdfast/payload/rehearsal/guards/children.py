"""Programs that the script starts: in the rehearsal's process group, and none that installs, launches, uploads or deletes.

Covered: `subprocess`, `os.system`, `os.popen`, `os.fork` and what builds on them (`multiprocessing`, data loaders). A program
that is not run ends at once, well, and says nothing; where it may make files, that is reported as the fact `not_run`. Programs of
Python are guarded as the script is: `inherited`. Folders that are to be made are made among what the script writes. Not
covered: what other programs write; `posix_spawn`.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..wrapping import wrap
from . import spawned
from .files import where
from .inherited import guarded, make_guard

INSTALLERS = "pip pip3 pipx uv conda mamba micromamba poetry apt apt-get yum dnf brew npm"
LAUNCHERS = "accelerate torchrun deepspeed trl axolotl llamafactory-cli horovodrun mpirun srun sbatch ray"
SENDERS = (
    "git hf huggingface-cli aws gsutil gcloud azcopy rclone rsync scp sftp ssh wandb curl wget docker kubectl "
    "shutdown reboot poweroff halt kill pkill killall runpodctl vastai"
)
CHANGERS = "rm mv cp ln mkdir rmdir touch chmod chown tee dd tar unzip zip truncate sed"
NOT_RUN = (
    (INSTALLERS, "a rehearsal installs nothing; the script's header says what it requires"),
    (LAUNCHERS, "a rehearsal launches nothing; rehearse what it launches"),
    (SENDERS, "it acts outside the rehearsal; the job shows it"),
    (CHANGERS, "it changes more than the rehearsal's folder; the job shows it"),
)
HARMLESS = dict.fromkeys(INSTALLERS.split(), "--version list show freeze") | {
    "git": "status rev-parse log diff describe show branch config ls-files remote --version"
}
"""First words after a program that only ask."""
SHELLS = "bash sh zsh"
MAKERS = (
    f"{LAUNCHERS} torch python {SHELLS} git hf huggingface-cli aws gsutil gcloud azcopy rclone rsync scp sftp curl wget "
    "mv cp ln dd tee touch tar unzip mkdir"
)
"""Programs that are not run and may make files, or modules, that the script then asks for."""
MAKING = {"git": "clone pull checkout lfs submodule", "hf": "download", "huggingface-cli": "download"}
"""Words of which a program has one where it does."""
HEAVY = re.compile(
    r"^[ \t]*(?:from|import)\s+(?:torch|transformers|trl|peft|accelerate|datasets|huggingface_hub|vllm|deepspeed|unsloth|axolotl"
    r"|diffusers|sentence_transformers|lightning|pytorch_lightning|tensorflow|keras|jax|flax|ray|bitsandbytes)\b",
    re.MULTILINE,
)
"""What a program of the user's own imports that trains, or reads more than a few rows: it is rehearsed by itself."""
ENVIRONMENT = 10
"""Arguments that `Popen` takes after the command, up to its variables."""
QUIET = "true" if os.name == "posix" else "ver"


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Watch what the script starts."""
    guard = make_guard(part_request)
    children = Children(part_request, guard, events)
    wrap(subprocess.Popen, "__init__", children.start)
    wrap(os, "system", system)
    wrap(os, "fork", children.fork)
    wrap(os, "setsid", lambda _original: os.getpgrp())
    wrap(os, "setpgrp", lambda _original: None)
    wrap(os, "setpgid", lambda _original, *_: None)
    spawned.install(part_request, guard)


class Children:
    """Takes the place of what starts processes, and reports those of the script itself."""

    def __init__(self, part_request: PartRequest, guard: Path, events: EventWriter) -> None:
        self._part_request, self._guard, self._events = part_request, guard, events
        self._own = os.getpid()

    def start(self, original: Any, popen: Any, args: Any, *more: Any, **kwargs: Any) -> None:
        """Take the place of `Popen.__init__`; a program that is not run is replaced by one that does nothing."""
        line = args if isinstance(args, str) else " ".join(map(os.fsdecode, _words(args)))
        is_run = _is_run(args, line, kwargs, self._part_request, self._events)
        if not is_run:
            args, kwargs["shell"] = [QUIET], False
            kwargs.pop("executable", None)
        _keep_in_group(kwargs)
        if len(more) < ENVIRONMENT:
            kwargs["env"] = guarded(kwargs.get("env"), self._guard)
        original(popen, args, *more, **kwargs)
        if is_run:
            self._report(popen.pid, line[:500])

    def fork(self, original: Any) -> int:
        """Take the place of `os.fork`."""
        pid = int(original())
        if pid:
            self._report(pid, "fork")
        return pid

    def _report(self, pid: int, command: str) -> None:
        if os.getpid() == self._own:
            self._events.fact("child", pid=pid, command=command)


def system(_original: Any, command: Any) -> int:
    """Take the place of `os.system`: its shell is a child like any other."""
    with subprocess.Popen(command, shell=True) as child:  # noqa: S602 - as the script asks
        code = child.wait()
    return code << 8 if code >= 0 else -code


def _is_run(args: Any, line: str, kwargs: dict[str, Any], part_request: PartRequest, events: EventWriter) -> bool:
    """True if a command is run, and tell of one that is not; folders that it only makes are made here."""
    is_shell = bool(kwargs.get("shell"))
    because = why_not(args, part_request, is_shell=is_shell)
    lines = _lines(args, is_shell=is_shell)
    if not make_folders(lines, kwargs.get("cwd")) and because:
        events.not_run(line, because, makes=may_make(line, lines))
    return not because


def _keep_in_group(kwargs: dict[str, Any]) -> None:
    """Leave a child in the group of processes that is ended together."""
    kwargs["start_new_session"] = False
    if "process_group" in kwargs:
        kwargs["process_group"] = None
    if getattr(kwargs.get("preexec_fn"), "__name__", "") in ("setsid", "setpgrp"):
        kwargs["preexec_fn"] = None


def _words(args: Any) -> list[Any]:
    return [args] if isinstance(args, str | bytes | os.PathLike) else list(args)


def _lines(args: Any, *, is_shell: bool) -> list[list[str]]:
    """Return the words of each program that a command runs."""
    if not (is_shell or isinstance(args, str)):
        return [[os.fsdecode(word) for word in _words(args)]]
    return split_shell(os.fsdecode(_words(args)[0]))


def split_shell(text: str) -> list[list[str]]:
    """Return the words of each program that a line of the shell runs.

    >>> split_shell("cd raw && unzip -q rows.zip")
    [['cd', 'raw'], ['unzip', '-q', 'rows.zip']]
    """
    return [_split(part) for part in re.split(r"&&|\|\||[;|\n]", text)]


def why_not(args: Any, part_request: PartRequest, *, is_shell: bool) -> str:
    """Return the way to rehearse a command that is not run in a rehearsal; empty if it is run."""
    if is_shell and _redirects(os.fsdecode(_words(args)[0])):
        return "running it: it writes a file"
    answers = (_command_reason(words, part_request) for words in _lines(args, is_shell=is_shell) if words)
    return next(filter(None, answers), "")


def _redirects(text: str) -> bool:
    return bool(re.search(r"(?<![<&])>(?!&)\s*(?!/dev/null)\S", text.replace("2>&1", "")))


def may_make(line: str, lines: Sequence[Sequence[str]]) -> bool:
    """True if a command may make files that a script asks for afterwards.

    >>> [may_make(each, split_shell(each)) for each in ("wget http://a.b/c.csv", "rm -rf out", "sort a > b")]
    [True, False, True]
    """
    return _redirects(line) or any(_makes(_program(words), words) for words in lines)


def _makes(name: str, words: Sequence[str]) -> bool:
    verbs = MAKING.get(name, "").split()
    return name.endswith(".sh") or (name in MAKERS.split() and (not verbs or any(verb in words for verb in verbs)))


def _program(words: Sequence[str]) -> str:
    """Return the name of what a command runs; of `python -m pip` that is `pip`.

    >>> _program(["/usr/bin/python3", "-m", "pip", "install", "trl"]), _program(["sudo", "apt", "update"])
    ('pip', 'apt')
    """
    first, *rest = _bare(words)
    name = re.sub(r"[\d.]+$", "", Path(first).name)
    module = rest[1].partition(".")[0] if name == "python" and rest[:1] == ["-m"] and len(rest) > 1 else ""
    return module if module in f"{INSTALLERS} {LAUNCHERS} torch".split() else name


def make_folders(lines: Sequence[Sequence[str]], cwd: Any = None) -> bool:
    """Make the folders that `mkdir` is to make; return whether the lines do nothing else."""
    folders_of = [_folders(words) for words in lines if words]
    for each in (each for folders in folders_of for each in folders):
        with suppress(OSError):  # which `mkdir` itself would only complain of
            Path(cwd or "", each).mkdir(parents=True, exist_ok=True)
    return bool(folders_of) and all(folders_of)


def _folders(words: Sequence[str]) -> list[str]:
    """Return the folders that `mkdir` is to make, if its words are plain ones."""
    plain = words[0] == "mkdir" and not any(set(word) & set("${}*?`") for word in words)
    return [word for word in words[1:] if not word.startswith("-")] if plain else []


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _bare(words: Sequence[str]) -> Sequence[str]:
    """Return the words of a program without variables and programs that only start it."""
    words = [word for word in words if "=" not in word.split("/")[0] or word.startswith("-")] or [""]
    while words[0] in ("sudo", "env", "nohup", "exec", "time", "command") and len(words) > 1:
        words = words[1:]
    return words


def _command_reason(words: Sequence[str], part_request: PartRequest) -> str:
    words = _bare(words)
    name, rest = Path(words[0]).name, list(words[1:])
    if re.fullmatch(r"python[\d.]*", name) or words[0] == sys.executable:
        return _python_reason(rest, part_request)
    if name.endswith(".sh") or name in SHELLS.split():
        return _shell_reason(rest, part_request)
    return _program_reason(name, words, part_request)


def _program_reason(name: str, words: Sequence[str], part_request: PartRequest) -> str:
    """Return why a program is not run, by its name and the first word after it; empty if it is run."""
    if name in ("nvidia-smi", "nvcc") and part_request.gpu == "assumed" and shutil.which(words[0]) is None:
        return "it needs a GPU; `holdfast rehearse --gpu` on a machine with one shows it"
    if words[1:] and words[1] in HARMLESS.get(name, "").split():
        return ""
    return next((because for programs, because in NOT_RUN if name in programs.split()), "")


def _shell_reason(rest: list[str], part_request: PartRequest) -> str:
    """Return the way to rehearse a shell's commands: a single line is read, a script file is not run."""
    if rest[:1] in (["-c"], ["-lc"]) and len(rest) > 1:
        return why_not(rest[1], part_request, is_shell=True)
    return "it may change more than the rehearsal's folder; the job shows it"


def _python_reason(rest: list[str], part_request: PartRequest) -> str:
    """Return the way to rehearse Python's program: a module or a script of the user's that trains is rehearsed by itself."""
    if rest[:1] == ["-m"] and len(rest) > 1:
        top = rest[1].partition(".")[0]
        own = Path(*rest[1].split(".")).with_suffix(".py")
        return _own_reason(own) or _command_reason([top if top != "torch" else "torchrun", *rest[2:]], part_request)
    script = next((word for word in rest if not word.startswith("-")), "")
    return _own_reason(Path(script)) if script.endswith(".py") and rest[0] == script else ""


def _own_reason(script: Path) -> str:
    """Return the way to rehearse a file of the user's, if it is not run."""
    whole, seen = script.absolute(), where(script.absolute())
    if str(whole).startswith(sys.prefix) or not script.is_file():
        return ""
    if Path(seen) != whole or HEAVY.search(script.read_text(encoding="utf-8", errors="replace")):
        return f"rehearse {script} itself"
    return ""
