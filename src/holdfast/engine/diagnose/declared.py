"""The training that was requested, compared with its log: faults that neither of them shows alone.

A healthy log with `save_strategy="no"` in its script is a model that is lost; a learning rate that is not the script's is the
checkpoint's. Only what the log confirms is said: a setting alone is no failure.
"""

import ast
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Final

from holdfast.catalog.calls.kept_weights import KEEPS
from holdfast.core.diagnose.diagnosis import Remedy, Signature
from holdfast.core.diagnose.log import Line, Log
from holdfast.engine.diagnose.metric_history import ClassEvidence, MetricHistory, find_descent, read_metric_history
from holdfast.engine.diagnose.reading import EDGE
from holdfast.engine.diagnose.silent import NOTHING_LEFT, find_silent, rate_evidence

ANSWERS: Final = re.compile(r"""['"](?:messages|assistant|completion|conversations)['"]|apply_chat_template""")
"""A script whose rows have answers, which a cut takes away; of plain text it takes the end and no answer."""
GENERATES: Final = ("grpo", "rloo")
LINEAR: Final = (None, "linear")
ADAPTIVE: Final = re.compile("adam|adafactor|lion|rmsprop|adagrad")
"""Optimizers that change each weight by about the learning rate; source: the rule CMB106."""
OWN_OPTIMIZER: Final = re.compile("optimizers|optimizer_cls_and_kwargs|create_optimizer")
NEAR: Final = 0.1
"""Share by which a rate that was read off a schedule may differ from the one that was requested."""
FEW: Final = 3
RESUMED: Final = 1.5
"""Steps' worth of epochs before the first step that is logged: the run was resumed."""
LONG_WAIT_S: Final = 600
DOUBLED: Final = re.compile(r"(<\|\w{2,20}\|>|</?s>)\s*\1")
"""A special token twice in a row, in a text that a script writes out."""
HALF: Final = re.compile(r"(?<!b)float16|\.half\(|(?<!b)fp16(?!['\"]?\s*[:=]\s*[Ff]alse)")
"""What a job says that uses float16 beside the argument `fp16`."""
OVERFLOW: Final = "fp16-overflow-nan"
WORTHLESS: Final = frozenset({"fp16-overflow-nan", "lr-too-high-divergence", "nan-loss-silent-success"})
"""Classes of runs that leave no weights worth saving."""
LITERAL: Final = 4
"""Characters of a text that is printed by which it is known in a log."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTraining:
    """The training that was requested, as a script, a job file, or the training process itself says.

    Attributes:
        path: The script or job file.
        text: Its text; empty if only the process reported it.
        method: `sft`, `dpo`, …; empty if it is not known.
        settings: Arguments of the trainer's config by name. What is computed at run time is left out.
        places: Lines in which they stand, by name.
        callbacks: Whether callbacks are given: what they do is not known.
        unknown: Names of the arguments that are computed at run time.
        has_no_checkpoint: Whether it is known that no checkpoint was saved.
    """

    path: str
    text: str = ""
    method: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    places: Mapping[str, int] = field(default_factory=dict[str, int])
    callbacks: bool = False
    unknown: frozenset[str] = frozenset()
    has_no_checkpoint: bool = False

    @property
    def saves_nothing(self) -> bool:
        """Whether there is no checkpoint, since none was saved or none was to be."""
        return self.has_no_checkpoint or (self.settings.get("save_strategy") == "no" and not self.callbacks)

    @property
    def trains_without_float16(self) -> bool:
        """Whether it says that it does not train in float16.

        >>> DeclaredTraining(path="train.py", settings={"fp16": False}).trains_without_float16
        True
        """
        return self.settings.get("fp16") is False and HALF.search(self.text) is None

    def is_applied(self, remedy: Remedy) -> bool:
        """True if a change of the trainer's settings is made already.

        >>> DeclaredTraining(path="train.py", settings={"bf16": True}).is_applied(Remedy(key="train.bf16", action="set", value=True))
        True
        """
        section, _, name = remedy.key.partition(".")
        if section != "train" or name in self.unknown:
            return False
        if remedy.action == "remove":
            return bool(self.settings) and not self.settings.get(name)
        return remedy.action == "set" and name in self.settings and bool(self.settings[name] == remedy.value)

    def line(self, number: int) -> Line:
        """Return a line of its text as evidence."""
        lines = self.text.splitlines()
        return Line(number, lines[number - 1].strip() if 0 < number <= len(lines) else "", self.path)

    def setting_lines(self, *names: str) -> tuple[Line, ...]:
        """Return the lines of some settings as evidence; where the process reported them, those lines."""
        return tuple(
            self.line(self.places[name])
            if name in self.places
            else Line(1, f"{name} = {self.settings[name]!r}", self.path)
            for name in names
            if name in self.settings
        )

    def number(self, name: str, default: float = math.nan) -> float:
        """Return a setting that is a number; not a number where it is not known."""
        value = self.settings.get(name, default)
        return float(value) if isinstance(value, int | float) else math.nan

    def sets_any(self, *names: str) -> bool:
        """True if one of some settings is given and on."""
        return any(self.settings.get(name) for name in names)

    @property
    def descends_linearly(self) -> bool:
        """Whether its learning rate falls by the same from each step to the next, from the first step on."""
        is_linear = self.settings.get("lr_scheduler_type") in LINEAR
        return is_linear and not self.sets_any("warmup_steps", "warmup_ratio")


def ruled_out(declared: DeclaredTraining, signatures: Iterable[Signature]) -> frozenset[str]:
    """Return the classes that cannot be, since every change that fixes them is made already, or the job does not do what they are about."""
    applied = (
        each.name
        for each in signatures
        if any(remedy.action == "set" for remedy in each.remedy)
        and all(remedy.cures and declared.is_applied(remedy) for remedy in each.remedy)
    )
    return frozenset(applied) | ({OVERFLOW} if declared.trains_without_float16 else set())


def find_contradictions(log: Log, declared: DeclaredTraining) -> list[ClassEvidence]:
    """Return the classes that a log and the requested training speak for together, the surest first."""
    course = read_metric_history(log)
    return sorted((found for rule in RULES for found in rule(course, declared)), key=lambda each: -each.weight)


def _never_saved(course: MetricHistory, declared: DeclaredTraining) -> Iterator[ClassEvidence]:
    """A run that ended, was set not to save, and wrote nothing of a save."""
    kept = declared.settings.get("push_to_hub") is True or declared.callbacks or KEEPS.search(declared.text)
    if declared.settings.get("save_strategy") != "no" or kept or not course.ends or "saved" in course.said:
        return
    spoilt = any(each.name in WORTHLESS for each in find_silent(course.log))
    yield _evidence(
        "no-checkpoint-saved",
        0.55 if spoilt else 0.85,
        (*declared.setting_lines("save_strategy"), course.ends[-1].line),
    )


def _other_rate(course: MetricHistory, declared: DeclaredTraining) -> Iterator[ClassEvidence]:
    """A resumed run whose learning rates lie on the schedule of another peak than the one that was requested."""
    wanted, descent = declared.number("learning_rate"), find_descent(course)
    if descent is None or not declared.descends_linearly or not math.isfinite(wanted):
        return
    first, drop, pace = descent.epochs[0], descent.drop, descent.pace
    # The rate of a step is that before it: one step less of the way down.
    before = first - pace / max(1.0, declared.number("logging_steps", 1))
    peak = descent.rates[0] + drop * before / pace
    # Where the rate begins anew, the checkpoint's schedule is lost, which is another class.
    anew = math.isclose(descent.rates[0], wanted, rel_tol=NEAR)
    differs = abs(peak - wanted) > max(NEAR * wanted, RESUMED * drop)
    if first > RESUMED * pace and differs and not anew:
        lines = (*declared.setting_lines("learning_rate"), *course.first_lines)
        values = {"key": "learning_rate", "now": f"{wanted:g}", "saved": f"{peak:.2g}"}
        yield _evidence("resume-settings-changed", 0.8, lines, values)


def _suspect_rate(course: MetricHistory, declared: DeclaredTraining) -> Iterator[ClassEvidence]:
    """A learning rate that leaves nothing of the weights, and a loss that it broke; where the log has the rate, that one counts."""
    rate, optimizer = declared.number("learning_rate"), str(declared.settings.get("optim", "adamw"))
    if course.every("learning_rate") or not rate >= NOTHING_LEFT or not ADAPTIVE.search(optimizer):
        return
    if not OWN_OPTIMIZER.search(declared.text):
        for found in rate_evidence(course, rate):
            yield replace(found, lines=(*found.lines, *declared.setting_lines("learning_rate")))


def _every_row_cut(course: MetricHistory, declared: DeclaredTraining) -> Iterator[ClassEvidence]:
    """Rows with answers, each of which fills `max_length` to the last token: what stood behind, the answers, is gone."""
    length, rows = declared.number("max_length"), declared.number("per_device_train_batch_size", 8)
    is_joined = declared.sets_any("packing", "padding_free")
    a_step = length * rows * declared.number("gradient_accumulation_steps", 1) * declared.number("logging_steps", 10)
    added = [later - sooner for sooner, later in pairwise(course.every("num_tokens"))]
    if is_joined or len(added) < FEW or not math.isfinite(a_step) or not ANSWERS.search(declared.text):
        return
    processes = added[0] / a_step
    if processes >= 1 and processes.is_integer() and len({*added}) == 1:
        yield _evidence(
            "answers-not-in-training-text", 0.65, (*declared.setting_lines("max_length"), *course.first_lines)
        )


def _no_accelerator(course: MetricHistory, declared: DeclaredTraining) -> Iterator[ClassEvidence]:
    """A precision of GPUs that was requested, where the data loader finds none."""
    wanted = [name for name in ("fp16", "tf32") if declared.settings.get(name) is True]
    if wanted and not declared.settings.get("use_cpu") and "no_accelerator" in course.said:
        yield _evidence("no-gpu-visible", 0.7, (course.said["no_accelerator"], *declared.setting_lines(*wanted)))


def _waits_for_reward(course: MetricHistory, declared: DeclaredTraining) -> Iterator[ClassEvidence]:
    """A log that ends before the first step, and a script whose reward function may wait for ever."""
    step, steps = course.log.progress or (0, 0)
    if declared.method not in GENERATES or course.steps or course.ends or step or not steps or course.log.tracebacks:
        return
    if (tree := parsed(declared.text)) and (number := next(_endless_waits(tree), 0)):
        yield _evidence("grpo-reward-function-error", 0.6, (declared.line(number), *course.log.tail[-1:]))


def _endless_waits(tree: ast.Module) -> Iterator[int]:
    """Yield the lines of functions given as `reward_funcs` in which something sleeps for long, or asks without a time limit."""
    given = _reward_functions(tree)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef) and function.name in given:
            yield from (call.lineno for call in ast.walk(function) if isinstance(call, ast.Call) and _waits(call))


def _reward_functions(tree: ast.Module) -> set[str]:
    """Return the names that stand in arguments `reward_funcs`."""
    calls = (each for each in ast.walk(tree) if isinstance(each, ast.Call))
    keywords = (each for call in calls for each in call.keywords if each.arg == "reward_funcs")
    return {name.id for keyword in keywords for name in ast.walk(keyword.value) if isinstance(name, ast.Name)}


def _waits(call: ast.Call) -> bool:
    name = ast.unparse(call.func)
    if name in ("time.sleep", "sleep") and call.args and isinstance(call.args[0], ast.Constant):
        length = call.args[0].value
        return isinstance(length, int | float) and length >= LONG_WAIT_S
    asks = name in ("requests.get", "requests.post", "urlopen", "urllib.request.urlopen", "input")
    return asks and not any(each.arg == "timeout" for each in call.keywords)


def _never_came_back(course: MetricHistory, declared: DeclaredTraining) -> Iterator[ClassEvidence]:
    """Training ended, the script pushes then and prints something, and nothing of that was printed."""
    tree = parsed(declared.text)
    if tree is None or not course.ends or course.log.cut or course.log.tracebacks:
        return
    ended = course.ends[-1].line
    behind = _texts_behind(ended, course.log)
    pushed = _push_after_training(tree)
    # Of more lines, what was printed may stand before the last ones.
    if pushed and len(behind) < EDGE and _prints_none_of(tree, pushed, behind):
        yield _evidence("hub-upload-transient", 0.6, (declared.line(pushed), ended))


def _prints_none_of(tree: ast.Module, since: int, texts: Sequence[str]) -> bool:
    """True if a script prints something from a line on, and none of that stands in some texts."""
    printed, written = list(_printed(tree, since)), "\n".join(texts)
    return bool(printed) and not any(text in written for text in printed)


def _texts_behind(line: Line, log: Log) -> list[str]:
    """Return those of a log's last lines that stand behind a line of the same file."""
    return [each.text for each in log.tail if each.path == line.path and each.number > line.number]


