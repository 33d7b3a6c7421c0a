"""The code for foreign datasets trains: real TRL takes one step on what comes out, mapped as a job and as a person would."""

import json
from pathlib import Path

import pytest

from holdfast.catalog.formats import recognise, types_of_rows
from holdfast.core.job import Job
from holdfast.core.methods import Method
from holdfast.engine.mapping import Proposal, propose
from holdfast.engine.script.render import render_script
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
