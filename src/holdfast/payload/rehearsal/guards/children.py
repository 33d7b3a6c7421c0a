"""Programs that the script starts: in the rehearsal's process group, and none that installs, launches, uploads or deletes.

Covered: `subprocess`, `os.system`, `os.popen`, `os.fork` and what builds on them (`multiprocessing`, data loaders). A program
that is not run ends at once, well, and says nothing. Programs of Python are guarded as the script is: `inherited`. Not covered:
what other programs write; `posix_spawn`.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..order import Order
from ..telling import Tell, wrap
from .inherited import guarded, make_guard

INSTALLERS = "pip pip3 pipx uv conda mamba micromamba poetry apt apt-get yum dnf brew npm"
LAUNCHERS = "accelerate torchrun deepspeed trl axolotl llamafactory-cli horovodrun mpirun srun sbatch ray"
SENDERS = (
    "git hf huggingface-cli aws gsutil gcloud azcopy rclone rsync scp sftp ssh wandb curl wget docker kubectl "
    "shutdown reboot poweroff halt kill pkill killall runpodctl vastai"
)
CHANGERS = "rm mv cp ln mkdir rmdir touch chmod chown tee dd tar unzip zip truncate sed"
NOT_RUN = (
    (INSTALLERS, "an environment that is made beforehand: its requirements belong to the script's header"),
    (LAUNCHERS, "a rehearsal of what it launches"),
    (SENDERS, "running it: it reaches beyond the rehearsal"),
    (CHANGERS, "running it: it changes more than the rehearsal's folder"),
)
HARMLESS = dict.fromkeys(INSTALLERS.split(), "--version list show freeze") | {
    "git": "status rev-parse log diff describe show branch config ls-files remote --version"
}
"""First words after a program that only ask."""
ENVIRONMENT = 10
"""Arguments that `Popen` takes after the command, up to its variables."""
QUIET = "true" if os.name == "posix" else "ver"


def install(order: Order, tell: Tell) -> None:
    """Watch what the script starts."""
    own = os.getpid()
    guard = make_guard(order)

    def start(original: Any, popen: Any, args: Any, *more: Any, **kwargs: Any) -> None:
        because = why_not(args, order, is_shell=bool(kwargs.get("shell")))
        line = args if isinstance(args, str) else " ".join(os.fsdecode(each) for each in _words(args))
        if because:
            tell.not_rehearsed(f"`{line}`"[:200], because)
            args, kwargs["shell"] = [QUIET], False
            kwargs.pop("executable", None)
        _keep_in_group(kwargs)
        if len(more) < ENVIRONMENT:
            kwargs["env"] = guarded(kwargs.get("env"), guard)
        original(popen, args, *more, **kwargs)
        if os.getpid() == own and not because:
            tell.fact("child", pid=popen.pid, command=line[:500])

    def system(_original: Any, command: Any) -> int:
        with subprocess.Popen(command, shell=True) as child:  # noqa: S602 - as the script asks
            code = child.wait()
        return code << 8 if code >= 0 else -code

    def fork(original: Any) -> int:
        pid = int(original())
        if pid and os.getpid() == own:
            tell.fact("child", pid=pid, command="fork")
        return pid

    wrap(subprocess.Popen, "__init__", start)
    wrap(os, "system", system)
    wrap(os, "fork", fork)
    wrap(os, "setsid", lambda _original: os.getpgrp())
    wrap(os, "setpgrp", lambda _original: None)
    wrap(os, "setpgid", lambda _original, *_: None)


def _keep_in_group(kwargs: dict[str, Any]) -> None:
    """Leave a child in the group of processes that is ended together."""
    kwargs["start_new_session"] = False
    if "process_group" in kwargs:
        kwargs["process_group"] = None
    if getattr(kwargs.get("preexec_fn"), "__name__", "") in ("setsid", "setpgrp"):
        kwargs["preexec_fn"] = None


def _words(args: Any) -> list[Any]:
    return [args] if isinstance(args, str | bytes | os.PathLike) else list(args)


def why_not(args: Any, order: Order, *, is_shell: bool) -> str:
    """Return what would show what a command does, if it is not run in a rehearsal; else nothing."""
    lines = [_words(args)]
    if is_shell or isinstance(args, str):
        text = os.fsdecode(_words(args)[0])
        if is_shell and re.search(r"(?<![<&])>(?!&)\s*(?!/dev/null)\S", text.replace("2>&1", "")):
            return "running it: it writes a file"
        lines = [_split(part) for part in re.split(r"&&|\|\||[;|\n]", text)]
    answers = (_of_one([os.fsdecode(word) for word in words], order) for words in lines if words)
    return next(filter(None, answers), "")


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _of_one(words: Sequence[str], order: Order) -> str:
    words = [word for word in words if "=" not in word.split("/")[0] or word.startswith("-")] or [""]
    while words[0] in ("sudo", "env", "nohup", "exec", "time", "command") and len(words) > 1:
        words = words[1:]
    name, rest = Path(words[0]).name, list(words[1:])
    if re.fullmatch(r"python[\d.]*", name) or words[0] == sys.executable:
        return _of_python(rest, order)
    if name in ("nvidia-smi", "nvcc") and order.gpu == "assumed" and shutil.which(words[0]) is None:
        return "a machine with a GPU: holdfast rehearse --gpu there"
    if rest and rest[0] in HARMLESS.get(name, "").split():
        return ""
    return next((because for programs, because in NOT_RUN if name in programs.split()), "")


def _of_python(rest: list[str], order: Order) -> str:
    """Return what would show what Python runs: a module or a script of the user's is a program of its own."""
    if rest[:1] == ["-m"] and len(rest) > 1:
        top = rest[1].partition(".")[0]
        return _of_one([top if top != "torch" else "torchrun", *rest[2:]], order)
    script = next((word for word in rest if not word.startswith("-")), "")
    if script.endswith(".py") and rest[0] == script and not str(Path(script).absolute()).startswith(sys.prefix):
        return f"a rehearsal of {script} itself"
    return ""
