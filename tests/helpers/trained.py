"""Train one step of a method on some rows, one case after another in one process: what refuses them?

Each case has `name`, `model`, `method`, `rows`, and may have `train`, `rewards`, `template`, `mapping`, `removes`, `streaming`,
`held_out`, `peft`. Without its `template` the tokenizer has no chat template. A mapping is the source of a module whose
`rewrite` the rows go through first, in the way that `removes` tells.
"""

import copy
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import datasets
import peft
import transformers
import trl
from trl import rewards

from tests.helpers.children import EVERYWHERE, answer_each, title_of

STEP = {"max_steps": 1, "per_device_train_batch_size": 2, "max_length": 128}
GENERATED = {"max_steps": 1, "per_device_train_batch_size": 2, "num_generations": 2, "max_completion_length": 4}


def length(completions: list[Any], **_: Any) -> list[float]:
    """A reward that needs no column."""
    return [float(len(str(each))) for each in completions]


def mapped(rows: datasets.Dataset, case: dict[str, Any]) -> datasets.Dataset:
    """Return the rows as the case's mapping gives them, `removes` being the columns that it takes away, or all."""
    module: dict[str, Any] = {}
    exec(compile(case["mapping"], "mapping.py", "exec"), module)
    removed = rows.column_names if case.get("removes") is None else case["removes"]
    return rows.map(module["rewrite"], remove_columns=removed, load_from_cache_file=False)


def rows_of(case: dict[str, Any]) -> Any:
    """Return the case's rows, mapped, streamed, or that part of them which is not held out."""
    rows = datasets.Dataset.from_list(case["rows"])
    if case.get("mapping"):
        rows = mapped(rows, case)
    if case.get("streaming"):
        rows = rows.to_iterable_dataset()
    return rows.train_test_split(test_size=case["held_out"])["train"] if case.get("held_out") else rows


class Trainers:
    """Trainers of one tiny model, as it was before each."""

    def __init__(self, folder: str) -> None:
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.generator = transformers.AutoModelForCausalLM.from_pretrained(folder)
        self.scorer = transformers.AutoModelForSequenceClassification.from_pretrained(folder, num_labels=1)
        self.scorer.config.pad_token_id = self.tokenizer.pad_token_id

    def tokenizer_for(self, case: dict[str, Any]) -> Any:
        """Return a tokenizer, without its chat template where the case has none."""
        tokenizer = copy.deepcopy(self.tokenizer)
        if not case.get("template", True):
            tokenizer.chat_template = None
        return tokenizer

    def train(self, case: dict[str, Any], output: str) -> None:
        """Train one step."""
        method = case["method"]
        generates = method in ("grpo", "rloo")
        settings = EVERYWHERE | {"logging_strategy": "no"} | (GENERATED if generates else STEP) | case.get("train", {})
        word = title_of(method)
        config = getattr(trl, f"{word}Config")(output, **settings)
        more: dict[str, Any] = {}
        if case.get("peft"):
            more["peft_config"] = peft.LoraConfig(task_type="CAUSAL_LM", **case["peft"])
        if generates:
            more["reward_funcs"] = [getattr(rewards, name, length) for name in case.get("rewards", ["length"])]
        model = copy.deepcopy(self.scorer if method == "reward" else self.generator)
        trainer = getattr(trl, f"{word}Trainer")(
            model=model,
            args=config,
            train_dataset=rows_of(case),
            processing_class=self.tokenizer_for(case),
            **more,
        )
        trainer.train()


@cache
def trainers_of(folder: str) -> Trainers:
    """Return the trainers of a model, which is loaded once."""
    return Trainers(folder)


def main() -> None:
    """Train each case, and say what became of it."""
    datasets.disable_progress_bars()
    datasets.disable_caching()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        answer_each(lambda case: trainers_of(case["model"]).train(case, str(Path(folder) / "out")))


if __name__ == "__main__":
    main()
