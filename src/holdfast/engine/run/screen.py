r"""What a training process' stream would show on a terminal: lines that are finished, and rows still changing.

Progress bars redraw their row after a carriage return, and a bar inside a bar (an evaluation during
training) goes down a row and up again. So a bar's row is held back until it cannot change any more.
"""

import codecs
import re

from holdfast.engine.run.noise import METER, match_noise

TOKENS = re.compile(
    r"\r|\n|\x1b\[(?P<up>\d*)A|(?P<style>\x1b\[[\d;]*m)|\x1b\[[\d;?]*[a-zA-Z]|(?P<text>[^\r\n\x1b]+)|\x1b"
)
ENDED = re.compile(r"\b(\d+)/\1 \[")  # the count of a bar that reached its end
CUT = re.compile(r"\x1b(\[[\d;?]*)?$")
STYLE = re.compile(r"\x1b\[[\d;]*m")
CONTROLS = dict.fromkeys(code for code in [*range(32), *range(127, 160)] if chr(code) not in "\t\x1b")
NESTED = 2  # finished bars that a bar inside them may still redraw


class TerminalStream:
    r"""One stream, fed in chunks that may end anywhere.

    >>> stream = TerminalStream()
    >>> stream.feed(b"loading\nMap:  50%|#####     | 1/2 [00:01<00:01, 1.0 ex/s]")
    ['loading']
    >>> stream.rows
    ['Map:  50%|#####     | 1/2 [00:01<00:01, 1.0 ex/s]']
    >>> stream.feed(b"\rMap: 100%|##########| 2/2 [00:02<00:00, 1.0 ex/s]\ndone\n")
    ['Map: 100%|##########| 2/2 [00:02<00:00, 1.0 ex/s]', 'done']

    Args:
        keeps_noise: Whether to return noise too.
    """

    def __init__(self, *, keeps_noise: bool = False) -> None:
        self._keeps_noise = keeps_noise
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._uncut = ""
        self._rows = [""]
        self._row = 0
        self._returned = False
        self._echo_follows = False

    def feed(self, chunk: bytes) -> list[str]:
        """Add a chunk, and return the lines that are finished."""
        text = self._uncut + self._decode(chunk)
        cut = CUT.search(text)
        self._uncut = cut[0] if cut else ""
        finished: list[str] = []
        for token in TOKENS.finditer(text, 0, cut.start() if cut else len(text)):
            finished += self._take(token)
        return finished

    def release(self) -> list[str]:
        """Return the finished rows that are held back, down to the last bar that reached its end."""
        ended = max(
            (number for number, row in enumerate(self._rows[: self._row], start=1) if _has_ended(row)), default=0
        )
        return self._take_off(ended)

    def close(self) -> list[str]:
        """Return the remaining lines at the end of the stream."""
        rows, self._rows, self._row = self._rows, [""], 0
        return self._worth_seeing([row for row in rows if row.strip()])

    @property
    def rows(self) -> list[str]:
        """The rows that may still change, such as the bar that is being drawn."""
        lines = (line for row in self._rows for line in _split(row))
        return [line for line in lines if line.strip() and not match_noise(plain(line))]

    def _take(self, token: re.Match[str]) -> list[str]:
        if token[0] == "\n":
            return self._next_row()
        if token[0] == "\r":
            self._returned = True
        elif token["up"] is not None:
            self._row = max(0, self._row - int(token["up"] or 1))
        elif token["text"] or token["style"]:
            kept = "" if self._returned else self._rows[self._row]
            self._rows[self._row] = kept + token[0].translate(CONTROLS)
            self._returned = False
        return []

    def _next_row(self) -> list[str]:
        self._row, self._returned = self._row + 1, False
        if self._row < len(self._rows):
            self._returned = True  # back on a row that stands already: what is written there replaces it
            return []
        self._rows.append("")
        return self._settle()

    def _settle(self) -> list[str]:
        """Return the rows that cannot be redrawn any more: all down to the last that is no bar, and bars too far up."""
        done = self._rows[:-1]
        settled = max((number for number, row in enumerate(done, start=1) if not _is_bar(row)), default=0)
        return self._take_off(max(settled, len(done) - NESTED))

    def _take_off(self, count: int) -> list[str]:
        """Remove the first rows, and return what is worth seeing of them."""
        done, self._rows = self._rows[:count], self._rows[count:]
        self._row -= count
        return self._worth_seeing(done)

    def _worth_seeing(self, rows: list[str]) -> list[str]:
        drawn = (row for row in rows if row.strip() or not row)  # a row of blanks is where a bar was wiped out
        lines = [line for row in drawn for line in _split(row)]
        return lines if self._keeps_noise else [line for line in lines if not self._is_noise(line)]

    def _is_noise(self, line: str) -> bool:
        echo, self._echo_follows = self._echo_follows, False
        if echo and line.startswith("  "):
            return True
        noise = match_noise(plain(line))
        self._echo_follows = noise is not None and noise.echoes
        return noise is not None


def lines_of(text: str) -> str:
    r"""Return the lines that a terminal finally shows of a stream: of a redrawn progress bar only its last state.

    >>> lines_of("loading\n  50%|#####     | 1/2\r 100%|##########| 2/2\ndone")
    'loading\n 100%|##########| 2/2\ndone\n'
    """
    stream = TerminalStream(keeps_noise=True)
    return "".join(f"{line}\n" for line in (*stream.feed(text.encode()), *stream.close()))


def plain(line: str) -> str:
    """Return a line without its colours."""
    return STYLE.sub("", line).rstrip()


def _is_bar(row: str) -> bool:
    meter = METER.search(row)
    return meter is not None and not row[meter.end() :].strip()


def _has_ended(row: str) -> bool:
    return _is_bar(row) and ENDED.search(row) is not None


def _split(row: str) -> list[str]:
    """Return the text behind a bar instead of the bar, if there is any: the bar is drawn again below."""
    meter = METER.search(row)
    behind = row[meter.end() :] if meter else ""
    return [behind] if behind.strip() else [row.rstrip()]
