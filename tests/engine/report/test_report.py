"""The report of a run: one page that needs nothing beside itself, tells what a newcomer asks, and trusts no text."""

import math
import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import convert

from holdfast.core.job.document import Document
from holdfast.core.run.event import (
    Closed,
    Diagnosed,
    Event,
    Liveness,
    Polled,
    Reported,
    RunRequested,
    RunStage,
    Started,
    Starting,
    Stopper,
    StopRequested,
    TroubleNoted,
)
from holdfast.core.run.requested_job import RequestedJob
from holdfast.core.run.trouble import Trouble
from holdfast.engine.report.chart import Axis, Series, draw_plot, log_axis, make_axis, thin
from holdfast.engine.report.curves import Curve, gather_curves
from holdfast.engine.report.page import ReportData, Sample, render_report
from holdfast.engine.report.tables import tabulate_evaluations
from holdfast.engine.units import render_number
from holdfast.results.check import CheckResult
from tests.helpers.results import checked, finding, rehearsed, target

HOSTILE = "</title></pre><script>alert('1')</script>\"'& {{ 7 * 7 }} {% raw %} ; echo\n\x1b[2J"
ABOUT = RequestedJob(method="sft", model="tiny", dataset="docs", target="my job.yaml", backend="local")
JOB = Document(
    path="job.resolved.yaml",
    kind="job",
    text="method: sft\nmodel: tiny\n",
    values={"method": "sft", "train": {"learning_rate": 2e-3, "warmup_steps": 20}, "peft": {"r": 16}, "seed": 42},
)
CHECKPOINTS = "/runs/r/checkpoints/tiny-20261121"
START: dict[str, Any] = {
    "step": 0,
    "max_steps": 20,
    "model": "Qwen2ForCausalLM",
    "parameters": 2_756_224,
    "trainable": 2_756_224,
    "world_size": 2,
    "hardware": ["A100", "A100"],
    "versions": {"python": "3.11.7", "trl": "1.16.0"},
    "config": {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "max_length": 1024},
}


class Page(HTMLParser):
    """What a browser would make of the page, as far as it matters: its text by element, and what it would load."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.loads: list[str] = []
        self.text: dict[str, str] = {}
        self._open: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.loads += [value or "" for name, value in attrs if name in ("src", "href", "srcset", "data", "action")]
        if tag not in ("meta", "br", "wbr"):
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        for tag in {*self._open} - ({"title"} if "svg" in self._open else set()):
            self.text[tag] = self.text.get(tag, "") + data


def said(event: str, at_s: float, attempt: int = 1, **fields: Any) -> Reported:
    return Reported(at_s=at_s, attempt=attempt, said={"event": event, "at": at_s, **fields})


def steps(first: int, last: int, attempt: int = 1, **fields: Any) -> Iterator[Reported]:
    for step in range(first, last + 1):
        told = {"step": step, "max_steps": 20, "loss": 9.0 - step / 10, "grad_norm": 1.0, "tokens": step * 100}
        yield said("step", float(step), attempt, **{**told, "elapsed_s": 0.9, **fields})


def started(attempt: int = 1, at_s: float = 0, resume_from: str | None = None) -> tuple[Event, ...]:
    starting = Starting(at_s=at_s, attempt=attempt, backend="local", resume_from=resume_from)
    return (starting, Started(at_s=at_s, attempt=attempt, id=f"r/{attempt}"))


def ended(at_s: float, exit_code: int, attempt: int = 1) -> Polled:
    return Polled(at_s=at_s, attempt=attempt, answer=Liveness.ENDED, exit_code=exit_code)


ASKED = RunRequested(at_s=0, folder="/runs/r", about=ABOUT)
KILLED: tuple[Event, ...] = (
    ASKED,
    *started(),
    said("start", 0, **START),
    said("evaluate", 0, step=0, metrics={"eval_loss": 8.0}),
    *steps(1, 10),
    said("checkpoint", 10, step=10, path=f"{CHECKPOINTS}/checkpoint-10", bytes=33_438_947),
    *steps(11, 14),
    ended(15, -9),
    Closed(at_s=15, stage=RunStage.FAILED, because="SIGKILL killed it at step 14 of 20"),
)
RESUMED: tuple[Event, ...] = (
    *KILLED,
    *started(2, 20, f"{CHECKPOINTS}/checkpoint-10"),
    said("start", 20, 2, **{**START, "step": 10}),
    *steps(11, 20, attempt=2),
    said("evaluate", 40, 2, step=20, metrics={"eval_loss": 2.0, "eval_runtime": 1.5, "eval_num_tokens": 700.0}),
    said("end", 40, 2, step=20, max_steps=20, status="finished"),
    ended(41, 0, 2),
    Closed(at_s=41, stage=RunStage.SUCCEEDED),
)


def test_an_evaluation_has_no_column_for_what_is_no_result_of_it() -> None:
    """Times, and the training tokens since the trainer was made, which begin anew where a run resumes."""
    curves = {name: Curve([(20, 1.0)]) for name in ("eval_loss", "eval_runtime", "eval_num_tokens", "loss")}
    assert tabulate_evaluations(curves)[0] == ("step", "eval_loss")


def check(code: str = "JOB101", message: str = "no timeout", key: str = "where.timeout") -> CheckResult:
    found = finding(code=code, severity="warning", message=message, key=key, path="job.yaml", line=7)
    skip = {"code": code, "missing": ["dataset"], "because": message, "reasons": [message]}
    return checked(target(found, path="job.yaml", skipped=[skip]))


def report(events: Sequence[Event] = RESUMED, **fields: Any) -> Page:
    return Page(render_report(ReportData(run="r", events=events, now_s=99, **fields)))


def test_the_verdict_is_the_first_thing_a_reader_sees() -> None:
    """One sentence, the page's only main heading: how far, how long, how much better."""
    assert (
        report().text["h1"]
        == "Trained 20 of 20 steps in 36 s, start-up included; evaluation loss fell from 8 to 2 (-75 %)."
    )


