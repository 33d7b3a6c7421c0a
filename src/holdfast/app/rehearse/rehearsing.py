"""Rehearsing a program: its whole path on a tiny twin of its model, in the environment that it would get."""

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any, Final

from msgspec import structs
from packaging.specifiers import SpecifierSet

from holdfast.adapters.environment.interpreters import SCRIPT, find_modules_elsewhere, is_made, reason_for_uv
from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.hub.rights import read_rights
from holdfast.adapters.rehearsal.passed import mark_of
from holdfast.adapters.rehearsal.programs import OWN, Program
from holdfast.adapters.rehearsal.server import NoEnvironmentError, RehearsalServer
from holdfast.adapters.rehearsal.warm import WarmServer
from holdfast.adapters.storage.scratch import scratch_folder
from holdfast.app.rehearse import isolating
from holdfast.app.rehearse.exporting import rehearse_export
from holdfast.app.rehearse.failure_context import read_failure_context
from holdfast.app.rehearse.faults.bench import FaultBench
from holdfast.app.rehearse.observing import Observation, find_environment_fault, observe, prepare
from holdfast.app.rehearse.playing import OnProgress, Replayer, diagnose_part, judge_parts, limit_again, run_parts
from holdfast.app.rehearse.repeated_progress import RepeatedProgress
from holdfast.app.targets.local_inputs import input_digests
from holdfast.app.targets.programs import interpreter_of
from holdfast.catalog.environment.launchers import NeededLauncher, alone, wanted_launcher
from holdfast.core.environment.requirement import Requirement, parse_requirement
from holdfast.core.environment.script_header import find_header, read_header
from holdfast.core.errors import ScriptArgumentsError, UsageError
from holdfast.core.job.methods import Method
from holdfast.core.rehearse.rehearsal import Omitted, PartResult, Rehearsal
from holdfast.engine.diagnose import PatternIndex
from holdfast.engine.faults.kinds import FaultKind
from holdfast.engine.rehearse import judge_unstarted
from holdfast.engine.rehearse.answers import rehearse_result
from holdfast.engine.rehearse.explaining import explain_failures
from holdfast.engine.rehearse.learning import learn
from holdfast.engine.rehearse.naming import name_cause
from holdfast.engine.rehearse.recording import record_training
from holdfast.engine.rehearse.usage import UsageProblem, find_usage_problem, spell_arguments
from holdfast.payload.rehearsal.part_request import GpuChoice, PartRequest
from holdfast.results.rehearse import RehearseResult
from holdfast.signatures import all_signatures

LIMIT_S: Final = 180.0
"""Time that a part may take."""
READY_S: Final = 600.0
"""Time that making an environment may take."""
OFFLINE: Final = {"HF_HUB_OFFLINE": "1"}
NOT_ASKED: Final = "with --offline the Hub is not contacted, and the caches of this machine lack what the script reads"
NOT_REACHED: Final = (
    "this machine does not reach the Hub, and its caches lack what the script reads; rehearse where it is reached"
)
"""Why a rehearsal ends where the Hub is needed. Of a job that runs on this machine, that is a failure."""
NO_SOLUTION: Final = "No solution found"
"""What uv says of requirements that contradict one another: on no machine would they be met."""
NAMES: Final = re.compile(r"\b[A-Z]\w+(?:Trainer|Config)\b")
ALWAYS: Final = ("torch", "transformers.trainer", "transformers.models.auto.modeling_auto", "datasets", "accelerate")
WITH_TRL: Final = "trackio"
"""What TRL imports when it writes a model's card, where it is installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalOptions:
    """How a program is rehearsed.

    Attributes:
        here: Use this environment, whatever the program declares.
        gpu: Use this machine's GPU.
        offline: Don't contact the Hub.
        limit_s: Longest time that each process may take.
        isolate: Find for every failure whether data, model or code causes it.
        faults: The faults to inject once the rehearsal has passed.
        warm: Keeps the process with the libraries; None if it ends with this rehearsal.
        on_progress: Called with each message about progress.
    """

    here: bool = False
    gpu: bool = False
    offline: bool
    limit_s: float = LIMIT_S
    isolate: bool = False
    faults: tuple[FaultKind, ...] = ()
    warm: WarmServer | None = None
    on_progress: OnProgress


def rehearse_program(program: Program, options: RehearsalOptions) -> Rehearsal:
    """Run a program end to end on a tiny twin, and return the verdict.

    Raises:
        UsageError: The script needs other arguments, or no environment at hand serves.
    """
    with ExitStack() as stack:
        warm = options.warm or stack.enter_context(WarmServer())
        folder = Path(stack.enter_context(scratch_folder("holdfast-rehearsal-"))).resolve()
        part_request = make_part_request(program, folder, gpu=options.gpu, offline=options.offline)
        rehearsal = _start(program, part_request, warm, options)
    rehearsal = replace(rehearsal, omitted=(*_launchers(program), *rehearsal.omitted))
    if options.faults and rehearsal.faults is None:
        return replace(rehearsal, faults=())  # it failed before
    return rehearsal


def make_result(
    program: Program, rehearsal: Rehearsal, elapsed_s: float, *, isolated: bool = False, strict: bool = False
) -> RehearseResult:
    """Return the result of the verb, as `rehearse_result` does, with the program's scenario."""
    result = rehearse_result(rehearsal, elapsed_s=elapsed_s, path=program.path, isolated=isolated, strict=strict)
    return structs.replace(result, scenario=program.scenario)


