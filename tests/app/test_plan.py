"""`plan`, end to end: what it says of job files, scripts and command lines, without the network."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from click import unstyle
from msgspec import convert

import holdfast
from holdfast.adapters.environment.machine import LocalMachine
from holdfast.app.check.target import read_check_target
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.app.plan.verb import plan
from holdfast.catalog.hub.flavors import load_flavors
from holdfast.catalog.hub.gpus import load_gpus
from holdfast.catalog.models.configs import load_configs
from holdfast.cli.text.plan import render_plan
from holdfast.core.check.facts import Gpu, Machine
from holdfast.core.errors import UsageError
from holdfast.engine.plan.spelling import spell_settings
from holdfast.results.plan import PlanResult

HEADER = """\
# /// script
# dependencies = ["trl=={trl}", "transformers=={transformers}", "torch==2.13.0", "peft"]
# ///
"""
SCRIPT = """
from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    model="meta-llama/Llama-3.1-8B",
    args=SFTConfig(output_dir="out", per_device_train_batch_size=4, max_length=2048, max_steps=100{more}),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
    peft_config=LoraConfig(r=16, target_modules="all-linear"),
)
trainer.train()
"""


def plan_script(
    tmp_path: Path, *, trl: str = "1.16.0", transformers: str = "5.23.0", more: str = "", imports: str = ""
) -> dict[str, Any]:
    path = tmp_path / "train.py"
    header = HEADER.format(trl=trl, transformers=transformers)
    path.write_text(header + imports + SCRIPT.format(more=more), encoding="utf-8")
    return holdfast.plan(path, offline=True)


def plan_job(**sets: object) -> dict[str, Any]:
    return holdfast.plan("examples/quickstart.yaml", set=dict(sets), offline=True)


@pytest.mark.parametrize("name", ["quickstart", "dpo", "grpo", "kto", "reward", "rloo"])
def test_every_example_has_a_plan(name: str) -> None:
    result = holdfast.plan(f"examples/{name}.yaml", offline=True)
    assert result["fits"]
    assert result["memory"]["low_bytes"] < result["memory"]["peak_bytes"] < result["memory"]["high_bytes"]
    assert sum(result["memory"]["terms"].values()) == pytest.approx(result["memory"]["peak_bytes"], rel=1e-6)
    assert result["time_s"]["low"] <= result["time_s"]["value"] <= result["time_s"]["high"]
    assert all(term["because"] for phase in result["memory"]["phases"] for term in phase["terms"])


@pytest.mark.parametrize(
    "model",
    ["meta-llama/Llama-3.1-8B", "Qwen/Qwen3-8B", "google/gemma-3-4b-pt", "openai/gpt-oss-20b", "Qwen/Qwen3-30B-A3B"],
)
def test_known_models_are_planned_without_the_network(model: str) -> None:
    result = plan_job(**{"model.path": model, "peft": {"r": 16, "target_modules": "all-linear"}})
    assert result["memory"]["allocated_bytes"] > 2 * result["parameters"]
    assert result["trainable"] < result["parameters"]


def test_a_script_is_planned_with_the_versions_that_it_pins(tmp_path: Path) -> None:
    new, old = plan_script(tmp_path), plan_script(tmp_path, trl="0.26.2", transformers="4.57.1")
    assert any("float32" in reason for reason in new["because"])
    assert new["memory"]["terms"]["weights"] > 1.9 * old["memory"]["terms"]["weights"]
    assert old["memory"]["phases"][0]["terms"][-2]["because"].startswith("full logits")


@pytest.mark.parametrize(
    ("written", "bytes_each"),
    [("torch.bfloat16", 2), ("torch.float16", 2), ("torch.float32", 4), ("'bfloat16'", 2), ("'float32'", 4)],
)
@pytest.mark.parametrize("name", ["dtype", "torch_dtype"])
def test_a_script_gives_the_dtype_as_an_object_of_torch_or_as_text(
    name: str, written: str, bytes_each: int, tmp_path: Path
) -> None:
    result = plan_script(tmp_path, more=f", model_init_kwargs={{'{name}': {written}}}", imports="import torch")
    assert f" parameters x {bytes_each} bytes" in result["memory"]["phases"][0]["terms"][0]["because"]


@pytest.mark.parametrize("trl", ["0.16.1", "0.17.0", "0.18.2", "0.19.1"])
@pytest.mark.parametrize(
    ("more", "length"),
    [(", max_seq_length=512", 512), (", max_seq_length=4096", 4096), (", max_seq_length=None", 2048), ("", 2048)],
)
def test_the_older_name_of_the_length_wins(trl: str, more: str, length: int, tmp_path: Path) -> None:
    result = plan_script(tmp_path, trl=trl, transformers="4.51.3", more=more)
    assert any(f"x {4 * length:,} tokens" in term["because"] for term in result["memory"]["phases"][0]["terms"])


@pytest.mark.parametrize(
    ("sets", "kept"),
    [
        ({"train.activation_checkpointing": False}, "layers x"),
        ({"train.activation_checkpointing": False, "train.gradient_checkpointing": True}, "layers x"),
        ({"train.activation_checkpointing": True, "train.gradient_checkpointing": False}, "checkpoints x"),
        ({"train.gradient_checkpointing": False}, "layers x"),
        ({}, "checkpoints x"),
    ],
)
def test_the_newer_name_of_checkpointing_wins(sets: dict[str, object], kept: str) -> None:
    terms = plan_job(**{"model.path": "Qwen/Qwen3-8B"}, **sets)["memory"]["phases"][0]["terms"]
    assert any(kept in term["because"] for term in terms)


@pytest.mark.parametrize(("within", "beside", "each"), [("bfloat16", None, 2), ("float32", "bfloat16", 4)])
def test_settings_within_the_config_win_at_loading(within: str, beside: str | None, each: int) -> None:
    sets = {"model.path": "Qwen/Qwen3-8B", "model.dtype": beside, "train.model_init_kwargs": {"dtype": within}}
    terms = plan_job(**sets)["memory"]["phases"][0]["terms"]
    assert terms[0]["because"].endswith(f"x {each} bytes")


@pytest.mark.parametrize(
    ("more", "key"),
    [
        (", gradient_checkpointing=ask()", "train.gradient_checkpointing"),
        (", bf16=ask()", "train.bf16"),
        (", bf16=torch.cuda.is_bf16_supported()", "train.bf16"),
        (", packing=ask()", "train.packing"),
        (", per_device_eval_batch_size=ask(), eval_strategy='steps'", "train.per_device_eval_batch_size"),
        (", gradient_accumulation_steps=ask()", "train.gradient_accumulation_steps"),
        (", gradient_checkpointing_kwargs={'use_reentrant': ask()}", "train.gradient_checkpointing_kwargs"),
        (", use_liger_kernel=ask()", "train.use_liger_kernel"),
        (", model_init_kwargs={'attn_implementation': ask()}", "model.attn_implementation"),
        (", model_init_kwargs={'dtype': ask()}", "model.dtype"),
        (", model_init_kwargs={'attn_implementation': 'flex_attention'}", "model.attn_implementation"),
    ],
)
def test_a_value_that_the_source_hides_is_not_guessed(more: str, key: str, tmp_path: Path) -> None:
    result = plan_script(tmp_path, more=more, imports="import torch\nfrom settings import ask")
    assert result["memory"] is None
    assert result["unknown"][0]["because"].startswith(key.partition(".")[2])
    assert "(" not in result["unknown"][0]["because"]


@pytest.mark.parametrize("name", ["flash_attention_2", "flash_attention_3", "kernels-community/vllm-flash-attn3"])
def test_flash_attention_goes_by_several_names(name: str) -> None:
    assert plan_job(**{"model.path": "Qwen/Qwen3-8B", "model.attn_implementation": name})["memory"]


@pytest.mark.parametrize(("model", "has_sdpa"), [("openai/gpt-oss-20b", False), ("Qwen/Qwen3-8B", True)])
def test_a_model_without_sdpa_takes_eager_attention(model: str, has_sdpa: bool) -> None:
    """As transformers falls back to it; its memory grows with the square of the length."""
    model_key = {"model.path": model, "train.max_length": 4096}
    peaks = {
        name: plan_job(**model_key, **({"model.attn_implementation": name} if name else {}))["memory"]
        for name in ("", "eager", "sdpa")
    }
    assert (peaks[""]["peak_bytes"] == peaks["eager"]["peak_bytes"]) is not has_sdpa
    assert (peaks["sdpa"] is not None) is has_sdpa


def test_a_plan_is_of_one_training(tmp_path: Path) -> None:
    path = tmp_path / "twice.py"
    path.write_text(f"{SCRIPT.format(more='')}\nsecond = SFTTrainer('Qwen/Qwen3-8B')\nsecond.train()\n")
    result = holdfast.plan(path, offline=True)
    assert result["memory"] is None
    assert "trains 2 times" in result["unknown"][0]["because"]


def test_an_old_transformers_is_taken_to_have_an_old_torch(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    for transformers, assumed in (("4.57.1", "before 2.8"), ("5.23.0", "2.8 or later")):
        header = HEADER.format(trl="0.26.2" if transformers.startswith("4") else "1.16.0", transformers=transformers)
        path.write_text(header.replace(', "torch==2.13.0"', "") + SCRIPT.format(more=""), encoding="utf-8")
        assert any(f"torch {assumed} is assumed" in each for each in holdfast.plan(path, offline=True)["because"])


def test_the_options_keep_the_effective_batch(tmp_path: Path) -> None:
    options = plan_script(tmp_path, more=", gradient_checkpointing=False")["options"]
    assert options
    for option in options:
        settings = option["settings"]
        batch = settings.get("train.per_device_train_batch_size", 4)
        assert batch * settings.get("train.gradient_accumulation_steps", 1) == 4
        assert option["fits"]
    costs = [option["cost_usd"] for option in options]
    assert costs == sorted(costs)


@pytest.mark.parametrize(
    ("sets", "because"),
    [
        ({"model.path": "acme/unheard-of"}, "the sizes of `acme/unheard-of` are not known"),
        ({"train.optim": "galore_adamw"}, "the memory of `galore_adamw` is not known"),
        ({"train.max_length": None}, "not cut"),
        *(
            ({"peft": {"target_modules": "all-linear", name: value}}, f"peft.{name}: its memory is not known")
            for name, value in {
                "use_dora": True,
                "bias": "all",
                "exclude_modules": ["q_proj"],
                "lora_bias": True,
                "trainable_token_indices": [1],
                "layer_replication": [[0, 4]],
                "modules_to_save": ["lm_head"],
            }.items()
        ),
        ({"quantization": {"load_in_4bit": True}, "peft": None}, "only under an adapter"),
        ({"train.loss_type": "dft"}, "the memory of the loss `dft` is not known"),
    ],
)
def test_what_is_not_known_has_a_reason_and_no_number(sets: dict[str, object], because: str) -> None:
    result = plan_job(**sets)
    assert result["memory"] is None
    assert because in result["unknown"][0]["because"]


@pytest.mark.parametrize(
    "more",
    [
        {"bias": "none"},
        {"lora_bias": False, "modules_to_save": None, "use_dora": False},
        {"lora_alpha": 32, "use_rslora": True, "task_type": "CAUSAL_LM", "init_lora_weights": "gaussian"},
    ],
)
def test_settings_of_lora_that_change_no_memory_are_passed_over(more: dict[str, object]) -> None:
    assert plan_job(**{"model.path": "Qwen/Qwen3-8B", "peft": {"target_modules": "all-linear", **more}})["memory"]


def test_dora_on_a_command_line_is_not_passed_over() -> None:
    words = "trl sft --model_name_or_path Qwen/Qwen3-8B --dataset_name trl-lib/Capybara --use_peft --use_dora"
    assert holdfast.plan(arguments=words.split(), offline=True)["unknown"][0]["because"].startswith("--use_dora")


@pytest.mark.parametrize("name", ["dpo", "kto", "grpo", "rloo"])
def test_the_loss_of_liger_is_known_for_sft_alone(name: str) -> None:
    result = holdfast.plan(f"examples/{name}.yaml", set={"train.use_liger_kernel": True}, offline=True)
    assert result["memory"] is None
    assert "Liger's loss" in result["unknown"][0]["because"]
    assert plan_job(**{"train.use_liger_kernel": True})["memory"]


@pytest.mark.parametrize(
    ("trl", "loss", "head"),
    [
        ("1.6.0", "nll", "full logits"),
        ("1.6.0", "chunked_nll", "logits of 256 tokens"),
        ("1.14.0", "nll", "full logits"),
        ("1.14.0", "chunked_nll", "logits of 256 tokens"),
        ("1.16.0", "nll", "one tile"),
        ("1.16.0", "chunked_nll", "one tile"),
    ],
)
def test_the_loss_decides_the_head(trl: str, loss: str, head: str, tmp_path: Path) -> None:
    terms = plan_script(tmp_path, trl=trl, more=f", loss_type='{loss}'")["memory"]["phases"][0]["terms"]
    assert any(term["because"].startswith(head) for term in terms)


@pytest.mark.parametrize(
    ("name", "batch", "masked"),
    [("dpo", 1, True), ("reward", 1, True), ("quickstart", 1, False), ("quickstart", 2, True)],
)
def test_two_texts_are_masked_though_they_are_one_row(name: str, batch: int, masked: bool) -> None:
    def allocated(kernel: str) -> int:
        sets = {
            "model.path": "Qwen/Qwen3-8B",
            "model.attn_implementation": kernel,
            "train.per_device_train_batch_size": batch,
            "train.max_length": 4096,
            "train.gradient_checkpointing": False,
        }
        found: int = holdfast.plan(f"examples/{name}.yaml", set=sets, offline=True)["memory"]["allocated_bytes"]
        return found

    assert (allocated("sdpa") > allocated("flash_attention_2")) == masked


def test_a_named_flavor_is_judged_as_it_is() -> None:
    asked = {"model.path": "Qwen/Qwen3-8B", "where.hardware": "l4x1"}
    result = plan_job(**asked)
    assert (result["hardware"], result["fits"]) == ("l4x1", False)
    assert holdfast.plan("examples/quickstart.yaml", set={"where.hardware": "l4x1"}, offline=True)["fits"]


def test_processes_of_a_flavor_share_the_model() -> None:
    shared = {"model.path": "Qwen/Qwen3-8B", "where.hardware": "a100x8", "where.strategy": "fsdp"}
    alone = plan_job(**{"model.path": "Qwen/Qwen3-8B", "where.hardware": "a100-large"})
    assert plan_job(**shared)["memory"]["terms"]["optimizer"] * 7 < alone["memory"]["terms"]["optimizer"]


def give_machine(monkeypatch: pytest.MonkeyPatch, *gpus: Gpu) -> None:
    monkeypatch.setattr(LocalMachine, "fetch", lambda _self: Machine(cpus=2, gpus=gpus))


def test_a_job_that_runs_here_has_no_other_choice(monkeypatch: pytest.MonkeyPatch) -> None:
    give_machine(monkeypatch, load_gpus()["a100"])
    result = plan_job(**{"where.backend": "local"})
    assert (result["hardware"], result["fits"]) == ("local", True)
    assert [option["hardware"] for option in result["options"]] == ["local"]


@pytest.mark.parametrize(
    ("gpus", "fits", "said"),
    [
        (
            (),
            None,
            "This machine has no GPU: without `where.hardware`, `holdfast run` trains on its processors (2 cores).",
        ),
        (("a100",), True, "it fits as it is: a process can have"),
        (("t4",), False, "it does not fit as it is: a process can have"),
    ],
)
def test_a_job_that_does_not_say_where_is_compared_with_this_machine(
    gpus: tuple[str, ...], fits: bool | None, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There `holdfast run` would start it."""
    give_machine(monkeypatch, *[load_gpus()[name] for name in gpus])
    result = plan_job(**{"model.path": "Qwen/Qwen3-8B", "peft": {"r": 8}})
    assert (len(result["here"]["gpus"]), result["here"]["fits"]) == (len(gpus), fits)
    assert said in unstyle(render_plan(convert(result, PlanResult)))


