"""The items of the three checklists, and how each can be seen in what was read.

An item fails where a rule that it rests on objects to something. Where none does, its `look` says what it sees: a pass
needs something that shows it, and what cannot be seen from here is unknown. Source of the items: the checklists
"before you submit", "script quality" and "job configuration" that go with agents' training skills.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast.catalog.environment.packages import REQUIREMENTS, declared_requirements, providers
from holdfast.catalog.hub.jobs import DEFAULT_TIMEOUT, Submission, submissions
from holdfast.core.backends import backend_of
from holdfast.core.document import ABSENT, Document, Unknown, parse_key
from holdfast.core.notebook import is_notebook
from holdfast.core.text import Place
from holdfast.engine.references.table import BUILDERS
from holdfast.engine.script.control_flow import is_conditional, swallowing_line
from holdfast.engine.script.started import ProgramStart, starts
from holdfast.results.check import ItemVerdict

PREFLIGHT, SCRIPT, JOB = "pre-flight", "script", "job"
PUSHING = ("push_to_hub", "upload_folder", "upload_large_folder")
HERE = ("builtin:", ".", "/", "~")
# Trackers whose callback keeps the training arguments with the run; read in transformers 5.23.
KEEPING: Final = frozenset(
    {"clearml", "comet_ml", "dagshub", "dvclive", "mlflow", "neptune", "swanlab", "tensorboard", "trackio", "wandb"}
)
NOT_ESTIMATED = "`holdfast plan` estimates it"


@dataclass(frozen=True, slots=True)
class ItemState:
    """What can be seen of an item, where no rule objects.

    Attributes:
        status: What it comes to.
        because: What makes it so.
        place: Where that stands, if it stands anywhere.
    """

    status: ItemVerdict
    because: str
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One item of the checklists.

    Attributes:
        name: Its name, for programs.
        asks: A statement that holds where it passes.
        lists: The checklists on which it stands.
        codes: The rules that it rests on: what one of them objects to makes it fail.
        look: What one document shows of it, where none does.
    """

    name: str
    asks: str
    lists: tuple[str, ...]
    codes: tuple[str, ...]
    look: Callable[[Document], ItemState]


def _pass(because: str, place: Place | None = None) -> ItemState:
    return ItemState(ItemVerdict.PASS, because, place)


def _fail(because: str, place: Place | None = None) -> ItemState:
    return ItemState(ItemVerdict.FAIL, because, place)


def _unknown(because: str, place: Place | None = None) -> ItemState:
    return ItemState(ItemVerdict.UNKNOWN, because, place)


def _not_applicable(because: str) -> ItemState:
    return ItemState(ItemVerdict.NOT_APPLICABLE, because)


def _repositories(job: Document) -> ItemState:
    if job.kind == "job":  # else the rules about its model and its data would have been skipped
        return _pass("model and data lie on this machine, and were looked at")
    named = _named_repositories(job)
    if not named and not _trains(job):
        return _not_applicable("it names no model and no data")
    if not named or not all(isinstance(name, str) for name in named):
        return _unknown("which they are is not known before it runs")
    return _pass(f"{' and '.join(map('`{}`'.format, named))} can be read")


def _named_repositories(job: Document) -> list[Any]:
    return [value for key in ("model.path", *_data_key(job)) if (value := job.get(key)) is not ABSENT]


def _data_key(job: Document) -> tuple[str, ...]:
    """Return the key of what data is read from: of one that a builder reads, its files."""
    path = job.get("dataset.path")
    by_builder = isinstance(path, str) and path in BUILDERS
    return ("dataset.data_files",) if by_builder else ("dataset.path",)


def _known_good(_: Document) -> ItemState:
    return _unknown("only a rehearsal or a run shows it: `holdfast rehearse`")


def _hardware(job: Document) -> ItemState:
    hardware = job.get("where.hardware")
    because = (
        f"no rule objects to {hardware}, but how much memory it takes is not known" if isinstance(hardware, str) else ""
    )
    return _unknown(because or f"how much memory it takes is not known: {NOT_ESTIMATED}")


