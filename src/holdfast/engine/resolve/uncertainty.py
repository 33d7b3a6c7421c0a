"""What makes a version unknown, and which other versions that makes unknown too."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from holdfast.core.environment.versions import admits_newer, admits_older, bounds, spelled
from holdfast.engine.resolve.releases import OUTSIDE, PackageReleases
from holdfast.engine.resolve.resolution import Constraint
from holdfast.engine.resolve.search import Domains, Search

ALL: Final = frozenset({"trl", "transformers", "peft", "accelerate", "datasets", "huggingface_hub"})
CAPPING: Final[Mapping[str, frozenset[str]]] = {
    "axolotl": ALL,
    "llamafactory": ALL,
    "ms-swift": ALL,
    "autotrain-advanced": ALL,
    "unsloth": ALL,
    "unsloth-zoo": ALL,
    "torchtune": frozenset({"datasets", "huggingface_hub"}),
    "vllm": frozenset({"transformers", "huggingface_hub"}),
    "sglang": frozenset({"transformers", "huggingface_hub"}),
    "lmdeploy": frozenset({"transformers", "peft", "accelerate"}),
    "llmcompressor": frozenset({"transformers", "datasets", "accelerate"}),
    "autoawq": frozenset({"transformers", "huggingface_hub"}),
    "auto-gptq": frozenset({"transformers", "peft", "accelerate"}),
    "gptqmodel": frozenset({"transformers", "accelerate"}),
    "optimum": frozenset({"transformers", "huggingface_hub"}),
    "optimum-intel": frozenset({"transformers", "huggingface_hub"}),
    "optimum-neuron": ALL,
    "optimum-habana": ALL,
    "sentence-transformers": frozenset({"transformers"}),
    "adapters": frozenset({"transformers"}),
    "setfit": frozenset({"transformers"}),
    "llm-blender": frozenset({"transformers"}),
    "mergekit": frozenset({"transformers", "accelerate", "huggingface_hub", "peft"}),
    "gradio": frozenset({"huggingface_hub"}),
    "diffusers": frozenset({"huggingface_hub"}),
    "lighteval": ALL,
    "nemo-toolkit": ALL,
    "verl": ALL,
    "openrlhf": ALL,
    "allennlp": ALL,
    "tts": frozenset({"transformers"}),
}
"""Packages that set an upper bound to some of ours, or did in some release: what they leave depends on their version."""


def why_outside(package: str, constraint: Constraint, releases: PackageReleases, date: str) -> str | None:
    """Return why a declared package is not among the releases in the history; None if it may be one."""
    versions = releases.history.versions
    if constraint.url or constraint.hidden:
        return constraint.hidden or f"{package} is taken from {constraint.url}"
    if releases.fitting(constraint.specifier) & ~OUTSIDE:
        return None
    specifier = f"`{constraint.first.text or constraint.specifier}`"
    if admits_newer(constraint.specifier, versions[-1]):
        return f"{specifier} asks for a release newer than {versions[-1]}, the newest known on {date}"
    if admits_older(constraint.specifier, versions[0]):
        return f"{specifier} asks for a release older than {versions[0]}, the oldest known"
    return f"{specifier} names none of the releases of {package} known on {date}"


def number_outside(constraint: Constraint) -> str:
    """Return the version that a requirement beyond the history asks for at least; empty if it names none."""
    lowest, _ = bounds(constraint.specifier)
    return "" if constraint.url or constraint.hidden or lowest is None else spelled(lowest)


def sources(domains: Domains, wishes: Mapping[str, Constraint], search: Search) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each package whose unknown needs may decide the versions of others, with those that it needs."""
    for package, choice in domains.items():
        if choice & OUTSIDE and not _needs_what_the_newest_does(wishes.get(package), search.release_index[package]):
            yield package, search.ever_needed(package)
    for wish in wishes.values():
        if wish.first.name in CAPPING and _leaves_other_releases(wish):
            yield wish.first.name, CAPPING[wish.first.name]


def _leaves_other_releases(constraint: Constraint) -> bool:
    """True if a package may be another release than the newest, whose needs differ."""
    return constraint.has_ceiling or bool(constraint.url)


def upper_bounded(names: Iterable[str]) -> Mapping[str, str]:
    """Return the packages to which others set an upper bound in their newest releases, and which those are."""
    return {package: name for name in names for package in CAPPING.get(name, ())}


def indirect_bounds(domains: Domains, search: Search) -> Iterator[tuple[str, str, str]]:
    """Yield the bounds that chosen releases put on other packages, in threes: the release's package, its requirement, the bounded package.

    Its bounds are not in the history: trackio needed gradio once, and each gradio admits some huggingface_hub only.
    """
    for package, choice in domains.items():
        for need in search.needs(package, choice):
            for bounded in sorted(CAPPING.get(need.name, frozenset()) & set(search.release_index)):
                yield package, need.name, bounded


def affected_packages(start: Iterable[str], domains: Domains, search: Search, fixed: Iterable[str]) -> frozenset[str]:
    """Return the packages whose version may be another one if these have others: by way of what needs what.

    Args:
        start: Where the doubt begins.
        domains: What was chosen.
        search: What knows the needs.
        fixed: Packages whose version is certain all the same.
    """
    fixed = set(fixed)
    edges = [
        {package, need.package}
        for package, choice in domains.items()
        for need in search.needs(package, choice)
        if need.package in domains
    ]
    reached = (set(start) & set(domains)) - fixed
    while more := {name for edge in edges if edge & reached for name in edge} - reached - fixed:
        reached |= more
    return frozenset(reached)


def _needs_what_the_newest_does(constraint: Constraint | None, releases: PackageReleases) -> bool:
    """True if it is newer than the history: what it needs is then hardly less than what the newest does."""
    if constraint is None:
        return False
    if constraint.url or constraint.hidden:
        return constraint.follows
    return admits_newer(constraint.specifier, releases.history.versions[-1])