def test_the_page_needs_nothing_beside_itself() -> None:
    """No script, no font, no picture, no request."""
    page = report(job=JOB, model="/runs/r/model")

    assert page.loads == []
    assert not {"script", "link", "img", "iframe", "object"} & {*page.tags}
    assert "url(" not in page.text["style"]
    assert "@import" not in page.text["style"]


def test_it_has_a_title_a_language_headings_and_told_pictures() -> None:
    """What a screen reader needs."""
    html = render_report(ReportData(run="r", events=RESUMED, now_s=99))

    assert '<html lang="en">' in html
    assert Page(html).text["title"] == "r: succeeded"
    assert Page(html).tags.count("h1") == 1
    assert html.count("<svg") == html.count('role="img" aria-label="') > 1
    assert "training loss from 8.90 at step 1 to 7 at step 20; evaluation loss from 8 at step 0 to 2 at step 20" in html


def test_what_was_asked_is_told_with_what_nobody_asked() -> None:
    """Settings of the job, what the trainer chose, and the batch that a step really learns from."""
    page = report(job=JOB)
    text = page.text["dl"]

    assert "learning_rate0.002" in text
    assert "warmup_steps20" in text
    assert "LoRAr 16" in text
    assert "max_length1024 by default" in text
    assert "64 rows a step (8 a process, 4 accumulated, 2 processes)" in text
    assert "on 2 x A100" in page.text["p"]
    assert "method: sft" in page.text["details"]


def test_what_was_checked_is_told_and_a_skip_is_no_pass() -> None:
    """Findings with their place, skips with their reason."""
    page = report(check=check())

    assert "the rules made 1 finding; 1 of them could not be checked." in page.text["p"]
    assert "JOB101 no timeout where.timeout, line 7" in page.text["ul"]
    assert "JOB101 skipped: no timeout needs dataset" in page.text["ul"]


def test_nothing_to_object_to_and_nothing_asked_are_told_apart() -> None:
    """A run that was never checked has not passed."""
    passed = checked(target(path="job.yaml"))

    assert "the rules found no problems." in report(check=passed).text["p"]
    assert "No rules were asked before this run." in report(check=None).text["p"]


def test_what_was_rehearsed_is_told() -> None:
    """How long it took and what was left out; a run without a rehearsal says so."""
    left_out = {"what": "fp16", "because": "this machine has no GPU"}
    passed = rehearsed(verdict="pass", elapsed_s=9.34, stages=[], not_rehearsed=[left_out])

    assert "The rehearsal passes in 9.3 s; not rehearsed: fp16." in report(rehearsal=passed).text["p"]
    assert "The run was not rehearsed" in report(rehearsal=None).text["p"]


