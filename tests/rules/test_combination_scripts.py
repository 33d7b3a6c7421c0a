"""Scripts that build trainers: the rules about combinations object to those that really raise, and to no other."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api
from holdfast.core.check.finding import Finding, Severity
from holdfast.engine.check.rule_runner import run_rules, severity_of
from holdfast.rules import all_rules
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = [pytest.mark.train, pytest.mark.filterwarnings("ignore")]

RULES = [rule for rule in all_rules() if rule.code.startswith(("CMB", "EVL", "PRC102", "RWD101"))]
PACKAGES = ("trl", "transformers", "peft", "accelerate", "datasets")
ROWS = {
    "SFT": [{"text": "1 plus 1 equals 2."}] * 8,
    "DPO": [{"prompt": "1 plus 1 equals ", "chosen": "2", "rejected": "3"}] * 8,
    "KTO": [{"prompt": "1 plus 1 equals ", "completion": "2", "label": n % 2 == 0} for n in range(8)],
    "GRPO": [{"prompt": "1 plus 1 equals "}] * 8,
    "RLOO": [{"prompt": "1 plus 1 equals "}] * 8,
}
SCRIPT = """
import torch
from datasets import Dataset
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig, EarlyStoppingCallback
from trl import {method}Config, {method}Trainer

rows = Dataset.from_list({rows})
loaded = AutoModelForCausalLM.from_pretrained({tiny!r})
tokenizer = AutoTokenizer.from_pretrained({tiny!r})


def score(completions, **kwargs):
    return [float(len(text)) for text in completions]