def _start(program: Program, part_request: PartRequest, warm: WarmServer, options: RehearsalOptions) -> Rehearsal:
    """Return the rehearsal, or the reason why the script has no environment to run in."""
    if fault := _fault_before_start(program, options):
        name, because = fault
        return judge_unstarted(name_cause(name, because, {}))
    words = _interpreter(program, here=options.here)
    mark = mark_of(program, words, input_digests(program))  # before it starts: files may change meanwhile
    try:
        found = _rehearsed(program, part_request, words, warm, options)
        found = _with_export(found, part_request, program.gguf, options)
    except NoEnvironmentError as error:
        if is_made(words) and NO_SOLUTION not in str(error):
            return _started_here(program, part_request, warm, options, str(error))
        return _without_environment(str(error))
    if found.passed and found.complete:
        mark.make(found.training)
    return found


def _interpreter(program: Program, *, here: bool) -> Sequence[str]:
    """Return the words that run a program."""
    return (program.python or sys.executable,) if here else interpreter_of(program)


def _without_environment(because: str) -> Rehearsal:
    """Return the rehearsal of a script whose environment could not be made, and that cannot run in this one instead."""
    said = PartResult(part="whole", code=1, logs={"stderr.log": because})
    return judge_unstarted(diagnose_part(said, "import", PatternIndex(all_signatures())))


def _fault_before_start(program: Program, options: RehearsalOptions) -> tuple[str, str] | None:
    """Return the class of what keeps a script from starting, and what shows it; None if nothing is known to."""
    if not options.here and (fault := _header_fault(program) or find_environment_fault(program.path)):
        return fault
    if _is_started_by_python(program) and (launcher := wanted_launcher(program.source)):
        return "invalid-config-value", _unlaunched(launcher)
    return None


def _header_fault(program: Program) -> tuple[str, str] | None:
    try:
        read_header(program.source, program.path)
    except UsageError as error:
        return "pep723-header-invalid", error.what
    return None


def _with_export(
    found: Rehearsal, part_request: PartRequest, quantizations: Sequence[str], options: RehearsalOptions
) -> Rehearsal:
    """Return a rehearsal with the export of its twin, if the job asks for one."""
    if not quantizations:
        return found
    folder = Path(part_request.folder, "whole")
    return rehearse_export(found, folder, quantizations, options.on_progress, offline=part_request.offline)


def _started_here(
    program: Program, part_request: PartRequest, warm: WarmServer, options: RehearsalOptions, because: str
) -> Rehearsal:
    """Return a rehearsal in this environment, where the project's own cannot be built on this machine."""
    rehearsal = _start(program, part_request, warm, replace(options, here=True))
    last = next((line.strip() for line in reversed(because.splitlines()) if line.strip()), "uv did not say why")
    omitted = Omitted(what="the environment that the project declares", because=f"this machine cannot make it: {last}")
    return replace(rehearsal, omitted=(omitted, *rehearsal.omitted))


