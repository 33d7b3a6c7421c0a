"""Whether the versions at hand are new enough for something."""

from packaging.version import Version

from holdfast.catalog.api import Api


def since(api: Api, package: str, version: str) -> bool | None:
    """True if a package is at a release or a later one; None if its version is not known.

    >>> since(Api({"trl": "1.16.0"}), "trl", "0.18.0"), since(Api({}), "trl", "0.18.0")
    (True, None)
    """
    at_hand = api.versions.get(package)
    return None if at_hand is None else Version(at_hand) >= Version(version)
