"""Steps as trainers log them: `{'loss': 1.2, …}` of transformers before 5, strings since, tables of wandb; what they say beside."""

import re
from collections.abc import Mapping
from typing import Final

SAID: Final = {
    "Writing model shards": "saved",
    "Saving model checkpoint to": "saved",
    "Model weights saved in": "saved",
    "but no accelerator is found": "no_accelerator",
}
"""Sentences of libraries that tell of no step, and the name under which it is kept that they were said: of a save by transformers 4
and 5 (none is said of adapters), of torch's data loader that there is no GPU."""
STEPS: Final = (
    *SAID,
    "'loss': ",
    '"loss": ',
    "'train_loss': ",
    "'eval_loss': ",
    "'eval_runtime': ",
    "wandb:     ",
    " loss: ",
    ": loss ",
    " loss=",
)
"""With one of these a line tells of a step."""
NOT_FINITE: Final = (
    ": nan",
    ": 'nan'",
    ": NaN",
    ": inf",
    ": 'inf'",
    ": -inf",
    ": '-inf'",
    "loss nan",
    "loss=nan",
    "Loss: nan",
    "  nan",
)
ITEM: Final = re.compile(
    r"""['"]([A-Za-z_][\w/@.\- ()]*)['"]:\s*(?:np\.float\d+\(|tensor\()?['"]?"""
    r"""(-?(?:\d[\d_]*(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+|nan|inf|NaN|Infinity))(?=['",}\s)]|$)"""
)
SUMMARY: Final = re.compile(r"^wandb:\s+([A-Za-z_][\w/]*) (-?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|NaN|inf))$")
PROSE: Final = re.compile(
    r"\b((?:train(?:ing)?_|eval_|step_|val_)?[Ll]oss)(?:=|\s*[:=]?\s+?)(-?(?:\d+\.\d+|\d+|nan|NaN|inf)(?:[eE][-+]?\d+)?)\b"
)
KNOWN: Final = frozenset(
    {"loss", "reward", "train_loss", "eval_loss", "grad_norm", "learning_rate", "train_runtime", "eval_runtime"}
)


def metrics_in(text: str) -> Mapping[str, float]:
    """Return the numbers of a step by name; none if a line tells of no step.

    >>> metrics_in("{'loss': '6.041', 'grad_norm': 'nan', 'epoch': '0.125'}")
    {'loss': 6.041, 'grad_norm': nan, 'epoch': 0.125}
    >>> metrics_in("{'eval_loss': 2.1e-05, 'epoch': 1.0}")
    {'eval_loss': 2.1e-05, 'epoch': 1.0}
    >>> metrics_in("Writing model shards: 100%|██████████| 1/1 [00:00<00:00, 339.67it/s]")
    {'saved': 1.0}
    >>> metrics_in("iter 3 step 1: loss 1.5, iter time: 9ms"), metrics_in("iteration 2/ 9 | lm loss: 1.105449E+01 |")
    ({'loss': 1.5}, {'loss': 11.05449})
    """
    if metric := next((name for words, name in SAID.items() if words in text), None):
        return {metric: 1.0}
    if found := SUMMARY.match(text):
        return {found[1].rsplit("/", 1)[-1]: float(found[2])}
    return _item_metrics(text) if "{" in text or "':" in text else _prose_metrics(text)


def _item_metrics(text: str) -> Mapping[str, float]:
    """Return the items of a dictionary, if one of them is a metric that trainers log."""
    values = {name: float(value.replace("_", "")) for name, value in ITEM.findall(text)}
    is_step = any(name in KNOWN or name.startswith(("eval_", "train_", "reward")) for name in values)
    return values if is_step else {}


def _prose_metrics(text: str) -> Mapping[str, float]:
    """Return the loss that a sentence names."""
    prose = PROSE.search(text)
    return {prose[1].lower(): float(prose[2])} if prose else {}
