"""Where peft puts an adapter that names no modules, compared with the installed peft."""

import pytest

from holdfast.catalog.models.architectures import load_traits
from holdfast.catalog.models.default_targets import DEFAULT_TARGETS, NO_DEFAULT


@pytest.mark.train
@pytest.mark.parametrize("name", sorted(load_traits()))
def test_defaults_are_those_of_peft(name: str) -> None:
    """Of a type whose default is not in the table, nothing is claimed."""
    from peft.utils.constants import TRANSFORMERS_MODELS_TO_LORA_TARGET_MODULES_MAPPING as DEFAULTS

    assert (name in NO_DEFAULT) == (name not in DEFAULTS)
    assert name not in DEFAULT_TARGETS or DEFAULT_TARGETS[name] == frozenset(DEFAULTS[name])
