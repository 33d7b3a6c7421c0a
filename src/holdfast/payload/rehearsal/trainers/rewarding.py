"""Rewards: whether they can differ at all, or are the same whatever the model writes.

A twin writes nonsense, and all nonsense may be worth as little: that is no fault. Where no reward of a training differed,
the functions are asked once more, with completions made here: as answers are usually phrased with what stands in the row's
own columns, and wrong, long, short and empty ones. They count as the same only if those are the same too, and either are
worth something each, or were not looked at.

Source: `GRPOTrainer._calculate_rewards` and `RLOOTrainer._calculate_rewards` of TRL 1.16: rewards by completion and by
function, NaN for None.
"""

import inspect
import math
import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ..events import EventWriter
from ..libraries import torch
from ..wrapping import reporting

CONSTANT = "grpo-zero-advantage"
NUMBERS = "Return a number for each completion, or None where a function does not apply."
UNREAD = "the functions do not look at them", "Compute each reward from its completion."
AS_TEXT = (
    "they are lists of messages, and the functions take them for text",
    'Read the text of a completion: `completion[0]["content"]`. The prompts are conversations, so each completion is a list of messages.',
)
"""Why functions that learn nothing of a completion give the same reward to each, and the fix."""
BROKEN = "grpo-reward-function-error"
WHAT = "whether rewards differ"
SHOWN_BY = "the twin writes nonsense; completions of the real model show it"
CALCULATE = "_calculate_rewards"
"""The trainers' method that calls the functions one after the other."""
ASKED = 4  # rows, prompts, completions, ids
PROMPTS = 2
"""Rows that made completions are made for."""
COLUMNS = 6
"""Columns of a row whose values are tried as answers."""
LONGEST = 2000  # characters of a value that is tried as an answer
PARTS = ("role", "content", "tool_calls", "reasoning_content", "thinking", "name", "tool_call_id")
"""What a message may have: whoever asks for anything else of it learns nothing of what was written."""
OWN = ("prompt", "completion", "completion_ids", "image", "images")
CODE = "```python\ndef solution(n):\n    return n + 1\n```"
WRONG = (
    "",
    "7",
    "I do not know.",
    "I do not know. " * 40,
    "<think>\nLet me see.\n</think>\n<answer>\n7\n</answer>",
    "The answer is $\\boxed{7}$.",
    CODE,
    '{"name": "search", "arguments": {"query": "weather"}}',
)
PHRASES = (
    "{}",
    "The answer is {}.",
    "The answer is $\\boxed{{{}}}$.",
    "<think>\nLet me see.\n</think>\n<answer>\n{}\n</answer>",
    "<think>Let me see.</think><answer>{}</answer>",
    "<reasoning>\nLet me see.\n</reasoning>\n<answer>\n{}\n</answer>\n",
    "Let me see.\n#### {}",
)


@dataclass
class RewardRecord:
    """What the rewards of one trainer were.

    Attributes:
        differ: Whether the completions of any prompt got different ones.
        numbers: Whether any was a number.
        asked: What was called last, and its arguments: rows, prompts, completions, ids.
        outside: What the functions asked of the world that a rehearsal has not.
    """

    differ: bool = False
    numbers: bool = False
    asked: tuple[Any, ...] = ()
    outside: list[str] = field(default_factory=list[str])


