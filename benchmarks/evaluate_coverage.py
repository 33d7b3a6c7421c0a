"""How often the 95 % intervals of `evaluate` hold the true value: 4,000 simulated evaluations for each kind of metric.

    python -m benchmarks.evaluate_coverage [KIND …]

The truth of each kind is computed from the distribution, or from a simulated dataset of a million rows.
"""

import sys
from collections.abc import Callable
from typing import Final

import numpy as np

from holdfast.catalog.metrics import METRICS
from holdfast.engine.evaluate.arrays import FloatArray, IntArray
from holdfast.engine.evaluate.combining import combine
from holdfast.engine.evaluate.comparing import compare
from holdfast.engine.evaluate.intervals import figure_of

EVALUATIONS: Final = 4_000
SIZES: Final = (50, 200)
MANY: Final = 1_000_000
CLUSTER: Final = 4
Draw = Callable[[np.random.Generator, int], FloatArray]


def weighted(values: FloatArray) -> FloatArray:
    """Return the measures of a mean."""
    return np.column_stack([values, np.ones(len(values))])


def share(random: np.random.Generator, rows: int) -> FloatArray:
    """Return right and wrong answers, seven of ten right."""
    return weighted((random.random(rows) < 0.7).astype(float))


def overlap(random: np.random.Generator, rows: int) -> FloatArray:
    """Return word overlaps: nothing at all in a quarter of the rows, and a wide spread in the others."""
    return weighted(np.where(random.random(rows) < 0.25, 0.0, random.beta(1.5, 1.2, rows)))


def margin(random: np.random.Generator, rows: int) -> FloatArray:
    """Return margins of log-likelihoods, with a long tail."""
    return weighted(2 + 5 * random.standard_t(4, rows))


def losses(random: np.random.Generator, rows: int) -> FloatArray:
    """Return the negative log-likelihoods of answers of very different lengths, and these."""
    lengths = np.ceil(random.lognormal(4, 0.8, rows))
    return np.column_stack([lengths * random.gamma(6, 0.3, rows), lengths])


def labels(random: np.random.Generator, rows: int) -> FloatArray:
    """Return the answers of a classifier of three labels, one of them rare."""
    truth = random.choice(3, rows, p=[0.5, 0.35, 0.15])
    told = np.where(random.random(rows) < 0.75, truth, random.choice(3, rows))
    measures = np.zeros((rows, 9))
    for label in range(3):
        measures[:, 3 * label] = (truth == label) & (told == label)
        measures[:, 3 * label + 1] = (truth != label) & (told == label)
        measures[:, 3 * label + 2] = (truth == label) & (told != label)
    return measures


def translations(random: np.random.Generator, rows: int) -> FloatArray:
    """Return counts of BLEU: the better a row's translation, the more of its longer sequences are right."""
    lengths = random.integers(8, 40, rows)
    quality = random.beta(6, 4, rows)
    right = [random.binomial(lengths - order, quality ** (1 + order / 2)) for order in range(4)]
    total = [lengths - order for order in range(4)]
    return np.column_stack([*right, *total, lengths, lengths + random.integers(-2, 3, rows)]).astype(float)


KINDS: Final[dict[str, tuple[str, Draw]]] = {
    "share": ("exact_match", share),
    "mean, 0 to 1": ("f1", overlap),
    "mean, unbounded": ("margin", margin),
    "loss": ("loss", losses),
    "perplexity": ("perplexity", losses),
    "macro F1": ("macro_f1", labels),
    "BLEU": ("bleu", translations),
}


def alone(kind: str, rows: int) -> float:
    """Return the share of evaluations whose interval holds the true value."""
    name, draw = KINDS[kind]
    metric, random = METRICS[name], np.random.default_rng(rows)
    truth = combine(metric.combination, draw(random, MANY).sum(axis=0, keepdims=True))[0]
    held = 0
    for _ in range(EVALUATIONS):
        figure = figure_of(metric, draw(random, rows), clusters=None)
        held += figure.low is not None and figure.high is not None and figure.low <= truth <= figure.high
    return held / EVALUATIONS


def clustered(rows: int) -> float:
    """Return the same of a share whose rows belong together in fours."""
    random, held = np.random.default_rng(rows), 0
    clusters: IntArray = np.repeat(np.arange(rows // CLUSTER), CLUSTER)
    for _ in range(EVALUATIONS):
        hard = np.repeat(random.beta(3.5, 1.5, rows // CLUSTER), CLUSTER)  # 0.7 on average
        figure = figure_of(METRICS["exact_match"], weighted((random.random(len(hard)) < hard).astype(float)), clusters)
        held += figure.low is not None and figure.high is not None and figure.low <= 0.7 <= figure.high
    return held / EVALUATIONS


def difference(rows: int, *, shares: bool) -> float:
    """Return the same of the difference of two models, which find the same rows hard."""
    random, held = np.random.default_rng(rows), 0
    name = "exact_match" if shares else "f1"
    for _ in range(EVALUATIONS):
        hard = random.beta(2, 2, rows)  # 0.5 on average: 0.1 of it is the difference
        if shares:
            pair = [(random.random(rows) < chance).astype(float) for chance in (0.8 * hard + 0.2, 0.8 * hard + 0.1)]
        else:
            pair = [0.8 * hard + shift + random.uniform(-0.1, 0.1, rows) for shift in (0.1, 0.0)]
        found = compare(METRICS[name], weighted(pair[0]), weighted(pair[1]))
        held += found.low is not None and found.high is not None and found.low <= 0.1 <= found.high
    return held / EVALUATIONS


def main() -> None:
    """Print a table of coverages by kind and by number of rows."""
    cases: dict[str, Callable[[int], float]] = {kind: lambda rows, kind=kind: alone(kind, rows) for kind in KINDS}  # type: ignore[misc]  # the default binds the name
    cases["share, rows in clusters of 4"] = clustered
    cases["difference of shares"] = lambda rows: difference(rows, shares=True)
    cases["difference of means"] = lambda rows: difference(rows, shares=False)
    wanted = sys.argv[1:] or list(cases)
    print(f"| kind | {' | '.join(f'{rows} rows' for rows in SIZES)} |")
    print("|---|" + "---|" * len(SIZES))
    for kind in wanted:
        print(f"| {kind} | {' | '.join(f'{cases[kind](rows):.1%}' for rows in SIZES)} |", flush=True)


if __name__ == "__main__":
    main()
