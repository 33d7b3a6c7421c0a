"""What a run shows while it goes on: a panel below the output of the training process, or plain lines.

Everything is written to the given console, which is standard error: standard output is for results.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Literal, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from holdfast.cli.output import shown
from holdfast.cli.text.news import render_news, render_standing
from holdfast.core.run.event import Event, Polled, Reported, Starting
from holdfast.core.run.run_state import RunState
from holdfast.core.run.training_event import StepDone
from holdfast.engine.run.progress import Progress, follow
from holdfast.engine.run.screen import TerminalStream
from holdfast.engine.units import render_bytes, render_count, render_duration, render_number

WIDTH = 100  # columns; a wider panel is harder to read, not easier
LEVELS = "▁▂▃▄▅▆▇█"


class LiveView:
    """Follows one run on a console, from `with` to the end of its block; the terminal is left in order.

    Attributes:
        progress: What the events seen so far add up to.
    """

    def __init__(self, console: Console, run: str, now_s: Callable[[], float]) -> None:
        self.progress = Progress()
        self._console, self._run, self._now_s = console, run, now_s
        self._streams = fresh_streams()
        self._polled = ""  # the line of the last poll
        self._since_s: float | None = None  # of an attempt that began before: what is older is no news
        self._question = ""
        self._live = self._make_live() if console.is_terminal and not console.is_dumb_terminal else None

    def __enter__(self) -> Self:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end_streams()
        if self._live:
            self._live.stop()

    def ask(self, question: str) -> None:
        """Show a question below the panel of the run; an empty one removes it."""
        self._question = question
        if question and not self._live:
            self._say(Text(question, "bold"))
        self._refresh()

    def observe(self, _state: RunState, events: Sequence[Event]) -> None:
        """Show new events. Of those before the first call, and those that were not read until then, only the resulting state is shown."""
        if self.progress.state.folder:
            self._show_new(events)
        else:
            self.progress = follow(events)
            self._since_s = self._now_s() if self.progress.state.current else None
            self._say(render_standing(self.progress))
        self._refresh()

    def _show_new(self, events: Sequence[Event]) -> None:
        """Show the events since the last call; of those that are read late, only the resulting state."""
        late = False
        for event in events:
            self.progress = follow([event], self.progress)
            if self._is_late(event):
                late = True
            else:
                self._show_event(event)
        if late:
            self._say(render_standing(self.progress))
        if any(isinstance(event, Polled | Reported) for event in events):
            self._since_s = None

    def write(self, stream: Literal["stdout", "stderr"], chunk: bytes) -> None:
        """Show what the training process wrote, as a terminal would show it, without noise."""
        self._print(self._streams[stream].feed(chunk))
        self._refresh()

    def _is_late(self, event: Event) -> bool:
        """True if the training process reported an event before anybody looked, and it is read only now."""
        if self._since_s is None or not isinstance(event, Reported):
            return False
        at_s = event.training_event.at
        return at_s is not None and at_s < self._since_s

    def _end_streams(self) -> None:
        for stream in self._streams.values():
            self._print(stream.close())
        self._streams = fresh_streams()

    def _show_event(self, event: Event) -> None:
        if isinstance(event, Starting):
            self._end_streams()
        line = render_news(event, self.progress, self._now_s())
        if isinstance(event, Polled):
            line = self._if_changed(line)
        if line and not self._is_on_panel(event):
            self._release_bars()
            self._say(line)

    def _if_changed(self, line: Text | None) -> Text | None:
        """Return the line of a poll unless the last poll had the same: one outage or one phase has many polls."""
        before, self._polled = self._polled, line.plain if line else ""
        return line if self._polled != before else None

    def _is_on_panel(self, event: Event) -> bool:
        """True of a step, which the panel shows, if there is one."""
        return self._live is not None and isinstance(event, Reported) and isinstance(event.training_event, StepDone)

    def _release_bars(self) -> None:
        """Print the bars that reached their end, so that they stand before what happened after them."""
        for stream in self._streams.values():
            self._print(stream.release())

    def _say(self, line: Text | None) -> None:
        if line and (text := shown(line.plain)):
            self._console.print(Text(text, line.style) if text != line.plain else line, soft_wrap=True)

    def _print(self, lines: Sequence[str]) -> None:
        for line in lines:
            self._console.print(Text.from_ansi(shown(line)), soft_wrap=True)

    def _make_live(self) -> Live:
        # Drawn after each look at the run; a thread of its own would only draw the same again.
        return Live(
            console=self._console,
            get_renderable=self._render,
            auto_refresh=False,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
        )

    def _refresh(self) -> None:
        if self._live:
            self._live.refresh()

    def _render(self) -> RenderableType:
        rows = (row for stream in self._streams.values() for row in stream.rows)
        drawn = [Text.from_ansi(shown(row), no_wrap=True, overflow="ellipsis") for row in rows]
        width = min(WIDTH, self._console.width)
        unicode = self._console.encoding.lower().startswith("utf")
        panel = render_panel(self.progress, self._run, self._now_s(), width=width, trail=unicode)
        prompt = [Text(self._question, "bold")] if self._question else []
        return Group(*drawn, panel, *prompt)


def fresh_streams() -> dict[str, TerminalStream]:
    """Return both streams of a process that has written nothing yet."""
    return {"stdout": TerminalStream(), "stderr": TerminalStream()}


def render_panel(progress: Progress, run: str, now_s: float, *, width: int = WIDTH, trail: bool = True) -> Panel:
    """Draw the state of a run.

    Args:
        progress: What its events add up to.
        run: Its name.
        now_s: Unix time.
        width: Columns to use.
        trail: Whether to draw the loss over time, which takes characters that not every terminal has.
    """
    attempt = progress.attempt
    nth = f", attempt {attempt.number}" if attempt and attempt.number > 1 else ""
    lines = [*_figures(progress, trail=trail)], [*_times(progress, now_s)]
    return Panel(
        Group(_bar(progress), *(Text("   ").join(parts) for parts in lines if parts)),
        title=Text(run, "bold"),
        title_align="left",
        subtitle=Text(f"{progress.phase}{nth}", "cyan"),
        subtitle_align="right",
        border_style="bright_black",
        padding=(0, 1),
        width=width,
    )


def _bar(progress: Progress) -> RenderableType:
    known = progress.max_steps is not None
    row = Table.grid(padding=(0, 2, 0, 0), expand=True)
    row.add_column(ratio=1)
    row.add_column(justify="right", no_wrap=True)
    count = f"{progress.step}/{progress.max_steps} steps" if known else "not training yet"
    bar = ProgressBar(total=progress.max_steps or 1, completed=progress.step, complete_style="cyan")
    row.add_row(bar, count)
    return row


def _figures(progress: Progress, *, trail: bool) -> Iterator[Text]:
    for name in ("loss", "reward", "eval_loss", "eval_reward"):
        if last := progress.last.get(name):
            first = progress.first[name]
            before = f" from {render_number(first.value)}" if first.step < last.step and name != "loss" else ""
            drawn = f" {render_trail(progress.trail)}" if name == "loss" and trail else ""
            yield Text.assemble(
                (f"{name} ", "dim"), (render_number(last.value), "bold"), (drawn, "cyan"), (before, "dim")
            )


def _times(progress: Progress, now_s: float) -> Iterator[Text]:
    yield Text(render_duration(progress.elapsed_s(now_s)))
    if (left_s := progress.left_s(now_s)) is not None:
        yield Text.assemble((f"{render_duration(left_s)} left", "bold"))
    if progress.tokens_per_s:
        yield Text(f"{render_count(progress.tokens_per_s)} tokens/s")
    if progress.steps_per_s:
        yield Text(f"{render_number(progress.steps_per_s)} steps/s")
    if progress.memory_bytes:
        yield Text(f"{render_bytes(progress.memory_bytes)} memory")


def render_trail(trail: Mapping[int, float]) -> str:
    """Draw the loss over the whole run, one character for each part of it, as far as it went.

    >>> render_trail({0: 8.0, 6: 4.0, 12: 2.0})
    '██████▃▃▃▃▃▃▁'
    """
    finite = {part: loss for part, loss in trail.items() if math.isfinite(loss)}
    if not finite:
        return ""
    low, high = min(finite.values()), max(finite.values())
    drawn, level = "", ""
    for part in range(max(finite) + 1):
        if part in finite:
            level = LEVELS[round((finite[part] - low) / (high - low or 1) * (len(LEVELS) - 1))]
        drawn += level
    return drawn