class Rewards:
    """Watches how trainers reward."""

    def __init__(self, events: EventWriter) -> None:
        self._events = events
        self._seen: dict[int, RewardRecord] = {}

    def calculate(self, original: Any, trainer: Any, *requested: Any, **named: Any) -> Any:
        """Take the place of `_calculate_rewards`."""
        if named or len(requested) != ASKED:
            return original(trainer, *requested, **named)
        seen = self._seen.setdefault(id(trainer), RewardRecord())
        with self._events.listening() as outside, reporting(self._report_called):
            rewards = original(trainer, *requested)
        seen.outside += outside
        totals = total_rewards(rewards, trainer)
        seen.asked, seen.numbers = (original, *requested), seen.numbers or bool(_numbers(totals))
        seen.differ = seen.differ or differ(requested[1], totals)
        return rewards

    def _report_called(self, error: BaseException) -> None:
        """Report the function that was called last before an exception: of one that returned too little, the traceback has no line."""
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__) if frame.f_code.co_name == CALCULATE]
        called: Any = frames[-1].f_locals.get("reward_func") if frames else None
        if code := getattr(inspect.unwrap(called), "__code__", None):
            self._events.fact("rewarded", function=code.co_name, line=code.co_firstlineno)

    def judge(self, trainer: Any) -> None:
        """Report the errors in the rewards of a finished training."""
        seen = self._seen.pop(id(trainer), None)
        if hasattr(trainer, "reward_funcs") and not hasattr(trainer, "_calculate_rewards"):  # of older releases
            self._events.not_rehearsed(WHAT, SHOWN_BY)
        if seen is not None and not seen.differ and seen.asked:
            self._try_completions(seen, trainer)

    def _try_completions(self, seen: RewardRecord, trainer: Any) -> None:
        """Call the functions with made completions, as the trainer called them last, and report what they return."""
        if seen.outside or getattr(trainer, "environments", None) is not None:
            self._events.not_rehearsed(WHAT, SHOWN_BY)
            return
        original, rows, prompts, completions, _ids = seen.asked
        made = make_completions(rows, prompts, completions, trainer)
        totals: Sequence[float] | None = None
        with suppress(Exception), self._events.listening() as outside, _quiet(trainer):
            totals = total_rewards(original(trainer, *made), trainer)
        if totals is None or outside:  # what it makes of completions that no model wrote is no finding
            self._events.not_rehearsed(WHAT, SHOWN_BY)
        else:
            self._conclude(seen, made, totals, place_of_reward(trainer))

    def _conclude(
        self, rewards: RewardRecord, made: tuple[Any, ...], totals: Sequence[float], at: tuple[str, int] | None
    ) -> None:
        numbers = _numbers(totals)
        if not numbers and not rewards.numbers:
            because = f"no reward is a number: not for the model's completions, nor for {len(totals)} made ones"
            self._events.fault(BROKEN, "step", because, fix=NUMBERS, at=at)
        elif numbers and not differ(made[1], totals):
            kinds = "right, wrong, long and empty" if len(totals) > PROMPTS * len(WRONG) else "long, short and empty"
            because = f"each of {len(numbers)} sample completions of a prompt, {kinds} ones, gets {numbers[0]:g}"
            self._report_same(because, made, numbers, at)

    def _report_same(
        self, because: str, made: tuple[Any, ...], numbers: Sequence[float], at: tuple[str, int] | None
    ) -> None:
        """Report functions that give the same to every made completion; a doubt if that is nothing and they looked at it."""
        completions, ids = made[2], made[3]
        if not (is_read(completions) or ids.read):
            why, fix = AS_TEXT if completions.read and isinstance(completions[0], list) else UNREAD
            self._events.fault(CONSTANT, "step", f"{because}: {why}", fix=fix, at=at, reward=numbers[0])
        elif min(numbers) > 0:
            fix = "Give completions of different worth different rewards; all others train nothing."
            self._events.fault(CONSTANT, "step", because, fix=fix, at=at, reward=numbers[0])
        else:
            self._events.warning(CONSTANT, "step", f"{because}; none of them may be as the functions want it")


