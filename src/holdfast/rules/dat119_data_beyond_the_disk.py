"""Dataset larger than the free disk space.

## What it does
Adds up the download sizes of the splits of a job file's datasets, and checks the sum against the free space under the
runs folder.

## Why is this bad
`load_dataset` downloads all splits of a configuration, whichever one you load, and writes them a second time as
Arrow. If the disk fills up, it ends with `OSError`, hours later, and leaves no space for checkpoints.

## Fix safety
There is no automatic fix: `dataset.streaming: true` stores no rows, and `HF_HOME` puts the cache on another disk.
Data that is already cached is counted again, so this is a warning.
"""

from collections.abc import Iterator, Sequence

from holdfast.catalog.references import finding, found_references, once
from holdfast.core.check.facts import Dataset, Machine, Split
from holdfast.core.check.finding import JOB_FILES, Case, Finding, MissingFactError, Rule, Severity
from holdfast.core.check.reference import Lookup, Reference
from holdfast.core.job.document import Document

GB = 1_000_000_000


def check(job: Document, datasets: Sequence[Lookup[Dataset]], machine: Machine) -> Iterator[Finding]:
    """Report the first dataset that is larger than the free disk space."""
    if job.get("dataset.streaming", None) is True or not machine.free_disk_bytes:
        return
    larger = _first_larger(job, datasets, machine.free_disk_bytes)
    if larger:
        reference, size = larger
        free = f"{machine.free_disk_bytes / GB:.1f} GB are free"
        yield finding(reference, f"`{reference.name}` is a download of {size / GB:.1f} GB, and {free}")


def _first_larger(job: Document, datasets: Sequence[Lookup[Dataset]], free_bytes: int) -> tuple[Reference, int] | None:
    """Return the first dataset that is larger than the free space, with its size in bytes; None if all fit.

    Raises:
        MissingFactError: The size of one is not known.
    """
    unmeasured: list[str] = []
    for reference, dataset in once(found_references(job, datasets)):
        sizes = _split_bytes(reference, dataset)
        size = sum(filter(None, sizes))
        if size > free_bytes:
            return reference, size
        if None in sizes:
            unmeasured.append(reference.name)
    if unmeasured:
        raise MissingFactError(unmeasured[0], "the Hub does not say how large it is")
    return None


def _split_bytes(reference: Reference, dataset: Dataset) -> list[int | None]:
    """Return the size of each split of the configuration that is loaded; None if the Hub does not say it."""
    splits = dataset.configs.get(reference.config or dataset.default_config or "", {})
    return [split.bytes for split in splits.values()]


JOB = """
method: sft
model: Qwen/Qwen2.5-0.5B
dataset: {path: acme/crawl, config: en}
"""


def _facts(size: int | None, free: int) -> dict[str, object]:
    reference = Reference(
        role="dataset", name="acme/crawl", key="dataset.path", repo_kind="dataset", config="en", split="train"
    )
    known = Dataset(configs={"en": {"train": Split(bytes=size), "test": Split(bytes=size)}}, default_config=None)
    return {"datasets": (Lookup(reference, known),), "machine": Machine(cpus=2, free_disk_bytes=free)}


RULE = Rule(
    code="DAT119",
    name="data-beyond-the-disk",
    explain=__doc__,
    severity=Severity.WARNING,
    check=check,
    source=(
        "datasets 5.2, `DatasetBuilder.download_and_prepare`. Tried against a Hub on loopback: asked for the split `train`, it downloads the files of `test`, too; the "
        "cache then holds each of them, and an Arrow file of every split."
    ),
    bad=(Case(job=JOB, facts=_facts(300 * GB, 400 * GB), at="dataset.path"),),
    good=(
        Case(job=JOB, facts=_facts(100 * GB, 400 * GB)),
        Case(job=JOB, facts=_facts(None, 400 * GB)),
        Case(
            job=JOB.replace("config: en", "config: en, streaming: true") + "train: {max_steps: 500}\n",
            facts=_facts(300 * GB, 400 * GB),
        ),
    ),
    kinds=JOB_FILES,
)