def test_attempts_and_checkpoints_stand_in_tables() -> None:
    """How each attempt ended and began; which checkpoints are there, how large, and whole or not."""
    page = report(checkpoints={f"{CHECKPOINTS}/checkpoint-{n}": v for n, v in ((20, "damaged"), (10, "whole"))})
    text = page.text["table"]

    assert "1 on localfailed SIGKILL killed it at step 14 of 2014 of 20the beginning15 s-9" in text
    assert "2 on localsucceeded20 of 20checkpoint-1021 s0" in text
    assert f"checkpoint-1033.4 MBwhole{CHECKPOINTS}" in text
    assert text.index("checkpoint-10", text.index("folder")) < text.index("checkpoint-20")
    assert "Damaged: checkpoint-20." in page.text["p"]


@pytest.mark.parametrize("aside", [(), ("checkpoint-40: a <b> is truncated; set aside as damaged/checkpoint-40",)])
def test_a_checkpoint_that_was_set_aside_is_told(aside: tuple[str, ...]) -> None:
    """It is not deleted: the reader learns why it was not continued from, and where it lies."""
    saved = [said("checkpoint", 10, step=n, path=f"{CHECKPOINTS}/checkpoint-{n}", bytes=5) for n in (30, 40)]
    again = Starting(at_s=20, attempt=2, backend="local", resume_from=f"{CHECKPOINTS}/checkpoint-30", passed_over=aside)
    page = report(
        [ASKED, *started(), *saved, ended(15, -9), again], checkpoints={f"{CHECKPOINTS}/checkpoint-30": "whole"}
    )

    assert "2 checkpoints were saved; those that are not listed were deleted" in page.text["small"]
    assert ("or set aside" in page.text["small"]) is bool(aside)
    assert "".join(f"it could not continue from {each}" for each in aside) in page.text.get("li", "")


def test_signs_of_trouble_and_stalls_are_told() -> None:
    """With the step, and with where the processes stood."""
    noted = TroubleNoted(at_s=5, attempt=1, trouble=Trouble(kind="slower", text="steps take <3> times as long", step=4))
    cause = Diagnosed(at_s=9, attempt=1, name="training-stalled", where="rank 1 is in `score` (rewards.py:3)")
    page = report([ASKED, *started(), *steps(1, 5), noted, ended(8, -9), cause])

    assert "step 4: steps take <3> times as long" in page.text["li"]
    assert "rank 1 is in `score` (rewards.py:3)" in page.text["li"]


def test_generations_are_shown_by_step_from_first_to_last() -> None:
    """A few evaluations tell how the model learned; hundreds would bury it."""
    page = report(samples=[Sample(step, "Who?", f"answer {step}.") for step in range(0, 1000, 10)])

    assert "Who?" in page.text["article"]
    assert "answer 0." in page.text["ol"]
    assert "answer 990." in page.text["ol"]
    assert page.tags.count("li") < 10


def test_a_failed_run_says_what_to_do_and_shows_its_last_words() -> None:
    """The commands, and the end of standard error as a terminal would show it."""
    stderr = (
        "\rMap:  50%|##  | 1/2 [00:01<00:01, 1.0 ex/s]\rMap: 100%|####| 2/2 [00:02<00:00, 1.0 ex/s]\nOSError: full\n"
    )
    page = report(KILLED, last_output=stderr)

    assert page.text["h1"].startswith("Failed after 15 s: SIGKILL killed it at step 14 of 20; ")
    assert "holdfast resume r" in page.text["code"]
    assert page.text["pre"] == "OSError: full"


