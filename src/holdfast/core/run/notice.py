"""Messages about a run to people who do not look at it."""

import re
from dataclasses import dataclass
from typing import Any, Final, Literal

NoticeFormat = Literal["json", "slack"]
VARIABLE: Final = re.compile(r"\$(?P<name>[A-Za-z_]\w*)")
"""The name of an environment variable, in place of an address."""
NoticeKind = Literal["started", "resumed", "trouble", "failed", "changed", "stopping", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunNotice:
    """A message about a run.

    Attributes:
        kind: What it is about.
        run: The run's name.
        job: The job's name.
        stage: The run's stage.
        text: The message, in one sentence.
        step: Optimizer steps done.
        at_s: Unix time.
    """

    kind: NoticeKind
    run: str
    job: str
    stage: str
    text: str
    step: int
    at_s: float

    def body(self, style: NoticeFormat) -> dict[str, Any]:
        """Return the JSON that a service receives.

        >>> notice = RunNotice(kind="ended", run="a-x7", job="a", stage="failed", text="stopped by the timeout", step=4, at_s=9.0)
        >>> notice.body("slack")
        {'text': 'a-x7: stopped by the timeout'}
        """
        if style == "slack":
            return {"text": f"{self.run}: {self.text}"}
        fields = {"kind": self.kind, "run": self.run, "job": self.job, "stage": self.stage, "text": self.text}
        return {"schema": 1, **fields, "step": self.step, "at": self.at_s}
