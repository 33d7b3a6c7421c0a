"""`holdfast evaluate` and a plain transformers loop on the same rows, whose prompts differ in length: rows per second.

    python -m benchmarks.evaluate_rows [ROWS]

The model is `builtin:tiny-chat`; both write up to 32 tokens for each row, in batches of 16, with padding on the left. The loop takes the rows in
their order; holdfast takes rows of similar length together. Times are processor seconds of all processes, less those with two rows.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from benchmarks.machine import heading
from holdfast.adapters.evaluation.builtin_model import make_builtin

ROWS: Final = 800
FEW: Final = 2
WORDS: Final = (4, 300)
DATA: Final = ("all.jsonl", "few.jsonl")
BATCH: Final = 16
TOKENS: Final = 32
QUIET: Final = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
LOOP: Final = f"""
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], padding_side="left")
model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype="float32")
prompts = [json.loads(line)["prompt"] for line in open(sys.argv[2])]
for start in range(0, len(prompts), {BATCH}):
    batch = tokenizer(prompts[start : start + {BATCH}], return_tensors="pt", padding=True)
    with torch.inference_mode():
        output = model.generate(**batch, max_new_tokens={TOKENS}, do_sample=False)
    tokenizer.batch_decode(output[:, batch.input_ids.shape[1] :], skip_special_tokens=True)
"""


def write_rows(path: Path, rows: int) -> None:
    """Write rows whose prompts have 4 to 300 words."""
    draw = random.Random(0)  # noqa: S311 - it decides nothing that is secret
    texts = (" ".join(str(draw.randrange(100)) for _ in range(draw.randint(*WORDS))) for _ in range(rows))
    path.write_text("".join(json.dumps({"prompt": text, "completion": "1"}) + "\n" for text in texts))


def timed(words: Sequence[str], folder: Path) -> float:
    """Run a command; return its processor seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(words, cwd=folder, env={**os.environ, **QUIET}, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Print a line for each program."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    model = str(make_builtin("builtin:tiny-chat"))
    print(heading("evaluate rows"))
    with tempfile.TemporaryDirectory() as box:
        folder = Path(box)
        write_rows(folder / "all.jsonl", rows)
        write_rows(folder / "few.jsonl", FEW)
        settings = ["--metric", "exact_match", "--max-new-tokens", str(TOKENS), "--batch-size", str(BATCH), "--no-base"]
        programs: dict[str, list[str]] = {
            "plain loop": ["-c", LOOP, model, "DATA"],
            "holdfast": ["-m", "holdfast", "evaluate", model, "--on", "DATA", *settings],
        }
        for name, words in programs.items():
            all_rows, few = ([sys.executable, *(data if each == "DATA" else each for each in words)] for data in DATA)
            seconds = timed(all_rows, folder) - timed(few, folder)
            print(f"{name:12} {rows / seconds:8.1f} rows per processor second  ({seconds:.1f} s)", flush=True)


if __name__ == "__main__":
    main()
