"""Traces of training steps, in a process that has torch and transformers."""

import subprocess
from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path
from typing import Final

from holdfast.adapters.environment.marked_processes import marked_child
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.payload.tracing.request import TraceAnswer, TraceRequest, read_answer

LIMIT_S: Final = 180.0
MARK: Final = "HOLDFAST_TRACE"
"""Variable by which the process and what it starts are known."""
VARIABLES: Final = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "CUDA_VISIBLE_DEVICES": ""}
LAST_LINE: Final = 1


def trace_steps(
    requests: Sequence[TraceRequest], words: Sequence[str], *, header: str, limit_s: float = LIMIT_S
) -> tuple[TraceAnswer, ...]:
    """Return the trace of each step; where there is none, the answer says why.

    Covered: an environment at hand, or one that uv makes. Not covered: a GPU, which is neither needed nor used.

    Args:
        requests: What to trace.
        words: The words that run a Python program, without the program.
        header: The PEP 723 header that the program needs before its first line, or nothing.
        limit_s: Time that all of them may take.
    """
    with (
        scratch_folder("holdfast-trace-") as box,
        as_file(files("holdfast.payload") / "tracing") as package,
    ):
        requests_path, answers = Path(box, "requests"), Path(box, "answers")
        requests_path.write_text("\n".join(each.written() for each in requests), encoding="utf-8")
        program = package / "__main__.py"
        if header:
            starter = Path(box, "starter.py")
            starter.write_text(f"{header}\nimport runpy\nrunpy.run_path({str(program)!r}, run_name='__main__')\n")
            program = starter
        problem = _run([*words, str(program), str(requests_path), str(answers)], limit_s)
        if not answers.exists():
            return (TraceAnswer(problem=problem),) * len(requests)
        return tuple(read_answer(line) for line in answers.read_text(encoding="utf-8").splitlines())


def _run(words: Sequence[str], limit_s: float) -> str:
    """Run a program to its end or to the limit; return what is to be said where it leaves no answer."""
    with marked_child(words, MARK, variables=VARIABLES, stderr=subprocess.PIPE) as child:
        try:
            _, errors = child.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            return f"the trace takes longer than {limit_s:g} seconds"
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return f"the trace ends with exit code {child.returncode}: {''.join(lines[-LAST_LINE:])}"
