"""The code for foreign datasets trains: real TRL takes one step on what comes out, mapped as a job and as a person would."""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from holdfast.app.inspect.verb import look_at_local
from holdfast.catalog.formats import recognise, types_of_rows
from holdfast.cli.text.inspection import render_call
from holdfast.core.job.document import Document
from holdfast.core.job.methods import Method
from holdfast.core.job_file.job import Job
from holdfast.engine.inspect.inspection import inspect_result
from holdfast.engine.mapping import Proposal, propose
from holdfast.engine.script.render import render_script
from holdfast.results.inspect import MethodReadiness
from tests.helpers.children import Answer, ask_each, refusals, side_by_side
from tests.helpers.foreign_data import FOREIGN
from tests.helpers.sampling import asked, sampled
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

BATCHES = 2
# A row takes part as often as a batch needs.
ROWS = 4


def proposals() -> dict[str, tuple[Method, str, Proposal]]:
    """Every code that is proposed for some method and some shape; reward as dpo, and rloo as grpo."""
    told = {}
    for name, rows in FOREIGN.items():
        columns = types_of_rows(rows)
        shape = recognise(columns, rows)
        for method in (Method.SFT, Method.DPO, Method.KTO, Method.GRPO):
            proposal = propose(method, columns, shape, rows)
            if proposal.source:
                told[f"{method.value} | {name}"] = method, name, proposal
    return told


PROPOSALS = proposals()


def ask(names: list[str], tiny: Path) -> dict[str, Answer]:
    """What becomes of the cases; a job removes all of the old columns, a person those that nobody needs: half of them each."""
    cases = [
        {
            "name": each,
            "model": str(tiny),
            "method": (Method.REWARD if method is Method.KTO and "chosen" in str(proposal.source) else method).value,
            "rows": (FOREIGN[name] * ROWS)[:ROWS],
            "mapping": proposal.source,
            "removes": list(proposal.removes) if index % 2 else None,
        }
        for index, each in enumerate(names)
        for method, name, proposal in [PROPOSALS[each]]
    ]
    return ask_each("trained", cases)


@pytest.fixture(scope="module", name="refused")
def train_all(tiny: Path, request: pytest.FixtureRequest) -> dict[str, str | None]:
    """What refused each case, or None."""
    names = sorted(asked(request))
    told = side_by_side(ask, *[(names[index::BATCHES], tiny) for index in range(BATCHES)])
    return refusals({name: answer for answers in told for name, answer in answers.items()})


@pytest.mark.parametrize("name", sampled(PROPOSALS, 3))
def test_a_step_is_trained(name: str, refused: dict[str, str | None]) -> None:
    """Rows that went through the code are trained on."""
    assert refused[name] is None


JUDGED = [
    {"prompt": f"{n} plus 1?", "completion": f"It is {n + 1}", "label": "bad" if n % 2 else "good"} for n in range(8)
]
WRITERS: dict[str, tuple[str, Callable[[Path], object]]] = {
    "rows.jsonl": ("json", lambda path: path.write_text("\n".join(map(json.dumps, JUDGED)))),
    "rows.csv": ("csv", lambda path: pl.DataFrame(JUDGED).write_csv(path)),
    "polars.parquet": ("parquet", lambda path: pl.DataFrame(JUDGED).write_parquet(path)),
    "pandas.parquet": ("parquet", lambda path: pl.DataFrame(JUDGED).to_pandas().to_parquet(path)),
    "categories.parquet": (
        "parquet",
        lambda path: pl.DataFrame(JUDGED).with_columns(pl.col("label").cast(pl.Categorical)).write_parquet(path),
    ),
}


@pytest.mark.parametrize("file", WRITERS)
def test_a_column_that_changes_its_type_comes_out_with_the_type_that_the_trainer_needs(
    tmp_path: Path, file: str
) -> None:
    """`datasets` keeps large_string where a column of that name is mapped, and writes True as text."""
    import datasets

    kind, write = WRITERS[file]
    write(tmp_path / file)
    rows = datasets.load_dataset(
        kind, data_files=str(tmp_path / file), split="train", cache_dir=str(tmp_path / "cache")
    )
    found = inspect_local(tmp_path / file)
    assert found.mapping
    names: dict[str, Any] = {"dataset": rows, "Value": datasets.Value, "Features": datasets.Features}
    exec(found.mapping, names)
    by_hand = eval(render_call(file, found), names)  # noqa: S307 - what `inspect` prints
    script = render_script(
        Job.model_validate({"method": "kto", "model": "m", "dataset": {"path": file, "map": "mapping.py:rewrite"}}),
        name="job",
        sources={"mapping.py": found.mapping},
    )
    module = names | {"load_file": lambda _: SimpleNamespace(rewrite=names["rewrite"])}
    for each in ast.parse(script).body:
        match each:
            case ast.FunctionDef(name="rewrite") | ast.Assign(targets=[ast.Name(id="TEXTS")]):
                exec(ast.unparse(each), module)
            case _:
                pass
    in_a_job = module["rewrite"](rows)

    for mapped in (by_hand, in_a_job):
        assert mapped.features["label"] == datasets.Value("bool")
        assert mapped["label"][:2] == [True, False]


def inspect_local(path: Path) -> MethodReadiness:
    """Return what `inspect` says of a file for kto."""
    asked = Document(
        path=str(path), kind="data", values={"dataset": {"path": str(path), "split": "train"}, "method": "kto"}
    )
    return inspect_result(look_at_local(asked, limit=10)).methods["kto"]


def test_in_a_job_file(tiny: Path, tmp_path: Path) -> None:
    """A job whose `dataset.map` names the code trains on the foreign rows."""
    _, name, proposal = PROPOSALS["sft | sharegpt"]
    assert proposal.source
    (tmp_path / "rows.jsonl").write_text("\n".join(json.dumps(row) for row in FOREIGN[name] * ROWS))
    dataset = {"path": "./rows.jsonl", "map": "mapping.py:rewrite"}
    values = {"method": "sft", "model": str(tiny), "dataset": dataset, "train": {"max_steps": 1}}
    job = Job.model_validate(values | {"samples": {"prompts": 0}})
    script = render_script(job, name="job", sources={"mapping.py": proposal.source})
    question = [{"name": "job", "script": script, "folder": str(tmp_path), "until": "train"}]

    assert refusals(ask_each("rendered", question)) == {"job": None}


def test_shapes_that_are_foreign() -> None:
    """At least ten shapes have code, and each method has some."""
    assert len({name for _, name, _ in PROPOSALS.values()}) >= 10
    assert {method for method, _, _ in PROPOSALS.values()} == {Method.SFT, Method.DPO, Method.KTO, Method.GRPO}
