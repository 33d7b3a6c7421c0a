"""What is suggested for a name that there is not is what people mean by it, and nothing that only looks like it."""

import pytest

from holdfast import check
from holdfast.catalog.api import Api, newest
from holdfast.catalog.calls.familiar_names import NAMES, VALUES
from holdfast.core.text.nearest import nearest

CLASSES = ("trl.SFTConfig", "trl.GRPOConfig", "peft.LoraConfig", "trl.ModelConfig")
OLDER = {"max_seq_length", "max_new_tokens", "response_length", "kl_coef", "lora_r"}


def test_what_is_suggested_is_an_argument_that_there_is() -> None:
    """In the newest releases; other than the names that arguments had in earlier ones."""
    signatures = [Api(newest()).signature(path) for path in CLASSES]
    taken = {name for each in signatures if each for name in each.parameters}
    assert {each for meant in NAMES.values() for each in meant} - OLDER <= taken
    choices = {
        name: set(each.parameters[name].choices)
        for each in signatures
        if each
        for name in VALUES
        if name in each.parameters
    }
    assert all(set(meant.values()) <= choices[name] for name, meant in VALUES.items())


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        ("--epochs 3", "num_train_epochs"),
        ("--max_seq_len 512", "max_length"),
        ("--lr 1e-5", "learning_rate"),
        ("--lerning_rate 1e-5", "learning_rate"),
        ("--optim adam", "adamw_torch"),
        ("--use_peft --lora_target_modules all_linear", "all-linear"),
        ("--use_peft --lora_target_modules q_proj,v_proj", "q_proj v_proj"),
        ("--dataset x", ""),
    ],
)
def test_a_command_line_gets_what_was_meant(line: str, meant: str) -> None:
    """As the fix of its one finding."""
    words = f"trl sft --model_name_or_path Qwen/Qwen2.5-0.5B --dataset_name a/b {line}".split()
    (finding,) = check(arguments=words, offline=True, select=["ARG", "MOD133"])["targets"][0]["findings"]
    assert (finding["fix"]["title"] if finding["fix"] else "") == (meant and f"write `{meant}`")


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("wandb", ("rewards",), None),
        ("earning_rate", ("learning_rate",), "learning_rate"),
        ("mehtod", ("method",), "method"),
        ("foo", ("fob", "bar"), "fob"),
    ],
)
def test_names_that_are_merely_alike_begin_with_the_same_letter(name: str, known: tuple[str, ...], meant: str) -> None:
    """A letter that is missing at the beginning is a slip all the same."""
    assert nearest(name, known) == meant