{made}
args = {method}Config({config})
trainer = {method}Trainer({trainer})
{after}
"""
QUIET = {"output_dir": "'out'", "use_cpu": "True", "report_to": "'none'", "max_steps": "1"}
ADAPTER = {"peft_config": "LoraConfig(target_modules=['q_proj'])"}
STOPPING = {"callbacks": "[EarlyStoppingCallback()]"}
EVALUATED = {"eval_dataset": "rows"}
QUANTIZED = {"quantization_config": "BitsAndBytesConfig(load_in_8bit=True)"}
SELECTIVE = {"gradient_checkpointing_kwargs": "{'selective': True}"}


@dataclass(frozen=True)
class Pair:
    """What a trainer refuses, and what fixes it: settings of its config as `config.<name>`, and its own arguments.

    Attributes:
        method: Whose trainer.
        refused: What it refuses.
        taken: What is given otherwise, for it to be taken.
        after: What the script does with the trainer.
    """

    method: str
    refused: dict[str, str]
    taken: dict[str, str]
    after: str = ""


def config(**settings: str) -> dict[str, str]:
    return {f"config.{name}": value for name, value in settings.items()}


PAIRS = (
    Pair("SFT", {"train_dataset": "None"}, {"train_dataset": "rows"}),
    Pair("SFT", {"train_dataset": "[{'text': 'a'}]"}, {"train_dataset": "rows"}),
    Pair("SFT", {"processing_class": "'tiny'"}, {"processing_class": "tokenizer"}),
    Pair("SFT", {"peft_config": "{'r': 8}"}, ADAPTER),
    Pair(
        "SFT",
        {"model": "get_peft_model(loaded, LoraConfig(target_modules=['q_proj']))", **ADAPTER},
        {"model": "loaded"},
    ),
    Pair("SFT", config(packing="True", max_length="None"), config(max_length="64")),
    Pair("SFT", config(padding_free="True"), config(max_length="None")),
    Pair(
        "SFT", {"data_collator": "print", **config(padding_free="True", max_length="None")}, {"data_collator": "None"}
    ),
    Pair("SFT", config(loss_type="'bft'"), config(loss_type="'dft'")),
    Pair("SFT", {"compute_loss_func": "score", **config(loss_type="'dft'")}, config(loss_type="'nll'")),
    Pair("SFT", config(eval_strategy="'steps'"), EVALUATED),
    Pair("SFT", config(save_strategy="'best'"), config(metric_for_best_model="'eval_loss'")),
    Pair("SFT", config(bf16="True", fp16="True"), config(fp16="False")),
    Pair(
        "SFT",
        STOPPING,
        {**EVALUATED, **config(eval_strategy="'steps'", metric_for_best_model="'eval_loss'")},
        "trainer.train()",
    ),
    Pair(
        "SFT",
        {**STOPPING, **EVALUATED, **config(eval_strategy="'steps'")},
        config(metric_for_best_model="'eval_loss'"),
        "trainer.train()",
    ),
    Pair(
        "SFT",
        {**QUANTIZED, **config(model_init_kwargs="{'quantization_config': None}")},
        {"quantization_config": "None"},
    ),
    Pair(
        "SFT",
        {
            "optimizers": "(torch.optim.SGD(loaded.parameters()), None)",
            "optimizer_cls_and_kwargs": "(torch.optim.SGD, {})",
        },
        {"optimizers": "(None, None)"},
    ),
    Pair("DPO", {"train_dataset": "None"}, {"train_dataset": "rows"}),
    Pair("DPO", {"model": "loaded", "ref_model": "loaded"}, {"ref_model": "None"}),
    Pair("DPO", {"model": "loaded", **QUANTIZED}, {"quantization_config": "None"}),
    Pair("DPO", {"peft_config": "'lora'"}, ADAPTER),
    Pair("DPO", config(f_divergence_type="'js_divergence'", loss_type="'aot'"), config(loss_type="'sigmoid'")),
    Pair("DPO", config(use_weighting="True", loss_type="['aot']"), config(loss_type="['sigmoid']")),
    Pair("DPO", config(loss_type="'exo_pair'"), config(label_smoothing="0.001")),
    Pair("DPO", config(loss_type="['sigmoid', 'sft']", loss_weights="[1.0]"), config(loss_weights="[1.0, 0.5]")),
    Pair("DPO", {**ADAPTER, **config(sync_ref_model="True")}, {"peft_config": "None"}),
    Pair(
        "DPO", config(sync_ref_model="True", precompute_ref_log_probs="True"), config(precompute_ref_log_probs="False")
    ),
    Pair("DPO", config(eval_strategy="'epoch'"), EVALUATED),
    Pair("KTO", {"train_dataset": "None"}, {"train_dataset": "rows"}),
    Pair("KTO", {"model": "loaded", "ref_model": "loaded"}, {"ref_model": "None"}),
    Pair("KTO", config(eval_strategy="'epoch'"), config(eval_strategy="'no'")),
    Pair("GRPO", {"reward_funcs": "[]"}, {"reward_funcs": "[score]"}),
    Pair("GRPO", {"train_dataset": "None"}, {"train_dataset": "rows"}),
    Pair("GRPO", {"train_dataset": "['a']"}, {"train_dataset": "rows"}),
    Pair("GRPO", config(reward_weights="[1.0, 0.5]"), {"reward_funcs": "[score, score]"}),
    Pair("GRPO", {"reward_processing_classes": "[None, None]"}, {"reward_processing_classes": "[None]"}),
    Pair("GRPO", config(sync_ref_model="True"), config(beta="0.04")),
    Pair("GRPO", {**ADAPTER, **config(sync_ref_model="True", beta="0.04")}, {"peft_config": "None"}),
    Pair("GRPO", config(auto_find_batch_size="True"), config(auto_find_batch_size="False")),
    Pair("GRPO", {"peft_config": "'lora'"}, ADAPTER),
    Pair("RLOO", {"train_dataset": "None"}, {"train_dataset": "rows"}),
    Pair("RLOO", config(reward_weights="[1.0]"), {"reward_funcs": "[score]"}),
    Pair("RLOO", config(sync_ref_model="True", beta="0.0"), config(beta="0.05")),
    Pair("RLOO", {**ADAPTER, **config(sync_ref_model="True")}, config(sync_ref_model="False")),
    Pair("RLOO", config(eval_strategy="'epoch'"), {**EVALUATED, **config(per_device_eval_batch_size="2")}),
)


def text(pair: Pair, tiny: Path, *, taken: bool) -> str:
    arguments = {"model": f"{str(tiny)!r}", "args": "args", "train_dataset": "rows"}
    if pair.method in ("GRPO", "RLOO"):
        arguments["reward_funcs"] = (
            "[score]" if "config.reward_weights" not in pair.refused or taken else "[score, score]"
        )
        if pair.method == "GRPO":
            arguments["reward_funcs"] = "[score]"
    given = arguments | pair.refused | (pair.taken if taken else {})
    settings = QUIET | {
        name.removeprefix("config."): value for name, value in given.items() if name.startswith("config.")
    }
    own = {name: value for name, value in given.items() if not name.startswith("config.")}
    written = [", ".join(f"{name}={value}" for name, value in part.items()) for part in (settings, own)]
    rows = repr(ROWS[pair.method])
    return SCRIPT.format(
        method=pair.method, rows=rows, tiny=str(tiny), made="", config=written[0], trainer=written[1], after=pair.after
    )


def findings(source: str, folder: Path | None = None) -> Iterator[Finding]:
    """The errors that the rules tell of."""
    versions = {package: version(package) for package in PACKAGES}
    api = Api(versions) if folder is None else Api(versions, folder=folder)
    for document in read_script(source, "train.py"):
        for result in run_rules(RULES, document, {"api": api, "processes": 1}):
            if isinstance(result, Finding) and severity_of(result) is Severity.ERROR:
                yield result


def error_of(source: str) -> Exception | None:
    """What the script raises."""
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        exec(compile(source, "train.py", "exec"), names)
    except Exception as error:  # noqa: BLE001 - whatever the library raises
        return error
    return None


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert os.environ.get("WORLD_SIZE", "1") == "1"


def parameters() -> list[Any]:
    return [
        pytest.param(pair, id=f"{pair.method}-{index}", marks=[pytest.mark.long] if index % 3 else [])
        for index, pair in enumerate(PAIRS)
    ]


@pytest.mark.parametrize("pair", parameters())
def test_objects_where_the_trainer_raises(pair: Pair, tiny: Path) -> None:
    """A script whose trainer raises gets an error in its arguments, and the one that differs by what fixes it gets none."""
    refused, taken = text(pair, tiny, taken=False), text(pair, tiny, taken=True)

    assert error_of(refused) is not None
    assert len(list(findings(refused))) == 1
    assert error_of(taken) is None
    assert list(findings(taken)) == []
