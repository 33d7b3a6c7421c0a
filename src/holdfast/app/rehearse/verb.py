"""The verb `rehearse`: a job's whole path on a tiny twin of its model, before anything is paid for."""

import time

from holdfast.adapters.rehearsal.warm import WarmServer
from holdfast.app.arguments import Overrides, PathName, Texts, as_overrides, as_path, as_texts
from holdfast.app.rehearse.playing import OnProgress
from holdfast.app.rehearse.rehearsing import LIMIT_S, RehearsalOptions, make_result, rehearse_program
from holdfast.app.targets.fetching import fetch_target
from holdfast.app.targets.programs import program_of
from holdfast.engine.faults.kinds import kinds_of
from holdfast.results.rehearse import RehearseResult


def rehearse(  # noqa: PLR0913 - a verb has as many arguments as its command has options
    target: PathName,
    *,
    set: Overrides = (),  # noqa: A002 - the option's name
    arguments: Texts = (),
    here: bool = False,
    gpu: bool = False,
    offline: bool = False,
    limit_s: float = LIMIT_S,
    isolate: bool = False,
    strict: bool = False,
    faults: Texts = (),
    warm: WarmServer | None = None,
    on_progress: OnProgress = lambda _: None,
) -> RehearseResult:
    """Run a job end to end on a tiny twin: import, data, model, steps, evaluation, save, stop, resume, push, export.

    >>> import holdfast
    >>> holdfast.rehearse("job.yaml")["verdict"]  # doctest: +SKIP
    'pass'

    Args:
        target: A job file, a script, a notebook, or the address of one; `--` for a command line.
        set: Overrides of a job file's keys: a mapping, or `KEY=VALUE`. For a script, `where.backend=local` says that it
            will run on this machine.
        arguments: The script's own arguments, or the words of the command line.
        here: Use this environment, whatever the script declares.
        gpu: Use this machine's GPU.
        offline: Don't contact the Hub.
        limit_s: Longest time that each process of the rehearsal may take.
        isolate: Find for every failure, even one of the machine, whether data, model or code causes it.
        strict: Fail if a stage that the job would reach is skipped, or if nothing beyond `import` ran; with faults, also if one
            loses all that was trained.
        faults: Faults to inject once the rehearsal has passed: names, or `all`.
        warm: Keeps the process with the libraries for the next rehearsal. By default it ends with this one.
        on_progress: Called with each message about progress.

    Raises:
        UsageError: There is no such target, or an argument is wrong.
    """
    began_s = time.monotonic()
    options = RehearsalOptions(
        here=here,
        gpu=gpu,
        offline=offline,
        limit_s=limit_s,
        isolate=isolate,
        faults=kinds_of(as_texts(faults)),
        warm=warm,
        on_progress=on_progress,
    )
    program = program_of(fetch_target(as_path(target), offline=offline), as_overrides(set), as_texts(arguments))
    rehearsal = rehearse_program(program, options)
    return make_result(program, rehearsal, time.monotonic() - began_s, isolated=isolate, strict=strict)
