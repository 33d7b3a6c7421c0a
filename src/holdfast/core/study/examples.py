"""An example value of each key of a study file, as its schema shows it."""

from typing import Any, Final

EXAMPLES: Final[dict[str, Any]] = {
    "name": "rates",
    "job": "job.yaml",
    "metric": "eval_loss",
    "metric.name": "exact_match",
    "metric.direction": "maximize",
    "metric.dataset": "test.jsonl",
    "grid": {"train.learning_rate": [1e-5, 1e-4], "dataset.path": ["a.jsonl", "b.jsonl"]},
    "trials": [{"train.learning_rate": 1e-3, "peft.r": 8}],
    "random": {"count": 20, "values": {"train.learning_rate": {"log_uniform": [1e-6, 1e-3]}}},
    "random.count": 20,
    "random.values": {"train.learning_rate": {"log_uniform": [1e-6, 1e-3]}, "peft.r": {"choice": [8, 16]}},
    "random.seed": 1,
    "search": {"count": 40, "values": {"train.learning_rate": {"log_uniform": [1e-6, 1e-3]}}},
    "search.count": 40,
    "search.values": {"train.learning_rate": {"log_uniform": [1e-6, 1e-3]}, "peft.r": {"choice": [8, 16, 32]}},
    "search.seed": 1,
    "seeds": [1, 2, 3],
    "where": [{"peft.r": {"at_most": 16}}],
    "unless": [{"dataset.path": "b.jsonl", "train.learning_rate": {"above": 1e-4}}],
    "parallel": 2,
    "prune": {"min_steps": 100},
    "prune.min_steps": 100,
    "prune.factor": 3,
    "keep": 3,
    "budget": {"hours": 8},
    "budget.trials": 100,
    "budget.hours": 8.0,
    "budget.usd": 20.0,
}
