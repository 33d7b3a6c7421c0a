"""The fault bench: the twin's training is played once undisturbed, and once for each fault; then a supervisor decides what follows."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import Final

import psutil

from holdfast.adapters.environment.machine import LocalMachine
from holdfast.adapters.foreign_files import read_foreign_text
from holdfast.adapters.rehearsal.programs import Program
from holdfast.adapters.rehearsal.server import STOOD_STILL, RehearsalServer
from holdfast.adapters.targets import read_referred
from holdfast.app.rehearse.faults.twin_run import PlayPart, TwinJob, TwinRun, has_ended_well
from holdfast.app.rehearse.playing import SHARE, without_frames_of_ours
from holdfast.app.rehearse.repeated_progress import RepeatedProgress
from holdfast.core.job_file.job import job_values, parse_job
from holdfast.core.job_file.secret_references import separate_secrets
from holdfast.core.rehearse.rehearsal import LearntFigures, PartResult
from holdfast.core.rehearse.rehearsed_fault import RehearsedFault
from holdfast.core.run.checkpoint import MANIFEST, parse_manifest
from holdfast.core.run.plan import Plan
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.training_event import CheckpointSaved
from holdfast.engine.check.job_facts import process_count
from holdfast.engine.faults.judging import FaultyRun, judge_fault
from holdfast.engine.faults.kinds import FaultKind
from holdfast.engine.faults.strikes import Strike, UndisturbedCourse, choose_strike, course_of
from holdfast.engine.run.naming import name_job
from holdfast.engine.run.plans import apply_job
from holdfast.engine.script.render import referred_files
from holdfast.payload.rehearsal.part_request import PartRequest

STEPS: Final = 8
"""Steps of a training that a fault strikes: after the fault, three without a loss prove that the weights are lost."""
SIDE_BY_SIDE: Final = 2
FOLDER: Final = "faults"
TOGETHER: Final = 2
"""Processes that play a job which has several: as few as can lose one another."""
UNDISTURBED: Final = "undisturbed"
WEIGHTS: Final = ".safetensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultBench:
    """Plays the faults of one rehearsal.

    Attributes:
        server: Where its parts are played.
        program: The program.
        part_request: What all parts share.
        learnt: The sizes of the job.
        limit_s: Time that each part may take.
        on_progress: Called with each message about progress.
    """

    server: RehearsalServer
    program: Program
    part_request: PartRequest
    learnt: LearntFigures
    limit_s: float
    on_progress: Callable[[str], None]

    def play(self, kinds: Sequence[FaultKind]) -> tuple[RehearsedFault, ...]:
        """Return what becomes of the training after each fault, in order."""
        if _plan_of(self.program).processes > 1:
            together = replace(self, part_request=replace(self.part_request, processes=TOGETHER))
            undisturbed = together.play_undisturbed(f"{UNDISTURBED}-together")
            if undisturbed.code == 0:
                return together.play_struck(kinds, undisturbed)
        undisturbed = self.play_undisturbed(UNDISTURBED)
        if undisturbed.code == 0:
            return self.play_struck(kinds, undisturbed)
        because = (
            f"the undisturbed training of {STEPS} steps did not come to its end: {undisturbed.over or 'it failed'}"
        )
        return tuple(RehearsedFault(name=kind.name, status="skipped", because=because) for kind in kinds)

    def play_undisturbed(self, name: str) -> PartResult:
        """Return the training without a fault."""
        beat = RepeatedProgress(self.on_progress, "the undisturbed training")
        return self._play([self._request(name, steps=STEPS)], on_wait=beat)[0]

    def play_struck(self, kinds: Sequence[FaultKind], undisturbed: PartResult) -> tuple[RehearsedFault, ...]:
        """Return what becomes of the training after each fault, if an undisturbed one came to its end."""
        alone = self.part_request.processes == 1
        course = course_of(undisturbed, _plan_of(self.program).processes if alone else 1)
        strikes = {kind: choose_strike(kind, course) for kind in kinds}
        struck = self._struck(strikes)
        return tuple(self._judged(kind, strikes[kind], struck.get(kind), undisturbed, course) for kind in kinds)

    def _struck(self, strikes: dict[FaultKind, Strike]) -> dict[FaultKind, PartResult]:
        """Return the first attempt of each fault that can strike."""
        kinds = [kind for kind, strike in strikes.items() if not strike.skipped]
        requests = [
            replace(self._request(kind.name, steps=STEPS), fault=kind.name, stop_at=strikes[kind].step)
            for kind in kinds
        ]
        ended = count(1)

        def on_end(part: PartResult) -> None:
            seconds = f"{part.elapsed_s:.0f} s"
            self.on_progress(
                f"a training for each fault: {next(ended)} of {len(kinds)} ended, the last after {seconds}"
            )

        beat = RepeatedProgress(self.on_progress, "a training for each fault")
        return dict(zip(kinds, self._play(requests, on_end, beat), strict=True))

    def _judged(
        self,
        kind: FaultKind,
        strike: Strike,
        first: PartResult | None,
        undisturbed: PartResult,
        course: UndisturbedCourse,
    ) -> RehearsedFault:
        if first is None:
            return RehearsedFault(name=kind.name, status="skipped", because=strike.skipped)
        if first.over not in ("", STOOD_STILL) or not first.facts("fault"):
            because = f"{first.over} here" if first.over else "it did not strike: the training was over before"
            return RehearsedFault(name=kind.name, status="skipped", because=because)
        self.on_progress(f"what follows {kind.name}")
        plan = _plan_of(self.program)
        shared = replace(self.part_request, folder=str(self._folder), steps=STEPS, stop_at=strike.step)
        job = TwinJob(plan=plan, about=_requested_job_of(self.program, plan), part_request=shared, learnt=self.learnt)
        return self._outcome(TwinRun(job=job, kind=kind, first=first, play=self._play_one()), undisturbed, course)

    def _outcome(self, run: TwinRun, undisturbed: PartResult, course: UndisturbedCourse) -> RehearsedFault:
        closed = run.supervise()
        first = closed.attempts[0]
        diagnosed = first.diagnosed or run.diagnose(1, 0.0)
        could_resume, passed_over = run.newest_checkpoint()
        if not has_ended_well(closed) and len(closed.attempts) == 1 and run.kind.passes:
            run.supervise()
        return judge_fault(
            FaultyRun(
                kind=run.kind,
                steps=course.steps,
                undisturbed=undisturbed,
                first=run.first,
                closed=closed,
                events=run.ledger.events,
                diagnosed=diagnosed,
                could_resume=could_resume,
                passed_over=passed_over,
                same_weights=_same_weights(undisturbed, run.last),
            )
        )

    @property
    def _folder(self) -> Path:
        return Path(self.part_request.folder, FOLDER)

    def _request(self, name: str, *, steps: int) -> PartRequest:
        """Return the request for a training from its beginning; it is not `whole`, since nothing is looked at afterwards."""
        return replace(self.part_request, part="stop", folder=str(self._folder / name / "stop"), steps=steps)

    def _play_one(self) -> PlayPart:
        return lambda request: self._play([request])[0]

    def _play(
        self,
        requests: Sequence[PartRequest],
        on_end: Callable[[PartResult], None] = lambda _: None,
        on_wait: Callable[[], None] = lambda: None,
    ) -> list[PartResult]:
        """Play parts, a few side by side."""
        waiting: Iterator[PartRequest] = iter(requests[SIDE_BY_SIDE:])

        def go_on(ended: PartResult) -> PartRequest | None:
            on_end(ended)
            return next(waiting, None)

        limit_bytes = int(psutil.virtual_memory().available * SHARE)
        played = self.server.play(
            requests[:SIDE_BY_SIDE], limit_s=self.limit_s, limit_bytes=limit_bytes, then=go_on, on_wait=on_wait
        )
        return [without_frames_of_ours(each) for each in played]


def _plan_of(program: Program) -> Plan:
    """Return the plan of a program. Nobody is notified, nothing is evaluated, and no secret is needed."""
    job = parse_job(program.job) if program.job else None
    plan = Plan(
        name=name_job(job, program.path),
        script=program.source,
        script_name=program.path,
        cwd=str(Path.cwd()),
        arguments=program.arguments,
    )
    if job is None:
        return plan
    public = separate_secrets(job)[0]
    sources = read_referred(referred_files(public), program.path)
    processes = process_count(LocalMachine().fetch(), job)
    plan = apply_job(replace(plan, job=job_values(public), sources=sources, processes=processes), public)
    return replace(plan, webhook="", evaluations=(), secrets=(), timeout_s=None, budget_usd=None)


def _requested_job_of(program: Program, plan: Plan) -> RequestedJob:
    """Return the request that a run of the program would be made with."""
    method = parse_job(program.job).method.value if program.job else None
    return RequestedJob(job=plan.name, target=program.path, backend=plan.backend, method=method)


def _same_weights(one: PartResult, other: PartResult) -> bool | None:
    """Return whether two parts saved the same weights last, bit for bit; None if they saved none after the same step."""
    first, second = _last_weights(one), _last_weights(other)
    return first[1] == second[1] if first and second and first[0] == second[0] else None


def _last_weights(played: PartResult) -> tuple[int, dict[str, str]] | None:
    """Return the step of the last checkpoint of a part, and the sha256 of each of its files of weights."""
    saved = [event for event in played.happened(CheckpointSaved) if event.path]
    if not saved:
        return None
    with suppress(OSError, ValueError):
        manifest = parse_manifest(read_foreign_text(Path(saved[-1].path or "", MANIFEST)))
        hashes = {name: file.sha256 for name, file in manifest.files.items() if name.endswith(WEIGHTS)}
        return (manifest.step, hashes) if hashes else None
    return None
