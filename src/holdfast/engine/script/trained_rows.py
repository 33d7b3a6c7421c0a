"""The files whose rows a program hands its trainer as they are.

Covered: one file a split, read by `load_dataset` or `Dataset.from_…` without further arguments, whose rows are shuffled or parted at
most. Not covered: rows that the program changes, selects or leaves out, and trainers that are set to format them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from holdfast.catalog.calls.own_trainers import changes_steps_alone
from holdfast.catalog.formats.preparing import PREPARING
from holdfast.core.check.reference import Reference
from holdfast.core.errors import SourceError
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Unknown
from holdfast.engine.references.local_data import A_FOLDER, SAVED, local_data
from holdfast.engine.script.training_data import SPLITS_ITSELF, DataFlow, trace, trainer_given

TRAIN, EVAL, EVALUATED = "train_dataset", "eval_dataset", "evaluated"
KEEPING_ALL: Final = frozenset({"shuffle", "sort", "train_test_split", "flatten_indices", "repeat"})
"""Methods that leave every row as it is."""
READING: Final = ("method", "train.dataset_text_field", "train.assistant_only_loss")
"""Settings that decide which columns are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedRows:
    """Rows that a trainer is given as they are in files.

    Attributes:
        reference: The data that it trains on.
        files: The file of each split.
        split: The split, or the slice of one, that it trains on.
        evaluated: The one that it evaluates on; empty if that is not known, or there is none.
    """

    reference: Reference
    files: Mapping[str, str]
    split: str
    evaluated: str = ""


@dataclass(frozen=True, slots=True)
class _GivenRows:
    reference: Reference
    files: Mapping[str, str]
    split: str
    parted: bool


def find_trained_rows(document: Document) -> TrainedRows | None:
    """Return the rows that a program trains on; None if its source does not show that they are those of files here."""
    if any(document.get(key, None) is not None for key in PREPARING):
        return None
    if any(isinstance(document.get(key, None), Unknown) for key in READING) or not _is_usual(document):
        return None
    trained, evaluated = _given(document, TRAIN), _given(document, EVAL)
    if trained is None:
        return None
    files, split = _evaluated(trained, evaluated) if evaluated else (trained.files, "")
    return TrainedRows(reference=trained.reference, files=files, split=trained.split, evaluated=split)


def _is_usual(document: Document) -> bool:
    """True if the trainer prepares its rows as TRL's does, and everything that it is given can be seen."""
    trainer = document.call("trainer")
    return (
        trainer is not None
        and not trainer.open
        and not any(each.path.startswith("trl.") and not changes_steps_alone(each) for each in document.overrides)
    )


def _evaluated(trained: _GivenRows, evaluated: _GivenRows) -> tuple[Mapping[str, str], str]:
    """Return the files of both, and the split that is evaluated on; an empty one if it is not known."""
    if trained.parted or evaluated.parted:
        return trained.files, ""
    if trained.files == evaluated.files:  # to evaluate on what is trained on has a rule of its own
        return trained.files, evaluated.split if evaluated.split != trained.split else ""
    if evaluated.split not in evaluated.files:  # a slice
        return trained.files, ""
    return {**trained.files, EVALUATED: evaluated.files[evaluated.split]}, EVALUATED


def _given(document: Document, argument: str) -> _GivenRows | None:
    """Return the data that a trainer is given; None if it is not given as it is in files."""
    flow = _untouched(document, argument)
    reference = _plain_reference(document, flow.source) if flow else None
    files = _file_of_each_split(reference) if reference else None
    if flow is None or reference is None or files is None:
        return None
    parted = SPLITS_ITSELF in {step.name for step in flow.steps}
    return _GivenRows(reference, files, split=flow.split or reference.split or "train", parted=parted)


def _untouched(document: Document, argument: str) -> DataFlow | None:
    """Return the way of the data that a trainer is given, if every row stays as it is."""
    if trainer_given(document, argument) is None:
        return None
    try:
        flow = trace(document, argument)
    except SourceError:
        return None
    return flow if KEEPING_ALL.issuperset(step.name for step in flow.steps) else None


def _plain_reference(document: Document, source: Call) -> Reference | None:
    """Return the files that a call reads without further arguments."""
    reference = next((each for each in local_data(document) if each.key.startswith(f"{source.key}.")), None)
    if reference is None or reference.read is None or reference.read.options:
        return None
    return None if reference.read.reader in (SAVED, A_FOLDER) else reference


def _file_of_each_split(reference: Reference) -> dict[str, str] | None:
    """Return the file of each split; None if one of them has several."""
    splits = reference.read.splits if reference.read else ()
    files = {split: names[0] for split, names in splits if len(names) == 1 and "*" not in names[0]}
    return files if len(files) >= len(splits) else None
