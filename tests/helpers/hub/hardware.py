"""Flavors of Jobs, as the Hub lists them.

Source: names, memory and disk are those of `holdfast/catalog/tables/flavors.toml`; the fields are those that `JobHardwareInfo` of huggingface_hub 2.4.0
reads. Prices are made up: a dollar an hour for each GPU, a cent without one.
"""

import tomllib
from functools import cache
from importlib.resources import files
from typing import Any

from tests.helpers.hub.exchange import Reply, as_json
from tests.helpers.hub.world import Visit

MICRO = 1_000_000


def hardware(visit: Visit) -> Reply:
    """GET /api/jobs/hardware: for everybody, without a token."""
    return as_json(visit.world.hardware if visit.world.hardware is not None else flavors())


@cache
def flavors() -> list[dict[str, Any]]:
    """Return all flavors of which CPUs, memory and disk are known."""
    catalog = files("holdfast.catalog")
    named = tomllib.loads((catalog / "tables" / "flavors.toml").read_text())["flavors"]
    gpus = tomllib.loads((catalog / "tables" / "gpus.toml").read_text())
    return [_flavor(name, flavor, gpus) for name, flavor in named.items() if "memory_gb" in flavor]


def _flavor(name: str, flavor: dict[str, Any], gpus: dict[str, Any]) -> dict[str, Any]:
    count = flavor.get("gpus", 1) if "gpu" in flavor else 0
    hourly_usd = float(count) or 0.01
    told: dict[str, Any] = {
        "name": name,
        "prettyName": name,
        "cpu": f"{flavor['cpus']} vCPU",
        "ram": f"{flavor['memory_gb']} GB",
        "ephemeralStorage": f"{flavor['disk_gb']} GB",
        "accelerator": None,
        "unitCostMicroUSD": round(hourly_usd / 60 * MICRO),
        "unitCostUSD": round(hourly_usd / 60, 6),
        "unitLabel": "minute",
    }
    if count:
        gpu = gpus[flavor["gpu"]]
        told["accelerator"] = {
            "type": "gpu",
            "model": gpu["name"].removeprefix("NVIDIA "),
            "quantity": str(count),
            "vram": f"{gpu['memory_gb'] * count} GB",
            "manufacturer": "Nvidia",
        }
    return told