def _dependencies(job: Document) -> ItemState:
    if job.kind == "job":
        return _pass("the script that holdfast writes pins each package that it imports")
    declared = job.get(REQUIREMENTS)
    strange = sorted(_strange(job))
    if isinstance(declared, Unknown) or declared is ABSENT:
        return _unknown("no script header says which packages there will be")
    if any("install" in each.words for each in starts(job)):
        return _unknown("it installs packages by itself")
    if strange:
        return _unknown(f"`{strange[0]}` is neither Python's nor of a package that is known here")
    return _pass("what the header declares installs all that is imported", _at(job, REQUIREMENTS))


def _build_tools(job: Document) -> ItemState:
    if job.kind == "job":
        return _system_packages(job)
    started = list(starts(job))
    installed = _installed(job, started)
    foreign = [each for each in started if not each.is_always_there]
    missing = next((each for each in foreign if each.program not in installed), None)
    if missing:
        return _not_installed(missing)
    if not foreign:
        return _not_applicable("it starts no program that would have to be installed")
    return _pass("it installs every program that it starts", foreign[0].call.name_place)


def _not_installed(start: ProgramStart) -> ItemState:
    which = f"`{start.program}` has to be there" if start.program else "which program this starts is not known"
    return _unknown(which, start.call.name_place)


def _system_packages(job: Document) -> ItemState:
    system = job.get("environment.system", None)
    if not system or not _is_list(system):
        return _not_applicable("it starts no other program")
    return _pass(f"the script installs {', '.join(map(str, system))} first", _at(job, "environment.system"))


def _installed(job: Document, started: Iterable[ProgramStart]) -> set[str]:
    """Return the packages that a program declares, and the words of the commands by which it installs others."""
    commands = [each.words for each in started if "install" in each.words]
    return {each.name for each in declared_requirements(job).values()}.union(*commands)


def _timeout(job: Document) -> ItemState:
    if job.kind == "job":
        return _job_timeout(job)
    sent = list(submissions(job))
    unseen = next(filter(None, (_unseen_timeout(job, each) for each in sent)), None)
    if unseen:
        return unseen
    if not sent:
        return _unknown("it does not say where it will run")
    return _pass(f"it is {sent[0].given('timeout')}", _at(job, sent[0].key("timeout")))


def _job_timeout(job: Document) -> ItemState:
    given = job.get("where.timeout", None)
    if given is None:
        return _not_applicable("a run on this machine has no timeout")  # elsewhere, JOB101 objects
    return _pass(f"it is {given}", _at(job, "where.timeout"))


def _unseen_timeout(job: Document, sent: Submission) -> ItemState | None:
    """Return why the timeout of a job that a program sends is not known; None if it is."""
    given = sent.given("timeout")
    if given is ABSENT:
        default = f"the Hub's default of {DEFAULT_TIMEOUT} applies"
        why = default if sent.complete else "not all that is given can be seen"
        return _unknown(why, sent.place() or _at(job, sent.key()))
    if isinstance(given, Unknown):
        return _unknown(f"`timeout`: {given.because}", _at(job, sent.key("timeout")))
    return None


def _time_enough(job: Document) -> ItemState:
    if job.kind == "job" and job.get("where.timeout", None) is None:
        return _not_applicable("a run on this machine has no timeout")
    return _unknown(f"how long it will take is not known: {NOT_ESTIMATED}")


def _pushed(job: Document) -> ItemState:
    if job.kind == "job":
        return _pushed_by_job(job)
    if place := _pushes(job):
        return _pushed_at(job, place)
    if isinstance(job.get("train.push_to_hub"), Unknown):
        return _unknown("whether `push_to_hub` is on is not known", _at(job, "train.push_to_hub"))
    return _unknown("it is not pushed, as far as can be seen") if _trains(job) else _not_applicable("it trains nothing")


def _pushed_by_job(job: Document) -> ItemState:
    if job.get("output.push_to", None):
        return _pass("the script pushes the model, and waits for it", _at(job, "output.push_to"))
    stays = backend_of(job).is_here
    return _not_applicable("the model stays on this machine") if stays else _unknown("it is not pushed")


def _pushed_at(job: Document, place: Place) -> ItemState:
    hidden = is_notebook(job.path) or is_conditional(job.text, place.line or 0)
    surely = job.get("train.push_to_hub", None) is True or not hidden
    return _pass("it is pushed here", place) if surely else _unknown("it may be pushed here", place)