@pytest.mark.parametrize(
    ("events", "verdict"),
    [
        ((ASKED,), "Not started yet."),
        ((ASKED, Closed(at_s=1, stage=RunStage.FAILED, because="refused by check: ARG101")), "Never started: refused"),
        ((ASKED, *started()), "Still running: no step in 1 min 39 s."),
        (
            (ASKED, *started(), ended(4, 1), Closed(at_s=4, stage=RunStage.FAILED, because="no module trl")),
            "Failed after 4.0 s",
        ),
        (
            (
                ASKED,
                *started(),
                StopRequested(at_s=2, by=Stopper.PERSON),
                ended(4, 1),
                Closed(at_s=4, stage=RunStage.CANCELLED),
            ),
            "Canc",
        ),
    ],
)
def test_every_stage_has_a_report(events: tuple[Event, ...], verdict: str) -> None:
    """Also a run of which next to nothing is known."""
    assert report(events).text["h1"].startswith(verdict)


def test_the_model_can_be_loaded_as_the_report_says() -> None:
    """The snippet is Python, also where the folder has quotes in its name."""
    page = report(model='/home/o\'neil/"runs"/model', samples=[Sample(0, "Who\nare you?", "")])
    snippet = page.text["pre"]
    compile(snippet, "snippet", "exec")

    assert "AutoModelForCausalLM" in snippet
    assert repr('/home/o\'neil/"runs"/model') in snippet


CHAT = (
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Who\nare you?"},
)


@pytest.mark.parametrize(
    ("prompt", "asks", "shown"),
    [
        ("Once upon", "tokenizer('Once upon', return_tensors", "Once upon"),
        (CHAT[1:], "{'role': 'user', 'content': 'Who\\nare you?'},\n]", "Who\nare you?"),
        (CHAT, "[\n    {'role': 'system', 'content': 'Be brief.'},\n", "system: Be brief.\n\nuser: Who"),
    ],
)
def test_the_model_is_asked_as_it_was_trained(prompt: Any, asks: str, shown: str) -> None:
    """With the system turn of the rows; a text is no chat."""
    page = report(model="/m", samples=[Sample(0, prompt, "Me.")])
    compile(page.text["pre"], "snippet", "exec")

    assert asks in page.text["pre"]
    assert shown in page.text["article"]


def test_a_reward_model_is_loaded_as_one() -> None:
    """It answers with a number, not with text."""
    events = (ASKED, *started(), said("start", 0, **{**START, "model": "Qwen2ForSequenceClassification"}))
    snippet = report(events, model="/runs/r/model").text["pre"]
    compile(snippet, "snippet", "exec")

    assert "AutoModelForSequenceClassification" in snippet


def test_commands_to_repeat_it_are_quoted_for_the_shell() -> None:
    """A folder with a space in its name is one word."""
    asked = RunRequested(at_s=0, folder="/my runs/r", about=ABOUT)

    assert "holdfast run '/my runs/r/job.resolved.yaml'" in report((asked, *RESUMED[1:]), job=JOB).text["code"]
    assert "holdfast run 'my job.yaml'" in report().text["code"]


def test_hostile_text_stays_text() -> None:
    """Whatever stands in a job, a dataset, a log or a model's answer, the page has the same elements."""

    def page(text: str) -> Page:
        lists = {"sets": (f"{text}={text}",), "arguments": (text,)}
        kept = {"key": text, "value": text, "instead_of": text}
        scenario = {"name": "demo", "prefers": "reliability", "kept": [kept], "overrides": text}
        texts = dict.fromkeys(set(RequestedJob.__struct_fields__) - lists.keys(), text)
        about = convert({**texts, **lists, "scenario": scenario}, RequestedJob)
        job = Document(path=text, kind="job", text=text, values={"train": {text: text}, "peft": {text: [text]}})
        start = {**START, "versions": {text: text}, "hardware": [text], "model": text}
        events: tuple[Event, ...] = (
            RunRequested(at_s=0, folder=text, about=about),
            Starting(at_s=0, attempt=1, backend=text, resume_from=f"{text}/x"),
            said("start", 0, **start),
            *steps(1, 3, metrics={text: 1.0}, nan=[text]),
            said("evaluate", 3, step=3, metrics={f"eval_{text}": 1.0}),
            said("checkpoint", 3, step=3, path=f"{text}/checkpoint-3"),
            Closed(at_s=4, stage=RunStage.FAILED, because=text),
        )
        data = ReportData(
            run=text,
            events=events,
            job=job,
            check=check(text, text, text),
            samples=[Sample(1, text, text)],
            checkpoints={f"{text}/checkpoint-3": "damaged"},
            model=text,
            last_output=text,
        )
        return Page(render_report(data))

    assert page(HOSTILE).tags == page("plain").tags
    assert "49" not in page(HOSTILE).text["h1"]


