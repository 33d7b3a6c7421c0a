"""Function or chat template that the named file does not contain.

## What it does
Checks for the files that `rewards`, `dataset.map` and `model.chat_template` of a job file name, and for the functions
in them. `rewards` without a file must be functions of TRL. Skips functions of imported modules,
`package.module:function`.

## Why is this bad
`holdfast run` and `holdfast render` refuse the job, because the files are sent with the script.

## Fix safety
The fix is unsafe: it writes the nearest name, and you may mean another one.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from holdfast.catalog.trl_rewards import TRL_REWARDS
from holdfast.core.check.facts import NamedFile
from holdfast.core.check.finding import Case, Finding, Fix, MissingFactError, Rule, Severity
from holdfast.core.job.document import Document, Set
from holdfast.core.text.nearest import nearest

MAP, REWARDS, TEMPLATE = "dataset.map", "rewards", "model.chat_template"


@dataclass(frozen=True, slots=True)
class _Named:
    """A function or template that a job names.

    Attributes:
        key: Where it is named.
        text: How: `rewards.py:score`, or the name of a template's file.
    """

    key: str
    text: str

    @property
    def module(self) -> str:
        """The file or the module of a function; empty for a name alone."""
        return self.text.rpartition(":")[0]

    @property
    def path(self) -> str:
        """What names the file."""
        return self.text if self.key == TEMPLATE else self.module

    @property
    def is_imported(self) -> bool:
        """Whether its module is one that Python has to find."""
        return bool(self.module) and not self.module.endswith(".py")


def check(job: Document, files: Mapping[str, NamedFile]) -> Iterator[Finding]:
    """Report each function and template that the named file does not contain."""
    every = _named(job)
    for named in every:
        file = files.get(named.path)
        yield from _unknown_reward(named) if file is None else _missing_name(named, file)
    imported = (named.key for named in every if named.is_imported and files.get(named.path) is None)
    if next(imported, "") == MAP:
        raise MissingFactError(MAP, "modules that a job imports are not checked")


def _unknown_reward(named: _Named) -> Iterator[Finding]:
    if not named.key.startswith(REWARDS) or named.module.endswith(".py") or named.text in TRL_REWARDS:
        return
    near = nearest(named.text, tuple(TRL_REWARDS))
    fix = Fix(f"write `{near}`", (Set(named.key, near),), safe=False) if near else None
    hint = f"did you mean `{near}`?" if near else "name one of TRL's, or `file.py:function`"
    yield Finding(named.key, f"there is no reward function `{named.text}`; {hint}", fix)


def _named(job: Document) -> list[_Named]:
    rewards = job.get(REWARDS, None)
    listed = enumerate(rewards) if isinstance(rewards, list) else ()
    given = [(f"{REWARDS}.{number}", text) for number, text in listed]
    given += [(key, job.get(key, None)) for key in (MAP, TEMPLATE)]
    return [_Named(key, text) for key, text in given if isinstance(text, str)]


def _missing_name(named: _Named, file: NamedFile) -> Iterator[Finding]:
    name = named.text.rpartition(":")[2]
    if file.problem:
        yield Finding(named.key, file.problem)
    elif named.key != TEMPLATE and name not in file.names:
        near = nearest(name, tuple(sorted(file.names)))
        fix = Fix(f"write `{near}`", (Set(named.key, f"{named.module}:{near}"),), safe=False) if near else None
        hint = f"; did you mean `{near}`?" if near else ""
        yield Finding(named.key, f"`{named.module}` defines no `{name}`{hint}", fix)


JOB = """
method: grpo
model: Qwen/Qwen2.5-0.5B
dataset: {path: trl-lib/DeepMath-103K, map: "rows.py:shorten"}
rewards: [accuracy_reward, "scores.py:brevity"]
"""
PLAIN = JOB.replace(', map: "rows.py:shorten"', "")
OTHER = NamedFile(names=frozenset({"shorten", "brevity"}))
FACTS: dict[str, object] = {"files": {"rows.py": OTHER, "scores.py": OTHER}}
ABSENT = NamedFile(
    problem="`rows.py` is neither in the job file's folder nor in the working directory; did you mean `row.py`?"
)

RULE = Rule(
    code="JOB120",
    name="missing-function",
    explain=__doc__,
    severity=Severity.ERROR,
    check=check,
    source="holdfast itself: `engine/script/carried_files.py` refuses the same. Each was tried with `holdfast render`.",
    bad=(
        Case(job=JOB.replace("scores.py:brevity", "scores.py:brevty"), facts=FACTS, at="rewards.1", fixed=JOB),
        Case(job=JOB.replace("accuracy_reward", "acuracy_reward"), facts=FACTS, at="rewards.0", fixed=JOB),
        Case(job=JOB.replace("shorten", "cut"), facts=FACTS, at=MAP),
        Case(job=JOB, facts={"files": {"rows.py": ABSENT, "scores.py": OTHER}}, at=MAP),
    ),
    good=(
        Case(job=JOB, facts=FACTS),
        Case(job=PLAIN.replace(', "scores.py:brevity"', ""), facts={"files": {}}),
    ),
)
