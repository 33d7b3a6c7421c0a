"""Jobs in which the user's own function failed, or waited, among the time-outs of other ranks."""

from pathlib import Path

import pytest
from click import unstyle

import holdfast
from holdfast.cli.text.diagnosis import render_diagnosis
from holdfast.core.diagnose.diagnosis import Cause, Diagnosis
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.engine.diagnose.answers import diagnose_result
from holdfast.signatures import all_signatures

WAITING = """\
[rank{rank}]:[E1123 02:00:11.184512 ProcessGroupNCCL.cpp:629] [Rank {rank}] Watchdog caught collective operation timeout: \
WorkNCCL(SeqNum=4471, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600092 milliseconds before timing out.
[rank{rank}]:[E1123 02:00:11.184812 ProcessGroupNCCL.cpp:2168] [PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog \
at work sequence id: 4471 PG status: last enqueued work: 4471, last completed work: 4470
"""
WAITED = WAITING.format(rank=1) + WAITING.format(rank=2)
TO_METRICS = """\
Traceback (most recent call last):
  File "/home/me/train.py", line 92, in <module>
    trainer.train()
  File "/opt/venv/lib/python3.12/site-packages/transformers/trainer.py", line 4750, in evaluation_loop
    metrics = self.compute_metrics(
              ^^^^^^^^^^^^^^^^^^^^^
  File "/home/me/train.py", line 41, in compute_metrics
"""
RAISED = (
    TO_METRICS
    + """\
    return accuracy_score(labels, preds)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/venv/lib/python3.12/site-packages/sklearn/metrics/_classification.py", line 227, in accuracy_score
    y_type, y_true, y_pred = _check_targets(y_true, y_pred)
                             ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/venv/lib/python3.12/site-packages/sklearn/metrics/_classification.py", line 107, in _check_targets
    raise ValueError(
ValueError: Classification metrics can't handle a mix of multiclass and continuous-multioutput targets
"""
)
BARRIER = (
    TO_METRICS
    + """\
    torch.distributed.barrier()
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/opt/venv/lib/python3.12/site-packages/torch/distributed/distributed_c10d.py", line 4818, in barrier
    work = group.barrier(opts=opts)
torch.distributed.DistBackendError: [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4471, OpType=ALLREDUCE, \
NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.
"""
)
BAR = "100%|██████████| 16/16 [00:14<00:00,  1.12it/s]\n"
LAUNCHER = """\
W1123 02:00:12.861000 26735 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 26741 closing signal SIGTERM
E1123 02:00:12.893000 26735 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: {rank} (pid: 26742) of \
binary: /opt/venv/bin/python
"""


@pytest.fixture(name="patterns", scope="module")
def every_mark() -> PatternIndex:
    """The patterns of the real signatures."""
    return PatternIndex(all_signatures())


def told(text: str, patterns: PatternIndex) -> Diagnosis:
    return diagnose(read_log([("train.log", [text.encode()])], patterns.sought), patterns)


def first(text: str, patterns: PatternIndex) -> Cause:
    return told(text, patterns).causes[0]