def _push_after_training(tree: ast.Module) -> int:
    """Return the line of the first `push_to_hub` behind the last `train`, both without condition; 0 if there is none."""
    calls = _top_calls(tree)
    trained = max((call.lineno for call in calls if _ends_in(call, "train")), default=0)
    pushes = (call.lineno for call in calls if _ends_in(call, "push_to_hub") and call.lineno > trained)
    return next(pushes, 0) if trained else 0


def _doubled_tokens(course: MetricHistory, declared: DeclaredTraining) -> Iterator[ClassEvidence]:
    """Rows written out with a special token twice in a row, and a training on them that ended."""
    tree = parsed(declared.text)
    if tree is None or not course.ends:
        return
    texts = ((node.lineno, node.value) for node in ast.walk(tree) if isinstance(node, ast.Constant))
    found = next((line for line, text in texts if isinstance(text, str) and DOUBLED.search(text)), 0)
    if found:
        yield _evidence("text-duplicated-in-rows", 0.65, (declared.line(found),))


def _top_calls(tree: ast.Module) -> list[ast.Call]:
    """Return the calls that a script makes without condition, in order of their lines."""
    plain = [each for each in tree.body if isinstance(each, ast.Expr | ast.Assign | ast.AnnAssign)]
    calls = [node for each in plain for node in ast.walk(each) if isinstance(node, ast.Call)]
    return sorted(calls, key=lambda call: call.lineno)