def _rehearsed(
    program: Program, part_request: PartRequest, words: Sequence[str], warm: WarmServer, options: RehearsalOptions
) -> Rehearsal:
    """Return a rehearsal in the environment that some words run a program in.

    Raises:
        NoEnvironmentError: It cannot be made.
        UsageError: The script wants other arguments.
    """
    if lacking := reason_for_uv(program.path, program.source, words, program.added):
        options.on_progress(f"uv makes an environment, because this one lacks {lacking}")
    beat = RepeatedProgress(options.on_progress, "imports")
    if options.here:
        modules = find_modules_elsewhere(program.path, program.source, program.added)
        part_request = replace(part_request, elsewhere=tuple(modules))
    server = _server(program, words, warm, offline=part_request.offline)
    prepare()  # this and the next while the libraries are imported
    part_request = _with_rights(part_request)
    used, ready = server.used, server.wait_ready(READY_S, beat)
    parts = run_parts(server, part_request, options.limit_s, options.on_progress)
    _require_usable(program, parts["whole"])
    observed = observe(parts["whole"], Path(part_request.folder, "whole"))
    unreached = _why_unreached(program, offline=part_request.offline)
    imports_s = 0.0 if used else ready["elapsed_s"]
    found = judge_parts(parts, observed.objections, imports_s=imports_s, unreached=unreached)
    again = Replayer(server, found, limit_again(parts, options.limit_s), options.on_progress)
    found = isolating.isolate(found, parts, part_request, again, forced=options.isolate)
    found = explain_failures(_with_figures(found, parts["whole"], observed), read_failure_context(program, parts))
    if options.faults and found.passed:
        found = replace(found, faults=_bench(server, program, part_request, found, options).play(options.faults))
    return _with_environment(found, program, ready, parts.values(), here=options.here)


def _server(program: Program, words: Sequence[str], warm: WarmServer, *, offline: bool) -> RehearsalServer:
    """Return the process that imports the libraries of a program, in the environment that some words run it in."""
    header = find_header(program.source) if words[-1] == SCRIPT else ""
    variables = {**program.variables, **(OFFLINE if offline else {})}
    return warm.server(words, header=header, wanted=wanted(program), variables=variables)


def _with_rights(part_request: PartRequest) -> PartRequest:
    """Return the request with the rights of this machine's token, unless the Hub is not contacted."""
    if part_request.offline:
        return part_request
    token, writable = read_rights()
    return replace(part_request, token=token, writable=writable)


def _require_usable(program: Program, whole: PartResult) -> None:
    """Raise UsageError if the script refused its arguments. Holdfast's own programs take none."""
    problem = None if program.path.startswith(OWN) else find_usage_problem(whole, program.arguments)
    if problem:
        raise _usage_error(program, problem)


def _why_unreached(program: Program, *, offline: bool) -> str:
    """Return why a rehearsal ends where it needs the Hub; empty if that is a failure, as the job will run here."""
    if offline:
        return NOT_ASKED
    return "" if program.local else NOT_REACHED


def _with_environment(
    found: Rehearsal, program: Program, ready: Mapping[str, Any], parts: Iterable[PartResult], *, here: bool
) -> Rehearsal:
    """Return a rehearsal with the versions of its environment, and with what that lacks."""
    omitted = tuple(other_versions(program, ready["versions"])) if here else ()
    return replace(
        found,
        versions={**ready["versions"], **found.versions},
        omitted=(*omitted, *found.omitted),
        no_sandbox=ready["no_sandbox"] or next(filter(None, map(_refused_sandbox, parts)), ""),
    )


def _with_figures(found: Rehearsal, whole: PartResult, observed: Observation) -> Rehearsal:
    """Return a rehearsal with the figures of the job at its full size."""
    return replace(found, learnt=learn(whole, observed.tokens), training=record_training(whole, observed.lengths))


