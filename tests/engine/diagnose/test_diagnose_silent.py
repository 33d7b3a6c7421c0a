"""Faults that only the numbers tell, and healthy runs that are none of them."""

import json
import math
import random
from collections.abc import Callable, Mapping
from pprint import pformat

import pytest

from holdfast.core.diagnose.diagnosis import HEALTHY
from holdfast.engine.diagnose import PatternIndex, diagnose
from holdfast.engine.diagnose.kept_lines import LogQuery
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.engine.diagnose.reading import read_log
from holdfast.engine.diagnose.silent import find_silent
from holdfast.signatures import all_signatures

END = {"train_runtime": "9.9", "train_loss": "1.0", "epoch": "1"}


def log(
    step: Callable[[int], Mapping[str, object]], steps: int = 12, end: dict[str, str] | None = END, tail: str = ""
) -> list[str]:
    rows = [
        {key: f"{value:.6g}" if isinstance(value, float) else value for key, value in step(at).items()}
        for at in range(steps)
    ]
    text = "".join(f"{row}\n" for row in [*rows, *([end] if end else [])]) + tail
    return [finding.name for finding in find_silent(read_log([("x", [text.encode()])], LogQuery()))]


def sft(at: int, **changed: object) -> dict[str, object]:
    good = {
        "loss": 2.0 - 0.05 * at,
        "grad_norm": 1.2,
        "learning_rate": 1e-5 * (12 - at),
        "num_tokens": 900.0 * at,
        "epoch": 0.1 * (at + 1),
    }
    return {**good, **changed}


def grpo(at: int, **changed: object) -> dict[str, object]:
    return sft(at, **{"loss": 0.0, "reward": 0.5, "reward_std": 0.2, "kl": 0.001, **changed})


def curve(losses: list[float], *, bars: bool, epochs: bool = True) -> list[ClassEvidence]:
    """What is found in a log of every tenth of 200 steps, with bars as tqdm draws them: above a line, and anew below it."""
    lines = []
    for at, loss in enumerate(losses, start=1):
        row = {
            "loss": str(loss),
            "grad_norm": "1.2",
            "learning_rate": "0.0002",
            **({"epoch": f"{at / 20:g}"} if epochs else {}),
        }
        above = f"\r  5%|▌         | {10 * at - 1}/200 [00:10<01:30,  1.00s/it]\r{' ' * 60}\r" if bars else ""
        below = f"\r  5%|▌         | {10 * at}/200 [00:10<01:30,  1.00s/it]" if bars else ""
        lines.append(f"{above}{row}\n{below}")
    return find_silent(read_log([("x", ["".join(lines).encode()])], LogQuery()))


RISES = [2.5, 2.1, 1.8, 1.2, 0.9, 1.1, 2.0, 5.0, 8.0, 9.0, 9.5, 10.0]
BREAKS = [2.5, 2.1, 1.8, 1.2, math.nan, math.nan]


@pytest.mark.parametrize(
    ("bars", "epochs", "when"),
    [
        (True, True, ("step 50 of 200", "step 70 of 200")),
        (False, True, ("epoch 0.25", "epoch 0.35")),
        (False, False, ("logged entry 5", "logged entry 7")),
    ],
)
def test_when_a_run_diverged_is_told_as_the_log_tells_it(*, bars: bool, epochs: bool, when: tuple[str, str]) -> None:
    """The number of a logged entry is not the trainer's step: ten of these are between two entries."""
    risen, broken = curve(RISES, bars=bars, epochs=epochs)[0], curve(BREAKS, bars=bars, epochs=epochs)[0]

    assert (risen.values["least_when"], risen.values["when"]) == when
    assert broken.values["when"] == when[0]


def test_a_healthy_run_is_reassured_in_the_words_of_its_method() -> None:
    """A warning in a log of supervised fine-tuning has nothing to do with rewards."""
    patterns = PatternIndex(all_signatures())
    warning = "`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.\n"
    told = {}
    for name, step in (("sft", sft), ("grpo", grpo)):
        text = warning + "".join(f"{step(at)}\n" for at in range(12)) + f"{END}\n"
        found = diagnose(read_log([("x", [text.encode()])], patterns.sought), patterns)
        assert found.verdict == "healthy"
        told[name] = " ".join(f"{each.cause} {each.fix}" for each in found.causes)
    assert "reward" not in told["sft"]
    assert "GRPO" not in told["sft"]
    assert "`reward`" in told["grpo"]


