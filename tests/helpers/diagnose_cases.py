"""Decisive lines of failures, wrapped in what real logs have around them: launchers, healthy steps, other ranks, teardown.

    wrapped = wrap(["RuntimeError: CUDA error: …"], seed=3)

Nothing here matches anything: it only writes what jobs write. Seeds make the same log each time.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

HEAD = """The following values were not passed to `accelerate launch` and had defaults used instead:
\t`--num_machines` was set to a value of `1`
\t`--mixed_precision` was set to a value of `'no'`
W1120 15:52:31.102000 26735 torch/distributed/run.py:766] *****************************************
W1120 15:52:31.102000 26735 torch/distributed/run.py:766] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to \
avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed.
/opt/conda/lib/python3.11/site-packages/transformers/training_args.py:1541: FutureWarning: `gradient_checkpointing` is deprecated and will be \
removed in v6. Use `activation_checkpointing` instead.
  warnings.warn(f"`{old}` is deprecated and will be removed in v6. Use `{new}` instead.", FutureWarning)
`torch_dtype` is deprecated! Use `dtype` instead!
Loading weights:   0%|          | 0/339 [00:00<?, ?it/s]\rLoading weights: 100%|██████████| 339/339 [00:04<00:00, 78.26it/s]
Tokenizing train dataset:   0%|          | 0/9000 [00:00<?, ? examples/s]\rTokenizing train dataset: 100%|██████████| 9000/9000 [00:03<00:00, 2769.37 examples/s]
`use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.
wandb: Tracking run with wandb version 0.22.1
wandb: Run data is saved locally in /workspace/wandb/run-20261120_155231-x1""".split("\n")  # noqa: SIM905 - as it stands in logs

WARNINGS = (
    "/opt/conda/lib/python3.11/site-packages/torch/utils/checkpoint.py:85: UserWarning: None of the inputs have requires_grad=True. Gradients will be None",
    "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...",
    "[transformers] The tokenizer has new PAD/BOS/EOS tokens that differ from the model config and generation config.",
    "/opt/conda/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py:4807: UserWarning: No device id is provided via `init_process_group` or `barrier `.",
)

TABLE = """W1120 15:52:41.861000 26735 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 26741 closing signal SIGTERM
E1120 15:52:41.893000 26735 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: {rank} (pid: 26742) of binary: /opt/conda/bin/python
Traceback (most recent call last):
  File "/opt/conda/bin/torchrun", line 6, in <module>
    sys.exit(main())
  File "/opt/conda/lib/python3.11/site-packages/torch/distributed/run.py", line 1019, in run
    elastic_launch(
  File "/opt/conda/lib/python3.11/site-packages/torch/distributed/launcher/api.py", line 383, in launch_agent
    raise ChildFailedError(
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-20_15:52:41
  host      : localhost
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 26741)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 26741
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_15:52:41
  host      : localhost
  rank      : {rank} (local_rank: {rank})
  exitcode  : 1 (pid: 26742)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================"""

ENDED = "{'train_runtime': '812.4', 'train_samples_per_second': '11.1', 'train_steps_per_second': '0.69', 'train_loss': '1.021', 'epoch': '1'}"

EVERY_STEP = """{'loss': '1.2', 'grad_norm': '0.4', 'learning_rate': '1e-06', 'entropy': '6.0', 'mean_token_accuracy': '0.1', 'num_tokens': '9', 'epoch': '0.2'}
{'loss': '0.0', 'completions/mean_length': '8', 'completions/clipped_ratio': '1', 'rewards/words/mean': '0.4', 'reward': '0.4', 'reward_std': '0.2', 'kl': '0.1'}
{'loss': '0.69', 'logits/chosen': '0.1', 'rewards/chosen': '0.1', 'rewards/rejected': '0', 'rewards/accuracies': '1', 'rewards/margins': '0', 'logps/chosen': '-16'}
{'eval_loss': '1.1', 'eval_runtime': '9.1', 'eval_samples_per_second': '9.1', 'eval_steps_per_second': '0.3', 'epoch': '1'}
 25%|██▌       | 200/800 [00:17<3:57:13, 17.81s/it, lr=5e-5, step_loss=0.0114]
Tokenizing train dataset:  98%|█████████▊| 81273/82730 [01:36<00:01, 843.85 examples/s]
(EngineCore_DP0 pid=4242) INFO 11-20 15:52:41 [loggers.py:123] Engine 000: Avg prompt throughput: 9.0 tokens/s, Running: 12 reqs, Waiting: 0 reqs
INFO:     127.0.0.1:4242 - "POST /generate/ HTTP/1.1" 200 OK
2026-11-20 15:52:41,123 - trainer.data - INFO - epoch 1 batch 7 took 0.1s
[2026-11-20 15:52:41,123] [INFO] [logging.py:128:log_dist] [Rank 0] step=10, skipped=0, lr=[1e-05], mom=[(0.9, 0.999)]"""
"""What healthy jobs write over and over."""

Prefix = Callable[[int, str, int], str]
"""Writes a line of a rank, with its number: what collectors put before it."""

PREFIXES: dict[str, Prefix] = {
    "plain": lambda _, line, __: line,
    "torchrun": lambda rank, line, _: f"[rank{rank}]: {line}",
    "tee": lambda rank, line, _: f"[default{rank}]:{line}",
    "srun": lambda rank, line, _: f"{rank}: {line}",
    "ray": lambda rank, line, _: f"(RayTrainWorker pid={4000 + rank}, ip=10.0.0.{rank + 1}) {line}",
    "docker": lambda _, line, at: f"2026-11-20T15:{at // 60 % 60:02d}:{at % 60:02d}.123456789Z {line}",
    "journald": lambda _, line, at: f"Nov 20 15:{at // 60 % 60:02d}:{at % 60:02d} node7 train.sh[4242]: {line}",
    "pod": lambda _, line, __: f"[pod/sft-0/trainer] {line}",
}
RANKED = frozenset({"torchrun", "tee", "srun", "ray"})


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A log with decisive lines in it.

    Attributes:
        text: The log.
        numbers: Of the lines that decide, counted from 1 by line feeds.
        style: Who prefixed the lines.
    """

    text: str
    numbers: tuple[int, ...] = ()
    style: str = "plain"


@dataclass(slots=True)
class _Page:
    """A log that is being written."""

    random: random.Random
    prefix: Prefix
    lines: list[str] = field(default_factory=list[str])

    def write(self, line: str, rank: int = 0) -> int:
        """Write one line; return its number."""
        self.lines.append(self.prefix(rank, line, len(self.lines)))
        return len(self.lines)


def wrap(lines: Sequence[str], seed: int, *, ends_well: bool = False) -> Wrapped:
    """Return a log of a job that those lines ended, or that went on after them.

    Args:
        lines: As they stand in a log, without prefixes; they stay in their order and close together.
        seed: Decides the launcher, how many ranks, what stands around.
        ends_well: Whether training came to its end.
    """
    chance = random.Random(seed)  # noqa: S311 - a log, no secret
    style = chance.choice(sorted(PREFIXES))
    ranks = chance.choice((1, 2, 4)) if style not in RANKED else chance.choice((2, 4, 8))
    page = _Page(chance, PREFIXES[style])
    for line in HEAD[: chance.randint(3, len(HEAD))]:
        page.write(line)
    _train(page, ranks if style in RANKED else 1, chance.randint(2, 12))
    failing = chance.randrange(ranks)
    numbers = tuple(_decide(page, lines, failing, ranks))
    if ends_well:
        _train(page, ranks if style in RANKED else 1, 4)
        page.write("\r100%|██████████| 800/800 [14:05<00:00,  1.06s/it]")
        page.write(ENDED)
    elif ranks > 1:
        page.lines += TABLE.format(rank=failing).split("\n")
    elif chance.random() < 0.5:
        page.lines += ["srun: error: node7: task 0: Exited with exit code 1"]
    return Wrapped("\n".join(page.lines) + "\n", numbers, style)


def _train(page: _Page, ranks: int, steps: int) -> None:
    """Write some steps of a healthy training, of which rank 0 tells, and now and then a warning of any rank."""
    for step in range(steps):
        bar = f"{step:3d}%|{'█' * (step // 10):10}| {step}/800 [00:{step:02d}<14:05,  1.06s/it]"
        page.write(f"\r{bar}")
        loss = 2.1 - 0.05 * step
        page.write(
            f"{{'loss': '{loss:.4f}', 'grad_norm': '{1.9 - 0.02 * step:.4f}', 'learning_rate': '1.9e-05', 'epoch': '{step / 800:.4f}'}}"
        )
        if page.random.random() < 0.2:
            page.write(page.random.choice(WARNINGS), page.random.randrange(ranks))


def _decide(page: _Page, lines: Sequence[str], failing: int, ranks: int) -> Iterator[int]:
    """Write the lines that decide, other ranks' lines between some of them; yield their numbers."""
    for line in lines:
        for part in line.split("\n"):
            yield page.write(part, failing)
        if ranks > 1 and page.random.random() < 0.2:
            page.write(page.random.choice(WARNINGS), (failing + 1) % ranks)