def _bench(
    server: RehearsalServer, program: Program, part_request: PartRequest, found: Rehearsal, options: RehearsalOptions
) -> FaultBench:
    """Return what injects faults into the training of a rehearsal that passed."""
    return FaultBench(
        server=server,
        program=program,
        part_request=part_request,
        learnt=found.learnt,
        limit_s=options.limit_s,
        on_progress=options.on_progress,
    )


def _refused_sandbox(played: PartResult) -> str:
    """Return why a part had no sandbox, though its server had one; empty if it had."""
    return str(played.first("no_sandbox").get("because", ""))


def _is_started_by_python(program: Program) -> bool:
    """True if `holdfast run` starts a script as a single process: it starts one for each of several GPUs by torchrun."""
    return program.local and not program.launched_by and len(LocalMachine().fetch().gpus) <= 1


def _unlaunched(launcher: NeededLauncher) -> str:
    """Return the message for a script that is started by `python` and needs a launcher."""
    return (
        f"the script reads `{launcher.variable}`, which {launcher.name} sets and `python` does not: start it with "
        f"{launcher.name}, or give it a default"
    )


def _usage_error(program: Program, problem: UsageProblem) -> ScriptArgumentsError:
    """Return the error for invalid script arguments, with the words that pass those which are missing."""
    started = f"-- python -m {program.module}" if program.module else f"{quote(program.path)} --"
    words = (started, *map(quote, program.arguments), spell_arguments(problem.wanted))
    what = f"{program.path} {problem.what}"
    return ScriptArgumentsError(what, where=program.path, words=" ".join(words), missing=len(problem.wanted))


def other_versions(program: Program, versions: Mapping[str, str]) -> Iterator[Omitted]:
    """Yield the requirements of a script's header that this environment does not meet, and was taken in spite of.

    Args:
        program: The script.
        versions: The releases here, by package.
    """
    declared = read_header(program.source, program.path).get("dependencies", ())
    for text in declared if isinstance(declared, list) else ():
        wanted = parse_requirement(str(text))
        if not isinstance(wanted, Requirement) or wanted.url or wanted.name not in versions:
            continue
        here = versions[wanted.name]
        if not SpecifierSet(wanted.specifier).contains(here, prereleases=True):
            yield Omitted(
                what=str(text),
                because=f"here it is {wanted.name} {here}; without `--here` the script gets what it declares",
            )


def _launchers(program: Program) -> Iterator[Omitted]:
    """Yield the steps of launchers that are not rehearsed: those of the command line, or the one that the script needs."""
    because = "one process ran the script alone; the machines of the job show it"
    if program.launched_by:
        yield Omitted(what=" ".join(program.launched_by), because=because)
    elif not program.local and (launcher := wanted_launcher(program.source)):
        reads = f"the script reads `{launcher.variable}`, which {launcher.name} sets"
        yield Omitted(what=launcher.name, because=f"{because}, as rank 0 of 1; {reads}")


def make_part_request(program: Program, folder: Path, *, gpu: bool, offline: bool) -> PartRequest:
    """Return the request that all parts share."""
    machine: GpuChoice = "here" if gpu else "none" if program.local and not LocalMachine().fetch().gpus else "assumed"
    variables = {} if _is_started_by_python(program) else alone(program.launched_by, program.source)
    return PartRequest(
        script=program.path,
        source=program.source,
        argv=program.arguments,
        module=program.module,
        folder=str(folder),
        gpu=machine,
        offline=offline,
        variables=tuple(variables.items()),
        exports=bool(program.gguf),
    )


def wanted(program: Program) -> list[str]:
    """Return the modules to import before the first fork: those that the script imports from the libraries."""
    if program.path.startswith(OWN):
        name = program.path.removeprefix(OWN)
        method = next((each for each in Method if each == name), Method.SFT)
        return [*ALWAYS, "peft", f"trl:{method.trainer}", WITH_TRL]
    names = sorted(set(NAMES.findall(program.source))) if "trl" in program.source else []
    trl = [*(f"trl:{each}" for each in names), *([WITH_TRL] if names else [])]
    return [*ALWAYS, *(["peft"] if "peft" in program.source else []), *trl]
