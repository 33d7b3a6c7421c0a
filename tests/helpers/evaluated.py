"""Models for tests of evaluations, made by one process: a tiny one, adapters, heads, and what is wrong with others.

    from tests.helpers.evaluated import made_models  # noqa: F401 - the fixture `models`

Run as a program it makes them: `python tests/helpers/evaluated.py FOLDER`.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.tiny import make_tiny, quiet_environment

ROOT = Path(__file__).parents[2]
LABELS = ("even", "odd")


@pytest.fixture(scope="session", name="models")
def made_models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the models; they are made once."""
    folder = tmp_path_factory.getbasetemp() / "evaluated"
    if not folder.exists():
        environment = quiet_environment(PYTHONPATH=str(ROOT))
        subprocess.run([sys.executable, __file__, str(folder)], check=True, env=environment, capture_output=True)
    return folder


def make_models(folder: Path) -> None:
    """Save the models.

    tiny, tiny-2 (other weights), adapter (on tiny), wrong-adapter (of a wider model, with tiny as its base), classifier (of two
    labels), reward (of one output), without-tokenizer, without-template, nan (weights that are none).
    """
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import (
        AutoModelForCausalLM,
        AutoTokenizer,
        Qwen2Config,
        Qwen2ForCausalLM,
        Qwen2ForSequenceClassification,
    )

    make_tiny(folder / "tiny")
    tokenizer = AutoTokenizer.from_pretrained(folder / "tiny")
    config = Qwen2Config.from_pretrained(folder / "tiny")
    torch.manual_seed(1)
    tokenizer.save_pretrained(folder / "tiny-2")
    Qwen2ForCausalLM(config).save_pretrained(folder / "tiny-2")
    for name, labels in (("classifier", dict(enumerate(LABELS))), ("reward", {0: "LABEL_0"})):
        head = Qwen2Config(**{**config.to_dict(), "id2label": labels, "label2id": {v: k for k, v in labels.items()}})
        Qwen2ForSequenceClassification(head).save_pretrained(folder / name)
        tokenizer.save_pretrained(folder / name)
    lora = LoraConfig(r=4, target_modules="all-linear", init_lora_weights=False, task_type="CAUSAL_LM")
    wide = Qwen2ForCausalLM(Qwen2Config(**{**config.to_dict(), "hidden_size": 128, "layer_types": None}))
    base = AutoModelForCausalLM.from_pretrained(folder / "tiny")
    for name, model in (("adapter", base), ("wrong-adapter", wide)):
        model.name_or_path = model.config._name_or_path = str(folder / "tiny")
        get_peft_model(model, lora).save_pretrained(folder / name)
    broken = Qwen2ForCausalLM(config)
    broken.model.norm.weight.data.fill_(float("nan"))
    broken.save_pretrained(folder / "nan")
    tokenizer.save_pretrained(folder / "nan")
    Qwen2ForCausalLM(config).save_pretrained(folder / "without-tokenizer")
    shutil.copytree(folder / "tiny", folder / "without-template")
    (folder / "without-template" / "chat_template.jinja").unlink()


if __name__ == "__main__":
    make_models(Path(sys.argv[1]))
