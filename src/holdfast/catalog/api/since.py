"""Whether the versions at hand are new enough for something."""

from collections.abc import Mapping

from packaging.version import Version

from holdfast.catalog.api import Api


def since(api: Api, package: str, version: str) -> bool | None:
    """True if a package is at a release or a later one; None if its version is not known.

    >>> since(Api({"trl": "1.16.0"}), "trl", "0.18.0"), since(Api({}), "trl", "0.18.0")
    (True, None)
    """
    at_hand = api.versions.get(package)
    return None if at_hand is None else Version(at_hand) >= Version(version)


def all_since(api: Api, versions: Mapping[str, str]) -> bool:
    """True if each package is known to be at its release or a later one.

    >>> all_since(Api({"trl": "1.16.0"}), {"trl": "1.16.0"}), all_since(Api({"trl": "1.16.0"}), {"trl": "1.0", "peft": "0.19.1"})
    (True, False)
    """
    return all(since(api, package, version) for package, version in versions.items())