def place_of_reward(trainer: Any) -> tuple[str, int] | None:
    """Return the file and the line of a trainer's reward function; None if there are several, or it is a model."""
    functions = list(trainer.reward_funcs)
    if len(functions) != 1 or isinstance(functions[0], torch.nn.Module) or not callable(functions[0]):
        return None
    function = inspect.unwrap(functions[0])
    code = getattr(function if hasattr(function, "__code__") else type(function).__call__, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else None


class WatchedMessage(dict[str, Any]):
    """A message that records whether any of its parts was read.

    Comparing it with what is no message, or asking for a part that no message has, tells nothing of what it says.
    """

    read = False
    __hash__ = None

    def _note(self, part: Any = "content") -> None:
        self.read = self.read or part in PARTS

    def __getitem__(self, part: str) -> Any:
        """Give a part, and take it down."""
        self._note(part)
        return super().__getitem__(part)

    def __contains__(self, part: object) -> bool:
        """True if there is a part, and take it down."""
        self._note(part)
        return super().__contains__(part)

    def get(self, part: str, *default: Any) -> Any:
        """Give a part, and take it down."""
        self._note(part)
        return super().get(part, *default)

    def __eq__(self, other: object) -> bool:
        """Compare, and take it down."""
        if isinstance(other, dict):
            self._note()
        return super().__eq__(other)

    def __iter__(self) -> Iterator[str]:
        """Give the names of the parts, and take it down: whoever copies a message begins so."""
        self._note()
        return super().__iter__()

    def __repr__(self) -> str:
        """Return it as text, and take it down."""
        self._note()
        return super().__repr__()

    def keys(self) -> Any:
        """Give the names of the parts, and take it down."""
        self._note()
        return super().keys()

    def values(self) -> Any:
        """Give the parts, and take it down."""
        self._note()
        return super().values()

    def items(self) -> Any:
        """Give names and parts, and take it down."""
        self._note()
        return super().items()

    def copy(self) -> Any:
        """Return a copy, and take it down."""
        self._note()
        return super().copy()

    def pop(self, *requested: Any) -> Any:
        """Take a part out, and take it down."""
        self._note()
        return super().pop(*requested)


class WatchedList(list[Any]):
    """A list that records whether any of its items was read."""

    read = False

    def __iter__(self) -> Iterator[Any]:
        """Give the items, and take it down."""
        self.read = True
        return super().__iter__()

    def __getitem__(self, place: Any) -> Any:
        """Give an item, and take it down."""
        self.read = True
        return super().__getitem__(place)


def is_read(completions: WatchedList) -> bool:
    """True if what a completion says was read: its text, or a part of its messages."""
    messages = [each for turns in list.__iter__(completions) if isinstance(turns, list) for each in turns]
    return completions.read and (not messages or any(each.read for each in messages))


def make_completions(rows: Any, prompts: Any, completions: Any, trainer: Any) -> tuple[Any, ...]:
    """Return rows, prompts, completions and ids as a trainer hands them to reward functions, completions made here."""
    chat = bool(completions) and isinstance(completions[0], list)
    made = _made_texts(rows, prompts)
    processor: Any = trainer.processing_class
    tokenizer: Any = getattr(processor, "tokenizer", processor)
    return (
        [rows[number] for number, _ in made],
        [prompts[number] for number, _ in made],
        WatchedList(_as_completion(text, chat=chat) for _, text in made),
        WatchedList(list(tokenizer(text)["input_ids"]) for _, text in made),
    )


def _made_texts(rows: Any, prompts: Sequence[Any]) -> list[tuple[int, str]]:
    """Return completions for the first row of each of a few prompts, with the number of the row."""
    first = {repr(prompt): number for number, prompt in reversed(list(enumerate(prompts)))}
    numbers = sorted(first.values())[:PROMPTS]
    return [(number, text) for number in numbers for text in (*_right(rows[number]), *WRONG)]


def _as_completion(text: str, *, chat: bool) -> Any:
    return [WatchedMessage(role="assistant", content=text)] if chat else text


def _right(row: Any) -> Iterator[str]:
    """Yield the right answers in a row's own columns, in the usual phrasings."""
    values = [each for name, each in row.items() if name not in OWN and isinstance(each, str | int | float)]
    for value in values[:COLUMNS]:
        yield from (phrase.format(str(value)[:LONGEST]) for phrase in PHRASES)


def total_rewards(rewards: Any, trainer: Any) -> list[float]:
    """Return the total reward of each completion; NaN where no function returned a number.

    Args:
        rewards: float, (completions, functions); NaN where a function gave none.
        trainer: Has the functions' weights.
    """
    weights = getattr(trainer, "reward_weights", None)
    weighted = rewards if weights is None else rewards * weights.to(rewards.device)
    total = weighted.nansum(dim=1)
    return [float(each) for each in torch.where(rewards.isnan().all(dim=1), torch.nan, total)]


def differ(prompts: Sequence[Any], totals: Sequence[float]) -> bool:
    """True if completions of the same prompt are worth different numbers.

    >>> differ(["a", "a", "b"], [0.0, 1.0, 2.0]), differ(["a", "a", "b"], [0.0, 0.0, 2.0])
    (True, False)
    """
    groups: dict[str, set[float]] = {}
    for prompt, total in zip(prompts, totals, strict=True):
        if math.isfinite(total):
            groups.setdefault(repr(prompt), set()).add(round(total, 6))
    return any(len(values) > 1 for values in groups.values())


def _numbers(totals: Iterable[float]) -> list[float]:
    return [each for each in totals if math.isfinite(each)]


class _quiet:  # noqa: N801 - used as a function
    """Keep what functions log of made completions out of the trainer's tables."""

    def __init__(self, trainer: Any) -> None:
        self._trainer = trainer
        self._names = [name for name in ("_log_completion_extra", "_log_metric") if hasattr(trainer, name)]

    def __enter__(self) -> None:
        for name in self._names:
            setattr(self._trainer, name, lambda *_, **__: None)

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            vars(self._trainer).pop(name, None)
