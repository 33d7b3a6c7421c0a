"""Jobs that are rehearsed: scripts as people write them, of all six methods, and what is wrong with each.

    job("own-name", "SFT", settings="packing=True")                        # a good one
    job("own-name", "DPO", "import/trl-config-arg-renamed", settings=…)    # one that fails there, with that class

They are run in the folder that `tests/helpers/fault_world.py` makes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

GOOD = ""
CHAT = '{"role": "user", "content": f"{i} plus 1 equals?"}'
ANSWER = '{"role": "assistant", "content": f"It is {i + 1}."}'
WRONG = '{"role": "assistant", "content": "I do not know that."}'
ROWS = {
    "SFT": f'{{"messages": [{CHAT}, {ANSWER}]}}',
    "DPO": f'{{"prompt": [{CHAT}], "chosen": [{ANSWER}], "rejected": [{WRONG}]}}',
    "KTO": f'{{"prompt": [{CHAT}], "completion": [{ANSWER} if i % 2 else {WRONG}], "label": bool(i % 2)}}',
    "Reward": f'{{"chosen": [{CHAT}, {ANSWER}], "rejected": [{CHAT}, {WRONG}]}}',
    "GRPO": f'{{"prompt": [{CHAT}], "answer": str(i + 1)}}',
    "RLOO": f'{{"prompt": [{CHAT}], "answer": str(i + 1)}}',
}
"""One row of each method, of the number `i`."""
REWARD = """
def reward(completions, answer, **kwargs):
    texts = [each[0]["content"] if isinstance(each, list) else each for each in completions]
    return [float(right in text) + len(text) / 1000 for text, right in zip(texts, answer)]
"""
ONLINE = ("GRPO", "RLOO")
SCRIPT = """{header}
from datasets import Dataset, load_dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import {method}Config, {method}Trainer
{top}
dataset = Dataset.from_list([{row} for i in range(64)])
{shape}
args = {method}Config({settings})
{before}
trainer = {kind}(model={model}, args=args, train_dataset=dataset, {given})
{train}
{end}
"""
PLAIN = """
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, DataCollatorForLanguageModeling, Trainer, TrainingArguments
tokenizer = AutoTokenizer.from_pretrained("work/tiny")
model = AutoModelForCausalLM.from_pretrained("work/tiny")
{top}
dataset = Dataset.from_list([{{"text": f"{{i}} plus 1 equals {{i + 1}}."}} for i in range(64)])
dataset = dataset.map(lambda rows: tokenizer(rows["text"]), batched=True, remove_columns={removed})
args = TrainingArguments({settings})
collate = {collator}
trainer = {kind}(model=model, args=args, train_dataset=dataset, {given}data_collator=collate)
trainer.train()
{end}
"""
USUAL = {"per_device_train_batch_size": "4", "learning_rate": "2e-4", "logging_steps": "5", "report_to": '"none"'}
ONLINE_USUAL = {"num_generations": "4", "max_completion_length": "32"}
COLLATOR = "DataCollatorForLanguageModeling(tokenizer, mlm=False)"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is rehearsed.

    Attributes:
        name: Its own.
        source: The text of the file that is named; empty where `arguments` are a command line.
        fails: The stage and the class, `import/missing-module`; empty for a good one.
        suffix: Of its file.
        arguments: The script's own, or the words of a command line.
        files: Files beside, by path, and their text.
        local: Whether it will run on this machine, as it is.
        limit_s: Time that each part may take; 0 where that is no matter.
        refused: What the Hub refuses, by a pattern of requests, and how: 403.
        target: A file that is there already, in place of one of `source`.
    """

    name: str
    source: str
    fails: str = GOOD
    suffix: str = ".py"
    arguments: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict[str, str])
    local: bool = False
    limit_s: float = 0.0
    refused: Mapping[str, int] = field(default_factory=dict[str, int])
    target: str = ""


def job(  # noqa: PLR0913 - the parts of a script
    name: str,
    method: str,
    fails: str = GOOD,
    *,
    header: str = "",
    top: str = "",
    row: str = "",
    shape: str = "",
    settings: str = "",
    before: str = "",
    model: str = '"work/tiny"',
    given: str = "",
    kind: str = "",
    train: str = "trainer.train()",
    end: str = "",
    **more: object,
) -> Job:
    """Return a job of one of TRL's trainers, with parts of its script replaced or added.

    Args:
        name: Its own.
        method: `SFT`, `DPO`, `KTO`, `Reward`, `GRPO` or `RLOO`.
        fails: How it ends.
        header: The first lines.
        top: Lines below the imports.
        row: One row of the dataset.
        shape: Lines below the dataset.
        settings: Further settings of the trainer.
        before: Lines above the trainer.
        model: The expression of the model.
        given: Further arguments of the trainer; of an online method without `reward_funcs` it gets one.
        kind: The trainer's class, if it is not TRL's.
        train: The line that trains.
        end: Lines below the training.
        more: Of `Job`.
    """
    if method in ONLINE:
        top = REWARD + top
        given = given if "reward_funcs" in given else f"reward_funcs=reward, {given}"
    source = SCRIPT.format(
        name=name,
        method=method,
        header=header,
        top=top,
        row=row or ROWS[method],
        shape=shape,
        settings=_with_usual(name, settings, USUAL | (ONLINE_USUAL if method in ONLINE else {})),
        before=before,
        model=model,
        given=given,
        kind=kind or f"{method}Trainer",
        train=train,
        end=end,
    )
    return Job(name=name, source=source, fails=fails, **more)  # type: ignore[arg-type]  # fields of many types


def plain(  # noqa: PLR0913 - the parts of a script
    name: str,
    fails: str = GOOD,
    *,
    top: str = "",
    settings: str = "",
    collator: str = COLLATOR,
    removed: str = '["text"]',
    given: str = "",
    kind: str = "Trainer",
    end: str = "",
) -> Job:
    """Return a job of transformers' own trainer; the arguments are as of `job`."""
    source = PLAIN.format(
        name=name,
        top=top,
        settings=_with_usual(name, settings, USUAL),
        collator=collator,
        removed=removed,
        given=given,
        kind=kind,
        end=end,
    )
    return Job(name=name, source=source, fails=fails)


def line(name: str, words: str, fails: str = GOOD, **more: object) -> Job:
    """Return a job that is a command line."""
    return Job(name=name, source="", arguments=tuple(words.split()), fails=fails, **more)  # type: ignore[arg-type]  # fields of many types


def _with_usual(name: str, settings: str, usual: Mapping[str, str]) -> str:
    """Return settings together with the usual ones that they leave open."""
    usual = {"output_dir": f'"out/{name}"', **usual}
    return ", ".join([*(f"{key}={value}" for key, value in usual.items() if f"{key}=" not in settings), settings])
