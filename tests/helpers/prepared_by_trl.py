"""What real TRL makes of rows: the ids and labels that its trainers hand to the model, and their number of steps.

Each case has `name`, `method`, `model`, `rows`, `train`; an answer has `sequences`, which are `[[ids, labels], …]`, `rows` and
`steps`. With `trains` it trains, and the answer has `steps` and `grad_norms`; with `rewards`, on the function of that source.
"""

import tempfile
from typing import Any

from tests.helpers.children import EVERYWHERE, answer_each, title_of

IGNORED = -100


def prepare(case: dict[str, Any]) -> dict[str, Any]:
    """Build the trainer of a case, and return what it would train on."""
    import trl
    from datasets import Dataset

    name = title_of(case["method"])
    given = {**EVERYWHERE, "output_dir": tempfile.mkdtemp(), "logging_steps": 1}
    args = getattr(trl, f"{name}Config")(**given | case["train"])
    rewards = {"reward_funcs": reward_of(case)} if name in ("GRPO", "RLOO") else {}
    data = Dataset.from_list(case["rows"])
    trainer = getattr(trl, f"{name}Trainer")(model=case["model"], args=args, train_dataset=data, **rewards)
    if case.get("trains"):
        return trained(trainer)
    if name in ("GRPO", "RLOO"):
        ids, *_ = trainer._tokenize_prompts([row["prompt"] for row in case["rows"]])
        sequences = [[some, [IGNORED] * len(some)] for some in ids]
    else:
        sequences = [pair for row in trainer.train_dataset for pair in collated(trainer, row)]
    return {"sequences": sequences, "rows": len(trainer.train_dataset), "steps": steps_of(trainer)}


def reward_of(case: dict[str, Any]) -> Any:
    """Return the reward function of a case."""
    made: dict[str, Any] = {}
    exec(case.get("rewards", "def score(completions, **_): return [1.0] * len(completions)"), made)
    return made["score"]


def trained(trainer: Any) -> dict[str, Any]:
    """Train, and return the steps that were made with the gradient of each; a gradient that is no number is told so."""
    trainer.train()
    logged = [each["grad_norm"] for each in trainer.state.log_history if "grad_norm" in each]
    return {"steps": trainer.state.global_step, "grad_norms": [str(float(norm)) for norm in logged]}


def collated(trainer: Any, row: dict[str, Any]) -> list[list[list[int]]]:
    """Return the ids and labels of one row as the trainer's own collator gives them."""
    row.pop("KL_completion_ids", None)
    padding_free = getattr(trainer, "padding_free", False)
    if padding_free:  # the collator flattens packs; what is in them is in the dataset
        return [[row["input_ids"], row["labels"]]]
    batch = trainer.data_collator([row])
    pairs = []
    for place, ids in enumerate(batch["input_ids"].tolist()):
        real = int(batch["attention_mask"][place].sum())
        if "labels" in batch:
            labels = batch["labels"][place].tolist()
        elif "completion_mask" in batch:
            bits = batch["completion_mask"][place].tolist()
            labels = [token if bit else IGNORED for token, bit in zip(ids, bits, strict=True)]
        else:
            labels = ids
        pairs.append([ids[:real], labels[:real]])
    return pairs


def steps_of(trainer: Any) -> int | None:
    """Return the steps that training would make; 0 where it refuses to, for want of a batch."""
    try:
        loader = trainer.get_train_dataloader()
        return int(trainer.set_initial_training_values(trainer.args, loader)[-1]) if len(loader) else 0
    except ValueError:
        return 0


if __name__ == "__main__":
    answer_each(prepare)
