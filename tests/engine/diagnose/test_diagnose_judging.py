"""Which of the classes that a log speaks for is told first, and what is said of it."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import pytest

from holdfast.core.diagnose.diagnosis import HEALTHY, Pattern, Phase, Remedy, Signature
from holdfast.core.diagnose.log import Line
from holdfast.engine.diagnose import PatternIndex, read_log
from holdfast.engine.diagnose.answering import DIAGNOSED
from holdfast.engine.diagnose.candidates import Candidate
from holdfast.engine.diagnose.judging import rank
from holdfast.engine.diagnose.metric_history import ClassEvidence
from holdfast.engine.diagnose.weights import (
    BESIDE_EXCEPTION,
    EARLIER,
    HANDLED,
    HINT,
    IN_USER_CODE,
    LATER,
    NOT_SURE,
    OVER,
    SURVIVED,
    TOLERATED,
    TORN_DOWN,
    UNDER_USER_CODE,
    WARNED,
    WRAPS,
)
from tests.helpers.diagnose_signatures import first, found, signature

FULL = signature("full", Pattern(line=r"CUDA out of memory\. Tried to allocate (?P<tried>[\d.]+ GiB)", weight=0.9))
KILLED = signature("killed", Pattern(line=r"worker was killed by signal", weight=0.85))
TIMEOUT = signature(
    "timeout",
    Pattern(line=r"Watchdog caught collective operation timeout", weight=0.8),
    needs="the log of the rank that is absent",
)
USER = signature("user-code-error", cause="`{function}` in `{file}` raised {error}: {message}", fix="Fix it.")
TABLE = signature("wrapper", Pattern(line=r"ChildFailedError", role="echo"), needs="the log of the failing rank")
END = "{'train_runtime': '8.4', 'train_loss': '1.0', 'epoch': '1'}\n"
STEPS = "".join(
    f"{{'loss': '{2 - 0.1 * step:.2f}', 'grad_norm': '1.2', 'learning_rate': '1e-05', 'epoch': '0.{step}'}}\n"
    for step in range(5)
)


def raised(error: str, frames: str = 'File "/home/u/train.py", line 3, in main', rank: str = "") -> str:
    return "".join(
        f"{rank}{line}\n" for line in ["Traceback (most recent call last):", f"  {frames}", "    call()", error]
    )


OOM = raised("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.")


def test_the_first_exception_is_the_cause_and_those_after_it_follow_from_it() -> None:
    later = raised("RuntimeError: worker was killed by signal 9")
    assert first(OOM + later, FULL, KILLED) == "full"
    assert first(later + OOM, FULL, KILLED) == "killed"


def test_what_says_that_another_process_failed_is_behind_the_exception_that_did() -> None:
    lost = signature("lost", Pattern(line="The connection to the C10d store has failed", weight=0.95))
    slow = signature("slow", Pattern(line="Timed out waiting", weight=0.68))
    text = "RuntimeError: Timed out waiting 1800000ms\n"
    assert (
        first(
            text
            + "torch.distributed.elastic.RendezvousConnectionError: The connection to the C10d store has failed.\n",
            lost,
            slow,
        )
        == "slow"
    )
    assert first(text + "RuntimeError: The connection to the C10d store has failed.\n", lost, slow) == "lost"


def test_the_rank_that_failed_first_by_its_clock_is_before_its_victims() -> None:
    late = "2026-11-20T15:59:00Z RuntimeError: worker was killed by signal 9\n"
    early = "2026-11-20T15:50:00Z torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\n"
    assert first({"rank_0.log": late, "rank_1.log": early}, FULL, KILLED) == "full"
    assert first({"rank_0.log": late.replace("59", "40"), "rank_1.log": early}, FULL, KILLED) == "killed"


def test_the_direct_cause_of_a_chain_is_before_what_wraps_it() -> None:
    chain = (
        OOM
        + "\nThe above exception was the direct cause of the following exception:\n\n"
        + raised("RuntimeError: worker was killed by signal 6")
    )
    assert first(chain, FULL, KILLED) == "full"


def test_an_exception_that_the_job_handled_is_behind_the_one_that_ended_it() -> None:
    """A script that catches an error and tries something else did not fail of that error, surer though its class is."""
    handling = "\nDuring handling of the above exception, another exception occurred:\n\n"
    ended = raised("RuntimeError: worker was killed by signal 6")

    assert first(OOM + handling + ended, FULL, KILLED) == "killed"
    assert first(OOM + "\n" + ended, FULL, KILLED) == "full"
    assert first(ended + handling + OOM, FULL, KILLED) == "full"


def test_a_class_that_covers_another_is_before_it_whatever_their_weights() -> None:
    weak = signature("weak", Pattern(line="lost the connection to rank", weight=0.6), covers=("full",))
    assert first(OOM + "lost the connection to rank 3\n", FULL, weak) == "weak"


def test_hints_add_to_a_cause_and_are_little_without_one() -> None:
    hinted = signature(
        "hinted", Pattern(line="memory is nearly full", role="hint"), Pattern(line="strange end", weight=0.6)
    )
    alone, both = (
        found(text, hinted).causes[0].confidence for text in ("strange end\n", "memory is nearly full\nstrange end\n")
    )
    assert both > alone
    assert found("memory is nearly full\n", hinted).verdict == "unknown"


def test_an_echo_alone_is_no_cause_but_says_what_is_missing() -> None:
    diagnosis = found(
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\n  rank      : 3 (local_rank: 3)\n", TABLE
    )
    assert diagnosis.verdict == "unknown"
    assert diagnosis.causes == ()
    assert diagnosis.missing[:2] == ("the log of the failing rank", "the log of rank 3")


def test_an_exception_nobody_knows_is_the_user_codes_if_that_raised_it() -> None:
    (cause,) = found(raised("KeyError: 'answer'"), USER, FULL).causes
    assert (cause.signature.name, cause.cause) == (
        "user-code-error",
        "`main` in `/home/u/train.py` raised KeyError: 'answer'",
    )


@pytest.mark.parametrize(
    "error", ["torch.distributed.elastic.multiprocessing.errors.ChildFailedError:", "subprocess.CalledProcessError: x"]
)
def test_an_exception_of_a_launcher_is_nobodys(error: str) -> None:
    assert found(raised(error), USER).verdict == "unknown"


def test_an_exception_of_a_library_is_unknown() -> None:
    diagnosis = found(raised("KeyError: 'x'", 'File "/x/site-packages/trl/a.py", line 3, in f'), USER)
    assert diagnosis.verdict == "unknown"
    assert "the code that raised" in diagnosis.missing[0]


def test_a_log_that_comes_to_its_end_is_healthy_whatever_it_warned_of() -> None:
    assert found("UserWarning: None of the inputs have requires_grad\n" + STEPS + END, FULL, USER).verdict == "healthy"


def test_an_exception_that_training_survived_is_not_the_cause() -> None:
    assert found(OOM + STEPS + END, FULL, USER).verdict == "healthy"
    assert found(STEPS + END + OOM, FULL, USER).verdict == "diagnosed"


def test_a_log_that_just_stops_is_unknown_and_so_is_an_empty_one() -> None:
    assert "exit code or signal" in found(STEPS, FULL).missing[-1]
    assert "empty" in found("", FULL).missing[0]


def test_the_class_of_what_only_looks_like_a_fault_is_healthy() -> None:
    harmless = signature(HEALTHY, Pattern(line="frightening but harmless"))
    diagnosis = found("frightening but harmless\n", harmless, FULL)
    assert diagnosis.verdict == "healthy"
    assert diagnosis.causes[0].signature is harmless


def test_that_a_job_came_to_its_end_says_nothing_against_a_class_that_never_hinders_it() -> None:
    weak = Pattern(line="nothing was pushed", weight=0.55)
    text = "nothing was pushed\n" + STEPS + END
    assert first(text, signature("model-not-pushed", weak)) == "model-not-pushed"
    assert found(text, signature("other", weak)).verdict == "healthy"


def test_what_others_wrote_around_the_decisive_line_is_no_evidence() -> None:
    text = "RuntimeError: of somebody\n[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\nThis is of somebody\n"
    (cause,) = found(text, FULL).causes
    assert [each.line for each in cause.evidence] == [2]


def test_cause_fix_and_remedy_have_the_values_of_the_log_and_no_others() -> None:
    told = signature(
        "told",
        Pattern(line=r"asked for (?P<asked>[\d.]+ GiB)(?: of (?P<total>[\d.]+ GiB))?"),
        cause="It asked for {asked}. The card has {total}.",
        remedy=(
            Remedy(key="train.memory", action="set", value="{asked}"),
            Remedy(key="train.total", action="set", value="{total}"),
        ),
    )
    (cause,) = found("it asked for 2.00 GiB\n", told).causes
    assert cause.cause == "It asked for 2.00 GiB."
    assert cause.remedy == (Remedy(key="train.memory", action="set", value="2.00 GiB"),)


def test_evidence_is_the_decisive_line_its_code_and_what_the_message_goes_on_with() -> None:
    text = STEPS + OOM + "Make sure nothing else runs there.\n" + STEPS
    (cause,) = found(text, FULL).causes
    assert [(each.line, each.text[:12]) for each in cause.evidence] == [
        (9, "torch.OutOfM"),
        (7, 'File "/home/'),
        (10, "Make sure no"),
        (8, "call()"),
    ]


def test_the_same_said_by_every_rank_is_evidence_once() -> None:
    text = "".join(
        f"[rank{rank}]: RuntimeError: CUDA out of memory. Tried to allocate 2.0{rank} GiB\n" for rank in range(8)
    )
    (cause,) = found(text, FULL).causes
    assert [each.rank for each in cause.evidence] == [0]


def test_releases_that_the_log_tells_of_are_told() -> None:
    marked = signature("marked", Pattern(line="a line of old times", versions={"trl": "<0.16", "torch": "<2"}))
    text = "Successfully installed transformers-5.23.0 peft-0.19.1\ntorch                 2.13.0\na line of old times\n"
    assert found(text, marked).versions == {
        "transformers": "5.23.0",
        "peft": "0.19.1",
        "torch": "2.13.0",
        "trl": "<0.16",
    }


def test_a_syntax_error_which_has_no_traceback_is_the_user_codes() -> None:
    text = "  File \"train.py\", line 2\n    config = SFTConfig(output_dir='x'\n                      ^\nSyntaxError: '(' was never closed\n"
    assert first(text, USER) == "user-code-error"


def test_another_rank_does_not_survive_because_rank_0_came_to_its_end() -> None:
    text = raised("KeyError: 'answer'", rank="[rank1]: ") + STEPS + END
    assert first(text, USER) == "user-code-error"
    assert first(raised("KeyError: 'answer'") + STEPS + END, USER) == "healthy"


def test_the_exception_of_a_workers_own_traceback_is_the_one_that_counts() -> None:
    outer = raised(
        "KeyError: Caught KeyError in DataLoader worker process 0.",
        'File "/x/site-packages/torch/_utils.py", line 3, in reraise',
    )
    text = outer + "Original " + raised("KeyError: 'sample 17'")
    (cause,) = found(text, USER).causes
    assert cause.cause == "`main` in `/home/u/train.py` raised KeyError: 'sample 17'"


def test_a_warning_is_no_exception_that_training_survived() -> None:
    warned = signature("warned", Pattern(line="Could not find response key", weight=0.88))
    assert (
        first("    warnings.warn(\nUserWarning: Could not find response key [1] in the text\n" + STEPS + END, warned)
        == "warned"
    )


@pytest.mark.parametrize(
    "banner",
    [
        "=== Attempt 2/3 ===",
        "Starting attempt 2",
        "[default] Worker group FAILED. 2/3 attempts left; will restart worker group",
        "Restarting training from out/checkpoint-3",
    ],
)
def test_of_several_attempts_in_one_log_the_last_one_counts(banner: str) -> None:
    later = raised("RuntimeError: worker was killed by signal 9")
    assert first(OOM + "Attempt 2 of 3 failed: timeout\n" + later, FULL, KILLED) == "full"
    assert first(f"{OOM}{banner}\n{later}", FULL, KILLED) == "killed"
    assert first(f"{OOM}{banner}\n", FULL, KILLED) == "full"
    assert first(f"{raised('KeyError: 1')}{banner}\n{OOM}", FULL, USER) == "full"
    assert first(f"{OOM}{banner}\n{STEPS}{END}", FULL) == "healthy"


def test_the_exception_in_a_group_is_the_cause_and_not_the_group() -> None:
    text = "ExceptionGroup: unhandled errors in a TaskGroup (1 sub-exception)\n" + OOM
    assert first(raised("") + text, FULL, USER) == "full"


def test_advice_alone_and_what_a_launcher_says_are_never_sure() -> None:
    advice = signature("advice", Pattern(line="use a smaller batch size", weight=0.97))
    wrapper = signature("wrapper", Pattern(line="ChildFailedError: train.py", weight=0.97))
    for text in ("Consider to use a smaller batch size.", "It is full. You can use a smaller batch size."):
        (cause,) = found(text + "\n", advice).causes
        assert cause.confidence < 0.9
    assert found("torch.errors.ChildFailedError: train.py\n", wrapper).causes[0].confidence < 0.9
    assert found("RuntimeError: It is full. You can use a smaller batch size.\n", advice).causes[0].confidence >= 0.9


def test_of_a_warning_alone_nothing_is_sure() -> None:
    """Neither before anything was trained nor after: a job that only warned did not fail of it."""
    cramped = signature("cramped", Pattern(line="there is no room left", weight=0.95))
    warning = "UserWarning: there is no room left, trying the cache\n"

    assert found("there is no room left\n", cramped).causes[0].confidence == 0.95
    assert found(warning, cramped).causes[0].confidence < 0.8
    assert found(warning + STEPS + END, cramped).causes[0].confidence < 0.6
    assert found(warning + raised("OSError: there is no room left"), cramped).causes[0].confidence == 0.95


def test_an_answer_beside_another_is_less_sure_unless_one_follows_from_the_other() -> None:
    rival = signature("rival", Pattern(line="worker was killed by signal", weight=0.85))
    covering = signature("covering", Pattern(line="worker was killed by signal", weight=0.85), covers=("full",))
    text = "CUDA out of memory. Tried to allocate 2.00 GiB.\nworker was killed by signal 9\n"

    alone, (told, second), covered = (
        found(OOM, FULL).causes[0],
        found(text, FULL, rival).causes,
        found(text, FULL, covering),
    )
    assert (told.signature.name, alone.confidence) == ("full", 0.9)
    assert 0.6 < second.confidence < told.confidence < 0.8
    assert [cause.confidence for cause in covered.causes] == [0.85, 0.9]


def test_python_called_wrongly_by_the_users_code_is_the_users_fault() -> None:
    frames = (
        'Traceback (most recent call last):\n  File "/job/train.py", line 7, in on_save\n    shutil.rmtree(before)\n'
        '  File "/usr/lib/python3.11/shutil.py", line 722, in rmtree\n    orig_st = os.lstat(path, dir_fd=dir_fd)\n'
    )
    text = f"{frames}FileNotFoundError: [Errno 2] No such file or directory: 'out/run/before'\n"

    told = found(text, USER).causes[0]
    assert (told.signature.name, told.confidence) == ("user-code-error", 0.62)
    assert found(text.replace("/job/train.py", "/env/lib/site-packages/peft/save.py"), USER).verdict == "unknown"


LOAD = Pattern(line=r"optional library did not load", weight=0.96)


@pytest.mark.parametrize(
    ("phase", "line", "told"),
    [
        ("environment", "[codec|ERROR] optional library did not load", "healthy"),
        ("environment", "optional library did not load", "load"),
        ("checkpoint", "ERROR: optional library did not load", "load"),
    ],
)
def test_a_loggers_error_about_the_environment_that_training_outlived_is_about_nothing(
    phase: Phase, line: str, told: str
) -> None:
    """Of the rest something failed all the same, and less surely."""
    load = signature("load", LOAD, phase=phase)
    after = found(f"{line}\n{STEPS}{END}", load)

    assert (after.causes[0].signature.name if after.causes else after.verdict) == told
    assert found(f"{STEPS}{line}\n", load).causes[0].signature.name == "load"


def test_training_that_came_to_its_end_disproves_what_keeps_from_starting() -> None:
    """Torch warns of addresses that cannot be resolved where others of the same host can."""
    apart = signature("rendezvous-timeout", Pattern(line="network addresses of .* cannot be retrieved", weight=0.7))
    line = "[W socket.cpp:601] [c10d] The IPv6 network addresses of (node7, 29500) cannot be retrieved"

    assert found(f"{line}\n{STEPS}{END}", apart).verdict == "healthy"
    assert first(f"{line}\n", apart) == "rendezvous-timeout"


def test_a_step_behind_it_disproves_what_keeps_from_starting() -> None:
    """A process tries an address again and again until the others are there; what fails after the first steps is something else."""
    apart = signature("rendezvous-timeout", Pattern(line="client socket has failed to connect", weight=0.7))
    line = (
        "[W socket.cpp:663] [c10d] The client socket has failed to connect to [node7]:29500 (errno: 110 - timed out)."
    )

    assert found(f"{line}\n{STEPS}", apart).verdict == "unknown"
    assert found(f"{STEPS}{line}\n", apart).causes[0].signature.name == "rendezvous-timeout"


def test_nccl_says_warn_of_what_ends_it() -> None:
    """A logger's warning may be about nothing; NCCL has no other word for an error."""
    full = signature("full", Pattern(line="No space left on device", weight=0.95))
    sure, unsure = (
        found(f"{STEPS}{line} No space left on device\n", full).causes[0].confidence for line in ("NCCL WARN", "WARN")
    )
    assert sure > unsure


