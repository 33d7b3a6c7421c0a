"""Benchmark tasks of lm-eval as its users write them, with rows beside them: one for each kind of output, and groups.

write_tasks(folder)  # tasks/*.yaml, and the rows that they name, relative to the folder
"""

import json
from pathlib import Path
from typing import Any, Final

ROWS: Final[list[dict[str, Any]]] = [
    {
        "question": f"{a} plus {b}",
        "choices": [str(a + b), str(a + b + 1), "99"],
        "right": 0,
        "text": f"{a} plus {b} equals {a + b}.",
        "odd": (a + b) % 2,
        "level": "easy" if a < 3 else "hard",
    }
    for a in range(6)
    for b in range(3)
]
DATA: Final = """\
dataset_path: json
dataset_kwargs: {data_files: {test: ROWS, train: rows.jsonl}}
test_split: test
fewshot_split: train
"""
CHOICE: Final = """\
output_type: multiple_choice
doc_to_text: "{{question}} equals"
doc_to_choice: "{{choices}}"
doc_to_target: right
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: acc_norm, aggregation: mean, higher_is_better: true}
  - {metric: brier_score, aggregation: brier_score, higher_is_better: false}
metadata: {version: 1.5}
"""
PARITY: Final = """\
output_type: multiple_choice
doc_to_text: "{{question}} is"
doc_to_choice: [even, odd]
doc_to_target: odd
metric_list: [{metric: acc, aggregation: mean, higher_is_better: true}]
"""
WRITTEN: Final = """\
output_type: generate_until
doc_to_text: "{{question}} equals"
doc_to_target: "{{choices[0]}} equals plus user assistant"
generation_kwargs: {until: ["99"], max_gen_toks: 8, do_sample: false}
process_results: !function own.count_letters
metric_list:
  - {metric: letters, aggregation: mean, higher_is_better: false}
"""
CORPUS: Final = WRITTEN.replace("process_results: !function own.count_letters\n", "").replace(
    "{metric: letters, aggregation: mean, higher_is_better: false}",
    "{metric: chrf, aggregation: chrf, higher_is_better: true}\n  - {metric: exact_match, aggregation: mean, higher_is_better: true}",
)
TEXT: Final = """\
output_type: loglikelihood_rolling
doc_to_text: ""
doc_to_target: "{{text}}"
metric_list: [{metric: word_perplexity}, {metric: bits_per_byte}]
"""
OWN: Final = """\
def count_letters(doc, results):
    return {"letters": len(results[0]) + 3 * doc["odd"]}
"""
GROUP: Final = """\
group: NAME
task: [sums_even, sums_odd]
aggregate_metric_list: [{metric: acc, aggregation: mean, weight_by_size: BY_SIZE}]
metadata: {version: 2}
"""
UNSAFE: Final = CORPUS + "unsafe_code: true\n"


def task_text(name: str, body: str, rows: str = "rows.jsonl") -> str:
    """Return the text of a task's file."""
    return f"task: {name}\n{DATA.replace('ROWS', rows)}{body}"


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_tasks(folder: Path) -> None:
    """Write tasks, two groups, and rows; one half of the rows is larger than the other."""
    tasks = folder / "tasks"
    tasks.mkdir()
    write_rows(folder / "rows.jsonl", ROWS)
    write_rows(folder / "even.jsonl", [row for row in ROWS if not row["odd"]])
    write_rows(folder / "odd.jsonl", [row for row in ROWS if row["odd"]][:4])
    (tasks / "own.py").write_text(OWN)
    files = {
        "sums_choice": task_text("sums_choice", CHOICE),
        "sums_written": task_text("sums_written", WRITTEN),
        "sums_corpus": task_text("sums_corpus", CORPUS),
        "sums_text": task_text("sums_text", TEXT),
        "sums_even": task_text("sums_even", PARITY, "even.jsonl"),
        "sums_odd": task_text("sums_odd", PARITY, "odd.jsonl"),
        "parity": GROUP.replace("NAME", "parity").replace("BY_SIZE", "true"),
        "parity_plain": GROUP.replace("NAME", "parity_plain").replace("BY_SIZE", "false"),
    }
    for name, text in files.items():
        (tasks / f"{name}.yaml").write_text(text)
