"""The items about the quality of a script: what it needs, what it catches, and what it shows of itself."""

import sys
from collections.abc import Iterable, Iterator
from typing import Final

from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements, providers
from holdfast.core.job.document import ABSENT, Document, Unknown
from holdfast.core.job.notebook import is_notebook
from holdfast.core.text.places import Place
from holdfast.engine.checklist.states import (
    ItemState,
    failed,
    is_list,
    not_applicable,
    passed,
    place_of,
    trains_itself,
    unknown,
)
from holdfast.engine.script.control_flow import swallowing_line
from holdfast.engine.script.started import ProgramStart, starts

HERE = ("builtin:", ".", "/", "~")
# Trackers whose callback keeps the training arguments with the run; read in transformers 5.23.
KEEPING: Final = frozenset(
    {"clearml", "comet_ml", "dagshub", "dvclive", "mlflow", "neptune", "swanlab", "tensorboard", "trackio", "wandb"}
)


def dependencies(job: Document) -> ItemState:
    """Whether all that is imported is declared."""
    if job.kind == "job":
        return passed("the script that holdfast writes pins each package that it imports")
    declared = job.get(REQUIREMENTS)
    strange = sorted(_strange(job))
    if isinstance(declared, Unknown) or declared is ABSENT:
        return unknown("no script header says which packages there will be")
    if any("install" in each.words for each in starts(job)):
        return unknown("it installs packages by itself")
    if strange:
        return unknown(f"`{strange[0]}` is neither Python's nor of a package that is known here")
    return passed("what the header declares installs all that is imported", place_of(job, REQUIREMENTS))


def build_tools(job: Document) -> ItemState:
    """Whether the programs that it starts are installed."""
    if job.kind == "job":
        return _system_packages(job)
    started = list(starts(job))
    installed = _installed(job, started)
    foreign = [each for each in started if not each.is_always_there]
    missing = next((each for each in foreign if each.program not in installed), None)
    if missing:
        return _not_installed(missing)
    if not foreign:
        return not_applicable("it starts no program that would have to be installed")
    return passed("it installs every program that it starts", foreign[0].call.name_place)


def _not_installed(start: ProgramStart) -> ItemState:
    which = f"`{start.program}` has to be there" if start.program else "which program this starts is not known"
    return unknown(which, start.call.name_place)


def _system_packages(job: Document) -> ItemState:
    system = job.get("environment.system", None)
    if not system or not is_list(system):
        return not_applicable("it starts no other program")
    return passed(f"the script installs {', '.join(map(str, system))} first", place_of(job, "environment.system"))


def _installed(job: Document, started: Iterable[ProgramStart]) -> set[str]:
    """Return the packages that a program declares, and the words of the commands by which it installs others."""
    commands = [each.words for each in started if "install" in each.words]
    return {each.name for each in declared_requirements(job).values()}.union(*commands)


def error_handling(job: Document) -> ItemState:
    """Whether an error ends the run."""
    if job.kind == "job":
        return passed("the script that holdfast writes stops at the first error, and says what to do")
    trains, started = any(call.name == "train" for call in job.calls), list(starts(job))
    if not trains and not started:
        return not_applicable("it neither trains nor starts a program by itself")
    if is_notebook(job.path):
        return unknown("cells are not searched for what catches errors")
    return _caught(job, started, trains=trains)


def _caught(job: Document, started: Iterable[ProgramStart], *, trains: bool) -> ItemState:
    line = swallowing_line(job.text) if trains else None
    if line:
        return unknown("what `train()` raises may be caught", Place(job.path, line))
    unchecked = next((each for each in started if not each.checked), None)
    if unchecked:
        place = unchecked.call.name_place
        return unknown("this goes on where the program fails, unless its result is looked at", place)
    return passed("nothing catches what `train()` raises, and each program that it starts is checked")


def self_contained(job: Document) -> ItemState:
    """Whether the script runs alone."""
    if job.kind == "job":
        return _job_contained(job)
    if job.kind == "command":
        return not_applicable("the program is a library's own")
    beside = next((each for each in job.imports if each.place.path != job.path), None)
    data = job.get("dataset.path")
    if beside:
        return failed(f"it needs {beside.place.path} beside it", beside.place)
    if isinstance(data, str) and data.startswith(HERE):
        return failed(f"it reads {data}, which lies on this machine", place_of(job, "dataset.path"))
    return _declared_alone(job)


def _declared_alone(job: Document) -> ItemState:
    strange = sorted(_strange(job))
    if strange:
        return unknown(f"`{strange[0]}` may be a module that lies beside it")
    if job.get(REQUIREMENTS) is ABSENT:
        return unknown("no script header says what it needs")
    return passed("it imports packages alone, and its header declares them")


def _job_contained(job: Document) -> ItemState:
    rewards = job.get("rewards", None)
    named = [job.get("dataset.map", None), *(rewards if is_list(rewards) else [rewards])]
    for each in named:
        if isinstance(each, str) and ":" in each and ".py:" not in each:
            return unknown(f"`{each}` is of a module that the script does not carry with it")
    return passed("`holdfast render` gives one script, with the files that the job names in it")


def visible_progress(job: Document) -> ItemState:
    """Whether progress can be seen from outside."""
    if job.kind == "job":
        return passed("`holdfast watch` shows each step")
    if not trains_itself(job):
        return not_applicable("it trains nothing")
    config = job.call("train")
    strategy = job.get("train.logging_strategy", "steps")
    if config is None or config.open or isinstance(strategy, Unknown):
        return unknown("not all of the trainer's settings can be seen")
    if strategy == "no":
        return unknown("the trainer does not write its loss", place_of(job, "train.logging_strategy"))
    return passed("the trainer writes its loss as it goes", config.name_place)


def kept_settings(job: Document) -> ItemState:
    """Whether the settings are kept with the run."""
    if job.kind == "job":
        return passed("the run keeps `job.resolved.yaml`, with versions and seeds")
    if not trains_itself(job):
        return not_applicable("it trains nothing")
    trackers = job.get("train.report_to")
    named = {each for each in (trackers if is_list(trackers) else [trackers]) if isinstance(each, str)}
    if kept := sorted(named & KEEPING):
        return passed(f"{kept[0]} keeps the trainer's settings with the run", place_of(job, "train.report_to"))
    return unknown("no tracker is named that would keep the settings")


def _strange(job: Document) -> Iterator[str]:
    """Yield the modules that are neither Python's own nor of a package that the catalog knows."""
    for each in job.imports:
        top = each.module.partition(".")[0]
        if each.place.path == job.path and top not in sys.stdlib_module_names and not providers(top):
            yield top