@pytest.mark.parametrize("path", [".../transformers/integrations/flash.py", "…/trl/trainer/sft_trainer.py"])
def test_a_path_that_was_cut_by_hand_is_no_code_of_the_users(path: str) -> None:
    users = found(raised("AttributeError: 'NoneType' object has no attribute 'to'"), USER).causes[0].confidence
    cut = found(raised("AttributeError: 'NoneType' object has no attribute 'to'", f'File "{path}", line 3, in f'), USER)
    assert not cut.causes or cut.causes[0].confidence < users


def test_a_line_of_code_alone_is_no_frame_that_is_known() -> None:
    """A mark for exceptions of which nothing more was pasted holds."""
    alone = signature("alone", Pattern(line="object has no attribute 'llm'", not_frame=".", weight=0.7))
    error = "AttributeError: 'Env' object has no attribute 'llm'"

    assert first(f"    self.x = self.llm.foo\n{error}\n", alone) == "alone"
    assert first(raised(error), alone) != "alone"


def candidates(
    text: str | dict[str, str],
    *signatures: Signature,
    silent: Sequence[ClassEvidence] = (),
    ruled_out: Collection[str] = (),
) -> list[Candidate]:
    """The classes that a log speaks for, the likeliest first, before any of them is left out of the answer."""
    patterns = PatternIndex(signatures)
    files = {"train.log": text} if isinstance(text, str) else text
    log = read_log([(name, [each.encode()]) for name, each in files.items()], patterns.sought)
    return rank(log, patterns.matches(log), silent, signatures, ruled_out)


