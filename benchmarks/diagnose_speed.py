"""How fast a log is read and diagnosed, against grep with one pattern and a Python loop over all patterns.

    .venv/bin/python -m benchmarks.diagnose_speed [GB] [--kind typical|bars|lines|grpo|ansi|warnings|oneline]

Prints megabytes a second and the highest memory of the process. Nothing is written to disk but the log itself, in a temporary
folder; `--stream` makes the log as it is read instead, so that 5 GB need no disk.
"""

import argparse
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from holdfast.adapters.storage.log_files import read_chunks
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.signatures import all_signatures

MB = 10**6
LOOP_BYTES = 4 * MB
END = """[rank3]: Traceback (most recent call last):
[rank3]:   File "/home/u/train.py", line 88, in <module>
[rank3]:     trainer.train()
[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 22.06 GiB of which \
1.06 GiB is free. Including non-PyTorch memory, this process has 20.99 GiB memory in use. Of the allocated memory 19.80 GiB is \
allocated by PyTorch, and 921.10 MiB is reserved by PyTorch but unallocated.
"""


def step(number: int) -> str:
    """Return what one step of a typical job writes."""
    bar = f"\r{number % 100:3d}%|{'█' * (number % 10):10}| {number}/1000000 [1:02:03<4:05:06,  1.32it/s]"
    return (
        bar * 4
        + f"\n{{'loss': {2 + (number % 7) / 10:.4f}, 'grad_norm': {1 + (number % 5) / 10:.3f}, 'learning_rate': 1.9e-05, 'epoch': {number / 1e5:.2f}}}\n"
    )


def other(number: int) -> str:
    """Return what services and libraries write between steps."""
    return (
        f"2026-11-20 15:{number % 60:02d}:41,123 - trainer.data - INFO - shard {number} of 100000 read in {number % 90} ms\n"
        f"(EngineCore_DP0 pid=4242) INFO 11-20 15:52:41 [loggers.py:123] Avg prompt throughput: {number % 1000}.0 tokens/s, running: 12 reqs\n"
        f'INFO:     127.0.0.1:{number % 60000} - "POST /generate/ HTTP/1.1" 200 OK\n'
        f"[rank{number % 8}]: epoch 1 batch {number} took 0.{number % 10}s\n"
    )


def grpo(number: int) -> str:
    """Return what one step of GRPO writes."""
    rewards = f"'rewards/plain_words/mean': '0.{number % 97}', 'rewards/plain_words/std': '0.1', 'reward': '0.4', 'reward_std': '0.2'"
    return f"{{'loss': '0.0001', 'grad_norm': '0.41', 'learning_rate': '1e-06', 'num_tokens': '{number}', {rewards}, 'epoch': '0.2'}}\n"


KINDS: Mapping[str, Callable[[int], str]] = {
    "typical": lambda number: step(number) + other(number),
    "bars": lambda number: step(number).replace("\n", "\r"),
    "lines": other,
    "grpo": grpo,
    "ansi": lambda number: other(number).replace("INFO", "\x1b[32mINFO\x1b[0m"),
    "warnings": lambda number: (
        f"/site-packages/x.py:{number % 900}: UserWarning: the value {number} is odd\n  warnings.warn(\nRuntimeError: retry {number}\n"
    ),
    "oneline": lambda number: f"value {number} ",
}


def chunks(kind: str, size: int) -> Iterator[bytes]:
    """Yield a log of some bytes, that ends in an exception."""
    piece = "".join(KINDS[kind](number) for number in range(40_000)).encode()[: 8 * MB]
    for _ in range(size // len(piece)):
        yield piece
    yield b"\n" + END.encode()


def measure(name: str, size: int, run: Callable[[], object]) -> None:
    """Print how long something took, and what that is in megabytes a second."""
    started, busy = time.perf_counter(), time.process_time()
    told = run()
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    print(f"{name:28}{seconds:8.2f} s {size / MB / seconds:9.1f} MB/s  of the processor {busy:6.2f} s  {told}")


def grep(path: Path) -> str:
    """Count the lines with one pattern, with grep."""
    return subprocess.run(
        ["grep", "-c", "CUDA out of memory", str(path)], capture_output=True, text=True, check=False
    ).stdout.strip()


def loop(path: Path) -> int:
    """Count the lines that any pattern matches, one after the other, as a first program would."""
    patterns = [re.compile(pattern.line) for signature in all_signatures() for pattern in signature.patterns]
    with path.open("rb") as file:
        text = file.read(LOOP_BYTES).decode("utf-8", "replace")
    return sum(any(pattern.search(line) for pattern in patterns) for line in text.splitlines())


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("gigabytes", nargs="?", type=float, default=1.0)
    parser.add_argument("--kind", choices=sorted(KINDS), default="typical")
    parser.add_argument("--stream", action="store_true")
    options = parser.parse_args()
    started = time.perf_counter()
    patterns = PatternIndex(all_signatures())
    print(
        f"signatures: {len(patterns.signatures)}, words: {len(patterns.sought.words)}, loaded in {time.perf_counter() - started:.3f} s"
    )
    size = int(options.gigabytes * 1000 * MB)

    def answered(source: Iterator[bytes]) -> str:
        found = diagnose(read_log([("train.log", source)], patterns.sought), patterns)
        return f"{found.verdict} {found.causes[0].signature.name if found.causes else ''} of {found.lines} lines"

    if options.stream:
        measure("holdfast, streamed", size, lambda: answered(chunks(options.kind, size)))
    else:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "train.log"
            with path.open("wb") as file:
                file.writelines(chunks(options.kind, size))
            measure("grep -c, one pattern", size, lambda: grep(path))
            measure("holdfast", size, lambda: answered(read_chunks(str(path))))
            measure("Python loop, all patterns", LOOP_BYTES, lambda: loop(path))
    print(f"highest memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
