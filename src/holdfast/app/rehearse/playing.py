"""Playing the parts of a rehearsal: the whole path beside a training that is stopped, then what goes on; and again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

import psutil

from holdfast.adapters.rehearsal.server import RehearsalServer, reached_stage
from holdfast.app.rehearse.observing import observe
from holdfast.app.rehearse.repeated_progress import RepeatedProgress
from holdfast.core.diagnose.diagnosis import Cause
from holdfast.core.rehearse.rehearsal import Objection, Part, PartResult, Rehearsal, StageName
from holdfast.core.run.training_event import CheckpointSaved
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.engine.rehearse import judge
from holdfast.engine.rehearse.naming import cause_of
from holdfast.engine.rehearse.tracebacks import without_own_frames
from holdfast.payload.rehearsal.part_request import PartRequest
from holdfast.signatures import all_signatures

OnProgress = Callable[[str], None]
AGAIN_S: Final = 20.0
AGAIN: Final = 4
"""A part that is played again may take this many seconds, and as many times as long as it took before."""
SHARE: Final = 0.7
"""Of the memory that is free, how much a part may take."""


def run_parts(
    server: RehearsalServer, part_request: PartRequest, limit_s: float, on_progress: OnProgress
) -> dict[Part, PartResult]:
    """Play the whole path beside a training that is stopped; continue from its checkpoint as soon as that is saved."""
    limit_bytes = int(psutil.virtual_memory().available * SHARE)
    parts = dict[Part, PartResult]()

    def go_on(ended: PartResult) -> PartRequest | None:
        parts[ended.part] = ended
        saved = [event.path for event in ended.happened(CheckpointSaved) if event.path]
        fails = "whole" in parts and not _came_through(parts["whole"])
        if ended.part != "stop" or fails or not saved or not Path(saved[-1]).is_dir():
            return None
        return replace(part_of(part_request, "resume"), resume=saved[-1], before=part_of(part_request, "stop").folder)

    stopped = replace(part_of(part_request, "stop"), fault="sigterm")
    part_requests = [part_of(part_request, "whole"), stopped]
    beat = RepeatedProgress(on_progress, "the whole path, stop and resume", partial(reached_stage, part_requests[0]))
    server.play(part_requests, limit_s=limit_s, limit_bytes=limit_bytes, then=go_on, on_wait=beat)
    reported: tuple[Part, ...] = ("whole", "stop", "resume") if _came_through(parts["whole"]) else ("whole", "stop")
    return {each: without_frames_of_ours(parts[each]) for each in reported if each in parts}


def _came_through(played: PartResult) -> bool:
    return not played.over and played.code == 0


def without_frames_of_ours(played: PartResult) -> PartResult:
    """Return a part's result with holdfast's own frames removed from its logs."""
    return replace(played, logs={name: without_own_frames(text) for name, text in played.logs.items()})


def play_whole(
    server: RehearsalServer,
    part_requests: Sequence[PartRequest],
    limit_s: float,
    on_wait: Callable[[], None] = lambda: None,
) -> list[dict[Part, PartResult]]:
    """Play the whole path as each order says, side by side."""
    limit_bytes = int(psutil.virtual_memory().available * SHARE)
    whole = [part_of(part_request, "whole") for part_request in part_requests]
    played = server.play(whole, limit_s=limit_s, limit_bytes=limit_bytes, on_wait=on_wait)
    return [{"whole": without_frames_of_ours(each)} for each in played]


@dataclass(frozen=True, slots=True)
class Replayer:
    """Plays a script again, with something else in place of its rows or its model.

    Attributes:
        server: Where.
        found: How it went before: what it takes to see the same again is done again, and no more.
        limit_s: Time that each part may take.
        on_progress: Told what goes on.
    """

    server: RehearsalServer
    found: Rehearsal
    limit_s: float
    on_progress: OnProgress

    def __call__(self, part_requests: Sequence[PartRequest]) -> list[tuple[Mapping[Part, PartResult], Rehearsal]]:
        """Return the results of the parts and the verdict for each request."""
        played = self._played(part_requests, RepeatedProgress(self.on_progress, "whose fault it is"))
        return [
            (parts, self._judged(parts, part_request))
            for parts, part_request in zip(played, part_requests, strict=True)
        ]

    def _played(
        self, part_requests: Sequence[PartRequest], on_wait: Callable[[], None]
    ) -> list[dict[Part, PartResult]]:
        if any(each.stage in ("stop", "resume") for each in self.found.failures):
            return [run_parts(self.server, each, self.limit_s, self.on_progress) for each in part_requests]
        return play_whole(self.server, part_requests, self.limit_s, on_wait)

    def _judged(self, parts: Mapping[Part, PartResult], part_request: PartRequest) -> Rehearsal:
        objected = any(each.rule for each in self.found.failures)
        objections = observe(parts["whole"], Path(part_request.folder, "whole")).objections if objected else ()
        return judge_parts(parts, objections)


def limit_again(parts: Mapping[Part, PartResult], limit_s: float) -> float:
    """Return the time that a part may take when it is played again."""
    return min(limit_s, AGAIN_S + AGAIN * max(each.elapsed_s for each in parts.values()))


def judge_parts(
    parts: Mapping[Part, PartResult], objections: Sequence[Objection], *, imports_s: float = 0.0, unreached: str = ""
) -> Rehearsal:
    """Return the verdict on what the parts of a rehearsal left."""
    marks = PatternIndex(all_signatures())
    return judge(
        parts,
        objections,
        lambda played, stage: diagnose_part(played, stage, marks),
        imports_s=imports_s,
        unreached=unreached,
    )


def diagnose_part(played: PartResult, stage: StageName, marks: PatternIndex) -> Cause:
    """Say why a part failed, from its logs."""
    files = [(name, iter([text.encode()])) for name, text in played.logs.items() if text]
    return cause_of(diagnose(read_log(files, marks.sought), marks), played, stage)


def part_of(part_request: PartRequest, part: Part) -> PartRequest:
    """Return the request of one part, in a folder of its own."""
    return replace(part_request, part=part, folder=str(Path(part_request.folder, part)))