def scores(text: str | dict[str, str], *signatures: Signature, **options: Any) -> dict[str, float]:
    return {each.signature.name: each.score for each in candidates(text, *signatures, **options)}


LAUNCHED = signature("launched", Pattern(line=r"failed \(exitcode: 1\)", weight=0.97))
WAITING = signature("waiting", Pattern(line="collective operation timeout", weight=0.97))
DIED = "RuntimeError: worker was killed by signal 9"
WAITED = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7)\n"


def launched(rank: int) -> str:
    return f"failed (exitcode: 1) local_rank: {rank} (pid: 7) of binary: python\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (raised(DIED, rank="[rank2]: ") + launched(2), "killed"),
        (raised(DIED, rank="[rank0]: ") + launched(0), "killed"),
        (raised(DIED) + launched(0), "killed"),
        (raised(DIED, rank="[rank2]: ") + launched(3), "launched"),
        (raised(DIED, rank="[rank2]: ") + launched(0), "launched"),
        (raised(DIED) + launched(1), "launched"),
        ("[rank1]: ready\n" + raised(DIED) + launched(0), "launched"),
        (raised(DIED, rank="[rank2]: ") + STEPS + launched(2), "launched"),
        (raised(f"ConnectionResetError: {DIED}", rank="[rank2]: ") + launched(2), "launched"),
        (raised(f"RuntimeError: Timeout at NCCL work; {DIED}", rank="[rank2]: ") + launched(2), "launched"),
    ],
)
def test_a_launchers_word_of_a_rank_is_behind_the_exception_that_this_rank_raised(text: str, told: str) -> None:
    """Of its own, and after which no step was taken; that of another rank, or of the connection, explains nothing."""
    assert first(text, LAUNCHED, KILLED) == told


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f"[rank1]: {WAITED}" + raised(DIED, rank="[rank0]: "), "killed"),
        (f"[rank1]: {WAITED}" + raised(DIED, rank="[rank1]: "), "waiting"),
        (WAITED + raised(DIED, rank="[rank0]: "), "waiting"),
        (f"[rank1]: {WAITED}" + raised("RuntimeError: Timeout at NCCL work", rank="[rank0]: "), "waiting"),
    ],
)
def test_a_rank_that_waited_is_the_victim_of_another_one_that_failed(text: str, told: str) -> None:
    """It is no victim of itself, and two ranks that both waited are no reason for one another."""
    assert first(text, WAITING, KILLED) == told


