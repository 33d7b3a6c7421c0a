"""Why a rehearsal did not go on where the job would: for this machine, for its few rows, or for what no rehearsal does."""

import re
from collections.abc import Iterator
from typing import Final

from holdfast.core.rehearse.rehearsal import PartResult
from holdfast.core.run.training_event import StepDone
from holdfast.engine.rehearse.naming import because_of
from holdfast.engine.rehearse.stage_results import failed_stage

ZERO: Final = re.compile(r"^ZeroDivisionError: integer (?:division or )?modulo by zero")
LACKING: Final = re.compile(
    r"(?:FileNotFound|ModuleNotFound|DatasetNotFound|EmptyDataset|CalledProcess)Error\b|\b(?:No such file|Unable to find|"
    r"Couldn't find|Can't find|not a local folder|no file named)\b"
)
"""What is said where a file, a folder or a module is not there."""
NO_MODULE: Final = re.compile(r"ModuleNotFoundError: No module named '(\w+)")
ELSEWHERE: Final = re.compile(r"['\" ]/(?:content|kaggle)/")
"""A path that only Colab or Kaggle has."""
MEMORY: Final = " of memory"
"""What is said of a limit other than one of time: a step takes as much of it as the real vocabulary and length make it take."""
NO_INPUT: Final = "the script reads standard input, which a rehearsal does not have"


def left_off_because(whole: PartResult) -> str:
    """Return why a rehearsal did not go on where the job would: it was slow here, or went where no rehearsal goes; else nothing."""
    if whole.is_slow:
        return f"{whole.over} here, but made progress"
    if whole.over.endswith(MEMORY) and failed_stage(whole) == "step":
        return f"{whole.over} here; whether it fits on the job's machine is shown by `holdfast plan`"
    return _unread_input(whole) or _out_of_reach(whole) or _too_few(whole) or _unmade(whole)


def _unread_input(whole: PartResult) -> str:
    return NO_INPUT if whole.facts("stdin") and not whole.happened(StepDone) else ""


def _out_of_reach(whole: PartResult) -> str:
    """Return the exception that ended a script where it went to what a rehearsal does not reach; else nothing."""
    because = whole.end.because or ""
    return because if any(each["because"] in because for each in whole.reported("out_of_reach")) else ""


def _too_few(whole: PartResult) -> str:
    """Return that a whole number came out as 0, by which the script divides: mostly of its few rows; else nothing."""
    because = because_of(whole)
    few = any(each.get("unit") == "rows" for each in whole.reported("shrunk"))
    return f"{because}: with so few rows a number of steps or batches is 0" if few and ZERO.search(because) else ""


def _unmade(whole: PartResult) -> str:
    """Return why something is not there: a program that was not run, or was kept from the network, may make it; else nothing."""
    because = because_of(whole)
    if whole.over or not LACKING.search(because):
        return ""
    if ELSEWHERE.search(because):
        return f"{because[:200]}: the host of a notebook may have it"
    if module := _declared_module(whole, because):
        return f"`{module}` is declared, and this environment, which is used in place of the declared one, lacks it"
    makers = list(_makers(whole))
    return f"{because[:200]}: {makers[-1]}, which may make it" if makers else ""


def _declared_module(whole: PartResult, because: str) -> str:
    """Return the module that a script lacks, if the environment that it declares has it; else nothing."""
    module = NO_MODULE.match(because)
    elsewhere = {each.lower() for each in whole.first("elsewhere").get("modules", ())}
    return module[1] if module and module[1].lower() in elsewhere else ""


def _makers(whole: PartResult) -> Iterator[str]:
    """Yield what was not done, and may make a file or a folder."""
    yield from (f"`{each['command']}` was not run" for each in whole.facts("not_run"))
    yield from (f"no {each['what']}" for each in whole.reported("not_rehearsed") if "host" in each)