def of_rank(rank: int, text: str) -> str:
    return "".join(f"[rank{rank}]: {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("waited_first", [False, True])
def test_the_exception_of_a_rank_is_before_those_who_waited_for_it_and_the_launcher(
    patterns: PatternIndex, *, waited_first: bool
) -> None:
    own = of_rank(0, RAISED)
    text = BAR + (WAITED + own if waited_first else own + WAITED) + LAUNCHER.format(rank=0)
    cause = first(text, patterns)
    assert cause.signature.name == "user-code-error"
    assert 'File "/home/me/train.py", line 41, in compute_metrics' in [each.text for each in cause.evidence]
    assert "/home/me/train.py, line 41" in cause.cause
    assert cause.fix.startswith("A measure that says")
    assert "Correct `compute_metrics` in /home/me/train.py" in cause.fix


def test_a_rank_that_raised_after_its_last_step_is_the_cause_and_one_that_went_on_is_not(
    patterns: PatternIndex,
) -> None:
    """An exception that was caught, and told, keeps nobody waiting."""
    caught = of_rank(0, RAISED) + "{'loss': '1.2', 'grad_norm': '0.8', 'learning_rate': '1e-05', 'epoch': '0.5'}\n"
    names = {cause.signature.name: cause.confidence for cause in told(caught + WAITED, patterns).causes}
    assert names["nccl-timeout-rank0-solo-work"] > 0.55


def test_another_rank_than_the_launcher_names_raised(patterns: PatternIndex) -> None:
    """What the failed rank itself said does not stand there."""
    names = {cause.signature.name for cause in told(BAR + LAUNCHER.format(rank=3), patterns).causes}
    assert "rank-died-peers-abort" in names


def test_a_barrier_in_a_metric_is_no_barrier_after_a_save_and_names_the_function(patterns: PatternIndex) -> None:
    cause = first(WAITED + of_rank(1, BARRIER), patterns)
    assert cause.signature.name == "nccl-timeout-rank0-solo-work"
    assert 'File "/home/me/train.py", line 41, in compute_metrics' in [each.text for each in cause.evidence]


def test_carets_are_no_evidence_and_what_is_shown_stands_as_in_the_log(patterns: PatternIndex) -> None:
    diagnosis = told(of_rank(0, RAISED), patterns)
    assert all(each.text.strip("^~ ") for cause in diagnosis.causes for each in cause.evidence)
    shown = (
        unstyle(render_diagnosis(diagnose_result(diagnosis, ["train.log"], reported=None, job="")))
        .split("\n\n")[0]
        .splitlines()[1:]
    )
    numbers = [int(line.split("train.log:")[1].split()[0]) for line in shown]
    assert numbers[0] == len(RAISED.splitlines())
    assert numbers[1:] == sorted(numbers[1:])


def test_float16_is_a_guess_where_nothing_says_that_the_job_uses_it(patterns: PatternIndex) -> None:
    steps = "".join(
        f"{{'loss': '0.0', 'grad_norm': 'nan', 'learning_rate': '1e-05', 'epoch': '0.0{at}'}}\n" for at in range(4)
    )
    unsaid, said = first(steps, patterns), first("python train.py --fp16 True\n" + steps, patterns)
    assert (unsaid.signature.name, said.signature.name) == ("fp16-overflow-nan", "fp16-overflow-nan")
    assert unsaid.confidence < 0.7 <= said.confidence
    assert "the log does not say in which type the job trains" in unsaid.cause
    assert "The job uses float16 (`--fp16 True`)" in said.cause


def test_the_limit_of_the_tokenizer_is_not_called_the_models(patterns: PatternIndex) -> None:
    warned = (
        "Token indices sequence length is longer than the specified maximum sequence length for this model (2913 > 2048). Running this \
sequence through the model will result in indexing errors\nIndexError: index out of range in self\n"
    )
    cause = first(warned, patterns).cause
    assert "The tokenizer's `model_max_length` is 2048" in cause
    assert "The limit is 2048" not in cause


def test_a_log_without_any_failure_is_told_so_with_what_to_do_next(patterns: PatternIndex) -> None:
    step = "{'loss': '1.2', 'grad_norm': '0.8', 'learning_rate': '1e-05', 'epoch': '0.5'}\n"
    quiet, not_quiet = told("hello\n" + step, patterns), told("RuntimeError: of something else\n" + step, patterns)
    assert (quiet.verdict, quiet.is_quiet, not_quiet.is_quiet) == ("unknown", True, False)
    text = unstyle(render_diagnosis(diagnose_result(quiet, ["train.log"], reported=None, job="")))
    assert text.startswith("unknown: no failure found in 2 lines of train.log")
    assert "--ended 137" in text


@pytest.mark.parametrize("called", [True, False])
def test_the_users_own_line_comes_right_after_the_decisive_one(called: bool, tmp_path: Path) -> None:
    """Whether a library called it or it called the library: it is what a person can change."""
    inner = '  File "/v/site-packages/trl/trainer/sft_trainer.py", line 9, in __init__\n    raise ValueError(\n'
    own = '  File "/home/me/train.py", line 41, in main\n    trainer = SFTTrainer(model)\n'
    frames = f'  File "/home/me/train.py", line 60, in <module>\n    main()\n{own}{inner}'
    if called:
        frames = f'{inner}  File "/home/me/mine.py", line 3, in collate\n    return rows["labels"]\n'
    log = tmp_path / "train.log"
    log.write_text(f"Traceback (most recent call last):\n{frames}KeyError: 'labels'\n")

    evidence = holdfast.diagnose(log)["causes"][0]["evidence"]

    assert evidence[0]["text"] == "KeyError: 'labels'"
    assert evidence[1]["text"].startswith(
        'File "/home/me/mine.py", line 3' if called else 'File "/home/me/train.py", line 41'
    )
