"""A point of the grid: one training run, by everything that decides its memory and its time."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self

Method = Literal["sft", "dpo", "grpo"]
Tuning = Literal["full", "lora", "qlora"]
Rows = Literal["constant", "padded", "packed"]
Attention = Literal["sdpa", "eager", "flash_attention_2"]
Optimizer = Literal["adamw_torch_fused", "adamw_torch", "adamw_bnb_8bit"]

STEPS = 4  # optimizer steps of a run: the first allocates optimizer states, the others repeat
LORA_RANK = 16  # on every linear layer
COMPLETION = 64  # new tokens a row of GRPO
GENERATIONS = 4  # completions a prompt of GRPO


@dataclass(frozen=True, slots=True)
class Point:
    """One training run.

    Attributes:
        model: Name in `models.toml`.
        method: Trainer of TRL.
        tuning: What is trained: every weight, or LoRA of rank 16 on all linear layers, the rest in 16 or in 4 bits.
        weights: Format that the model is loaded in.
        length: Tokens a row: of SFT the whole text, of DPO prompt and answer, of GRPO prompt and completion.
        batch: `per_device_train_batch_size`. For DPO each row is a pair, so the model sees twice as many.
        accumulation: `gradient_accumulation_steps`.
        rows: `constant`: each row is `length` tokens. `padded`: of each batch the first row is, the others half.
            `packed`: four short rows are packed into one of `length` tokens.
        checkpointing: `activation_checkpointing`.
        attention: `attn_implementation`.
        optimizer: `optim`.
        autocast: `bf16`: compute in bfloat16.
        expandable: `expandable_segments:True`.
        card_gib: Memory of the card that is played, by a limit of the allocator; 0 for all there is.
        evaluation: Evaluate once after training, with the default batch of 8.
        history: Record every allocation and free. Its step times are not comparable.
    """

    model: str
    method: Method = "sft"
    tuning: Tuning = "lora"
    weights: Literal["float32", "bfloat16"] = "bfloat16"
    length: int = 2048
    batch: int = 2
    accumulation: int = 1
    rows: Rows = "constant"
    checkpointing: bool = True
    attention: Attention = "sdpa"
    optimizer: Optimizer = "adamw_torch_fused"
    autocast: bool = True
    expandable: bool = True
    card_gib: int = 0
    evaluation: bool = False
    history: bool = False

    @property
    def key(self) -> tuple[str, ...]:
        """The point as the cells of a table."""
        return tuple(str(value) for value in asdict(self).values())

    @property
    def sequences(self) -> int:
        """Sequences that one forward pass of the policy sees."""
        return self.batch * (2 if self.method == "dpo" else 1)

    @property
    def tokens(self) -> int:
        """Tokens that the policy sees in an optimizer step, padding included.

        >>> Point("qwen3-8b", "dpo", length=512, batch=2).tokens
        2048
        """
        return self.sequences * self.length * self.accumulation

    @classmethod
    def of(cls, cells: Mapping[str, str]) -> Self:
        """Return the point that a row of the table tells of.

        >>> Point.of({"model": "qwen3-8b", "length": "512", "checkpointing": "False"}).checkpointing
        False
        """
        given = {field.name: (field.default, cells[field.name]) for field in fields(cls) if field.name in cells}
        return cls(**{name: _parsed(default, cell) for name, (default, cell) in given.items()})


def _parsed(default: object, cell: str) -> Any:
    """Return a cell as the type that a field's default has."""
    if isinstance(default, bool):
        return cell == "True"
    return int(cell) if isinstance(default, int) else cell


def needed_packages(point: Point) -> tuple[str, ...]:
    """Return the modules beyond TRL and PEFT that a point cannot do without.

    >>> needed_packages(Point("qwen3-8b", tuning="qlora"))
    ('bitsandbytes',)
    """
    quantized = point.tuning == "qlora" or point.optimizer == "adamw_bnb_8bit"
    wanted = {"bitsandbytes": quantized, "flash_attn": point.attention == "flash_attention_2"}
    return tuple(name for name, needed in wanted.items() if needed)
