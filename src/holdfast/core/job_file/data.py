"""The data of a job: which rows are trained on, and how they are chosen."""

from collections.abc import Iterator
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BeforeValidator, Field, PositiveInt, model_validator

from holdfast.core.job_file.problems import FUNCTION, UnfitKeysError
from holdfast.core.job_file.strict_part import StrictPart

LONGEST_NAME: Final = 255
"""Bytes that a file's name may have, on the file systems of Linux and macOS."""


def _check_length(text: str) -> str:
    if any(len(part.encode(errors="replace")) > LONGEST_NAME for part in text.split("/")):
        raise ValueError(f"a part of it is longer than the {LONGEST_NAME} bytes that a name may have")
    return text


def path_alone(value: Any) -> Any:
    """Return the mapping that a path alone is short for."""
    return {"path": value} if isinstance(value, str) else value


Text = Annotated[str, Field(min_length=1), AfterValidator(_check_length)]
"""A path, or a name of the Hub."""
Seed = Annotated[int, Field(ge=0, lt=2**32)]
"""What numpy takes."""
Weight = Annotated[float, Field(ge=1e-6, le=1e6)]
SampleStrategy = Literal["random", "head", "stratified", "length"]


class MixedData(StrictPart):
    """Another dataset of a mixture."""

    path: Text
    """Hub id, file or folder. A path is looked up like that of the first dataset."""
    config: str | None = None
    """Configuration of a Hub dataset that has several."""
    split: str = "train"
    """Split to train on."""
    weight: Weight = 1.0
    """Share of the rows that are from this dataset, in proportion to the other weights."""


Mixed = Annotated[MixedData, BeforeValidator(path_alone, json_schema_input_type=Text | MixedData)]


class Data(StrictPart):
    """A dataset and the part of it that is used."""

    path: Text
    """Hub id, file, folder, or `builtin:` name. A path is looked up in the job file's folder, then in the current one."""
    config: str | None = None
    """Configuration of a Hub dataset that has several."""
    split: str = "train"
    """Split to train on."""
    eval_split: str | None = None
    """Split to evaluate on."""
    eval_fraction: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Part of `split` that is held out for evaluation, drawn with the seed."""
    rows: PositiveInt | None = None
    """Use this many rows, chosen by `sample` with the seed; an `eval_fraction` is held out of them."""
    sample: SampleStrategy | None = None
    """How the rows are chosen: `random`, the default; `head`, the first ones; `stratified`, as many of each value of the column `by` as fits its
    share of all rows; `length`, equally many of each tenth of the rows, ordered by length in characters (of the column `by`, if there is one)."""
    by: str | None = None
    """Column that `sample` looks at."""
    mix: list[Mixed] = []
    """Further datasets to train on. The rows of all datasets are mixed in proportion to their weights, and no row is used twice. With `rows`, that
    many in total; otherwise as many as the weights allow."""
    weight: Weight | None = None
    """Weight of this dataset in the mixture. Default: 1."""
    seed: Seed | None = None
    """Seed for drawing rows, mixing them and holding them out. Default: the job's seed."""
    streaming: bool = False
    """Read rows while training; needs `train.max_steps`."""
    map: Annotated[str, Field(pattern=FUNCTION)] | None = None
    """Function that rewrites each row, of every dataset of a mixture: `file.py:function` or `module:function`. The file is looked up like `path`."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Data":
        if problems := dict(self._unfit_keys()):
            raise UnfitKeysError(problems)
        return self

    def _unfit_keys(self) -> Iterator[tuple[str, str]]:
        if needs := list(self._lacking_for_sample()):
            yield "sample", f"`{self.sample}` needs {' and '.join(needs)}"
        if self.by and self.sample not in ("stratified", "length"):
            yield "by", "it is for `sample: stratified` and `sample: length`"
        if self.weight and not self.mix:
            yield "weight", "it is for mixtures, and there is no other dataset in `mix`"

    def _lacking_for_sample(self) -> Iterator[str]:
        if self.sample and not self.rows and not self.mix:
            yield "`rows` (how many are chosen)"
        if self.sample == "stratified" and not self.by:
            yield "`by` (a column)"