def _token(job: Document) -> ItemState:
    if _holds_token(job.get("environment.secrets", None), list):
        return _pass("HF_TOKEN is among the secrets", _at(job, "environment.secrets"))
    if job.kind == "job":
        return _job_token(job)
    if sent := _sent(job):
        return _sent_token(job, sent)
    if not backend_of(job).shares_files:
        return _unknown("HF_TOKEN is not among the secrets", _at(job, "where.backend"))
    if place := _pushes(job):
        return _unknown("whether a token is set can be checked only where it runs", place)
    return _not_applicable("no push")


def _job_token(job: Document) -> ItemState:
    pushes = job.get("output.push_to", None)
    return _pass("a token is at hand here") if pushes else _not_applicable("it pushes nothing")


def _sent_token(job: Document, sent: Sequence[Submission]) -> ItemState:
    for each in sent:
        if not _holds_token(job.get(each.key("secrets")), dict):
            return _unknown("it is sent without HF_TOKEN, as far as can be seen", each.place() or _at(job, each.key()))
    return _pass("HF_TOKEN is sent along", _at(job, sent[0].key("secrets")))


def _sent(job: Document) -> list[Submission]:
    """Return the jobs that a program sends by calls."""
    return [each for each in submissions(job) if each.call]


def _holds_token(secrets: Any, kind: type[list[Any]] | type[dict[str, Any]]) -> bool:
    return isinstance(secrets, kind) and "HF_TOKEN" in secrets


def _errors(job: Document) -> ItemState:
    if job.kind == "job":
        return _pass("the script that holdfast writes stops at the first error, and says what to do")
    trains, started = any(call.name == "train" for call in job.calls), list(starts(job))
    if not trains and not started:
        return _not_applicable("it neither trains nor starts a program by itself")
    if is_notebook(job.path):
        return _unknown("cells are not searched for what catches errors")
    return _caught(job, started, trains=trains)


def _caught(job: Document, started: Iterable[ProgramStart], *, trains: bool) -> ItemState:
    line = swallowing_line(job.text) if trains else None
    if line:
        return _unknown("what `train()` raises may be caught", Place(job.path, line))
    unchecked = next((each for each in started if not each.checked), None)
    if unchecked:
        place = unchecked.call.name_place
        return _unknown("this goes on where the program fails, unless its result is looked at", place)
    return _pass("nothing catches what `train()` raises, and each program that it starts is checked")


def _self_contained(job: Document) -> ItemState:
    if job.kind == "job":
        return _job_contained(job)
    if job.kind == "command":
        return _not_applicable("the program is a library's own")
    beside = next((each for each in job.imports if each.place.path != job.path), None)
    data = job.get("dataset.path")
    if beside:
        return _fail(f"it needs {beside.place.path} beside it", beside.place)
    if isinstance(data, str) and data.startswith(HERE):
        return _fail(f"it reads {data}, which lies on this machine", _at(job, "dataset.path"))
    return _declared_alone(job)


def _declared_alone(job: Document) -> ItemState:
    strange = sorted(_strange(job))
    if strange:
        return _unknown(f"`{strange[0]}` may be a module that lies beside it")
    if job.get(REQUIREMENTS) is ABSENT:
        return _unknown("no script header says what it needs")
    return _pass("it imports packages alone, and its header declares them")


def _job_contained(job: Document) -> ItemState:
    rewards = job.get("rewards", None)
    named = [job.get("dataset.map", None), *(rewards if _is_list(rewards) else [rewards])]
    for each in named:
        if isinstance(each, str) and ":" in each and ".py:" not in each:
            return _unknown(f"`{each}` is of a module that the script does not carry with it")
    return _pass("`holdfast render` gives one script, with the files that the job names in it")


def _progress(job: Document) -> ItemState:
    if job.kind == "job":
        return _pass("`holdfast watch` shows each step")
    if not _trains(job):
        return _not_applicable("it trains nothing")
    config = job.call("train")
    strategy = job.get("train.logging_strategy", "steps")
    if config is None or config.open or isinstance(strategy, Unknown):
        return _unknown("not all of the trainer's settings can be seen")
    if strategy == "no":
        return _unknown("the trainer does not write its loss", _at(job, "train.logging_strategy"))
    return _pass("the trainer writes its loss as it goes", config.name_place)