def test_the_evidence_of_a_rise_is_the_lowest_loss_the_turn_and_the_end() -> None:
    (risen,) = curve(RISES, bars=False)
    assert [each.text.split("'")[3] for each in risen.lines] == ["0.9", "2.0", "10.0"]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_step_that_is_printed_over_several_lines_is_one(indent: int | None) -> None:
    """As `pprint` and `json.dumps` write it; healthy steps of another kind stand before it."""
    step = {"reward": 4.0, "loss": 0.0, "grad_norm": 0.0, "reward_std": 0.0, "frac_reward_zero_std": 1.0}
    told = json.dumps(step, indent=indent) if indent else pformat(step, width=40)
    assert told.count("\n") > 1
    assert log(sft, tail=f"{told}\n") == ["grpo-zero-advantage"]


@pytest.mark.parametrize("words", ["Step {}: ", "metrics = ", "INFO train.py:12 - "])
@pytest.mark.parametrize("indent", ["\n    ", ""])
def test_words_before_a_record_of_several_lines_are_no_part_of_it(words: str, indent: str) -> None:
    step = {"loss": 0.0, "grad_norm": 0.0, "reward": 0.5, "reward_std": 0.0}
    items = ",\n    ".join(f"{name!r}: {value}" for name, value in step.items())
    lines = "".join(f"{words.format(at)}{{{indent}{items}\n}}\n" for at in range(5))
    assert log(sft, steps=0, end=None, tail=lines) == ["grpo-zero-advantage"]


def dpo(_: int, chosen: float, rejected: float) -> dict[str, object]:
    return {
        "loss": 0.69,
        "grad_norm": 1.0,
        "logps/chosen": chosen,
        "logps/rejected": rejected,
        "rewards/chosen": 0.1,
        "rewards/rejected": 0.0,
    }