@pytest.mark.parametrize(
    ("mark", "stays"),
    [
        (Pattern(line="strange end", weight=0.9), True),
        (Pattern(line="strange end", weight=0.75), True),
        (Pattern(line="strange end", weight=0.7), False),
        (Pattern(line="strange end", weight=0.9, role="hint"), False),
    ],
)
def test_settings_rule_a_class_out_unless_a_line_says_it_outright(mark: Pattern, stays: bool) -> None:
    """Then the log is of another job than the one whose settings are known."""
    strange = signature("strange", mark)

    assert bool(candidates("strange end\n", strange)) is True
    assert bool(candidates("strange end\n", strange, ruled_out={"strange"})) is stays


def test_settings_rule_out_what_only_the_metrics_say() -> None:
    shown = ClassEvidence(name="full", weight=0.9, lines=(Line(1, "a step"),))

    assert scores("", FULL, silent=[shown]) == {"full": 0.9}
    assert scores("", FULL, silent=[shown], ruled_out={"full"}) == {}


def test_different_hints_add_up_and_the_same_one_again_adds_nothing() -> None:
    hinted = signature(
        "hinted",
        Pattern(line="strange end", weight=0.6),
        Pattern(line="memory is nearly full", role="hint", weight=0.8),
        Pattern(line="fans are loud", role="hint", weight=0.4),
    )
    alone, memory, twice, both = (
        scores(f"{hints}strange end\n", hinted)["hinted"]
        for hints in (
            "",
            "memory is nearly full\n",
            "memory is nearly full\nmemory is nearly full\n",
            "memory is nearly full\nfans are loud\n",
        )
    )

    assert alone == 0.6
    assert alone < memory == twice < both
    assert both == pytest.approx(1 - 0.4 * (1 - HINT * 0.8) * (1 - HINT * 0.4))