def _kept_settings(job: Document) -> ItemState:
    if job.kind == "job":
        return _pass("the run keeps `job.resolved.yaml`, with versions and seeds")
    if not _trains(job):
        return _not_applicable("it trains nothing")
    trackers = job.get("train.report_to")
    named = {each for each in (trackers if _is_list(trackers) else [trackers]) if isinstance(each, str)}
    if kept := sorted(named & KEEPING):
        return _pass(f"{kept[0]} keeps the trainer's settings with the run", _at(job, "train.report_to"))
    return _unknown("no tracker is named that would keep the settings")


def _variables(job: Document) -> ItemState:
    if job.kind != "job":
        return _unknown("which variables are set can be checked only where it runs")
    if job.get("environment.secrets", None) or job.get("environment.variables", None):
        return _pass("every secret that it names is set here", _at(job, "environment"))
    return _not_applicable("it asks for none")


def _cost(job: Document) -> ItemState:
    if job.kind == "job" and backend_of(job).is_here:
        return _not_applicable("running on this machine costs nothing")
    return _unknown(f"what it will cost is not known: {NOT_ESTIMATED}")


def _at(job: Document, key: str) -> Place | None:
    """Return where a key is written, and nothing if only its parent is."""
    path = parse_key(key)
    return job.key_places.get(path) or job.places.get(path)


def _trains(job: Document) -> bool:
    """True if a document is about a training of its own."""
    return job.kind == "command" or isinstance(job.get("method"), str)


def _pushes(job: Document) -> Place | None:
    """Return where a program asks for a push to the Hub."""
    if job.get("train.push_to_hub", None) is True:
        return _at(job, "train.push_to_hub") or Place(job.path)
    return next((call.name_place for call in job.calls if call.name in PUSHING and not call.guard.because), None)


def _strange(job: Document) -> Iterator[str]:
    """Yield the modules that are neither Python's own nor of a package that the catalog knows."""
    for each in job.imports:
        top = each.module.partition(".")[0]
        if each.place.path == job.path and top not in sys.stdlib_module_names and not providers(top):
            yield top


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


HEADER = ("DEP101", "DEP102", "DEP104", "DEP105", "DEP106", "DEP109", "DEP110", "DEP112", "DEP115", "IMP106")
ITEMS: Final = (
    Item(
        "repositories",
        "Model, data and script are where they are looked for",
        (PREFLIGHT,),
        ("DAT102", "DAT106", "DAT107", "DAT108", "DAT123", "HUB117", "JOB108", "JOB109", "MOD102", "MOD108", "MOD109"),
        _repositories,
    ),
    Item("known-good", "The code has worked once, on known-good inputs", (PREFLIGHT,), (), _known_good),
    Item(
        "hardware",
        "The hardware is known to be enough",
        (PREFLIGHT, JOB),
        ("DST101", "DST109", "JOB107", "JOB114", "PRC101", "PRC108"),
        _hardware,
    ),
    Item("dependencies", "All that is imported is declared", (PREFLIGHT, SCRIPT), HEADER, _dependencies),
    Item(
        "build-tools", "Programs that it starts are installed", (PREFLIGHT, SCRIPT), ("DEP114", "JOB110"), _build_tools
    ),
    Item(
        "timeout",
        "The timeout is not the backend's own",
        (PREFLIGHT,),
        ("JOB101", "JOB104", "JOB105"),
        _timeout,
    ),
    Item(
        "time",
        "The timeout is the expected time and 30 % more",
        (JOB,),
        ("JOB101", "JOB104", "JOB105", "JOB106"),
        _time_enough,
    ),
    Item(
        "push",
        "The model gets to the Hub",
        (PREFLIGHT,),
        ("HUB101", "HUB104", "HUB107", "JOB116"),
        _pushed,
    ),
    Item("token", "The push has a token", (PREFLIGHT, JOB), ("HUB102", "HUB103", "HUB106"), _token),
    Item("errors", "What fails says so, and ends the run", (PREFLIGHT, SCRIPT), (), _errors),
    Item("self-contained", "The script runs alone", (SCRIPT,), ("DEP101", "DEP102", "DEP104"), _self_contained),
    Item(
        "progress",
        "Progress can be seen from outside",
        (SCRIPT,),
        ("TRK102", "TRK105", "TRK106", "TRK107", "TRK108"),
        _progress,
    ),
    Item("settings", "The settings are kept with the run", (SCRIPT,), (), _kept_settings),
    Item("variables", "The environment variables are right", (JOB,), ("DEP113", "JOB102", "TRK109"), _variables),
    Item("cost", "The cost is known, and accepted", (JOB,), (), _cost),
)
