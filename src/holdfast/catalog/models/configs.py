"""Configurations of known models, for when neither a folder nor the Hub gives `config.json`.

Source: `model_configs.toml`, which names one for each.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from holdfast.catalog.tables import load_table


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownConfig:
    """What of a model's `config.json` decides memory and arithmetic.

    Attributes:
        parameters: Parameters of the model, tied ones once.
        source: Where it comes from.
        config: The values.
    """

    parameters: int
    source: str
    config: Mapping[str, Any]


@cache
def load_configs() -> Mapping[str, KnownConfig]:
    """Return every configuration by the name of the repository.

    >>> load_configs()["Qwen/Qwen3-8B"].config["num_hidden_layers"]
    36
    """
    rows = load_table("model_configs")
    return {name: _known(rows[row.get("like", name)], row["source"]) for name, row in rows.items()}


def _known(row: Mapping[str, Any], source: str) -> KnownConfig:
    return KnownConfig(parameters=row["parameters"], source=source, config=row["config"])
