"""What happens to a log on its way to whoever reads it: collectors, terminals, people who paste and cut.

Each perturbation takes a text and a seed and gives another text that says the same. None knows what is looked for.
"""

import json
import random
import re
import textwrap
from collections.abc import Callable, Mapping

Perturbation = Callable[[str, random.Random], str]
FRAME = re.compile(r'^\s*File "[^"]*", line \d+')
HEAD = "Traceback (most recent call last):"
LIBRARIES = re.compile(r"(?:/[\w.\-]+)*/lib/python3\.\d+/site-packages/")
HOMES = re.compile(r'(?<=File ")(?:/home/\w+|/root|/workspace|/srv|/data|/app|/mnt/\w+)/')
LONG = 200
"""Characters at which a line was cut."""


def wrapped(width: int) -> Perturbation:
    """Break lines where the terminal ends."""
    return lambda text, _: "\n".join(
        line[at : at + width] for line in text.split("\n") for at in range(0, max(1, len(line)), width)
    )


def wrapped_at_words(width: int) -> Perturbation:
    """Break lines between words, as rich and mail programs do."""
    return lambda text, _: "\n".join(
        part
        for line in text.split("\n")
        for part in textwrap.wrap(line, width, drop_whitespace=True, break_on_hyphens=False) or [""]
    )


def prefixed(make: Callable[[int, random.Random], str]) -> Perturbation:
    """Put something before every line."""
    return lambda text, chance: "\n".join(
        make(at, chance) + line for at, line in enumerate(text.rstrip("\n").split("\n"))
    )


def interleaved(text: str, _: random.Random) -> str:
    """Two ranks write the same, line by line."""
    return "\n".join(f"[rank{rank}]: {line}" for line in text.rstrip("\n").split("\n") for rank in (2, 5))


def interleaved_with_steps(text: str, _: random.Random) -> str:
    """Another rank goes on training meanwhile."""
    return "\n".join(
        f"{rank}: {line}"
        for at, text_line in enumerate(text.rstrip("\n").split("\n"))
        for rank, line in ((0, f"step {at} took 1.{at} s"), (1, text_line))
    )


def elided(text: str, _: random.Random) -> str:
    """People leave out what lies between the first and the last frame."""
    lines = text.split("\n")
    frames = [at for at, line in enumerate(lines) if FRAME.match(line)]
    if len(frames) > 2:
        lines[frames[1] : frames[-1]] = ["  ..."]
    elif len(frames) == 2:
        lines.insert(frames[1], "  [...]")
    return "\n".join(lines)


def other_numbers(text: str, chance: random.Random) -> str:
    """Other line numbers, process ids and addresses."""
    text = re.sub(r"(?<=, line )\d+", lambda _: str(chance.randint(1, 4000)), text)
    shift = chance.randint(1, 9999)
    text = re.sub(r"(?<=pid[ =:])\d+", lambda found: str(int(found[0]) + shift), text)
    return re.sub(r"0x[0-9a-f]{6,}", lambda _: f"0x{chance.randrange(2**44):012x}", text)


def other_paths(text: str, chance: random.Random) -> str:
    """Another machine, another user, another way to install."""
    home = chance.choice(["/scratch/p7/ann/", "/kaggle/working/", "/content/", "./", "/opt/ml/code/"])
    library = chance.choice(
        [
            "/usr/local/lib/python3.13/dist-packages/",
            "/root/.cache/uv/archive-v0/aB3/lib/python3.12/site-packages/",
            ".venv/lib/python3.10/site-packages/",
            "/databricks/python/lib/python3.11/site-packages/",
        ]
    )
    return LIBRARIES.sub(library, HOMES.sub(home, text))


def windows_paths(text: str, _: random.Random) -> str:
    """The same on Windows."""
    text = LIBRARIES.sub("C:/Users/ann/miniconda3/envs/ft/Lib/site-packages/", HOMES.sub("C:/Users/ann/", text))
    return re.sub(r'(?<=File ")[^"]*', lambda found: found[0].replace("/", "\\"), text).replace("\n", "\r\n")


