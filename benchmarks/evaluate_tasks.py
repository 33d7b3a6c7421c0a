"""`holdfast evaluate --task` and `lm_eval` on the same tasks and model: the same scores, and what holdfast costs beyond it.

    python -m benchmarks.evaluate_tasks [ROWS]

The model is `builtin:tiny-chat`. Both programs start anew, with the chat template and batches of 32; the times are processor
seconds of all their processes, and seconds until they end.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.machine import heading
from holdfast.adapters.evaluation.builtin_model import make_builtin

ROWS: Final = 2_000
QUIET: Final = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONPATH": ""}
DATA: Final = "dataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
QUESTION: Final = 'doc_to_text: "What is {{question}}?"\n'
TASKS: Final = {
    "choice": 'output_type: multiple_choice\ndoc_to_choice: "{{choices}}"\ndoc_to_target: 0\nmetric_list: [{metric: acc}, {metric: acc_norm}]\n',
    "written": 'output_type: generate_until\ndoc_to_target: "{{choices[0]}}"\ngeneration_kwargs: {max_gen_toks: 8, until: ["."]}\nmetric_list: [{metric: exact_match}]\n',
    "text": 'output_type: loglikelihood_rolling\ndoc_to_target: "{{text}}"\nmetric_list: [{metric: word_perplexity}, {metric: bits_per_byte}]\n',
}


def write_tasks(folder: Path, rows: int) -> None:
    """Write the tasks, and their rows."""
    numbers = ((number // 50, number % 50) for number in range(rows))
    lines = (
        {
            "question": f"{a} plus {b}",
            "choices": [str(a + b), str(a + b + 1), str(a + b + 10)],
            "text": f"The sum of {a} and {b} is {a + b}.",
        }
        for a, b in numbers
    )
    (folder / "rows.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "tasks").mkdir()
    for name, body in TASKS.items():
        (folder / "tasks" / f"{name}.yaml").write_text(f"task: {name}\n{DATA}{QUESTION}{body}")


def timed(words: Sequence[str], folder: Path) -> tuple[float, float]:
    """Run a command; return its processor seconds and its seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(words, cwd=folder, env={**os.environ, **QUIET}, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.monotonic() - start


def main() -> None:
    """Print both programs' scores and times."""
    rows, binaries = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS, Path(sys.executable).parent
    model = make_builtin("builtin:tiny-chat")
    with tempfile.TemporaryDirectory() as box:
        folder = Path(box)
        write_tasks(folder, rows)
        itself = timed(
            [
                *(str(binaries / "lm_eval"), "run", "--model", "hf", "--model_args", f"pretrained={model}", "--include_path", "tasks"),
                *("--tasks", *TASKS, "--batch_size", "32", "--apply_chat_template", "--device", "cpu"),
                *("--output_path", "lm-eval.json", "--log_samples"),
            ],
            folder,
        )  # fmt: skip
        ours = timed([str(binaries / "holdfast"), "evaluate", str(model), "--task", "tasks", "--offline"], folder)
        (told,) = folder.glob("results/evaluation-*.json")
        (theirs,) = [path for path in folder.glob("lm-eval*.json") if not path.name.startswith("samples")]
        results = json.loads(theirs.read_text())["results"]
        print(heading(f"{rows:,} rows of each task"))
        for each in json.loads(told.read_text())["results"]:
            value, other = each["value"], results[each["dataset"]][f"{each['metric']},none"]
            same = "the same" if abs(value - other) <= 1e-6 * abs(other) else f"differs by {value - other:g}"
            print(f"{each['dataset']} {each['metric']}: {value:.6g}, lm_eval {other:.6g}: {same}")
        for name, (processor_s, wall_s) in (("lm_eval", itself), ("holdfast", ours)):
            print(f"{name}: {processor_s:.1f} s of processor, {wall_s:.1f} s")
        print(f"ratio: {ours[0] / itself[0]:.2f} of processor, {ours[1] / itself[1]:.2f} of time")


if __name__ == "__main__":
    main()
