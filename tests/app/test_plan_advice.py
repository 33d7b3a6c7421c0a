"""What `plan` advises for jobs that fit nothing: each change is tried by planning the changed job."""

import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click import unstyle
from msgspec import convert

import holdfast
from holdfast.catalog.hub.flavors import load_flavors
from holdfast.cli.text.plan import render_plan
from holdfast.results.plan import PlanResult

LARGE = "Qwen/Qwen3-8B"
MIXTURE = "mistralai/Mixtral-8x7B-v0.1"
JOBS: dict[str, dict[str, Any]] = {
    "quickstart": {"model.path": LARGE},
    "adapter on long rows": {"model.path": LARGE, "peft.r": 16, "train.max_length": 400_000},
    "quantized": {"model.path": LARGE, "peft.r": 8, "quantization.load_in_4bit": True, "train.max_length": 400_000},
    "mixture": {"model.path": MIXTURE, "train.per_device_train_batch_size": 2},
    "shared by 4": {"model.path": MIXTURE, "where.hardware": "h200x4", "where.strategy": "fsdp"},
    "accumulated": {"model.path": MIXTURE, "where.hardware": "h200x8", "where.strategy": "fsdp",
                    "train.gradient_accumulation_steps": 8},
}  # fmt: skip


def plan_job(name: str = "quickstart", **sets: Any) -> dict[str, Any]:
    return holdfast.plan(f"examples/{name}.yaml", set={"where.backend": "hf-jobs", **sets}, offline=True)


def replan(job: dict[str, Any], option: dict[str, Any], name: str = "quickstart") -> dict[str, Any]:
    """Return the plan of a job as an option has it, on its hardware."""
    return plan_job(name, **{**job, **option["settings"], "where.hardware": option["hardware"]})


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
def test_what_is_advised_fits_as_it_says(job: dict[str, Any]) -> None:
    result = plan_job(**job)
    assert result["options"] == []
    assert result["advised"]
    assert "advice" not in result
    for option in result["advised"]:
        changed = replan(job, option)
        assert changed["fits"], option
        assert changed["memory"]["high_bytes"] == option["high_bytes"], option
        assert changed["time_s"]["value"] == pytest.approx(option["time_s"]), option


MODELS = (LARGE, MIXTURE, "Qwen/Qwen2.5-72B", "meta-llama/Llama-3.1-70B", "google/gemma-3-27b-pt", "Qwen/Qwen3-30B-A3B")
PLACES: tuple[dict[str, Any], ...] = (
    {},
    {"where.hardware": "h200x8", "where.strategy": "fsdp"},
    {"where.hardware": "a100x4", "where.strategy": "zero3"},
    {"where.hardware": "l40sx4", "where.strategy": "zero2"},
    {"where.hardware": "h200x2", "where.strategy": "ddp"},
    {"where.nodes": 2, "where.processes": 4, "where.strategy": "fsdp"},
)
EXAMPLES = ("quickstart", "quickstart", "dpo", "kto", "reward", "grpo")


def generated_job(number: int) -> tuple[str, dict[str, Any]]:
    """Return the example and the settings of a job that is likely to fit nothing, the same for each number."""
    draw = random.Random(number)  # noqa: S311 - drawn again from its number
    name = draw.choice(EXAMPLES)
    job = {"model.path": draw.choice(MODELS), **draw.choice(PLACES)}
    length = "max_completion_length" if name == "grpo" else "max_length"
    if draw.random() < 1 / 2:
        job[f"train.{length}"] = draw.choice([4096, 65_536, 2_000_000])
    if draw.random() < 1 / 3:
        job |= {"peft.r": 16, "peft.target_modules": draw.choice(["all-linear", "q_proj"])}
    if "peft.r" in job and draw.random() < 1 / 3:
        job["quantization.load_in_4bit"] = True
    if name != "grpo":
        job |= {
            "train.per_device_train_batch_size": draw.choice([1, 3, 16]),
            "train.gradient_accumulation_steps": draw.choice([1, 4]),
        }
    return name, job


def require_true_advice(number: int) -> str:
    """Plan every change that is advised for a job, and say what came of it."""
    name, job = generated_job(number)
    result = plan_job(name, **job)
    if not result["memory"]:
        return "unknown"
    for option in result.get("advised", ()):
        changed = replan(job, option, name)
        assert changed["fits"], (number, option)
        assert changed["memory"]["high_bytes"] == option["high_bytes"], (number, option)
    if result["options"]:
        assert "advised" not in result
        return "fits"
    assert ("advice" in result) != ("advised" in result), number
    if "advice" in result:
        assert not any(plan_job(name, **{**job, **least})["fits"] for least in LEAST), number
    return "nothing helps" if "advice" in result else "advised"


