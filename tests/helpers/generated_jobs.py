"""Good job files drawn at random: every method, many sizes, many settings. None may be refused.

    generate_job(7)                        # the job of that number, the same each time
    python -m tests.helpers.generated_jobs 7       # prints it

What a draw may not combine is what the released libraries refuse, or what makes a training of no use; each such limit says why.
"""

import json
import random
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.compat import StringIO

METHODS = ("sft", "sft", "sft", "dpo", "kto", "reward", "grpo", "rloo")
ONLINE = ("grpo", "rloo")
WORDS = [
    "model",
    "batch",
    "loss",
    "token",
    "step",
    "rate",
    "seed",
    "plus",
    "minus",
    "équation",
    "数",
    "tests",
    "—",
    "data",
    "fits",
]
REWARDS = """
def length(completions, **kwargs):
    texts = [each[0]["content"] if isinstance(each, list) else each for each in completions]
    return [len(text) / 100 for text in texts]
"""
METHOD_WORDS = {"sft": "SFT", "dpo": "DPO", "kto": "KTO", "reward": "Reward", "grpo": "GRPO", "rloo": "RLOO"}
"""How each method begins the names of its classes in TRL."""

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class GeneratedJob:
    """A job file with the files it names.

    Attributes:
        name: Of the job, and of its file.
        values: The job, nested as in its file.
        rows: Rows of its dataset.
        steps: Optimizer steps that it makes, about.
    """

    name: str
    values: Mapping[str, Any]
    rows: tuple[Row, ...]
    steps: int

    @property
    def path(self) -> str:
        """The job file."""
        return f"{self.name}.yaml"

    @property
    def text(self) -> str:
        """The job as YAML."""
        stream = StringIO()
        YAML().dump(dict(self.values), stream)
        return stream.getvalue()

    @property
    def files(self) -> dict[str, str]:
        """The text of each file, by path."""
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in self.rows)
        return {self.path: self.text, f"{self.name}.jsonl": lines, "rewards.py": REWARDS}


