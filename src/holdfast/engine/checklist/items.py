"""The items of the three checklists, and how each can be seen in what was read.

An item fails where a rule that it rests on objects to something. Where none does, its `look` says what it sees: a pass
needs something that shows it, and what cannot be seen from here is unknown. Source of the items: the checklists
"before you submit", "script quality" and "job configuration" that go with agents' training skills.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from holdfast.catalog.hub.jobs import DEFAULT_TIMEOUT, Submission, submissions
from holdfast.core.job.document import ABSENT, Document, Unknown
from holdfast.core.job.notebook import is_notebook
from holdfast.core.run.backends import backend_of
from holdfast.core.text.places import Place
from holdfast.engine.checklist.script_quality import (
    build_tools,
    dependencies,
    error_handling,
    kept_settings,
    self_contained,
    visible_progress,
)
from holdfast.engine.checklist.states import ItemState, not_applicable, passed, place_of, trains_itself, unknown
from holdfast.engine.references.table import BUILDERS
from holdfast.engine.script.control_flow import is_conditional

PREFLIGHT, SCRIPT, JOB = "pre-flight", "script", "job"
PUSHING = ("push_to_hub", "upload_folder", "upload_large_folder")
NOT_ESTIMATED = "`holdfast plan` estimates it"


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


def _repositories(job: Document) -> ItemState:
    if job.kind == "job":  # else the rules about its model and its data would have been skipped
        return passed("model and data lie on this machine, and were looked at")
    named = _named_repositories(job)
    if not named and not trains_itself(job):
        return not_applicable("it names no model and no data")
    if not named or not all(isinstance(name, str) for name in named):
        return unknown("which they are is not known before it runs")
    return passed(f"{' and '.join(map('`{}`'.format, named))} can be read")


def _named_repositories(job: Document) -> list[Any]:
    return [value for key in ("model.path", *_data_key(job)) if (value := job.get(key)) is not ABSENT]


def _data_key(job: Document) -> tuple[str, ...]:
    """Return the key of what data is read from: of one that a builder reads, its files."""
    path = job.get("dataset.path")
    by_builder = isinstance(path, str) and path in BUILDERS
    return ("dataset.data_files",) if by_builder else ("dataset.path",)


def _known_good(_: Document) -> ItemState:
    return unknown("only a rehearsal or a run shows it: `holdfast rehearse`")


def _hardware(job: Document) -> ItemState:
    hardware = job.get("where.hardware")
    because = (
        f"no rule objects to {hardware}, but how much memory it takes is not known" if isinstance(hardware, str) else ""
    )
    return unknown(because or f"how much memory it takes is not known: {NOT_ESTIMATED}")


def _timeout(job: Document) -> ItemState:
    if job.kind == "job":
        return _job_timeout(job)
    sent = list(submissions(job))
    unseen = next(filter(None, (_unseen_timeout(job, each) for each in sent)), None)
    if unseen:
        return unseen
    if not sent:
        return unknown("it does not say where it will run")
    return passed(f"it is {sent[0].given('timeout')}", place_of(job, sent[0].key("timeout")))


def _job_timeout(job: Document) -> ItemState:
    given = job.get("where.timeout", None)
    if given is None:
        return not_applicable("a run on this machine has no timeout")  # elsewhere, JOB101 objects
    return passed(f"it is {given}", place_of(job, "where.timeout"))


def _unseen_timeout(job: Document, sent: Submission) -> ItemState | None:
    """Return why the timeout of a job that a program sends is not known; None if it is."""
    given = sent.given("timeout")
    if given is ABSENT:
        default = f"the Hub's default of {DEFAULT_TIMEOUT} applies"
        why = default if sent.complete else "not all that is given can be seen"
        return unknown(why, sent.place() or place_of(job, sent.key()))
    if isinstance(given, Unknown):
        return unknown(f"`timeout`: {given.because}", place_of(job, sent.key("timeout")))
    return None


def _time_enough(job: Document) -> ItemState:
    if job.kind == "job" and job.get("where.timeout", None) is None:
        return not_applicable("a run on this machine has no timeout")
    return unknown(f"how long it will take is not known: {NOT_ESTIMATED}")


def _pushed(job: Document) -> ItemState:
    if job.kind == "job":
        return _pushed_by_job(job)
    if place := _pushes(job):
        return _pushed_at(job, place)
    if isinstance(job.get("train.push_to_hub"), Unknown):
        return unknown("whether `push_to_hub` is on is not known", place_of(job, "train.push_to_hub"))
    return (
        unknown("it is not pushed, as far as can be seen")
        if trains_itself(job)
        else not_applicable("it trains nothing")
    )


def _pushed_by_job(job: Document) -> ItemState:
    if job.get("output.push_to", None):
        return passed("the script pushes the model, and waits for it", place_of(job, "output.push_to"))
    stays = backend_of(job).is_here
    return not_applicable("the model stays on this machine") if stays else unknown("it is not pushed")


def _pushed_at(job: Document, place: Place) -> ItemState:
    hidden = is_notebook(job.path) or is_conditional(job.text, place.line or 0)
    surely = job.get("train.push_to_hub", None) is True or not hidden
    return passed("it is pushed here", place) if surely else unknown("it may be pushed here", place)


def _token(job: Document) -> ItemState:
    if _holds_token(job.get("environment.secrets", None), list):
        return passed("HF_TOKEN is among the secrets", place_of(job, "environment.secrets"))
    if job.kind == "job":
        return _job_token(job)
    if sent := _sent(job):
        return _sent_token(job, sent)
    if not backend_of(job).shares_files:
        return unknown("HF_TOKEN is not among the secrets", place_of(job, "where.backend"))
    if place := _pushes(job):
        return unknown("whether a token is set can be checked only where it runs", place)
    return not_applicable("no push")


def _job_token(job: Document) -> ItemState:
    pushes = job.get("output.push_to", None)
    return passed("a token is at hand here") if pushes else not_applicable("it pushes nothing")


def _sent_token(job: Document, sent: Sequence[Submission]) -> ItemState:
    for each in sent:
        if not _holds_token(job.get(each.key("secrets")), dict):
            return unknown(
                "it is sent without HF_TOKEN, as far as can be seen", each.place() or place_of(job, each.key())
            )
    return passed("HF_TOKEN is sent along", place_of(job, sent[0].key("secrets")))


def _sent(job: Document) -> list[Submission]:
    """Return the jobs that a program sends by calls."""
    return [each for each in submissions(job) if each.call]


def _holds_token(secrets: Any, kind: type[list[Any]] | type[dict[str, Any]]) -> bool:
    return isinstance(secrets, kind) and "HF_TOKEN" in secrets


def _variables(job: Document) -> ItemState:
    if job.kind != "job":
        return unknown("which variables are set can be checked only where it runs")
    if job.get("environment.secrets", None) or job.get("environment.variables", None):
        return passed("every secret that it names is set here", place_of(job, "environment"))
    return not_applicable("it asks for none")


def _cost(job: Document) -> ItemState:
    if job.kind == "job" and backend_of(job).is_here:
        return not_applicable("running on this machine costs nothing")
    return unknown(f"what it will cost is not known: {NOT_ESTIMATED}")


def _pushes(job: Document) -> Place | None:
    """Return where a program asks for a push to the Hub."""
    if job.get("train.push_to_hub", None) is True:
        return place_of(job, "train.push_to_hub") or Place(job.path)
    return next((call.name_place for call in job.calls if call.name in PUSHING and not call.guard.because), None)


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
    Item("dependencies", "All that is imported is declared", (PREFLIGHT, SCRIPT), HEADER, dependencies),
    Item(
        "build-tools", "Programs that it starts are installed", (PREFLIGHT, SCRIPT), ("DEP114", "JOB110"), build_tools
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
    Item("errors", "What fails says so, and ends the run", (PREFLIGHT, SCRIPT), (), error_handling),
    Item("self-contained", "The script runs alone", (SCRIPT,), ("DEP101", "DEP102", "DEP104"), self_contained),
    Item(
        "progress",
        "Progress can be seen from outside",
        (SCRIPT,),
        ("TRK102", "TRK105", "TRK106", "TRK107", "TRK108"),
        visible_progress,
    ),
    Item("settings", "The settings are kept with the run", (SCRIPT,), (), kept_settings),
    Item("variables", "The environment variables are right", (JOB,), ("DEP113", "JOB102", "TRK109"), _variables),
    Item("cost", "The cost is known, and accepted", (JOB,), (), _cost),
)