def test_the_message_decides_before_the_line_of_code_that_raises_it() -> None:
    """The code has its words too, but none of its values."""
    split = signature("split", Pattern(line=r"Bad split: (?P<split>\S+)", weight=0.9))
    text = (
        'Traceback (most recent call last):\n  File "/x/site-packages/datasets/a.py", line 3, in f\n'
        '    raise ValueError(f"Bad split: {split}")\nValueError: Bad split: trian\n'
    )
    (told,) = candidates(text, split)

    assert told.decisive
    assert told.decisive.line.number == 4


HANDLING = "\nDuring handling of the above exception, another exception occurred:\n\n"
NEXT = "=== Attempt 2/3 ===\n"
APART = signature("rendezvous-timeout", Pattern(line="client socket has failed", weight=0.8))


@pytest.mark.parametrize(
    ("text", "name", "score"),
    [
        (OOM + HANDLING + raised(DIED), "full", 0.9 * HANDLED),
        (OOM + HANDLING + raised(DIED) + NEXT + STEPS, "full", 0.9 * HANDLED * EARLIER),
        (OOM + HANDLING + raised(DIED) + STEPS + END, "full", 0.9 * HANDLED * SURVIVED),
        (
            raised("E: client socket has failed") + HANDLING + raised(DIED) + STEPS,
            "rendezvous-timeout",
            0.8 * HANDLED * SURVIVED,
        ),
        (f"[rank1]: {WAITED}{NEXT}" + raised(DIED, rank="[rank0]: "), "waiting", 0.97 * EARLIER * TORN_DOWN),
        (OOM + STEPS, "full", 0.9),
    ],
)
def test_whatever_speaks_against_a_line_counts_together(text: str, name: str, score: float) -> None:
    """Handled, and in an attempt before the last; handled, and outlived. Steps alone speak against nothing that may come at any time."""
    assert scores(text, FULL, KILLED, WAITING, APART)[name] == pytest.approx(score)


