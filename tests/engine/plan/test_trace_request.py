"""What is asked of a trace."""

from dataclasses import replace
from typing import Any

import pytest

from holdfast.catalog.models.configs import load_configs
from holdfast.catalog.optimizers import load_optimizers
from holdfast.core.check.finding import MissingFactError
from holdfast.core.job.methods import Method
from holdfast.engine.plan.parameters import read_model
from holdfast.engine.plan.step import LoraAdapter, Numerics, Sharding, WeightQuantization
from holdfast.engine.plan.trace_request import trace_depths, trace_request
from tests.helpers.training_steps import training_step

CONFIG = load_configs()["mistralai/Mistral-7B-v0.1"].config


@pytest.mark.parametrize(
    ("name", "depths", "period"),
    [
        ("mistralai/Mistral-7B-v0.1", (2, 3), 1),
        ("Qwen/Qwen2.5-0.5B", (2, 3), 1),
        ("openai/gpt-oss-20b", (2, 4), 2),
        ("google/gemma-3-4b-pt", (6, 12), 6),
    ],
)
def test_a_deep_model_is_traced_at_two_depths_that_differ_by_all_kinds_of_layers(
    name: str, depths: tuple[int, ...], period: int
) -> None:
    known = load_configs()[name]
    assert trace_depths(known.config, read_model(known.config, known.parameters)) == (depths, period)


def test_a_shallow_model_is_traced_whole() -> None:
    model = replace(training_step().model, layers=3)
    assert trace_depths(CONFIG, model)[0] == (3,)


@pytest.mark.parametrize(
    ("optimizer", "name"),
    [
        ("adamw_torch", "adamw_torch"),
        ("adamw_torch_fused", "adamw_torch_fused"),
        ("sgd", "sgd"),
        ("adamw_bnb_8bit", "other"),
        ("paged_adamw", "other"),
        ("lion_8bit", "other"),
    ],
)
def test_torch_runs_its_own_optimizers(optimizer: str, name: str) -> None:
    step = training_step(optimizer=load_optimizers()[optimizer])
    assert trace_request(step, CONFIG, 2).optimizer.name == name


def test_a_pair_is_two_rows() -> None:
    step = training_step(method=Method.DPO, batch=3, eval_batch=2)
    request = trace_request(step, CONFIG, 2)
    assert (request.rows, request.eval_rows) == (6, 4)


def test_projections_that_a_type_holds_as_one_are_named_too() -> None:
    adapter = LoraAdapter(rank=8, targets=frozenset({"q_proj", "k_proj", "v_proj"}), dropout=True)
    request = trace_request(training_step(adapter=adapter, numerics=Numerics(autocast=True)), CONFIG, 2).adapter
    assert request is not None
    assert set(request.targets) == {"q_proj", "k_proj", "v_proj", "qkv_proj"}
    assert request.dropout > 0


@pytest.mark.parametrize(
    ("changes", "because"),
    [
        ({"sharding": Sharding(strategy="fsdp", processes=2)}, "shared by fsdp"),
        ({"quantization": WeightQuantization(bits=8)}, "8 bits"),
    ],
)
def test_what_is_not_traced_is_a_missing_fact(changes: dict[str, Any], because: str) -> None:
    with pytest.raises(MissingFactError, match=because):
        trace_request(training_step(**changes), CONFIG, 2)
