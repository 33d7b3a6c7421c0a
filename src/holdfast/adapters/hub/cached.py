"""Models that `huggingface_hub` downloaded before."""

from pathlib import Path

from holdfast.catalog.hub.repositories import may_be_repository

DESCRIPTIONS = ("adapter_config.json", "config.json")


def cached_folder(name: str) -> Path | None:
    """Return the folder of a model in the cache of `huggingface_hub`; None if it is not there, or is no repository's name."""
    if not may_be_repository(name):
        return None
    from huggingface_hub import try_to_load_from_cache  # slow, and few commands need it

    for file in DESCRIPTIONS:
        if isinstance(path := try_to_load_from_cache(name, file), str):
            return Path(path).parent
    return None
