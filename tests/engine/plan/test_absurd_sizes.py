"""Sizes in `config.json` that no model has: the estimate says which, and stays a number."""

from typing import Any, Final

import pytest

from holdfast.core.check.finding import MissingFactError
from holdfast.engine.plan.architecture_reading import read_architecture

CONFIG: Final[dict[str, Any]] = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 128,
    "vocab_size": 1000,
}


@pytest.mark.parametrize("name", [*CONFIG][1:])
@pytest.mark.parametrize("size", [10**12, 10**300])
def test_a_size_that_no_model_has_is_named(name: str, size: int) -> None:
    with pytest.raises(MissingFactError, match=name):
        read_architecture({**CONFIG, name: size})