def other_levels(text: str, _: random.Random) -> str:
    """Levels of loggers in the other case."""
    return re.sub(r"\b(?:ERROR|WARNING|INFO|CRITICAL)\b(?=[ :|\]])", lambda found: found[0].lower(), text)


def headless(text: str, _: random.Random) -> str:
    """Without the line with which a traceback begins."""
    return "\n".join(line for line in text.split("\n") if HEAD not in line)


def exception_alone(text: str, _: random.Random) -> str:
    """Only what the traceback ends in."""
    kept: list[str] = []
    in_frames = False
    for line in text.split("\n"):
        in_frames = HEAD in line or FRAME.match(line) is not None or (in_frames and line[:1] in (" ", "\t", ""))
        if not in_frames:
            kept.append(line)
    return "\n".join(kept) if any(map(str.strip, kept)) else text


def cut_in_last_line(text: str, _: random.Random) -> str:
    """The end is missing."""
    before, feed, last = text.rstrip("\n").rpartition("\n")
    return before + feed + last[:LONG]


def cut_within(share: float) -> Perturbation:
    """The end is missing, within its last sentence, as excerpts and writers that crash leave it."""

    def cut(text: str, _: random.Random) -> str:
        before, feed, last = text.rstrip("\n").rpartition("\n")
        return before + feed + last[: round(share * len(last))]

    return cut


def cut_lines(text: str, _: random.Random) -> str:
    """Every line was cut, as viewers do."""
    return "\n".join(line if len(line) <= LONG else line[:LONG] + "..." for line in text.split("\n"))


def beginning_cut(text: str, chance: random.Random) -> str:
    """The beginning is missing, in the midst of the first traceback."""
    lines = text.split("\n")
    frames = [at for at, line in enumerate(lines) if FRAME.match(line)]
    return "\n".join(lines[chance.choice(frames[-2:]) :]) if frames else text


def objects(make: Callable[[str, int], Mapping[str, object]]) -> Perturbation:
    """Write every line as an object of JSON."""
    return lambda text, _: "\n".join(
        json.dumps(make(line, at)) for at, line in enumerate(text.rstrip("\n").split("\n"))
    )


def one_object(text: str, _: random.Random) -> str:
    """Write all of it as one message of a logger that writes JSON."""
    return json.dumps(
        {"asctime": "2026-11-20 15:52:41,123", "levelname": "ERROR", "name": "train", "message": "failed", "exc_info": text.rstrip()}
    )  # fmt: skip


def structured(text: str, _: random.Random) -> str:
    """Write all of it as an event of structlog."""
    return json.dumps({"event": text.rstrip(), "level": "error", "timestamp": "2026-11-20T15:52:41Z"})


def logged(text: str, _: random.Random) -> str:
    """A logger writes it, behind its own words."""
    return f"2026-11-20 15:52:41,123 - train - ERROR - training failed\n{text}"


def of_pytest(text: str, _: random.Random) -> str:
    """A test runner's short form: `E   ` before the exception."""
    lines = text.rstrip("\n").split("\n")
    frames = [at for at, line in enumerate(lines) if FRAME.match(line)]
    first = (frames[-1] + 2) if frames else 0
    shown = [re.sub(r'^\s*File "([^"]*)", line (\d+), in (\S+)', r"\1:\2: in \3", line) for line in lines[:first]]
    return "\n".join([*(line for line in shown if HEAD not in line), *(f"E   {line}" for line in lines[first:])])


def before_stdout(text: str, _: random.Random) -> str:
    """What went to standard output was written in one piece at the end."""
    steps = [f"{{'loss': '{2 - 0.1 * at:.2f}', 'grad_norm': '1.2', 'epoch': '0.{at}'}}" for at in range(6)]
    return "\n".join([text.rstrip("\n"), "model ready", *steps]) + "\n"


def second_attempt(text: str, _: random.Random) -> str:
    """It is what a second attempt ended in, after one that a lost node ended."""
    return f"attempt 1\nslurmstepd: error: *** JOB 7 ON n1 CANCELLED DUE TO NODE FAILURE, SEE SLURMCTLD LOG ***\nattempt 2\n{text}"


