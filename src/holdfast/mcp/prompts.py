"""Prompts: what a person picks from a menu, so that an agent takes the steps that keep a job from failing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from mcp_types import GetPromptResult, Prompt, PromptArgument, PromptMessage, TextContent

from holdfast.engine.checklist.items import ITEMS, PREFLIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """A prompt.

    Attributes:
        name: Its name.
        description: What it is for.
        argument: The name of its only argument.
        about: What the argument is.
        text: The prompt, with `{given}` for the argument's value.
    """

    name: str
    description: str
    argument: str
    about: str
    text: str

    def as_prompt(self) -> Prompt:
        """Return the prompt as clients list it."""
        argument = PromptArgument(name=self.argument, description=self.about, required=True)
        return Prompt(name=self.name, description=self.description, arguments=[argument])

    def fill(self, arguments: Mapping[str, str]) -> GetPromptResult:
        """Return the prompt's messages."""
        text = self.text.format(given=arguments[self.argument])
        return GetPromptResult(
            description=self.description,
            messages=[PromptMessage(role="user", content=TextContent(type="text", text=text))],
        )


def _numbered(lines: Sequence[str]) -> str:
    return "\n".join(f"{number}. {line}" for number, line in enumerate(lines, 1))


PROMPTS: Final = (
    Steps(
        name="train",
        description="Take a fine-tuning job from its data to a finished run.",
        argument="target",
        about="The job file or training script.",
        text="Bring the fine-tuning job {given} to a successful run with the tools of holdfast:\n"
        + _numbered(
            [
                "`inspect` its dataset. If the method is not ready, apply the mapping that is proposed.",
                "`check` the job. Apply safe fixes with `fix`; show me each other finding with its reason before you change anything.",
                "`rehearse` it. A stage that is `skipped` did not pass: tell me which ones, and why.",
                "`run` it. If a confirmation is needed, ask me, and say what it would push or cost.",
                "Follow it with `show`. If it fails, `diagnose` the run, and propose the fix before you `resume`.",
                "At the end tell me the metrics, the folder of the model, and what was not checked.",
            ]
        ),
    ),
    Steps(
        name="diagnose",
        description="Find out why a training job failed.",
        argument="log",
        about="A log file, a folder of logs, or the name of a run.",
        text="Find out why {given} failed: call `diagnose`, quote the lines that are its evidence, and say how sure it is. "
        "If a log is missing, ask me for it. If the job's script is at hand, `check` it too. Propose one change, and how to try it cheaply.",
    ),
    Steps(
        name="preflight",
        description="Go through the checklist before a job is launched.",
        argument="target",
        about="The job file or training script.",
        text="Go through this checklist for {given}, with `check`, `rehearse` and `inspect`. For each line say yes, no or unknown, and why:\n"
        + _numbered([item.asks for item in ITEMS if PREFLIGHT in item.lists]),
    ),
)
