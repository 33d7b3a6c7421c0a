"""The hardware of Hugging Face Jobs that a value of a job names."""

from holdfast.catalog.hub.flavors import Flavor, load_flavors


def flavor_named(value: object) -> Flavor | None:
    """Return the flavor of a name; None if there is none, or if the value is no name.

    >>> flavor_named("cpu-basic").gpus, flavor_named(None)
    ((), None)
    """
    return load_flavors().get(value) if isinstance(value, str) else None
