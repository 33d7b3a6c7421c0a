"""Public datasets whose columns have types that JSON Lines does not tell, classes by name and images, as Parquet; and metrics.

`datasets.load_metric` of old is `evaluate.load` now, which reads a module from a Space: here one that counts what is equal.
"""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

Row = dict[str, Any]

NER: Final = ("O", "B-PER", "I-PER", "B-ORG", "I-ORG", "B-LOC", "I-LOC", "B-MISC", "I-MISC")
WNUT: Final = ("O", *(f"{sign}-{kind}" for kind in ("corporation", "group", "location", "person") for sign in "BI"))
BEANS: Final = ("angular_leaf_spot", "bean_rust", "healthy")


@dataclass(frozen=True, slots=True)
class Typed:
    """A dataset with types.

    Attributes:
        make: Returns the row of a number.
        splits: How many rows each split has.
        classes: Names of the classes of a column, or of each of the numbers that it lists.
        images: Columns of images; a row gives a number, which colours it.
        config: The configuration's name.
    """

    make: Callable[[int], Row]
    splits: Mapping[str, int]
    classes: Mapping[str, Sequence[str]]
    images: tuple[str, ...] = ()
    config: str = "default"


def _tagged(kinds: Sequence[str]) -> Callable[[int], Row]:
    def make(number: int) -> Row:
        words = ["Anna", "has", str(number), "apples", "in", "Rome", "."]
        return {"id": str(number), "tokens": words, "ner_tags": [1, 0, 0, 0, 0, number % len(kinds), 0]}

    return make


def _asked(columns: Sequence[str]) -> Callable[[int], Row]:
    return lambda n: {**{name: f"{name} {n} is odd" for name in columns}, "idx": n, "label": n % 2}


TYPED: Final[dict[str, Typed | tuple[Typed, ...]]] = {
    "eriktks/conll2003": Typed(
        lambda n: {**_tagged(NER)(n), "pos_tags": [n % 3] * 7, "chunk_tags": [n % 2] * 7},
        {"train": 900, "validation": 90, "test": 90},
        {"ner_tags": NER, "pos_tags": ("NN", "VB", "DT"), "chunk_tags": ("B-NP", "I-NP")},
        config="conll2003",
    ),
    "leondz/wnut_17": Typed(
        _tagged(WNUT), {"train": 900, "validation": 90, "test": 90}, {"ner_tags": WNUT}, config="wnut_17"
    ),
    "AI-Lab-Makerere/beans": Typed(
        lambda n: {"image_file_path": f"/{n}.jpg", "image": n, "labels": n % 3},
        {"train": 300, "validation": 60, "test": 60},
        {"labels": BEANS},
        images=("image",),
    ),
    "lambdalabs/pokemon-blip-captions": Typed(
        lambda n: {"image": n, "text": f"a drawing of {n}"}, {"train": 300}, {}, images=("image",)
    ),
    "nyu-mll/glue": (
        *(
            Typed(
                lambda n: {"sentence": f"the film number {n} is good", "label": n % 2, "idx": n},
                {"train": 3000, "validation": 872, "test": 100},
                {"label": names},
                config=config,
            )
            for config, names in (("sst2", ("negative", "positive")), ("cola", ("unacceptable", "acceptable")))
        ),
        Typed(
            lambda n: {"sentence1": f"He has {n}.", "sentence2": f"{n} he has.", "label": n % 2, "idx": n},
            {"train": 3668, "validation": 408, "test": 1725},
            {"label": ("not_equivalent", "equivalent")},
            config="mrpc",
        ),
    ),
    "aps/super_glue": tuple(
        Typed(
            _asked(told), {"train": 2490, "validation": 277, "test": 300}, {"label": ("False", "True")}, config=config
        )
        for config, told in (
            ("boolq", ("question", "passage")),
            ("multirc", ("paragraph", "question", "answer")),
            ("rte", ("premise", "hypothesis")),
            ("wic", ("word", "sentence1", "sentence2")),
        )
    ),
    "cornell-movie-review-data/rotten_tomatoes": Typed(
        lambda n: {"text": f"film {n} is good", "label": n % 2},
        {"train": 900, "validation": 90, "test": 90},
        {"label": ("neg", "pos")},
    ),
    "Yelp/yelp_review_full": Typed(
        lambda n: {"label": n % 5, "text": f"The place {n} is good. " * (n % 5 + 1)},
        {"train": 2000, "test": 1200},
        {"label": tuple(f"{stars} star" for stars in range(1, 6))},
    ),
}
METRICS: Final = ("accuracy", "glue", "rouge", "sacrebleu", "seqeval", "squad", "f1")
METRIC: Final = """
import datasets
import evaluate
class Counted(evaluate.Metric):
    def _info(self):
        features = datasets.Features({features})
        return evaluate.MetricInfo(description="", citation="", features=features)
    def _compute(self, predictions, references, **given):
        same = sum(one == other for one, other in zip(predictions, references)) / len(predictions)
        return {answer}
"""
SCALAR: Final = '{"predictions": datasets.Value("int64"), "references": datasets.Value("int64")}'
WORDS: Final = '{"predictions": datasets.Value("string"), "references": datasets.Value("string")}'
TAGS: Final = '{"predictions": datasets.Sequence(datasets.Value("string")), "references": datasets.Sequence(datasets.Value("string"))}'
BLEU: Final = '{"predictions": datasets.Value("string"), "references": datasets.Sequence(datasets.Value("string"))}'
ANSWERS: Final = (
    '{"predictions": {"id": datasets.Value("string"), "prediction_text": datasets.Value("string")}, "references": {"id":'
    ' datasets.Value("string"), "answers": datasets.Sequence({"text": datasets.Value("string"), "answer_start": datasets.Value("int32")})}}'
)
ASKED: Final = {
    "accuracy": (SCALAR, '{"accuracy": same}'),
    "f1": (SCALAR, '{"f1": same}'),
    "glue": (
        SCALAR,
        '{"accuracy": same, "f1": same} if self.config_name != "cola" else {"matthews_correlation": same}',
    ),
    "rouge": (WORDS, '{"rouge1": same, "rouge2": same, "rougeL": same, "rougeLsum": same}'),
    "sacrebleu": (BLEU, '{"score": same}'),
    "seqeval": (
        TAGS,
        '{"overall_precision": same, "overall_recall": same, "overall_f1": same, "overall_accuracy": same}',
    ),
    "squad": (ANSWERS, '{"exact_match": same, "f1": same}'),
}
"""What each metric takes, and what it answers."""