def test_a_machine_without_a_gpu_says_how_long_it_takes_or_why_it_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if the job names it as its backend."""
    monkeypatch.setattr(LocalMachine, "fetch", lambda _self: Machine(cpus=4, memory_bytes=16 * 10**9))
    small, large = plan_job(), plan_job(**{"model.path": "Qwen/Qwen3-8B"})
    named = plan_job(**{"where.backend": "local"})

    assert small["here"]["time_s"]["low"] < small["here"]["time_s"]["value"]
    assert named["here"] == small["here"]
    assert "There it takes about" in plan_text(small)
    assert large["here"]["least_bytes"] > 100 * 10**9
    assert "GB of memory: too little to train on its processors. Weights, gradients and" in plan_text(large)


def test_without_the_number_of_rows_a_plan_says_what_a_step_takes_and_costs() -> None:
    words = "trl sft --model_name_or_path Qwen/Qwen3-8B --dataset_name x/y --use_peft"
    result = holdfast.plan(arguments=words.split(), offline=True)
    costs = [each["usd_per_hour"] * each["step_s"] for each in result["options"]]
    assert costs == sorted(costs)
    assert result["hardware"] == result["options"][0]["hardware"]
    assert all(each["time_s"] is None for each in result["options"])
    (unknown,) = result["unknown"]
    assert re.search(r"number of rows is not known; a step takes [\d.]+ s \(", unknown["because"])
    text = plan_text(result)
    assert "1000 steps" in text
    assert f"${costs[0] / 3.6:.2f}" in text


def test_a_table_of_gpus_for_a_job_of_this_machine_says_how_to_use_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(LocalMachine, "fetch", lambda _: Machine(cpus=2, memory_bytes=24 * 10**9))
    text = plan_text(plan_job(**{"where.backend": "local"}))
    assert "To run it on one of these: `where.backend: hf-jobs` and `where.hardware`." in text
    assert "To run it on one of these" not in plan_text(plan_job())


def test_the_headline_is_the_cheapest_that_fits_and_says_what_fits_as_it_is() -> None:
    words = "trl sft --model_name_or_path Qwen/Qwen3-8B --dataset_name x/y --use_peft --max_steps 100"
    result = holdfast.plan(arguments=words.split(), offline=True)
    first = result["options"][0]
    as_it_is = next(each for each in result["options"] if not each["settings"])
    assert (result["hardware"], result["settings"]) == (first["hardware"], first["settings"])
    assert first["cost_usd"] == min(each["cost_usd"] for each in result["options"]) < as_it_is["cost_usd"]
    assert f"As it is, it fits on {as_it_is['hardware']}." in plan_text(result)


GUESSED = {"l4x1", "a10g-small", "a10g-large", "rtx-pro-6000", "t4-small", "t4-medium"}


@pytest.mark.parametrize("more", [[], ["--max_steps", "100"], ["--load_in_4bit", "--dtype", "bfloat16"]])
def test_a_guessed_speed_is_marked_and_not_silently_the_cheapest(more: list[str]) -> None:
    words = ["trl", "sft", "--model_name_or_path", "Qwen/Qwen3-8B", "--dataset_name", "x/y", "--use_peft", *more]
    result = holdfast.plan(arguments=words, offline=True)
    text = plan_text(result)
    rows = {
        each["hardware"]: next(line for line in text.splitlines() if f"  {each['hardware']} " in line)
        for each in result["options"]
    }

    assert {each["hardware"] for each in result["options"] if each.get("guessed_speed")} == GUESSED & rows.keys()
    assert {name for name, line in rows.items() if "?" in line} == GUESSED & rows.keys()
    assert "no run on such a GPU shows its speed" in text
    known = next(name for name in rows if name not in GUESSED)
    assert (
        f"That this is the cheapest is a guess, as its speed is. By speeds that runs show, the cheapest is {known}."
        in text
    ) == (result["hardware"] in GUESSED)
    assert result["hardware"] in GUESSED
    named = holdfast.plan(arguments=words, offline=True, hardware=result["hardware"])
    assert named["hardware"] == named["options"][0]["hardware"] == result["hardware"]
    assert "That this is the cheapest" not in plan_text(named)


def test_steps_that_wait_for_the_host_rest_on_no_speed_of_a_gpu() -> None:
    result = plan_job()

    assert all(each.get("launch_bound") for each in result["options"])
    assert not any(each.get("guessed_speed") for each in result["options"])


@pytest.mark.parametrize(
    ("strategy", "own", "alone"),
    [
        ("fsdp", "4 and 4", "2 bytes each and optimizer states 2"),
        ("zero3", "2 and 4", "2 bytes each and optimizer states 2"),
        ("ddp", "", ""),
    ],
)
def test_an_option_that_keeps_fewer_bits_says_so(strategy: str, own: str, alone: str) -> None:
    """FSDP and DeepSpeed keep float32 where one process with a model in bfloat16 does not."""
    words = ["trl", "sft", "--model_name_or_path", "Qwen/Qwen3-8B", "--dataset_name", "x/y", "--dtype", "bfloat16"]
    result = holdfast.plan(hardware="h200x8", strategy=strategy, processes=8, arguments=words, offline=True)
    text = plan_text(result)
    differing = {each["hardware"]: each["precision"] for each in result["options"] if each.get("precision")}

    assert set(differing) == ({"h200"} if own else set())
    for because in differing.values():
        assert f"On h200, {because}." in text
        assert f"trained weights have {alone}; the job's have {own}. Small updates may be lost" == because
    assert ("keeps trained weights, gradients and optimizer states in float32" in text) == (strategy == "fsdp")


def test_the_parts_of_the_time_are_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job of seconds takes as long on every GPU: as long as the machine needs to start. It was not rehearsed before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    result = plan_job(**{"where.hardware": "l4x1", "where.backend": "hf-jobs"})

    assert [each["name"] for each in result["time_parts"]] == [
        *("start", "download", "training", "evaluation", "answers", "saving")
    ]
    total = sum(each["time_s"]["value"] for each in result["time_parts"])
    assert total == pytest.approx(result["time_s"]["value"])
    assert re.search(r"evaluation +0.4 s  5 evaluations x 7 batches x 0.0126 s", plan_text(result))


@pytest.mark.parametrize("placed", [{"where.backend": "local"}, {"where.hardware": "a100-large"}])
def test_a_job_that_says_where_is_compared_with_no_other(
    placed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    give_machine(monkeypatch, load_gpus()["a100"])
    assert "here" not in plan_job(**placed)


@pytest.mark.parametrize("gpus", [0, 1])
def test_a_machine_that_does_not_hold_the_job_is_said_so_beside_what_would(
    gpus: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    give_machine(monkeypatch, *[load_gpus()["t4"]] * gpus)
    result = plan_job(**{"where.backend": "local", "model.path": "Qwen/Qwen3-8B", "peft": {"r": 8}})
    assert (result["hardware"], result["fits"], result.get("has_gpu", True)) == ("local", False, bool(gpus))
    assert result["options"]
    assert all(option["hardware"] != "local" for option in result["options"])
    typed = convert(result, PlanResult)
    assert typed.exit_code == 1
    text = unstyle(render_plan(typed))
    if gpus:
        assert "This machine has no GPU that holds the job.\nThe options below fit." in text
    else:  # what concerns GPUs comes after this machine
        assert text.startswith(("The job trains on the processors of this machine", "This machine has no GPU and"))
        assert text.index("GPUs that hold it") < text.index("memory of one process on a GPU")


def test_a_job_for_this_machine_without_a_gpu_leads_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    give_machine(monkeypatch)
    text = plan_text(plan_job(**{"where.backend": "local", "train.max_steps": 10}))
    assert text.startswith("The job trains on the processors of this machine")
    assert "does not fit" not in text
    assert "without `where.hardware`" not in text


def test_the_table_of_options_has_a_header_and_says_where_a_faster_gpu_does_not_help() -> None:
    small = plan_job(**{"train.max_steps": 100, "train.max_length": 64, "train.per_device_train_batch_size": 1})
    lines = plan_text(small).splitlines()
    header = lines.index("what fits, the cheapest first") + 1
    assert lines[header].split() == ["hardware", "card,", "at", "most", "time", "cost", "settings"]
    assert lines[header + 1].split()[0] == small["options"][0]["hardware"]
    assert all(option["launch_bound"] for option in small["options"])
    assert "Steps there wait for the host to launch operations: a faster GPU does not help." in plan_text(small)
    large = plan_job(**{"train.max_steps": 100, "train.max_length": 8192, "train.per_device_train_batch_size": 4})
    assert not any("launch_bound" in option for option in large["options"] if option["hardware"] == "l4x1")
    assert "Steps there wait for the host" not in plan_text(large)


def test_processes_are_counted_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    give_machine(monkeypatch, *[load_gpus()["l4"]] * 4)
    sets = {"where.backend": "local", "model.path": "Qwen/Qwen3-8B", "where.strategy": "zero3"}
    assert plan_job(**sets)["memory"]["phases"][0]["terms"][0]["because"].endswith("/ 4 processes")
    few = plan_job(**sets, **{"where.processes": 2})["memory"]["phases"][0]["terms"][0]["because"]
    assert few.endswith("/ 2 processes")


def test_nodes_multiply_the_processes() -> None:
    sets = {"model.path": "Qwen/Qwen3-8B", "where.strategy": "fsdp", "where.processes": 2, "where.nodes": 3}
    assert plan_job(**sets)["memory"]["phases"][0]["terms"][0]["because"].endswith("/ 6 processes")


@pytest.mark.parametrize(
    "sets",
    [{"where.processes": 4}, {"where.hardware": "a100x4"}, {"where.processes": 2, "where.nodes": 2}],
)
def test_options_for_one_process_say_so_and_keep_the_effective_batch(sets: dict[str, object]) -> None:
    every = plan_job(**sets, **{"train.gradient_accumulation_steps": 3})["options"]
    options = [each for each in every if len(load_flavors()[each["hardware"]].gpus) == 1]
    assert options
    for option in options:
        settings = option["settings"]
        assert settings["where.processes"] == 1
        assert settings.get("where.nodes", 1) == 1
        rows = settings.get("train.per_device_train_batch_size", 16) * settings["train.gradient_accumulation_steps"]
        assert rows == 16 * 12
        assert ("where.nodes" in settings) == ("where.nodes" in sets)


@pytest.mark.parametrize(
    "sets",
    [
        {"model.path": "Qwen/Qwen3-8B", "peft": {"r": 16, "target_modules": "all-linear"}},
        {"model.path": "Qwen/Qwen3-30B-A3B", "peft": {"r": 16, "target_modules": "all-linear"}},
        {
            "model.path": "Qwen/Qwen3-8B",
            "peft": {"r": 8},
            "where.processes": 2,
            "train.activation_checkpointing": False,
        },
        {"model.path": "Qwen/Qwen3-0.6B", "train.per_device_train_batch_size": 6, "train.max_length": 16384},
    ],
)
def test_an_option_and_the_plan_of_that_option_give_the_same_number(sets: dict[str, object]) -> None:
    options = plan_job(**sets)["options"]
    assert options
    for option in options:
        again = plan_job(**{**sets, **option["settings"], "where.hardware": option["hardware"]})
        assert again["fits"]
        assert again["memory"]["high_bytes"] == option["high_bytes"]


def test_a_flavor_without_a_gpu_is_said_so_with_the_memory() -> None:
    result = plan_job(**{"where.hardware": "cpu-basic"})
    assert (result["fits"], result["has_gpu"]) == (False, False)
    assert result["memory"]["peak_bytes"] > 0
    assert unstyle(render_plan(convert(result, PlanResult))).startswith("cpu-basic has no GPU.")


def test_the_rows_generated_at_once_are_those_of_one_process() -> None:
    sets = {"train.generation_batch_size": 64, "where.processes": 2}
    result = holdfast.plan("examples/grpo.yaml", set=sets, offline=True)
    assert any("a row: 32 rows x" in term["because"] for term in result["memory"]["phases"][0]["terms"])


def test_a_budget_below_the_upper_cost_is_exceeded() -> None:
    assert plan_job(**{"where.hardware": "h200", "where.budget_usd": 0.01})["over_budget"]
    assert "over_budget" not in plan_job(**{"where.hardware": "h200", "where.budget_usd": 1000})


def test_the_timeout_covers_the_upper_time() -> None:
    result = plan_job()
    assert result["timeout_s"] >= 1.3 * result["time_s"]["high"]
    assert result["timeout_s"] % 300 == 0


def test_a_command_line_is_planned() -> None:
    words = "trl sft --model_name_or_path Qwen/Qwen3-8B --dataset_name trl-lib/Capybara --use_peft --load_in_4bit"
    result = holdfast.plan(arguments=words.split(), offline=True)
    assert any(
        " quantized parameters x 0.5625 bytes" in term["because"] for term in result["memory"]["phases"][0]["terms"]
    ), result


@pytest.mark.parametrize("text", ["print('no training')", "from trl import SFTTrainer\nSFTTrainer(model=pick())"])
def test_a_script_that_does_not_show_what_it_trains_has_no_number(text: str, tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(text, encoding="utf-8")
    result = holdfast.plan(path, offline=True)
    assert result["memory"] is None
    assert result["unknown"][0]["because"]


def test_nothing_to_plan_is_an_error() -> None:
    with pytest.raises(holdfast.UsageError, match="nothing to plan"):
        holdfast.plan()


def weights_of(result: dict[str, Any]) -> str:
    reason: str = result["memory"]["phases"][0]["terms"][0]["because"]
    return reason


TRL = "trl sft --model_name_or_path Qwen/Qwen3-8B --dataset_name trl-lib/Capybara --max_steps 10"


@pytest.mark.parametrize(
    ("launcher", "split"),
    [
        ("accelerate launch --num_processes 8 --use_fsdp train.py", "/ 8 processes"),
        ("accelerate launch --num_processes 4 --use_deepspeed --zero_stage 3 train.py", "/ 4 processes"),
        ("accelerate launch --config_file zero.yaml train.py", "/ 2 processes"),
        ("accelerate launch --num_processes 8 train.py", " bytes"),
        ("torchrun --nproc_per_node 8 train.py", " bytes"),
        (f"{TRL} --num_processes 8 --accelerate_config fsdp2", "/ 8 processes"),
        ("python train.py", " bytes"),
    ],
)
def test_a_launcher_says_how_processes_share_the_model(
    launcher: str, split: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT.format(more=""), encoding="utf-8")
    Path("zero.yaml").write_text("distributed_type: DEEPSPEED\nnum_processes: 2\ndeepspeed_config: {zero_stage: 3}\n")
    result = holdfast.plan(arguments=launcher.split(), offline=True)
    assert result["memory"], result["unknown"]
    assert weights_of(result).endswith(split)
    assert not any("is not seen (--processes" in each for each in result["because"])


@pytest.mark.parametrize(
    "more",
    [
        "--use_fsdp --fsdp_offload_params true",
        "--use_fsdp --fsdp_sharding_strategy SHARD_GRAD_OP",
        "--use_deepspeed --offload_optimizer_device cpu",
    ],
)
def test_sharding_whose_memory_is_not_known_has_no_number(
    more: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(SCRIPT.format(more=""), encoding="utf-8")
    words = f"accelerate launch --num_processes 2 {more} train.py".split()
    assert holdfast.plan(arguments=words, offline=True)["memory"] is None


def test_what_a_script_cannot_say_is_said_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(HEADER.format(trl="1.16.0", transformers="5.23.0") + SCRIPT.format(more=""), encoding="utf-8")
    shared = holdfast.plan(path, hardware="h200x4", strategy="fsdp", offline=True)
    assert (shared["hardware"], weights_of(shared)[-13:]) == ("h200x4", "/ 4 processes")
    poor = holdfast.plan(path, hardware="h200", budget=0.01, offline=True)
    assert poor["over_budget"]
    assert poor["budget_usd"] == 0.01
    text = unstyle(render_plan(convert(poor, PlanResult)))
    assert "costs more than the budget: $" in text


@pytest.mark.parametrize(
    ("asked", "error"), [({"budget": -1}, "budget"), ({"processes": 0}, "processes"), ({"strategy": "x"}, "strategy")]
)
def test_nonsense_beside_a_target_is_an_error(asked: dict[str, Any], error: str) -> None:
    with pytest.raises(holdfast.UsageError, match=error):
        holdfast.plan("examples/quickstart.yaml", offline=True, **asked)


@pytest.mark.parametrize(("name", "gpus"), [("h100x8", 8), ("rtx-4090", 1), ("abacus", 0), ("h100x99", 0)])
def test_hardware_has_a_name_or_the_memory_alone_is_told(name: str, gpus: int, tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        f"method: sft\nmodel: Qwen/Qwen3-0.6B\ndataset: x/y\nwhere: {{hardware: {name}}}\n", encoding="utf-8"
    )
    result = holdfast.plan(job, offline=True)
    assert result["memory"]
    assert (result["hardware"] == name) == bool(gpus)
    if not gpus:
        assert result["fits"] is None
        because = result["unknown"][0]["because"]
        assert ("a10g-large" in because and "rtx-4090" in because) or because.endswith("did you mean `h100`?")


def test_the_defaults_of_an_argument_parser_hold_without_arguments(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    parser = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--n', type=int, default=2)\na = p.parse_args()\n"
    text = SCRIPT.format(more="").replace("per_device_train_batch_size=4", "per_device_train_batch_size=a.n")
    path.write_text(HEADER.format(trl="1.16.0", transformers="5.23.0") + parser + text, encoding="utf-8")
    assert holdfast.plan(path, offline=True)["memory"]


def test_a_timeout_below_the_upper_time_is_short() -> None:
    asked = {"where.hardware": "l4x1", "model.path": "Qwen/Qwen3-0.6B"}
    short = plan_job(**asked, **{"where.timeout": "1m"})
    assert short["short_timeout"]
    assert "The timeout of 1 min 00 s is too short" in unstyle(render_plan(convert(short, PlanResult)))
    assert "short_timeout" not in plan_job(**asked, **{"where.timeout": "900h"})


def test_what_surely_does_not_fit_is_told_from_what_may_not() -> None:
    surely = plan_job(**{"where.hardware": "l4x1", "model.path": "Qwen/Qwen3-8B"})
    assert unstyle(render_plan(convert(surely, PlanResult))).startswith("The job does not fit on l4x1")


def test_gpus_without_bfloat16_are_left_out_with_a_word_or_taken_with_float16() -> None:
    for place in ({}, {"where.backend": "local"}, {"where.hardware": "l4x1"}):
        plain = plan_job(**place)
        assert plain["left_out"] == ["t4-small", "t4-medium"]
        left_out = "Left out: t4-small, t4-medium: the job uses bfloat16, which they do not support."
        assert f"{left_out} With `fp16` it may run there." in unstyle(render_plan(convert(plain, PlanResult)))
    half = plan_job(**{"train.fp16": True, "train.bf16": False})
    assert any(option["hardware"].startswith("t4") for option in half["options"])
    assert "left_out" not in half


def test_an_adapter_on_all_linear_modules_goes_into_the_vision_tower() -> None:
    result = plan_job(**{"model.path": "google/gemma-3-4b-pt", "peft": {"r": 16, "target_modules": "all-linear"}})
    assert result["trainable"] == 38_497_792


def test_an_unseen_dtype_is_a_stated_assumption() -> None:
    result = plan_job(**{"model.path": "Qwen/Qwen3-8B", "model.dtype": "auto"})
    assert any("`dtype: auto`" in each for each in result["because"])


def test_vllm_on_the_same_gpu_is_part_of_what_the_card_must_have() -> None:
    sets = {"model.path": "Qwen/Qwen3-0.6B", "where.hardware": "a100-large", "train.use_vllm": True}
    shares = {"train.vllm_mode": "colocate", "train.vllm_gpu_memory_utilization": 0.5}
    beside, apart = (
        holdfast.plan("examples/grpo.yaml", set={**sets, **more}, offline=True)["memory"]
        for more in (shares, {"train.vllm_mode": "server"})
    )
    assert beside["terms"]["generation"] == 40 * 10**9
    assert beside["peak_bytes"] > apart["peak_bytes"] + 39 * 10**9


def test_an_evaluation_batch_has_no_more_rows_than_there_are() -> None:
    sets = {"dataset.eval_fraction": 0.1, "dataset.rows": 20, "train.per_device_eval_batch_size": 64}
    small = plan_job(**{**sets, "model.path": "Qwen/Qwen3-0.6B"})
    evaluation = small["memory"]["phases"][-1]
    full = plan_job(**{**sets, "dataset.rows": None, "model.path": "Qwen/Qwen3-0.6B"})["memory"]["phases"][-1]
    assert evaluation["name"] == "evaluation"
    assert evaluation["bytes"] <= full["bytes"]


def test_the_cheapest_option_is_written_into_a_job_file_and_then_fits(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text(
        "# mine\nmethod: sft\nmodel: Qwen/Qwen3-8B\ndataset: {path: trl-lib/Capybara, rows: 100}\npeft: {r: 8, target_modules: all-linear}\n"
        "train: {per_device_train_batch_size: 64}\nwhere: {backend: hf-jobs, hardware: l4x1}\n"
    )
    before = plan(path, apply=True, offline=True)
    assert (before.fits, before.exit_code) == (False, 0)
    assert before.applied
    assert "where.timeout" in before.applied
    assert "where.hardware" not in before.applied  # with other settings the job fits on the hardware that it names
    after = plan(path, apply=True, offline=True)
    assert (after.fits, (after.given_timeout_s or 0) > 0, after.applied) == (True, True, {})
    assert "nothing written: the job fits as it is" in render_plan(after)
    assert path.read_text().startswith("# mine\n")


def test_settings_are_written_into_a_script_but_for_where_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        HEADER.format(trl="1.16.0", transformers="5.23.0") + SCRIPT.format(more=", gradient_checkpointing=False")
    )
    result = holdfast.plan(path, hardware="l4x1", apply=True, offline=True)
    assert result["applied"]
    assert not any(key.startswith("where.") for key in result["applied"])
    assert "gradient_checkpointing=True" in path.read_text()


@pytest.mark.parametrize(
    ("rows", "budget", "told"),
    [
        ("", 0.01, "The budget of $0.01 is not compared: the cost is not known."),
        (", rows: 100", 50.0, "the budget is $50"),
        (", rows: 100000", 0.01, "more than the budget"),
    ],
)
def test_what_becomes_of_a_budget_is_told(tmp_path: Path, rows: str, budget: float, told: str) -> None:
    """Also where nothing can be said of it."""
    path = tmp_path / "job.yaml"
    path.write_text(
        f"method: sft\nmodel: Qwen/Qwen3-0.6B\ndataset: {{path: trl-lib/Capybara{rows}}}\n"
        "where: {backend: hf-jobs, hardware: a100-large}\n"
    )
    assert told in unstyle(render_plan(plan(path, budget=budget, offline=True)))


def test_a_command_line_cannot_be_written() -> None:
    with pytest.raises(holdfast.UsageError, match="only a file"):
        holdfast.plan(arguments=TRL.split(), apply=True, offline=True)


def test_a_misspelt_setting_is_not_planned_over_in_silence(tmp_path: Path) -> None:
    result = plan_script(tmp_path, more=", gradient_acumulation_steps=8")
    assert result["check_errors"] == 1
    assert "`holdfast check` finds 1 error" in unstyle(render_plan(convert(result, PlanResult)))
    assert "check_errors" not in plan_script(tmp_path)


@pytest.mark.parametrize(
    ("sets", "because"),
    [
        ({"where.hardware": "a100x4", "where.backend": "hf-jobs", "where.strategy": "fsdp"}, "shared by fsdp"),
        ({"quantization.load_in_8bit": True, "peft": {"r": 8}}, "8 bits"),
    ],
)
def test_a_step_that_cannot_be_traced_says_why_and_keeps_the_closed_form(sets: dict[str, Any], because: str) -> None:
    plain = holdfast.plan("examples/quickstart.yaml", set=sets, offline=True)
    result = holdfast.plan("examples/quickstart.yaml", set=sets, offline=True, trace=True)
    assert because in result["untraced"]
    assert result["memory"] == plain["memory"]
    assert f"not traced: {result['untraced']}" in plan_text(result)


@pytest.mark.train
@pytest.mark.long
@pytest.mark.parametrize("name", ["quickstart", "dpo", "kto", "reward"])
def test_a_traced_plan_has_the_numbers_of_the_trace_and_names_both(name: str) -> None:
    result = holdfast.plan(f"examples/{name}.yaml", offline=True, trace=True)
    memory = result["memory"]
    assert "untraced" not in result
    assert memory["traced"]
    # Of an evaluation, the closed form adds a layer and the loss: on an H200 it was between -10 % and +1 % off there.
    assert memory["allocated_bytes"] == pytest.approx(memory["closed_form_bytes"], rel=0.2)
    assert memory["allocated_bytes"] <= memory["peak_bytes"]
    has_stream = name in ("quickstart", "reward")  # of a second model's layers no stream is grown
    if has_stream:
        assert memory["allocated_bytes"] <= memory["reserved_bytes"] <= memory["peak_bytes"]
    assert [phase["name"] for phase in memory["phases"]][:5] == ["load", "forward", "loss", "backward", "optimizer"]
    assert any(reason.startswith("traced on fake tensors") for reason in result["because"])
    assert f"traced: the {'allocator reserves' if has_stream else 'closed form has'}" in plan_text(result)
    assert ("timeline" in result) == has_stream
    if has_stream:
        assert result["timeline"]["peak"]["bytes"] == pytest.approx(memory["allocated_bytes"], rel=0.002)


def plan_text(result: dict[str, Any]) -> str:
    return unstyle(render_plan(convert(result, PlanResult)))


@pytest.mark.parametrize(("processes", "strategy"), [(8, "fsdp"), (4, "zero3"), (2, "ddp")])
def test_processes_that_share_a_job_are_planned_on_as_many_gpus(processes: int, strategy: str, tmp_path: Path) -> None:
    """A model that no single GPU holds fits machines that have a GPU for each process; smaller micro-batches are tried there."""
    name = "Qwen/Qwen3-8B" if strategy != "ddp" else "Qwen/Qwen2.5-0.5B"
    path = tmp_path / "train.py"
    path.write_text(HEADER.format(trl="1.16.0", transformers="5.23.0") + SHARED.format(model=name), encoding="utf-8")
    result = holdfast.plan(path, processes=processes, strategy=strategy, offline=True)
    shared = [each for each in result["options"] if "where.processes" not in each["settings"]]
    assert shared
    assert all(str(processes) in each["hardware"] for each in shared)
    assert all(each["usd_per_hour"] > 0 for each in shared)
    assert result["fits"]
    if strategy != "ddp":
        assert result["hardware"] == shared[0]["hardware"]


@pytest.mark.parametrize(
    ("sets", "communicates", "said"),
    [
        ({"where.hardware": "a100x4"}, True, "the lower end of the time has it overlap"),
        ({"where.hardware": "t4x2", "train.fp16": True}, False, "the time has no communication between GPUs in it"),
        ({"where.hardware": "a100x4", "where.nodes": 2}, False, "the time has no communication between GPUs in it"),
        ({"where.hardware": "a100-large"}, False, ""),
    ],
)
def test_the_time_of_several_gpus_has_their_communication_or_says_that_it_has_not(
    sets: dict[str, object], communicates: bool, said: str
) -> None:
    result = plan_job(**sets)
    assert ("communication" in {each["name"] for each in result["time_parts"]}) == communicates
    assert said in " ".join(result["because"])
    assert ("communication between GPUs" in " ".join(result["because"])) == (bool(said) and not communicates)


@pytest.mark.parametrize(("adapter", "said"), [({}, False), ({"peft.r": 8}, True)])
def test_a_plan_says_that_gpus_wait_longer_for_adapters_than_it_estimates(adapter: dict[str, int], said: bool) -> None:
    several = plan_job(**{"where.hardware": "a100x4"}, **adapter)["because"]
    assert any("GPUs waited longer" in each for each in several) == said
    alone = plan_job(**{"where.hardware": "a100-large"}, **adapter)["because"]
    assert not any("GPUs waited longer" in each for each in alone)


def test_options_of_unknown_speed_are_said_to_be_listed_last() -> None:
    result = plan_job()
    assert "Listed last" not in plan_text(result)
    last = result["options"][-1]
    result["options"][-1] = {**last, "time_s": None, "cost_usd": None, "step_s": None}
    assert f"Listed last, because their speed is not known: {last['hardware']}." in plan_text(result)


def test_the_parts_of_the_time_are_in_columns() -> None:
    result = plan_job(**{"where.hardware": "a100x4"})
    lines, parts = plan_text(result).splitlines(), result["time_parts"]
    columns = {line.index(part["because"]) for part in parts for line in lines if line.endswith(f"  {part['because']}")}
    assert len(columns) == 1


def test_scoring_all_rows_beforehand_takes_its_time() -> None:
    scored = holdfast.plan("examples/dpo.yaml", set={"train.precompute_ref_log_probs": True}, offline=True)
    (part,) = [each for each in scored["time_parts"] if each["name"] == "reference"]
    assert part["time_s"]["value"] > 0
    plain = holdfast.plan("examples/dpo.yaml", offline=True)
    training = {each["name"]: each["time_s"]["value"] for each in plain["time_parts"]}["training"]
    faster = {each["name"]: each["time_s"]["value"] for each in scored["time_parts"]}["training"]
    assert faster < training


SHARED = """
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    model="{model}",
    args=SFTConfig(output_dir="out", per_device_train_batch_size=2, max_length=1024, max_steps=100),
    train_dataset=load_dataset("trl-lib/Capybara", split="train"),
)
trainer.train()
"""


@pytest.mark.parametrize(
    ("name", "meant"),
    [("rtx4090", "rtx-4090"), ("NVIDIA RTX 4090", "rtx-4090"), ("l4x", "l4x4"), ("A100_large", "a100-large")],
)
def test_unknown_hardware_gets_the_nearest_name(name: str, meant: str) -> None:
    with pytest.raises(holdfast.UsageError, match=rf"did you mean `{meant}`\?"):
        holdfast.plan("examples/quickstart.yaml", hardware=name, offline=True)


@pytest.mark.parametrize(
    ("override", "where"),
    [
        ({"set": {"where.hardware": "b9999"}}, "--set where.hardware"),
        ({"set": ['where={"hardware": "b9999"}']}, "--set where"),
        ({}, "HOLDFAST_WHERE__HARDWARE"),
    ],
)
def test_an_override_with_unknown_hardware_is_refused(
    override: dict[str, Any], where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the names that there are. Where another backend gives the hardware, its name is no one's concern."""
    if not override:
        monkeypatch.setenv("HOLDFAST_WHERE__HARDWARE", "b9999")
    with pytest.raises(holdfast.UsageError, match=r"`b9999` is not known.*a10g-large") as refused:
        holdfast.plan("examples/quickstart.yaml", **override, offline=True)

    assert str(refused.value.where).startswith(where)


