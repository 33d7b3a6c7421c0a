"""How long a rehearsal takes: of a good script, again after it was saved, and to a failure; beside simply launching it.

    .venv/bin/python -m benchmarks.rehearse_time [METHOD...] [--launch] [--repeat 3]

The scripts train with LoRA, evaluate, save and end; the model has the size of Qwen2.5-0.5B and random weights, and is on disk.
The failure is a metric that no evaluation logs, at the first evaluation: 5 steps after the start. Told are medians. Bounds are
for two cores with everything read before: 15 s for SFT, 18 s for DPO, 25 s for GRPO, and 3 s for the second rehearsal.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.machine import heading
from holdfast.adapters.rehearsal.warm import WarmServer
from holdfast.app.rehearse.verb import rehearse
from tests.helpers.rehearsal_jobs import job
from tests.helpers.tiny import quiet_environment

BOUNDS_S = {"SFT": 15.0, "DPO": 18.0, "GRPO": 25.0}
AGAIN_S = 3.0
SETTINGS = (
    'learning_rate=1e-4, max_steps=100, bf16=False, use_cpu=True, eval_strategy="steps", eval_steps=5, save_steps=5, '
    "per_device_eval_batch_size=4, max_length=256"
)
FAULT = 'load_best_model_at_end=True, metric_for_best_model="accuracy"'
GIVEN = 'peft_config=LoraConfig(r=8, target_modules="all-linear"), eval_dataset=parts["test"]'
SPLIT = "parts = dataset.train_test_split(0.25, seed=0)\ndataset = parts['train']"
MAKE = """
import sys
from pathlib import Path
import torch
from transformers import Qwen2Config, Qwen2ForCausalLM
from tests.helpers.tiny import make_tiny
make_tiny(Path(sys.argv[1]))
tiny = Qwen2Config.from_pretrained(sys.argv[1])
config = Qwen2Config(vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=24, num_attention_heads=14,
    num_key_value_heads=2, tie_word_embeddings=True, eos_token_id=tiny.eos_token_id, pad_token_id=tiny.pad_token_id)
torch.set_default_dtype(torch.bfloat16)
Qwen2ForCausalLM(config).save_pretrained(sys.argv[1])
"""


def main() -> None:
    """Measure, and print a table."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("methods", nargs="*", metavar="METHOD", help=", ".join(BOUNDS_S))
    words.add_argument("--launch", action="store_true", help="launch the script with the failure too, at full size")
    words.add_argument("--limit", type=float, default=1800.0, help="seconds after which a launched script is ended")
    words.add_argument("--repeat", type=int, default=3)
    asked = words.parse_args()
    print(heading("rehearsals"))
    print(f"{'method':<7}{'first':>9}{'bound':>8}{'again':>9}{'bound':>8}{'to failure':>12}{'launched':>12}")
    with TemporaryDirectory() as name, chdir(name):
        subprocess.run([sys.executable, "-c", MAKE, "model"], check=True, capture_output=True, env=_environment())
        for method in asked.methods or BOUNDS_S:
            good, bad = (write(method, more) for more in ("", FAULT))
            first_s = median(asked.repeat, partial(command, good, code=0))
            again_s = median(asked.repeat, partial(next, again(good)))
            failing_s = median(asked.repeat, partial(command, bad, code=1))
            told = launched(bad, asked.limit) if asked.launch else ""
            print(
                f"{method:<7}{first_s:>7.1f} s{BOUNDS_S[method]:>6.0f} s{again_s:>7.1f} s{AGAIN_S:>6.0f} s{failing_s:>10.1f} s{told:>12}",
                flush=True,
            )


def write(method: str, more: str) -> Path:
    """Write a method's script, with more settings; return its path."""
    settings = SETTINGS if method != "GRPO" else SETTINGS.replace(", max_length=256", "")
    asked = job(
        f"{method.lower()}-{'bad' if more else 'good'}",
        method,
        shape=SPLIT,
        settings=f"{settings}, {more}",
        model='"model"',
        given=GIVEN,
    )
    path = Path(f"{asked.name}.py")
    path.write_text(asked.source)
    return path


def median(times: int, measure: Callable[[], float]) -> float:
    """Return the median of some measurements, after one that counts for nothing."""
    measure()
    return statistics.median(measure() for _ in range(times))


def command(path: Path, *, code: int) -> float:
    """Return the seconds that `holdfast rehearse` takes; it is to end with an exit code."""
    began_s = time.perf_counter()
    words = [sys.executable, "-m", "holdfast", "rehearse", str(path), "--here", "--set", "where.backend=local"]
    done = subprocess.run(words, capture_output=True, text=True, check=False, env=_environment())
    if done.returncode != code:
        raise SystemExit(f"{path} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return time.perf_counter() - began_s


def again(path: Path) -> Iterator[float]:
    """Yield the seconds that each rehearsal after the first takes, as `--watch` does them."""
    os.environ.update(_environment())
    with WarmServer() as warm:
        while True:
            began_s = time.perf_counter()
            rehearse(str(path), here=True, set=("where.backend=local",), warm=warm)
            yield time.perf_counter() - began_s


def launched(path: Path, limit_s: float) -> str:
    """Return in words how long the script itself takes to its failure."""
    began_s = time.perf_counter()
    environment = _environment()
    environment.pop("OMP_NUM_THREADS", None)  # the real job has all cores
    try:
        done = subprocess.run(
            [sys.executable, str(path)], capture_output=True, env=environment, timeout=limit_s, check=False
        )
    except subprocess.TimeoutExpired:
        return f"> {limit_s:.0f} s"
    return f"{time.perf_counter() - began_s:.0f} s" if done.returncode else "no failure"


def _environment() -> dict[str, str]:
    root = str(Path(__file__).resolve().parent.parent)
    return quiet_environment(PYTHONPATH=root, PYTHONWARNINGS="ignore")


if __name__ == "__main__":
    main()
