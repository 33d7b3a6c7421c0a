"""accelerate's own files, and those that TRL brings along: how many processes, and how they share the work.

Source: `commands/launch.py` and `commands/config/config_args.py` of accelerate 1.15; `trl/accelerate_configs` of TRL 0.12
to 1.16, where each of these names is, if it is there, the same.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from holdfast.adapters.readers.command_line.launchers import Launch
from holdfast.adapters.readers.foreign.accelerate import UNDER
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.places import Place

CONFIG: Final = "where.accelerate_config"
WORLD_SIZE: Final = "where.world_size"
KEYS: Final = {
    "num_processes": WORLD_SIZE,
    "num_machines": "where.nodes",
    "mixed_precision": "where.mixed_precision",
    "distributed_type": "where.distributed_type",
    "deepspeed_config": "where.deepspeed",
    "fsdp_config": "where.fsdp",
}
SHARDED: Final = {"num_machines": 1, "num_processes": 8, "mixed_precision": "bf16"}
PACKAGED: Final[Mapping[str, Mapping[str, Any]]] = {
    "single_gpu": {**SHARDED, "distributed_type": "NO"},
    "multi_gpu": {**SHARDED, "distributed_type": "MULTI_GPU"},
    **{
        f"zero{stage}": {**SHARDED, "distributed_type": "DEEPSPEED", "deepspeed_config": {"zero_stage": stage}}
        for stage in (1, 2, 3)
    },
    **{
        f"fsdp{version}": {**SHARDED, "distributed_type": "FSDP", "fsdp_config": {"fsdp_version": version}}
        for version in (1, 2)
    },
}
"""What TRL's own files say, by the name under which `--accelerate_config` finds them."""
ALONE: Final = ("NO", False)
"""The kind of distribution that is none, which YAML may take for false: one process, whatever number the file gives."""

SettingsReader = Callable[[str], Document | None]


def add_accelerate_config(launch: Launch, files: SettingsReader, *, packaged: bool = False) -> None:
    """Add what accelerate's file says to what the launchers say; options count before it.

    Args:
        launch: What they say; `where.accelerate_config` names the file.
        files: Gives a YAML file's settings, or None if it is not at hand.
        packaged: Whether the name may be that of one of TRL's own files.
    """
    name, place = launch.values.get(CONFIG), launch.places.get(tuple(CONFIG.split(".")))
    if not isinstance(name, str) or place is None:
        return
    found = files(name)
    if found:
        launch.say(".".join(UNDER), dict(found.values), place)
        launch.places |= {(*UNDER, *key): each for key, each in {**found.places, **found.key_places}.items()}
        _add_settings(launch, found.values, place)
    elif packaged:
        _add_settings(launch, PACKAGED.get(name, {}), place)


def _add_settings(launch: Launch, settings: Mapping[str, Any], place: Place) -> None:
    for key, value in _stated(settings).items():
        if key not in launch.values:
            launch.say(key, value, place)
        elif key == WORLD_SIZE and _is_alone(settings):
            launch.say(key, Unknown("accelerate's file says one process, and an option another number"), place)


def _stated(settings: Mapping[str, Any]) -> dict[str, Any]:
    values = {ours: settings[theirs] for theirs, ours in KEYS.items() if settings.get(theirs) not in (None, {})}
    return {**values, WORLD_SIZE: 1} if _is_alone(settings) else values


def _is_alone(settings: Mapping[str, Any]) -> bool:
    return settings.get("distributed_type") in ALONE