def test_unknown_hardware_in_a_job_file_is_named_with_what_there_is(tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text(
        "method: sft\nmodel: Qwen/Qwen3-0.6B\ndataset: trl-lib/Capybara\nwhere: {backend: hf-jobs, hardware: b9999}\n",
        encoding="utf-8",
    )
    text = plan_text(holdfast.plan(job, offline=True))

    assert re.search(r"The hardware is not known: `b9999` is not known.*Flavors: .*a10g-large", text)
    assert "without `where.hardware`" not in text


def test_what_check_finds_wrong_is_shown_with_the_plan(tmp_path: Path) -> None:
    """Of a misspelt setting, a file that is not there, and a launcher's option."""
    job = tmp_path / "job.yaml"
    job.write_text(
        "method: sft\nmodel: Qwen/Qwen3-4B\ndataset: absent.jsonl\ntrain: {max_lenght: 512}\n", encoding="utf-8"
    )
    result = holdfast.plan(job, offline=True)
    assert [(each["code"], each["line"]) for each in result["errors"]] == [("DAT102", 3), ("ARG106", 4)]
    assert "line 4: ARG106" in plan_text(result)
    assert "did you mean `max_length`" in plan_text(result)


TWO_MODELS = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer

ref = AutoModelForCausalLM.from_pretrained("{other}")
rows = load_dataset("trl-lib/Capybara", split="train")
{trainer}
"""
WITH_REFERENCE = (
    'DPOTrainer(model="Qwen/Qwen3-0.6B", ref_model=ref, args=DPOConfig(output_dir="o"), train_dataset=rows).train()'
)
WITH_REWARDS = 'GRPOTrainer(model="Qwen/Qwen3-0.6B", reward_funcs=["{other}"], args=GRPOConfig(output_dir="o"), train_dataset=rows).train()'


@pytest.mark.parametrize("trainer", [WITH_REFERENCE, WITH_REWARDS])
@pytest.mark.parametrize("other", ["acme/unknown", "Qwen/Qwen3-8B"])
def test_models_beside_the_trained_one_are_listed_as_unknown(trainer: str, other: str, tmp_path: Path) -> None:
    """Also where the catalog knows them, and they are loaded first: the plan is that of the model that is trained."""
    path = tmp_path / "train.py"
    path.write_text(TWO_MODELS.format(other=other, trainer=trainer.replace("{other}", other)))
    result = holdfast.plan(path, offline=True)

    assert result["parameters"] == pytest.approx(596e6, rel=0.01)
    assert any(each["what"] == "memory" and f"`{other}`" in each["because"] for each in result["unknown"])


def test_models_of_which_any_may_be_trained_are_all_named(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    loads = "AutoModelForCausalLM.from_pretrained"
    models = f'import sys\nmodel = {loads}("acme/one") if len(sys.argv) > 1 else {loads}("acme/two")'
    trainer = 'DPOTrainer(model=model, args=DPOConfig(output_dir="o"), train_dataset=rows).train()'
    path.write_text(
        TWO_MODELS.replace('ref = AutoModelForCausalLM.from_pretrained("{other}")', models).format(trainer=trainer)
    )
    (unknown, *_) = holdfast.plan(path, offline=True)["unknown"]

    assert "`acme/one`" in unknown["because"]
    assert "`acme/two`" in unknown["because"]


SMALLER: dict[str, bool | int | str] = {
    "train.per_device_train_batch_size": 4,
    "train.gradient_checkpointing": True,
    "where.processes": 1,
    "model.dtype": "bfloat16",
}
LOADED = """
from transformers import AutoModelForCausalLM
from trl import KTOConfig, KTOTrainer

KTOTrainer(AutoModelForCausalLM.from_pretrained("acme/one"), args=KTOConfig(output_dir="o")).train()
"""


@pytest.mark.parametrize(
    ("name", "text", "written"),
    [
        (
            "train.py",
            SCRIPT.format(more=""),
            "SFTConfig(per_device_train_batch_size=4, gradient_checkpointing=True, model_init_kwargs={'dtype': 'bfloat16'}), 1 process",
        ),
        (
            "train.py",
            LOADED,
            "KTOConfig(per_device_train_batch_size=4, gradient_checkpointing=True), from_pretrained(dtype='bfloat16'), 1 process",
        ),
        (
            "job.yaml",
            "method: sft\nmodel: acme/one\ndataset: rows.jsonl\n",
            "train.per_device_train_batch_size=4, train.gradient_checkpointing=True, where.processes=1, model.dtype=bfloat16",
        ),
        (
            "train.sh",
            "trl sft --model_name_or_path acme/one --dataset_name acme/rows\n",
            "--per_device_train_batch_size 4 --gradient_checkpointing --dtype bfloat16, 1 process",
        ),
    ],
)
def test_settings_are_spelled_as_the_target_has_them(name: str, text: str, written: str, tmp_path: Path) -> None:
    """Keys of a job file, arguments of the script's own calls, flags of a command."""
    (tmp_path / name).write_text(text)
    target = read_check_target(TargetRequest(path=str(tmp_path / name), hub=HubAccess.OFFLINE))

    assert spell_settings(target.document, SMALLER) == written


def test_options_and_advice_for_a_command_line_name_its_flags() -> None:
    """And no key of a job file."""
    words = ("trl", "sft", "--model_name_or_path", "Qwen/Qwen3-8B", "--dataset_name", "acme/rows")
    large = ("--per_device_train_batch_size", "64")
    fits = holdfast.plan(arguments=[*words, "--use_peft"], hardware="l4x1", offline=True)
    nowhere = holdfast.plan(arguments=[*words, *large], hardware="h100", offline=True)

    assert {each["written"] for each in fits["options"] if each["settings"]} == {
        "--dtype bfloat16 --per_device_train_batch_size 4 --gradient_accumulation_steps 2"
    }
    assert nowhere["options"] == []
    text = [unstyle(render_plan(convert(each, PlanResult))) for each in (fits, nowhere)]
    assert not re.search(r"\b(?:train|model|where)\.[a-z]", "".join(text).replace("torch.", ""))


@pytest.mark.parametrize(("name", "value"), [("CUDA_VISIBLE_DEVICES", "0"), ("NUM_GPUS_OVERRIDE", "1")])
def test_of_a_gpu_that_only_a_variable_names_no_memory_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """No driver says how much it has, so no job is said to need more."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(name, value)
    job = tmp_path / "job.yaml"
    job.write_text("method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:tiny-chat\nwhere: {backend: local}\n")

    (target,) = holdfast.check([job], offline=True)["targets"]

    assert [each["code"] for each in target["findings"] if each["code"].startswith("RES")] == []


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("Qwen/Qwen2.5-7B-Instruct-1M", "`Qwen/Qwen2.5-7B`, `Qwen/Qwen2.5-7B-Instruct`"),
        ("someone/Mixtral-8x7B-dolphin", "`mistralai/Mixtral-8x7B-v0.1`"),
        ("Qwen/Qwen2.5-57B", ""),
        ("someone/finetune", ""),
    ],
)
def test_an_unknown_model_names_those_of_its_family_and_size(name: str, known: str) -> None:
    (unknown,) = plan_job(**{"model.path": name})["unknown"]
    assert known in unknown["because"]
    assert ("of its family and size" in unknown["because"]) == bool(known)
    assert "A folder with its `config.json`" in unknown["because"]


def test_a_folder_with_nothing_but_a_config_is_planned_as_the_model(tmp_path: Path) -> None:
    known = load_configs()["Qwen/Qwen3-32B"]
    (tmp_path / "config.json").write_text(json.dumps(known.config))
    named, folder = (plan_job(**{"model.path": path}) for path in ("Qwen/Qwen3-32B", str(tmp_path)))
    assert folder["memory"] == named["memory"]
    assert folder["parameters"] == known.parameters


@pytest.mark.parametrize(
    "edit",
    ["train.save_steps=.nan", "train.num_train_epochs=.inf", "peft.r=" + "9" * 400],
)
def test_a_number_that_no_training_can_have_is_the_reason(tmp_path: Path, edit: str) -> None:
    """Instead of an error of arithmetic, or of an answer that never comes."""
    (tmp_path / "job.yaml").write_text("method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n")
    result = plan(tmp_path / "job.yaml", set=[edit], offline=True)

    assert result.memory is None
    assert "a number that no training can have" in unstyle(render_plan(result))


def test_a_budget_is_an_amount(tmp_path: Path) -> None:
    """JSON has no infinity."""
    (tmp_path / "job.yaml").write_text("method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n")
    with pytest.raises(UsageError, match="not a budget"):
        plan(tmp_path / "job.yaml", budget=math.inf, offline=True)