def test_a_value_that_is_not_finite_is_warned_of() -> None:
    """The trainer's logged loss hides it, and the run may still have succeeded."""
    spoilt = [*RESUMED[:-3], *steps(21, 21, attempt=2, grad_norm=None, nan=["grad_norm"]), *RESUMED[-3:]]

    assert "grad_norm was not finite at step 21" in report(spoilt).text["section"]


def test_steps_done_anew_count_once() -> None:
    """The curve has each step once, as the newest attempt did it; what was lost is kept apart."""
    loss = gather_curves(RESUMED)["loss"]

    assert [step for step, _ in loss.points] == list(range(1, 21))
    assert [[step for step, _ in segment] for segment in loss.redone] == [[11, 12, 13, 14]]
    assert "attempt 2" in report().text["figure"]


@pytest.mark.long
def test_a_hundred_thousand_steps_give_a_page_of_sane_size() -> None:
    """Curves are thinned, but no spike is lost."""
    many = 100_000
    quiet: dict[str, Any] = {"grad_norm": None, "learning_rate": None, "metrics": {}, "max_steps": many}
    told = (
        said("step", float(n), step=n, loss=900.0 if n == 54_321 else 1.0 + n % 7, **quiet) for n in range(1, many + 1)
    )
    html = render_report(ReportData(run="r", events=[ASKED, *started(), *told], now_s=many))

    assert len(html) < 300_000
    assert "1k" in Page(html).text["span"]  # the axis reaches the spike


def test_paths_of_curves_are_numbers_within_the_plot() -> None:
    """What SVG would not draw, such as `nan`, never gets there."""
    html = render_report(ReportData(run="r", events=RESUMED, now_s=99))
    paths = re.findall(r'<path class="[a-z]+" d="([^"]+)"', html)
    numbers = [float(word) for path in paths for word in path.translate(dict.fromkeys(map(ord, "MLHVh"), " ")).split()]

    assert numbers
    assert all(0 <= number <= 100 for number in numbers)


MEASURED = st.floats(-1e12, 1e12, allow_subnormal=False)


@given(MEASURED, MEASURED)
def test_an_axis_holds_its_values_and_a_few_ticks(one: float, other: float) -> None:
    """Whatever the range, also none: every value lies on the axis, and its ticks do not crowd."""
    low, high = sorted((one, other))
    axis = make_axis(low, high, margin=0.04)

    assert 0 <= axis.percent(low) <= axis.percent(high) <= 100
    assert len(axis.ticks) <= 13
    assert all(0 <= axis.percent(tick) <= 100 for tick in axis.ticks)


@given(st.lists(st.floats(1e-9, 1e9), min_size=1))
def test_a_logarithmic_axis_holds_its_values(values: list[float]) -> None:
    """By powers of ten, from the one below the least to the one above the greatest."""
    axis = log_axis(values)

    assert all(0 <= axis.percent(value) <= 100 for value in values)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=3000), st.integers(1, 50))
def test_thinning_keeps_the_extremes_and_the_ends(values: list[float], buckets: int) -> None:
    """And leaves no more than two points a bucket, beside the ends."""
    points = list(enumerate(values))
    kept = thin(points, buckets)

    assert len(kept) <= 2 * buckets + 2
    assert {points[0], points[-1]} <= {*kept}
    assert {min(values), max(values)} <= {value for _, value in kept}
    assert kept == sorted(kept)


def test_one_point_makes_a_chart_too() -> None:
    """A run that ended after its first step."""
    plot = draw_plot("Loss", [Series("loss", "line", [(1, 2.0)])], render_number)

    assert plot
    assert plot.traces[0].last == "2"


def test_nothing_measured_makes_no_chart() -> None:
    """An empty frame would look like a fault."""
    assert draw_plot("Loss", [Series("loss", "line", [])], render_number) is None


def test_a_flat_curve_lies_in_the_middle() -> None:
    """A constant learning rate is no division by zero."""
    assert math.isclose(make_axis(3.0, 3.0).percent(3.0), 50)
    assert isinstance(make_axis(0.0, 0.0), Axis)
