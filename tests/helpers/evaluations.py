"""Results of evaluations made from what a test cares about; the rest is filled in."""

from holdfast.results.evaluate import EvaluatedDataset, EvaluateResult, EvaluationSettings


def evaluation(*datasets: str) -> EvaluateResult:
    """Return the result of an evaluation that found nothing in datasets of one row."""
    settings = EvaluationSettings(
        max_new_tokens=1, stop_strings=[], temperature=0, top_p=1, top_k=0, seed=0, batch_size=1, template="", device="cpu", dtype="float32",
    )  # fmt: skip
    return EvaluateResult(
        verb="evaluate", verdict="pass", model="sums", base=None, results=[], datasets=[evaluated(each) for each in datasets], failed=[],
        leaked=[], worst=[], gates=[], answers=[], metrics=[], settings=settings, versions={}, files=["results/evaluation.json"], samples="",
    )  # fmt: skip


def evaluated(name: str) -> EvaluatedDataset:
    """Return a dataset of one row that was evaluated."""
    return EvaluatedDataset(
        dataset=name, split="test", task="likelihood", rows=1, of=1, clusters=None, unreadable=0, unfit=0, first_unfit=[], because="",
        lengths=[1, 1, 1], labels={}, confusion=None, reused=0, unended=0, cut=0, samples="",
    )  # fmt: skip