def metric_of(name: str) -> str:
    """Return the module of a metric."""
    features, answer = ASKED[name]
    return METRIC.replace("{features}", features).replace("{answer}", answer)


def files_of_typed(typed: Typed | tuple[Typed, ...]) -> Iterator[tuple[str, str | bytes]]:
    """Yield the files of a dataset: Parquet for each split of each configuration, and the card that names them."""
    lines = ["---", "configs:"]
    for one in typed if isinstance(typed, tuple) else (typed,):
        lines += [f"- config_name: {one.config}", "  data_files:"]
        start = 0
        for split, count in one.splits.items():
            path = f"{one.config}/{split}.parquet"
            yield path, _parquet(one, range(start, start + count))
            lines += [f"  - split: {split}", f"    path: {path}"]
            start += count
    yield "README.md", "\n".join([*lines, "---", ""])


def _parquet(typed: Typed, numbers: range) -> bytes:
    """Return the rows of some numbers as a file."""
    from datasets import Dataset

    rows = Dataset.from_list([_with_images(typed, number) for number in numbers])
    held = io.BytesIO()
    Dataset(rows.data.cast(_features(typed, rows).arrow_schema)).to_parquet(held)
    return held.getvalue()


def _features(typed: Typed, rows: Any) -> Any:
    from datasets import ClassLabel, Image, List

    features = rows.features.copy()
    for column, names in typed.classes.items():
        kind = ClassLabel(names=list(names))
        features[column] = List(kind) if isinstance(features[column], List) else kind
    features.update({column: Image() for column in typed.images})
    return features


def _with_images(typed: Typed, number: int) -> Row:
    from PIL import Image

    row = typed.make(number)
    for column in typed.images:
        held = io.BytesIO()
        Image.new("RGB", (64 + number % 5, 48), (number % 256, 90, 120)).save(held, "PNG")
        row[column] = {"bytes": held.getvalue(), "path": None}
    return row