FAULTS = {
    "NaN from the first step": (lambda at: sft(at, loss="nan", grad_norm="nan"), "nan-loss-silent-success"),
    "NaN after good steps": (lambda at: sft(at, loss="nan" if at > 5 else 1.0), "lr-too-high-divergence"),
    "gradients of NaN": (lambda at: sft(at, loss=0.0, grad_norm="nan"), "fp16-overflow-nan"),
    "no labels": (lambda at: sft(at, loss=0.0, grad_norm=0.0), "completion-mask-drops-everything"),
    "no text": (lambda at: sft(at, loss=0.0, grad_norm=0.0, num_tokens=4.0 * at), "dataset-bad-row-values"),
    "NaN in evaluation": (
        lambda at: {"eval_loss": "nan", "eval_runtime": 1.0} if at == 5 else sft(at),
        "completion-mask-drops-everything",
    ),
    "rewards all alike": (lambda at: grpo(at, reward_std=0.0, grad_norm=0.0), "grpo-zero-advantage"),
    "no learning rate": (lambda at: sft(at, loss=2.0, learning_rate=1e-12), "lr-too-low-flat"),
    "no step is taken": (lambda at: sft(at, loss=2.0, grad_norm="nan", learning_rate=0.0), "fp16-overflow-nan"),
    "equal pairs": (lambda at: dpo(at, -3.5, -3.5), "preference-signal-degenerate"),
    "one kind of answers": (
        lambda at: {"loss": 0.5, "kl": 0.1, "rewards/chosen": 0.1 * at},
        "preference-signal-degenerate",
    ),
    "a rising loss": (lambda at: sft(at, loss=1.0 + 0.5 * at), "lr-too-high-divergence"),
    "a loss that drops to zero": (lambda at: sft(at, loss=2.0 if at < 8 else 0.0), "lr-too-high-divergence"),
    "a rate that leaves nothing of the weights": (
        lambda at: sft(at, loss=[6.2, 360.0, 1335.0, 1096.0, 720.0][min(at, 4)], learning_rate=5.0),
        "lr-too-high-divergence",
    ),
    "a rate after which all completions are alike": (
        lambda at: grpo(at, learning_rate=5.0, entropy=1e-5 if at else 5.8, reward_std=0.0 if at else 0.7),
        "lr-too-high-divergence",
    ),
    "no weight that is trained": (
        lambda at: sft(at, loss=5.83 + 0.01 * (at % 2), grad_norm=0.0),
        "no-trainable-parameters",
    ),
    "a rate beyond numbers": (
        lambda at: sft(at, loss=0.0 if at else 6.2, grad_norm="nan" if at else 2.2, learning_rate=1e30),
        "lr-too-high-divergence",
    ),
    "a rate that keeps the loss above its start": (
        lambda at: sft(
            at, loss=[6.2, 9.3, 12.8, 20.1, 13.5, 11.1, 10.6, 8.6, 6.4, 6.2, 7.0, 6.0][at], learning_rate=0.5
        ),
        "lr-too-high-divergence",
    ),
    "a loss that runs away in the first step": (
        lambda at: sft(at, loss=1.4 if not at else 11.0 - 0.3 * at),
        "lr-too-high-divergence",
    ),
    "two steps that are far above any guess": (
        lambda at: sft(at, loss=[6.9, 70.0, 40.0][at] if at < 3 else 55.0),
        "lr-too-high-divergence",
    ),
    "a loss that climbs and stays": (
        lambda at: sft(at, loss=[2.1, 2.4, 3.6, 5.2, 5.1, 5.4, 5.5][min(at, 6)], learning_rate=1e-3),
        "lr-too-high-divergence",
    ),
    "a loss that falls, climbs and stays": (
        lambda at: sft(at, loss=[2.1, 1.4, 1.6, 5.2, 5.1, 5.4][min(at, 5)], learning_rate=1e-3),
        "lr-too-high-divergence",
    ),
    "a rate of 2 with which nothing is learnt": (
        lambda at: sft(at, loss=6.3 if not at else 7.7 + 0.1 * (at % 3), learning_rate=2.0),
        "lr-too-high-divergence",
    ),
    "a rate of 5 that broke the model before the first log": (
        lambda at: sft(at, loss=[1335.0, 720.0, 800.0][at % 3], learning_rate=5.0),
        "lr-too-high-divergence",
    ),
    "pairs that are lost": (
        lambda at: {**dpo(at, -3.5, -4.0), "loss": 0.69 if at < 5 else 40.0},
        "lr-too-high-divergence",
    ),
    "steps of two jobs": (lambda at: sft(at, epoch=0.1 * (at // 2 if at % 2 else at // 2 + 2)), None),
}


@pytest.mark.parametrize("name", [name for name, (_, true) in FAULTS.items() if true])
def test_a_fault_is_told_by_its_numbers(name: str) -> None:
    step, true = FAULTS[name]
    assert log(step)[0] == true


HEALTHY_RUNS = {
    "a falling loss": sft,
    "a warm-up from nothing": lambda at: sft(at, learning_rate=1e-6 * at),
    "a noisy loss": lambda at: sft(at, loss=1.0 + 0.3 * (at % 3)),
    "pairs that differ": lambda at: dpo(at, -3.5 + 0.01 * at, -4.0),
    "a loss that is small": lambda at: sft(at, loss=0.01),
    "batches of which the first are easy": lambda at: sft(
        at, loss=[0.3, 0.5, 0.2, 0.6, 0.7, 0.25, 0.55, 0.3, 0.5, 0.45, 0.6, 0.5][at]
    ),
    "a spike in the last step": lambda at: sft(at, loss=30.0 if at == 11 else 2.0 - 0.05 * at),
    "a bump of the warm-up that ends where it began": lambda at: sft(
        at, loss=[2.1, 2.8, 3.0, 2.6, 2.2, 2.0][min(at, 5)]
    ),
    "a spike that recovers": lambda at: sft(at, loss=300.0 if at == 5 else 2.0 - 0.05 * at),
    "a bump of the warm-up": lambda at: sft(at, loss=[1.4, 4.5, 9.0, 7.0, 5.0, 3.0, 2.0, 1.6, 1.4, 1.3, 1.2, 1.1][at]),
    "losses that old releases add up": lambda at: sft(at, loss=16 * (2.0 - 0.05 * at)),
    "losses of single rows": lambda at: sft(at, loss=[0.4, 1.9, 2.2][at % 3]),
    "a gradient that DeepSpeed does not tell": lambda at: sft(at, grad_norm=0.0),
    "a rate of SGD": lambda at: sft(at, learning_rate=2.0),
    "a rate of tuned prompts and a noisy loss": lambda at: sft(at, loss=1.0 + 0.3 * (at % 3), learning_rate=0.3),
    "a reward model": lambda at: sft(at, loss=0.69 - 0.01 * at, accuracy=0.6, margin=0.2, mean_reward=0.4),
    "pairs that are confused": lambda at: {**dpo(at, -3.5, -4.0), "loss": 0.69 + 0.2 * at},
    "one gradient of infinity": lambda at: sft(at, grad_norm="inf" if at == 1 else 1.0),
}


SHORT_FAULTS = {
    "three steps": [6.9, 70.0, 40.0],
    "three steps at a rate of 5": [6.3, 1335.0, 720.0],
    "seven steps": [2.1, 2.4, 3.6, 5.2, 5.1, 5.4, 5.5],
}


@pytest.mark.parametrize("name", SHORT_FAULTS)
def test_a_short_run_that_diverged_is_not_called_healthy(name: str) -> None:
    losses = SHORT_FAULTS[name]
    assert log(lambda at: sft(at, loss=losses[at]), steps=len(losses)) == ["lr-too-high-divergence"]


@pytest.mark.parametrize("steps", [6, 12, 30, 90])
@pytest.mark.parametrize("seed", range(8))
def test_batches_that_differ_are_no_divergence(seed: int, steps: int) -> None:
    draw = random.Random(seed)  # noqa: S311 - losses, no secrets
    assert log(lambda at: sft(at, loss=1.5 * draw.lognormvariate(0, 0.3)), steps=steps) == []


@pytest.mark.parametrize("name", HEALTHY_RUNS)
def test_nothing_is_told_of_a_healthy_run(name: str) -> None:
    assert log(HEALTHY_RUNS[name]) == []


def test_a_grpo_loss_of_zero_with_rewards_that_differ_is_healthy() -> None:
    assert log(grpo) == [HEALTHY]


def test_a_schedule_that_begins_again_after_a_resume_is_told() -> None:
    lost, kept = (
        [
            {"loss": 1.0 - 0.01 * at, "learning_rate": 0.000125 * (left - at), "epoch": 0.125 * (at + 5)}
            for at in range(4)
        ]
        for left in (8, 4)
    )
    assert log(lambda at: lost[at], steps=4) == ["checkpoint-incomplete"]
    assert log(lambda at: kept[at], steps=4) == []


def test_one_step_that_is_a_whole_epoch_is_too_few() -> None:
    bar = "100%|██████████| 1/1 [00:00<00:00,  7.9it/s]\n"
    assert log(sft, steps=1, tail=bar) == ["too-few-training-steps"]
    assert log(sft, steps=1, end={**END, "epoch": "0.01"}, tail=bar) == []


def test_the_bar_of_an_evaluation_is_not_that_of_training() -> None:
    bar = "100%|██████████| 1/1 [00:00<00:00,  7.9it/s]\n"
    end = {"train_runtime": "0.203", "train_steps_per_second": "19.71", "train_loss": "5.8", "epoch": "1"}
    assert log(sft, steps=0, end=end, tail=bar) == []


def test_two_jobs_in_one_log_are_told_and_one_that_started_again_is_not() -> None:
    one = [f"{sft(at)}\n" for at in range(10)]
    mixed = "".join(line for at in range(10) for line in (one[at], one[max(0, at - 2)])) + 2 * f"{END}\n"
    again = "".join(one[:6] + one)
    told = [
        [finding.name for finding in find_silent(read_log([("x", [text.encode()])], LogQuery()))]
        for text in (mixed, again)
    ]
    assert told == [["output-dir-shared-by-jobs"], []]


def test_a_run_that_ended_in_order_long_before_its_last_step_was_stopped() -> None:
    bar = " 12%|█         | {}/200 [00:12<01:37,  1.92it/s]\n"
    end = {**END, "epoch": "1.2"}
    assert log(sft, end=end, tail=bar.format(24)) == ["job-preempted-or-requeued"]
    assert log(sft, tail=bar.format(24)) == []
    assert log(sft, end=end, tail=bar.format(200)) == []
    assert log(with_evaluation, end=end, tail=bar.format(24)) == []


def with_evaluation(at: int) -> Mapping[str, object]:
    return {"eval_loss": 1.0, "epoch": 1.0} if at == 5 else sft(at)


def test_a_single_step_without_any_signal_is_told_less_surely() -> None:
    """A line that was pasted; a step of zero with a spread is how GRPO begins."""
    step = {"reward_std": 0.0, "grad_norm": 0.0}
    assert log(lambda at: grpo(at, **step), steps=1) == ["grpo-zero-advantage"]
    assert log(lambda at: grpo(at, **step | {"grad_norm": 0.3}), steps=1) == []
    assert log(grpo, steps=1) == [HEALTHY]