@pytest.mark.parametrize(
    ("name", "line", "weight", "score"),
    [
        ("strange", "strange end", 0.9, 0.9),
        ("strange", "strange end", 0.75, 0.75),
        ("strange", "strange end", 0.7, 0.7 * WARNED),
        ("strange", "WARNING strange end", 0.9, 0.9 * TOLERATED),
        ("model-not-pushed", "strange end", 0.5, 0.5),
    ],
)
def test_what_was_only_said_before_a_good_end_keeps_its_weight_if_it_was_sure(
    name: str, line: str, weight: float, score: float
) -> None:
    """What warned, or was unsure, loses some; what never hinders a good end loses none."""
    strange = signature(name, Pattern(line="strange end", weight=weight))

    assert scores(f"{STEPS}{line}\n{END}", strange)[name] == pytest.approx(score)


TIMED_OUT = "(ReadTimeoutError: Read timed out) thrown while requesting HEAD https://huggingface.co/a/b"


@pytest.mark.parametrize(
    "said",
    [
        f"{TIMED_OUT}\nRetrying in 1s [Retry 1/5].",
        f"WARNING:huggingface_hub.utils._http:{TIMED_OUT}",
        "WARNING:urllib3.connectionpool:Retrying (Retry(total=4)) after connection broken by 'Read timed out'",
        f"Read timed out, retrying\n{TIMED_OUT}\n{TIMED_OUT}\nchunk 3: Read timed out. Trying to resume download...",
    ],
)
def test_what_was_tried_again_before_a_good_end_is_over(said: str) -> None:
    """However sure its patterns are, and however many match: training came to its end."""
    patterns = (Pattern(line="Read timed out", weight=0.97), Pattern(line="thrown while requesting HEAD", weight=0.9))
    download = signature("download", *patterns, Pattern(line=r"ReadTimeoutError: ", weight=0.9))

    assert scores(f"{said}\n{STEPS}{END}", download)["download"] <= OVER < DIAGNOSED
    assert found(f"{STEPS}{said}\n{STEPS}{END}", download).verdict == "healthy"
    assert first(f"{said}\n", download) == "download"
    assert first(f"{STEPS}{END}{said}\n", download) == "download"


def test_a_warning_beside_an_exception_that_nobody_knows_may_well_be_its_reason() -> None:
    cramped = signature("cramped", Pattern(line="there is no room left", weight=0.95))

    for beside in (raised("KeyError: 'x'"), f"{DIED}\n"):
        assert scores(f"WARNING there is no room left\n{beside}", cramped, KILLED)["cramped"] == 0.95


def test_the_line_with_which_an_attempt_begins_is_of_that_attempt() -> None:
    """A launcher says in it what became of the one before."""
    group = signature("group", Pattern(line="Worker group FAILED", weight=0.8))
    banner = "[default] Worker group FAILED. 2/3 attempts left; will restart worker group\n"

    assert scores(banner + STEPS, group) == {"group": 0.8}
    assert scores(OOM + banner, FULL, group)["full"] == 0.9


def test_advice_is_known_by_its_first_word_wherever_its_sentence_stands() -> None:
    advice = signature("advice", Pattern(line="Try a smaller batch", weight=0.97))

    assert scores("It is full. Try a smaller batch.\n", advice)["advice"] == NOT_SURE
    assert scores("Nobody can Try a smaller batch.\n", advice)["advice"] == 0.97
    beginning = signature("advice", Pattern(line="^Try a smaller batch", weight=0.97))
    logged = signature("advice", Pattern(line=r"^\[ERROR\] Try a smaller batch", weight=0.97))
    for known in (advice, beginning, logged):
        assert scores("[ERROR] Try a smaller batch.\n", known)["advice"] == NOT_SURE


def test_of_two_equally_sure_causes_the_one_that_stands_first_is_told_first() -> None:
    """In the first file, and in a file by its line."""
    one, two = (signature(name, Pattern(line=f"strange {name}", weight=0.8)) for name in ("one", "two"))

    assert list(scores("strange two\nstrange one\n", one, two)) == ["two", "one"]
    assert list(scores({"a.log": "\n\nstrange two\n", "b.log": "strange one\n"}, one, two)) == ["two", "one"]
    surer = signature("one", Pattern(line="strange one", weight=0.8004))  # by less than can be told
    assert list(scores("strange two\nstrange one\n", surer, two)) == ["two", "one"]
    script = ClassEvidence(name="one", weight=0.8, lines=(Line(1, "what the script says", path="train.py"),))
    assert list(scores("\n\nstrange two\n", one, two, silent=[script])) == ["one", "two"]
    unsure = signature("one", Pattern(line="strange one", weight=IN_USER_CODE))
    assert list(scores(raised("KeyError: 'x'") + STEPS + "strange one\n", unsure, USER)) == ["user-code-error", "one"]


def test_an_exception_with_a_time_is_compared_with_one_without_by_their_lines() -> None:
    dated = f"2026-11-20T15:50:00Z {OOM.splitlines()[-1]}\n"

    assert first(f"{dated}{DIED}\n", FULL, KILLED) == "full"
    assert first(f"{DIED}\n{dated}", FULL, KILLED) == "killed"


def test_a_time_without_its_year_is_compared_with_no_other() -> None:
    """Lines decide then: torch writes month and day alone."""
    dated = f"2026-11-20T15:50:00Z {OOM.splitlines()[-1]}\n"
    text = (dated, f"[E1120 15:40:00.504052851 ProcessGroupNCCL.cpp:616] {DIED}\n")

    behind, before = (scores("".join(each), FULL, KILLED)["killed"] for each in (text, text[::-1]))

    assert before == 0.85
    assert behind == pytest.approx(0.85 * LATER)