LEAST = tuple(
    {
        "peft.r": 16,
        "peft.target_modules": "all-linear",
        "train.max_length": 64,
        "train.max_completion_length": 64,
        "where.strategy": "fsdp",
        "where.nodes": 1,
        "where.processes": count,
        "where.hardware": hardware,
    }
    for hardware, count in (("h200x8", 8), ("rtx-pro-6000x8", 8), ("a100x4", 4), ("h200x2", 2))
)


@pytest.mark.parametrize("number", range(8))
def test_advice_for_generated_jobs_is_true(number: int) -> None:
    require_true_advice(number)


@pytest.mark.long
def test_advice_for_many_generated_jobs_is_true() -> None:
    found = Counter(require_true_advice(number) for number in range(8, 48))
    assert found["advised"] > 10
    assert found["fits"] > 3


@pytest.mark.parametrize("method", ["dpo", "grpo"])
def test_what_is_advised_for_other_methods_fits_too(method: str) -> None:
    job: dict[str, Any] = {"model.path": MIXTURE}
    advised = plan_job(method, **job)["advised"]
    assert advised
    assert all(replan(job, option, method)["fits"] for option in advised)


@pytest.mark.parametrize(
    ("job", "shorter"), [("adapter on long rows", True), ("quantized", True), ("quickstart", False), ("mixture", False)]
)
def test_shorter_rows_are_advised_where_they_help_and_not_where_the_states_alone_do_not_fit(
    job: str, shorter: bool
) -> None:
    advised = plan_job(**JOBS[job])["advised"]
    assert any("train.max_length" in each["settings"] for each in advised) == shorter


def test_a_job_that_all_gpus_of_a_machine_share_already_is_not_told_to_share_it() -> None:
    result = plan_job(**JOBS["accumulated"])
    assert all(each["settings"].get("where.processes") != 8 for each in result["advised"])


def test_a_command_that_may_fit_is_told_of_expandable_segments() -> None:
    """The upper end of what torch's default allocator reserves is above the card, that of expandable segments is not."""
    words = f"trl sft --model_name_or_path {MIXTURE} --dataset_name x/y"
    asked: dict[str, Any] = {"hardware": "h200x8", "strategy": "fsdp", "offline": True}
    result = holdfast.plan(arguments=words.split(), **asked)
    assert not result["fits"]
    assert result["memory"]["low_bytes"] < result["card_bytes"] < result["memory"]["high_bytes"]

    (option,) = [each for each in result["advised"] if each["hardware"] == "h200x8"]
    assert option["written"] == "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    assert holdfast.plan(arguments=[option["written"], *words.split()], **asked)["fits"]


def test_the_adapter_of_a_command_is_written_as_flags_with_which_it_fits() -> None:
    words = f"trl sft --model_name_or_path {LARGE} --dataset_name x/y"
    result = holdfast.plan(arguments=words.split(), offline=True)
    option = result["advised"][0]
    assert "--use_peft" in option["written"]
    changed = holdfast.plan(arguments=f"{words} {option['written']}".split(), hardware=option["hardware"], offline=True)
    assert changed["fits"]
    assert changed["memory"]["high_bytes"] == option["high_bytes"]


def test_the_adapter_of_a_script_is_written_as_a_config(tmp_path: Path) -> None:
    path = tmp_path / "train.py"
    path.write_text(
        "from datasets import load_dataset\nfrom trl import SFTConfig, SFTTrainer\n"
        f"SFTTrainer(model={LARGE!r}, args=SFTConfig('out'), train_dataset=load_dataset('x/y', split='train')).train()\n"
    )
    written = [each["written"] for each in holdfast.plan(path, offline=True)["advised"]]
    assert any("LoraConfig(r=16, target_modules='all-linear')" in each for each in written)


def test_nothing_is_advised_where_nothing_helps(tmp_path: Path) -> None:
    """Of a model that no machine holds, an adapter on rows of 64 tokens that all GPUs share fits no flavor."""
    sizes = {"hidden_size": 32768, "intermediate_size": 131072, "num_hidden_layers": 200, "num_attention_heads": 256}
    config = {"model_type": "llama", "vocab_size": 128_000, **sizes}
    (tmp_path / "config.json").write_text(json.dumps(config))
    job: dict[str, Any] = {"model.path": str(tmp_path), "train.max_length": 2048}
    result = plan_job(**job)
    assert "advised" not in result
    assert result["advice"].startswith(
        "`plan` tried an adapter, rows of 64 tokens, fsdp on all GPUs of a machine: it fits"
    )
    assert result["advice"] in unstyle(render_plan(convert(result, PlanResult)))

    least: dict[str, Any] = {
        "peft.r": 16,
        "peft.target_modules": "all-linear",
        "train.max_length": 64,
        "where.strategy": "fsdp",
    }
    batch: dict[str, Any] = {"train.per_device_train_batch_size": 1, "train.gradient_checkpointing": True}
    shared = [each.name for each in load_flavors().values() if len(each.gpus) > 1]
    assert not any(plan_job(**{**job, **least, **batch, "where.hardware": name})["fits"] for name in shared)


