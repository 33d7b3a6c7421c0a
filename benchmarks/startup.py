"""How long a person waits for `holdfast --version`, `check` of a job file or a script, and `diagnose` of a short log, in new processes.

    .venv/bin/python -m benchmarks.startup

Beside them, in the same rounds: Python that does nothing, and the import that every training script begins with. The
bytecode of the sources is written before, as that of an installed package is.
"""

import compileall
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import holdfast
from benchmarks.machine import heading

ROUNDS = 15
JOB = Path(__file__).parent.parent / "examples" / "quickstart.yaml"
SCRIPT = Path(__file__).parent / "good" / "sft_lora.py"
LOG = b"TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_seq_length'\n"
SOURCES = Path(holdfast.__file__).parent
HOLDFAST = [sys.executable, "-m", "holdfast"]
COMMANDS = {
    "python -c pass": [sys.executable, "-c", "pass"],
    "holdfast --version": [*HOLDFAST, "--version"],
    "holdfast check job.yaml": [*HOLDFAST, "check", "--offline", str(JOB)],
    "holdfast check train.py": [*HOLDFAST, "check", "--offline", "--no-cache", str(SCRIPT)],
    "holdfast diagnose -": [*HOLDFAST, "diagnose", "-"],
}
SLOW = {"python -c 'from trl import SFTTrainer'": [sys.executable, "-c", "from trl import SFTTrainer"]}


def seconds(command: list[str]) -> float:
    """Run a command to its end and return how long that took."""
    variables = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True, env=variables, input=LOG)
    return time.perf_counter() - begun


def main() -> None:
    """Measure in rounds, each command once a round, and print medians and extremes."""
    compileall.compile_dir(SOURCES, quiet=1)
    rounds = [{name: seconds(command) for name, command in COMMANDS.items()} for _ in range(ROUNDS)]
    figures = {name: [one[name] for one in rounds] for name in COMMANDS}
    figures |= {name: [seconds(command) for _ in range(3)] for name, command in SLOW.items()}
    print(heading("start-up, seconds"))
    for name, values in figures.items():
        print(f"{name:42} median {median(values):6.3f}   least {min(values):6.3f}   most {max(values):6.3f}")
    slow = median(figures["python -c 'from trl import SFTTrainer'"])
    for name in ("holdfast check job.yaml", "holdfast check train.py"):
        print(f"{name} is ready {slow / median(figures[name]):.0f} times sooner than the import alone")


if __name__ == "__main__":
    main()