def test_what_was_raised_at_one_time_or_told_in_one_line_follows_from_nothing() -> None:
    dated = [f"2026-11-20T15:50:00Z {error}\n" for error in (OOM.splitlines()[-1], DIED)]
    rival = signature("rival", Pattern(line="CUDA out of memory", weight=0.8))

    assert scores("".join(dated), FULL, KILLED) == {"full": 0.9, "killed": 0.85}
    assert scores(OOM, FULL, rival) == {"full": 0.9, "rival": 0.8}
    assert scores(OOM.splitlines()[-1], FULL, rival) == {"full": 0.9, "rival": 0.8}


def test_the_line_with_which_training_ended_well_was_not_outlived() -> None:
    """It says itself what is strange about the end."""
    strange = signature("strange", Pattern(line="train_runtime.*train_loss", weight=0.7))

    assert scores(STEPS + END, strange) == {"strange": 0.7}


def test_an_attempt_of_which_nothing_is_told_takes_nothing_from_the_one_before() -> None:
    """A line that says a cause is something, and so are steps and exceptions; what only follows from a cause is not."""
    strange = signature("strange", Pattern(line="strange end", weight=0.6))
    echo = signature("echo", Pattern(line="strange end", role="echo"))

    assert scores(f"{OOM}{NEXT}strange end\n", FULL, strange)["full"] == pytest.approx(0.9 * EARLIER)
    assert scores(f"{OOM}{NEXT}{STEPS}", FULL)["full"] == pytest.approx(0.9 * EARLIER)
    assert scores(f"{OOM}{NEXT}strange end\n", FULL, echo)["full"] == 0.9
    assert scores({"a.log": f"{OOM}{NEXT}", "b.log": f"\n\n\n\n\n\n\n{STEPS}"}, FULL)["full"] == 0.9


def test_an_exception_that_wraps_another_counts_less_wherever_it_stands_in_the_chain() -> None:
    """But not for what was only handled before."""
    cause = "\nThe above exception was the direct cause of the following exception:\n\n"
    other = raised("KeyError: 'x'")

    for chain, score in (
        (OOM + cause + raised(DIED), 0.85 * WRAPS),
        (other + HANDLING + OOM + cause + raised(DIED), 0.85 * WRAPS),
        (other + cause + OOM + HANDLING + raised(DIED), 0.85),
        (other + HANDLING + raised(DIED), 0.85),
    ):
        assert scores(chain, FULL, KILLED)["killed"] == pytest.approx(score)


SHOWN = ClassEvidence(name="full", weight=0.8, lines=(Line(1, "a step"),))


@pytest.mark.parametrize(
    ("text", "shown", "score"),
    [
        (STEPS, SHOWN, 0.8),
        (raised("KeyError: 'x'"), SHOWN, 0.8 * BESIDE_EXCEPTION),
        (raised("KeyError: 'x'"), replace(SHOWN, explains=True), 0.8),
        (raised("torch.errors.ChildFailedError:"), SHOWN, 0.8),
        (raised("KeyError: 'x'") + STEPS + END, SHOWN, 0.8),
    ],
)
def test_what_the_metrics_show_counts_less_beside_an_exception_that_ended_the_job(
    text: str, shown: ClassEvidence, score: float
) -> None:
    """Unless it explains that exception too, or the exception only says that something else failed, or was outlived."""
    assert scores(text, FULL, silent=[shown]) == {"full": pytest.approx(score)}


def test_a_job_that_an_exception_ended_is_not_healthy_whatever_its_metrics_show() -> None:
    """And a class that nobody knows hides none that is known."""
    healthy, strange = replace(SHOWN, name=HEALTHY), replace(SHOWN, name="unheard-of")
    known = signature(HEALTHY, Pattern(line="frightening but harmless"))

    assert list(scores(STEPS, known, FULL, silent=[strange, healthy])) == [HEALTHY]
    assert list(scores(raised("KeyError: 'x'"), known, FULL, silent=[strange, healthy, SHOWN])) == ["full"]
    assert list(scores(STEPS, FULL, silent=[strange, SHOWN])) == ["full"]


def test_lines_and_metrics_that_speak_for_one_class_make_it_surer() -> None:
    """The weaker of them counts as a hint beside the stronger; each kind of line once, and no echo."""
    patterns = (
        Pattern(line="strange end", weight=0.6),
        Pattern(line="fans are loud", role="hint", weight=0.5),
        Pattern(line="it is over", role="echo", weight=0.9),
    )
    full = signature("full", *patterns)
    text = "strange end\nfans are loud\nstrange end\nit is over\n"
    by_lines = 1 - 0.4 * (1 - HINT * 0.5)

    (surer,), (weaker,) = (scores(text, full, silent=[replace(SHOWN, weight=weight)]).values() for weight in (0.9, 0.3))
    assert surer == pytest.approx(1 - 0.1 * (1 - HINT * 0.6) * (1 - HINT * 0.5))
    assert weaker == pytest.approx(1 - (1 - by_lines) * (1 - HINT * 0.3))