def test_completions_are_shortened_to_64_tokens_too_where_half_as_long_ones_are_shorter() -> None:
    adapter = {"peft.r": 16, "peft.target_modules": "all-linear"}
    long: dict[str, Any] = {"train.max_completion_length": 100, "train.per_device_train_batch_size": 352}
    result = plan_job("grpo", **{"model.path": LARGE, **adapter, **long})
    assert [each["settings"]["train.max_completion_length"] for each in result["advised"]] == [64]

    larger = {"model.path": LARGE, **adapter, **long, "train.per_device_train_batch_size": 4096}
    assert "completions of 64 tokens" in plan_job("grpo", **larger)["advice"]


@pytest.mark.parametrize(("batch", "accumulation"), [(1, 1), (2, 1), (1, 4), (3, 3), (4, 4)])
def test_an_effective_batch_that_the_gpus_cannot_divide_grows_and_the_plan_says_so(
    batch: int, accumulation: int
) -> None:
    job: dict[str, Any] = {
        "model.path": "Qwen/Qwen2.5-32B",
        "train.per_device_train_batch_size": batch,
        "train.gradient_accumulation_steps": accumulation,
    }
    result = plan_job(**job)
    text = unstyle(render_plan(convert(result, PlanResult)))
    shared = [each for each in result["advised"] if each["settings"].get("where.processes", 1) > 1]
    assert shared
    for option in shared:
        settings = {**job, **option["settings"]}
        rows = math.prod(
            settings[each]
            for each in (
                "train.per_device_train_batch_size",
                "train.gradient_accumulation_steps",
                "where.processes",
            )
        )
        assert option.get("effective_batch", batch * accumulation) == rows
        assert (f"On {option['hardware']}, the effective batch is {rows}," in text) == (rows != batch * accumulation)


def test_scoring_all_rows_beforehand_spares_the_reference_model() -> None:
    """TRL then makes no second model (dpo_trainer.py, kto_trainer.py of 1.16), except under FSDP."""
    job: dict[str, Any] = {
        "model.path": "Qwen/Qwen3-4B",
        "train.max_length": 2048,
        "train.per_device_train_batch_size": 1,
    }
    option = next(each for each in plan_job("dpo", **job)["options"] if each["hardware"] == "rtx-pro-6000")
    assert option["settings"] == {"train.precompute_ref_log_probs": True}
    changed = replan(job, option, "dpo")
    assert changed["fits"]
    assert changed["memory"]["terms"]["reference"] == 0

    shared: dict[str, Any] = {"where.hardware": "a100x4", "where.strategy": "fsdp"}
    options = plan_job("dpo", **job, **shared)["options"]
    several = [each for each in options if "where.processes" not in each["settings"]]
    assert several
    assert all("train.precompute_ref_log_probs" not in each["settings"] for each in several)


@pytest.mark.parametrize("more", [{"train.sync_ref_model": True}, {"dataset.streaming": True, "train.max_steps": 10}])
def test_scoring_beforehand_is_no_option_where_trl_refuses_it(more: dict[str, Any]) -> None:
    job: dict[str, Any] = {
        "model.path": "Qwen/Qwen3-4B",
        "train.max_length": 2048,
        "train.per_device_train_batch_size": 1,
    }
    options = plan_job("dpo", **job, **more)["options"]
    assert options
    assert all("train.precompute_ref_log_probs" not in each["settings"] for each in options)


def test_a_reference_that_a_script_passes_is_kept_though_it_scores_beforehand(tmp_path: Path) -> None:
    def reference_bytes(passed: str) -> int:
        path = tmp_path / "train.py"
        path.write_text(
            "from datasets import load_dataset\nfrom trl import DPOConfig, DPOTrainer\n"
            f"DPOTrainer(model={LARGE!r}, {passed}args=DPOConfig('out', max_length=1024, precompute_ref_log_probs=True), "
            "train_dataset=load_dataset('x/y', split='train')).train()\n"
        )
        found: int = holdfast.plan(path, offline=True)["memory"]["terms"]["reference"]
        return found

    assert reference_bytes("") == 0
    assert reference_bytes("ref_model='Qwen/Qwen3-8B', ") > 0
