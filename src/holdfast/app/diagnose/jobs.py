"""The script or job file of a log, as additional evidence: its settings, and what the rules find in it."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from holdfast.adapters.targets import Target
from holdfast.app.check.programs import resolve_versions
from holdfast.app.check.target import check_rules, read_check_target
from holdfast.app.check.target_request import CATALOG, TargetRequest
from holdfast.app.diagnose.rows import find_in_rows
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.core.check.finding import Finding
from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.errors import HoldfastError
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.places import Place
from holdfast.engine.check.program import check_program
from holdfast.engine.check.suppress import split_suppressed
from holdfast.engine.diagnose.declared import DeclaredTraining
from holdfast.engine.resolve.cached import resolve_cached
from holdfast.rules import rules_of_jobs

THE_LOG: Final = "the log"
CONFIG: Final = re.compile(
    r"trl\.(?:experimental\.[\w.]+\.)?(?:SFT|DPO|KTO|GRPO|RLOO|Reward)Config|transformers\.(?:Seq2Seq)?TrainingArguments"
)
"""The configs of trainers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobContext:
    """What a script or job file adds to a log.

    Attributes:
        declared: Its training settings; None if it trains several jobs, since it is unknown which one the log is from.
        findings: What the rules find in it.
        unread: Why it could not be read; empty if it could.
    """

    declared: DeclaredTraining | None = None
    findings: tuple[Finding, ...] = ()
    unread: str = ""


def read_job(path: str, versions: Mapping[str, str], text: str | None) -> JobContext:
    """Return the settings of a script or job file, checked against the versions in the log, without the network.

    Args:
        path: The file.
        versions: Releases by package.
        text: Replaces the content of the file, unless None.
    """
    question = TargetRequest(path=path, hub=HubAccess.OFFLINE)
    try:
        target = read_check_target(question, text)
    except (HoldfastError, ExceptionGroup) as error:
        return JobContext(unread=str(error).splitlines()[0])
    of_rows = () if target.job else tuple(find_in_rows(target.document))
    return JobContext(declared=_declared_training(target), findings=(*_findings(target, question, versions), *of_rows))


def _findings(target: Target, request: TargetRequest, versions: Mapping[str, str]) -> tuple[Finding, ...]:
    pins = [_pin(name, version) for name, version in versions.items() if version[:1].isdigit()]
    if target.job or not pins:
        return check_rules(target, request).findings
    version_context = resolve_versions(target.document.path, target.documents, CATALOG)
    resolution = resolve_cached(ProjectRequirements(kind="command", origin=THE_LOG, requirements=tuple(pins)))
    version_context = replace(
        version_context, resolution=resolution, outside=open_outside(target.document, HubAccess.OFFLINE)
    )
    results = check_program(rules_of_jobs(), target.documents, version_context)
    standing, _ = split_suppressed([each for each in results if isinstance(each, Finding)], target.documents)
    return tuple(standing)


def _pin(name: str, version: str) -> Requirement:
    specifier = f"=={version}"
    return Requirement(name=name, specifier=specifier, text=f"{name}{specifier}", place=Place(THE_LOG))


def _declared_training(target: Target) -> DeclaredTraining | None:
    """Return the training settings that a target declares."""
    if len(target.documents) > 1:
        return None
    document = target.document
    key = "train" if "train" in document.values else _only_config(document)
    settings: Mapping[str, Any] = document.values.get("train") or _arguments(document, key)
    known = {name: value for name, value in settings.items() if not isinstance(value, Unknown)}
    if target.job:
        known.pop("save_strategy", None)  # the script that is made of a job file saves at its end in any case
    method = document.get("method", "")
    callbacks = document.get("trainer.callbacks", None)
    return DeclaredTraining(
        path=document.path,
        text=document.text,
        method=method if isinstance(method, str) else "",
        settings=known,
        places=_places(document, key, known),
        callbacks=callbacks is not None,
        unknown=frozenset(settings).difference(known),
    )


def _only_config(document: Document) -> str:
    """Return the key of the only config in a document whose trainer is made elsewhere; `train` if there is not exactly one."""
    made = [call.key for call in document.calls if CONFIG.fullmatch(call.path) and not call.open]
    return made[0] if len(made) == 1 else "train"


def _arguments(document: Document, key: str) -> Mapping[str, Any]:
    """Return a call's keyword arguments."""
    return next((call.arguments for call in document.calls if call.key == key), {})


def _places(document: Document, key: str, names: Iterable[str]) -> dict[str, int]:
    lines = {name: document.place(f"{key}.{name}").line for name in names}
    return {name: line for name, line in lines.items() if line is not None}