class Draw:
    """Draws the parts of one job; what is drawn later depends on what was drawn before."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)  # noqa: S311 - drawn again from its number
        self.method = self._of(METHODS)
        self.count: int = max(1, round(2000 ** self._random.random()))
        self.streams = self._often(0.12)
        self.train: dict[str, Any] = {}
        self._steps = 0

    def job(self, name: str, *, quantized: bool = False) -> GeneratedJob:
        """Draw the whole job."""
        self._draw_batch()
        rows = tuple(self._row(number) for number in range(self.count))
        dataset = self._dataset(f"{name}.jsonl")
        self._draw_length(held_out=dataset.get("eval_fraction", 0.0))
        evaluates = "eval_fraction" in dataset
        if evaluates and self.method in ONLINE:  # whole groups there too
            self.train["per_device_eval_batch_size"] = self.train["num_generations"] * self._of((1, 2))
        self._draw_intervals(evaluates=evaluates)
        values: dict[str, Any] = {
            "method": self.method,
            "model": self._model(),
            "dataset": dataset,
            "train": self.train,
        }
        if self.method in ONLINE:
            values["rewards"] = ["rewards.py:length"]
        if self._often(0.4):
            values["peft"] = self._lora()
        if evaluates and not self.streams and self._often(0.25):
            values["early_stopping"] = {"patience": self._of((1, 2, 5))}
        self._draw_taste()
        if self._often(0.3):
            values["seed"] = self._random.randrange(2**16)
        values["where"] = {"processes": 2} if self._often(0.1) and self.method not in ONLINE else {}
        if quantized:  # with adapters: quantized weights are not trained themselves
            values["peft"] = self._lora()
            values["quantization"] = self._quantization()
            if self.method == "reward":  # trl casts the head to bfloat16, which then meets float32 without autocast
                self.train["bf16"] = True
        written = {key: value for key, value in values.items() if value != {}}
        return GeneratedJob(name=name, values=written, rows=rows, steps=self._steps)

    def _draw_batch(self) -> None:
        batch = self._of((1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 24, 32))
        if self.method == "kto":
            batch = max(2, batch)  # its loss compares the answers of a batch; trl refuses 1
            self.count = max(4, self.count)  # good answers and bad ones
        accumulation = self._of((None, None, 1, 2, 3, 4))
        if self.method in ONLINE:
            group = self._of((2, 3, 4, 6, 8))
            batch = group * self._of((1, 1, 2, 3))  # of one process; trl wants whole groups
            self.train |= {"num_generations": group, "max_completion_length": self._of((8, 16, 24, 64))}
            self.count = max(self.count, batch // group * (accumulation or 1))  # prompts of a step
        if (
            self.streams
        ):  # transformers 5.23 goes over a stream that is shorter than an update for ever, and makes no step
            self.count = max(self.count, batch * (accumulation or 1))
        self.train["per_device_train_batch_size"] = batch
        if accumulation:
            self.train["gradient_accumulation_steps"] = accumulation

    def _dataset(self, path: str) -> dict[str, Any]:
        dataset: dict[str, Any] = {"path": path}
        if self.streams:
            return dataset | {"streaming": True}
        if self.count >= 8 and self._often(0.5):
            dataset["eval_fraction"] = self._of((0.1, 0.2, 0.5))
        elif self.count > 1 and self._often(0.2):
            dataset["rows"] = max(self._least_rows(), self.count // 2)
        if self._often(0.2):
            dataset["seed"] = self._random.randrange(100)
        return dataset

    def _least_rows(self) -> int:
        batch: int = self.train["per_device_train_batch_size"]
        accumulation: int = self.train.get("gradient_accumulation_steps", 1)
        group: int = self.train.get("num_generations", batch)
        return max(4, batch // group * accumulation)

    def _draw_length(self, held_out: float) -> None:
        """Draw epochs or steps, and remember how many steps there are."""
        batch = self.train["per_device_train_batch_size"] * self.train.get("gradient_accumulation_steps", 1)
        rows = (self.count - ceil(self.count * held_out)) * self.train.get("num_generations", 1)
        steps_an_epoch = max(1, ceil(rows / batch))
        if self.streams or self._often(0.35):
            self._steps = self._of((3, 10, 40, 200))
            self.train["max_steps"] = self._steps
        else:
            epochs = self._of((1, 1, 2, 3, 0.5))
            self.train["num_train_epochs"] = epochs
            self._steps = max(1, int(steps_an_epoch * epochs))

    def _draw_intervals(self, *, evaluates: bool) -> None:
        strategy = self._of(("steps", None) if self.streams else ("steps", "epoch", None))
        every = self._of((0.1, 0.25, 0.5, max(1, self._steps // 4), 1 if self._steps < 50 else 10))
        for what in ("save", "eval") if evaluates else ("save",):
            if strategy == "epoch":
                self.train[f"{what}_strategy"] = "epoch"
            elif strategy == "steps":
                self.train[f"{what}_steps"] = every
        if self._often(0.5):
            self.train["logging_steps"] = self._of((1, 5, 10))
        if self._often(0.2):
            self.train["save_total_limit"] = self._of((1, 2, 5))
        if evaluates and self._often(0.3):
            self.train["eval_on_start"] = True

    def _draw_taste(self) -> None:
        """Draw settings that people write beside the sizes."""
        self.train["learning_rate"] = self._of((1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 1e-3))
        for chance, name, choices in (
            (0.3, "lr_scheduler_type", ("cosine", "linear", "constant", "constant_with_warmup")),
            (0.3, "warmup_steps", (1, 2, 0.1)),
            (0.2, "optim", ("adamw_torch", "adamw_torch_fused", "adafactor", "sgd")),
            (0.2, "weight_decay", (0.01, 0.1)),
            (0.2, "max_grad_norm", (0.3, 1.0)),
            (0.2, "activation_checkpointing", (True, False)),
            (0.1, "dataloader_drop_last", (False,)),
            (0.1, "dataloader_num_workers", (1, 2)),
            (0.1, "bf16", (True, False)),
        ):
            if self._often(chance):
                self.train[name] = self._of(choices)
        own: Callable[[], None] | None = getattr(self, f"_draw_{self.method}", None)
        if own:
            own()

    def _draw_sft(self) -> None:
        if self._often(0.5):
            self.train["max_length"] = self._of((96, 128, 256))
        if self._often(0.2):
            self.train["packing"] = True
        elif self._often(0.15):
            self.train["neftune_noise_alpha"] = 5

    def _draw_dpo(self) -> None:
        for chance, name, choices in (
            (0.3, "beta", (0.05, 0.1, 0.5)),
            (0.2, "loss_type", (["sigmoid"], ["ipo"], ["hinge"])),
            (0.2, "precompute_ref_log_probs", (not self.streams,)),
        ):
            if self._often(chance):
                self.train[name] = self._of(choices)

    def _draw_grpo(self) -> None:
        if self._often(0.3):
            self.train["beta"] = self._of((0.0, 0.04))
        if self._often(0.3):
            self.train["temperature"] = self._of((0.7, 1.0))

    def _model(self) -> Any:
        path = self._of(("work/tiny", "work/tiny", "builtin:tiny-chat"))
        return {"path": path, "dtype": self._of(("float32", "bfloat16"))} if self._often(0.15) else path

    def _lora(self) -> dict[str, Any]:
        lora: dict[str, Any] = {"r": self._of((4, 8, 16)), "lora_alpha": self._of((8, 16, 32))}
        if self._often(0.7):
            lora["target_modules"] = self._of(("all-linear", ["q_proj", "v_proj"], ["gate_proj", "down_proj"]))
        if self._often(0.3):
            lora["lora_dropout"] = self._of((0.05, 0.1))
        return lora

    def _quantization(self) -> dict[str, Any]:
        if self._often(0.25):
            return {"load_in_8bit": True}
        quantization: dict[str, Any] = {"load_in_4bit": True}
        for name, choices in (
            ("bnb_4bit_quant_type", ("nf4", "fp4")),
            ("bnb_4bit_use_double_quant", (True, False)),
            ("bnb_4bit_compute_dtype", ("bfloat16", "float32")),
        ):
            if self._often(0.6):
                quantization[name] = self._of(choices)
        return quantization

    def _row(self, number: int) -> Row:
        question, answer = self._text(number), self._text(number + 10_000)
        asked = [{"role": "user", "content": question}]
        answered = [{"role": "assistant", "content": answer}]
        other = [{"role": "assistant", "content": f"{answer} no"}]
        if self.method in ONLINE:
            return {"prompt": asked, "answer": answer} if self._kind % 2 else {"prompt": question}
        if self.method == "kto":
            return {"prompt": asked, "completion": answered, "label": number % 2 == 0}
        if self.method in ("dpo", "reward"):
            return self._pair(asked, answered, other)
        return self._example(asked, answered)

    def _pair(self, asked: list[Any], answered: list[Any], other: list[Any]) -> Row:
        if self._kind == 0:
            return {"chosen": asked + answered, "rejected": asked + other}
        if self._kind == 1:
            texts = (asked, answered, other)
            prompt, chosen, rejected = (each[0]["content"] for each in texts)
            return {"prompt": prompt, "chosen": f" {chosen}", "rejected": f" {rejected}"}
        return {"prompt": asked, "chosen": answered, "rejected": other}

    def _example(self, asked: list[Any], answered: list[Any]) -> Row:
        if self._kind == 0:
            return {"messages": [{"role": "system", "content": "Be brief."}, *asked, *answered]}
        if self._kind == 1:
            return {"text": f"{asked[0]['content']} {answered[0]['content']}"}
        if self._kind == 2:
            return {"prompt": asked, "completion": answered}
        return {"messages": [*asked, *answered, *asked, *answered]}

    def _text(self, number: int) -> str:
        words = random.Random(f"{self._kind} {number}")  # noqa: S311 - the same texts for the same number
        return " ".join([f"{number}:", *words.choices(WORDS, k=words.choice((1, 3, 5, 8)))])

    @property
    def _kind(self) -> int:
        """Which of the forms of a row the dataset has."""
        return self.count % 4

    def _often(self, chance: float) -> bool:
        return self._random.random() < chance

    def _of(self, choices: Any) -> Any:
        return self._random.choice(choices)


def generate_job(number: int, *, quantized: bool = False) -> GeneratedJob:
    """Return the job of a number, the same each time; its model's weights in 4 or 8 bits on demand."""
    return Draw(number).job(f"job-{number}", quantized=quantized)


if __name__ == "__main__":
    sys.stdout.write(generate_job(int(sys.argv[1])).text)
