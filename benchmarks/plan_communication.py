"""How long GPUs wait for one another: published runs of several GPUs beside those of one with the same settings.

    .venv/bin/python -m benchmarks.plan_communication

The rows are those that the closed form claims to know (`benchmarks.plan_memory`); the speeds of some settings were published more than once.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from statistics import median
from typing import Any, Final

from benchmarks.plan_memory import CARD, PUBLISHED, Scored, score
from holdfast.catalog.hub.gpus import load_ceilings
from holdfast.core.plan.estimate import Interval, exactly
from holdfast.engine.plan.communication import sending_seconds

SAME: Final = ("model", "method", "quant", "weight_dtype", "amp", "loss_kernels", "micro_batch", "seq_len")
"""What two runs have in common that differ by their number of GPUs."""


def main() -> None:
    """Print a line for each run of several GPUs, and how many are within the interval."""
    scored, _ = score([json.loads(line) for line in PUBLISHED.read_text(encoding="utf-8").splitlines()])
    waits = list(compare([each for each in scored if each.row["tokens_per_s_per_gpu"]]))
    for row, measured, estimated in waits:
        ends = f"{estimated.low:.3f} to {estimated.high:.3f}"
        print(
            f"{row['model']:26} {row['method']:6} {row['micro_batch']:2} x {row['seq_len']} {row['gpus']} GPUs  {measured:6.3f} s  {estimated.value:.3f} s ({ends})"
        )
    within = sum(estimated.low <= measured <= estimated.high for _, measured, estimated in waits)
    print(f"{within} of {len(waits)} within the interval")
    for method in ("full", "lora", "qlora"):
        ratios = [measured / estimated.value for row, measured, estimated in waits if row["method"] == method]
        print(
            f"{method}: measured by estimated, n={len(ratios)}: median {median(ratios):.1f}, {min(ratios):.1f} to {max(ratios):.1f}"
        )


def compare(scored: Sequence[Scored]) -> Iterator[tuple[Mapping[str, Any], float, Interval]]:
    """Yield each run of several GPUs, how much longer its step took than that of one, and how long it is estimated to wait."""
    link = load_ceilings()[CARD].link_bytes_per_s
    if link is None:
        return
    alone: dict[tuple[Any, ...], list[float]] = defaultdict(list)
    for each in scored:
        if each.row["gpus"] == 1:
            alone[_settings(each)].append(_seconds(each))
    for each in scored:
        if each.row["gpus"] > 1 and (ones := alone[_settings(each)]):
            one = sum(ones) / len(ones)
            yield each.row, _seconds(each) - one, sending_seconds(each.step, link, exactly(one))


def _seconds(each: Scored) -> float:
    """Return the seconds of a step."""
    return each.step.tokens / float(each.row["tokens_per_s_per_gpu"])


def _settings(each: Scored) -> tuple[Any, ...]:
    return tuple(each.row[name] for name in SAME)


if __name__ == "__main__":
    main()
