"""Configurations that the catalog knows of models."""

import pytest

from holdfast.catalog.models.configs import KnownConfig, load_configs
from holdfast.engine.plan.parameters import read_model, total_parameters


@pytest.mark.parametrize(("name", "known"), load_configs().items(), ids=load_configs())
def test_a_known_config_counts_as_many_parameters_as_its_model_has(name: str, known: KnownConfig) -> None:
    assert total_parameters(read_model(known.config, known.parameters)) == known.parameters, name
    assert known.source