PERTURBATIONS: dict[str, Perturbation] = {
    "as it is": lambda text, _: text,
    "wrapped at 80": wrapped(80),
    "wrapped at 100": wrapped(100),
    "wrapped at 120": wrapped(120),
    "wrapped at words 80": wrapped_at_words(80),
    "wrapped at words 120": wrapped_at_words(120),
    "stamp +01:00": prefixed(lambda at, _: f"2026-11-20T15:52:{at % 60:02d}.123+01:00 "),
    "stamp CET": prefixed(lambda at, _: f"2026-11-20 15:52:{at % 60:02d} CET "),
    "stamp [UTC]": prefixed(lambda at, _: f"[2026-11-20 15:52:{at % 60:02d} UTC] "),
    "stamp [clock]": prefixed(lambda at, _: f"[15:52:{at % 60:02d}] "),
    "stamp clock": prefixed(lambda at, _: f"15:52:{at % 60:02d}.123 "),
    "stamp, level": prefixed(lambda at, _: f"2026-11-20 15:52:{at % 60:02d},123 - train - ERROR - "),
    "stamp |level|": prefixed(lambda at, _: f"2026-11-20 15:52:{at % 60:02d}.123 | ERROR    | __main__:main:42 - "),
    "stamp US": prefixed(lambda at, _: f"11/20/2026 15:52:{at % 60:02d} - ERROR - __main__ -   "),
    "level:name:": prefixed(lambda _, __: "ERROR:__main__:"),
    "[INFO|file]": prefixed(lambda at, _: f"[ERROR|trainer.py:{at + 40}] 2026-11-20 15:52:41,123 >> "),
    "compose": prefixed(lambda _, __: "trainer-1  | "),
    "modal, kubectl": prefixed(lambda _, __: "sft-trainer-0 trainer "),
    "stern": prefixed(lambda _, __: "sft-7f9c trainer 2026-11-20T15:52:41.123456789Z "),
    "sagemaker": prefixed(lambda _, __: "\x1b[34m[1,mpirank:0,algo-1]<stderr>:"),
    "actions": prefixed(lambda at, _: f"2026-11-20T15:52:{at % 60:02d}.1234567Z "),
    "ray": prefixed(lambda _, __: "\x1b[36m(RayTrainWorker pid=812, ip=10.0.0.3)\x1b[0m "),
    "(main pid)": prefixed(lambda _, __: "(main_task, pid=812) "),
    "azure": prefixed(lambda at, _: f"[node-0][rank-3]: 2026-11-20 15:52:{at % 60:02d},1 "),
    "quoted": prefixed(lambda _, __: "> "),
    "indented": prefixed(lambda _, __: "    "),
    "ranks": interleaved,
    "ranks and steps": interleaved_with_steps,
    "elided": elided,
    "other numbers": other_numbers,
    "other paths": other_paths,
    "Windows": windows_paths,
    "levels": other_levels,
    "no head": headless,
    "exception alone": exception_alone,
    "last line cut": cut_in_last_line,
    "a fifth cut": cut_within(0.8),
    "a third cut": cut_within(0.67),
    "lines cut": cut_lines,
    "beginning cut": beginning_cut,
    "docker JSON": objects(lambda line, _: {"log": f"{line}\n", "stream": "stderr", "time": "2026-11-20T15:52:41.1Z"}),
    "cloud JSON": objects(
        lambda line, at: {"timestamp": 1763653961000 + at, "message": line, "logStreamName": "job/1"}
    ),
    "event JSON": objects(lambda line, _: {"level": "error", "event": line, "timestamp": "2026-11-20T15:52:41Z"}),
    "one JSON": one_object,
    "one event": structured,
    "logged": logged,
    "pytest": of_pytest,
    "stdout late": before_stdout,
    "second attempt": second_attempt,
}


def perturb(name: str, text: str, seed: int) -> str:
    """Return a text after a perturbation; the same seed gives the same."""
    return PERTURBATIONS[name](text, random.Random(seed))  # noqa: S311 - a log, no secret