def test_a_class_must_be_believed_to_cover_another() -> None:
    """From one half on, and by a line: metrics alone cover nothing."""
    believed, doubted = (
        signature("weak", Pattern(line="lost the connection", weight=weight), covers=("full",))
        for weight in (0.5, 0.45)
    )
    shown = replace(SHOWN, name="weak", explains=True)

    assert list(scores(OOM + "lost the connection\n", FULL, believed)) == ["weak", "full"]
    assert list(scores(OOM + "lost the connection\n", FULL, doubted)) == ["full", "weak"]
    assert list(scores(OOM, FULL, believed, silent=[shown])) == ["full", "weak"]


def test_what_the_metrics_show_twice_of_one_class_is_one_finding_with_all_lines() -> None:
    """The surer of both decides; of a value that both tell, the first one is taken."""
    lines = tuple(Line(number, f"step {number}") for number in (1, 2, 3))
    one = ClassEvidence(name="full", weight=0.6, lines=lines[:2], values={"loss": "7", "step": "1"})
    two = ClassEvidence(name="full", weight=0.8, lines=lines[1:], values={"loss": "9", "rate": "5"})

    for silent, values in (
        ((one, two), {"loss": "7", "step": "1", "rate": "5"}),
        ((two, one), {"loss": "9", "step": "1", "rate": "5"}),
    ):
        (told,) = candidates("", FULL, silent=silent)
        assert told.silent
        assert told.silent.weight == 0.8
        assert sorted(line.number for line in told.silent.lines) == [1, 2, 3]
        assert told.silent.values == values
        assert told.score >= 0.8


def test_an_exception_that_is_known_is_not_called_the_users_as_well() -> None:
    """But one of which only an echo is known is, and so is another one in the same log, whichever stands first."""
    echo = signature("echo", Pattern(line="worker was killed", role="echo"))

    assert list(scores(OOM, FULL, USER)) == ["full"]
    hint = signature("hinted", Pattern(line="worker was killed", role="hint", weight=0.5))

    assert list(scores(raised(DIED), echo, USER)) == ["user-code-error"]
    assert list(scores(raised(DIED), hint, USER)) == ["user-code-error", "hinted"]
    assert set(scores(OOM + raised("KeyError: 'x'"), FULL, USER)) == {"full", "user-code-error"}
    assert set(scores(raised("KeyError: 'x'") + OOM, FULL, USER)) == {"full", "user-code-error"}
    assert set(scores("CUDA out of memory. Tried to allocate 2.00 GiB\n", FULL, USER)) == {"full"}
    assert list(scores(raised("torch.errors.ChildFailedError:") + raised("KeyError: 'x'"), USER)) == ["user-code-error"]


def test_of_the_users_exceptions_the_first_one_is_told_and_of_a_chain_its_direct_cause() -> None:
    cause = "\nThe above exception was the direct cause of the following exception:\n\n"
    one, two = raised("KeyError: 'one'"), raised("ValueError: two")

    for text, told in ((one + two, "one"), (one + cause + two, "one"), (one + HANDLING + two, "two")):
        (found_in,) = candidates(text, USER)
        assert found_in.line
        assert told in found_in.line.text


def test_the_users_exception_of_an_earlier_attempt_counts_less_unless_it_comes_back() -> None:
    error = raised("KeyError: 'x'")

    assert scores(error + NEXT + STEPS, USER) == {"user-code-error": IN_USER_CODE * EARLIER}
    assert scores(error + NEXT + error, USER) == {"user-code-error": IN_USER_CODE}
    library = raised("KeyError: 'x'", 'File "/x/site-packages/trl/a.py", line 3, in f')
    assert scores(library + NEXT + STEPS, USER) == {"user-code-error": UNDER_USER_CODE * EARLIER}


def test_a_line_that_says_the_users_fault_is_not_outdone_by_an_exception_that_nobody_knows() -> None:
    """One class is told once, by what is surer."""
    surer, weaker = (
        signature("user-code-error", Pattern(line="error in your reward", weight=weight))
        for weight in (0.8, IN_USER_CODE)
    )
    text = "error in your reward\n" + raised("KeyError: 'x'")

    for known in (surer, weaker):
        (told,) = candidates(text, known, FULL)
        assert told.decisive


def test_an_exception_of_which_only_pythons_own_frames_are_shown_is_nobodys() -> None:
    text = raised("json.decoder.JSONDecodeError: x", 'File "/usr/lib/python3.11/json/decoder.py", line 3, in f')

    assert scores(text, USER) == {"user-code-error": UNDER_USER_CODE}


@pytest.mark.parametrize("weight", [0.97, 0.7])
def test_a_general_class_is_told_beside_its_special_one_only_if_that_is_unsure(weight: float) -> None:
    """One line that both know is no second cause, where the special class is as good as certain."""
    general = signature("out-of-memory", Pattern(line=r"CUDA out of memory", weight=0.9))
    special = signature("in-evaluation", Pattern(line=r"CUDA out of memory", weight=weight), covers=("out-of-memory",))

    names = [cause.signature.name for cause in found(OOM, general, special).causes]

    assert names == (["in-evaluation"] if weight > 0.9 else ["in-evaluation", "out-of-memory"])