def _ends_in(call: ast.Call, name: str) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == name


def _printed(tree: ast.Module, since: int) -> Iterator[str]:
    """Yield the text that the output of each `print` begins with that is made without condition, from a line on."""
    for call in _top_calls(tree):
        if isinstance(call.func, ast.Name) and call.func.id == "print" and call.args and call.lineno >= since:
            begun = _literal_begin(call.args[0]).strip().split("\n", maxsplit=1)[0]
            if len(begun) >= LITERAL:
                yield begun


def _literal_begin(value: ast.expr) -> str:
    """Return the literal text that a value begins with; empty if it begins with a computed one."""
    match value:
        case ast.Constant(value=str(text)) | ast.JoinedStr(values=[ast.Constant(value=str(text)), *_]):
            return text
        case _:
            return ""


def parsed(text: str) -> ast.Module | None:
    """Return a script's tree; None of what is not valid Python."""
    try:
        return ast.parse(text) if text.strip() else None
    except (SyntaxError, ValueError):
        return None


def _evidence(
    name: str, weight: float, lines: Sequence[Line], values: Mapping[str, str] | None = None
) -> ClassEvidence:
    return ClassEvidence(name=name, weight=weight, lines=tuple(lines), values=values or {})


RULES: Final[tuple[Callable[[MetricHistory, DeclaredTraining], Iterator[ClassEvidence]], ...]] = (
    _never_saved,
    _other_rate,
    _suspect_rate,
    _every_row_cut,
    _no_accelerator,
    _waits_for_reward,
    _never_came_back,
    _doubled_tokens,
)
