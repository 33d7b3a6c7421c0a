"""What of a job's settings decides which columns its trainer reads."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSettings:
    """What of a job's settings decides which columns its trainer reads.

    Attributes:
        text_field: `dataset_text_field` of sft.
        assistant_only_loss: Whether sft learns from the assistant's messages alone.
        rewards: Of grpo and rloo, those of TRL's own reward functions that are used, by name.
        chat_template: Whether the model has a chat template; None if it is not known.
        vision: Whether the model takes images; None if it is not known.
    """

    text_field: str = "text"
    assistant_only_loss: bool = False
    rewards: tuple[str, ...] = ()
    chat_template: bool | None = None
    vision: bool | None = None


DEFAULTS = ColumnSettings()
