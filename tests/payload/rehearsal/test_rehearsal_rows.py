"""A script's rows in a rehearsal: what it does with all of them it does with those at hand, and fails with as it would."""

from typing import Any

import pytest

from tests.helpers.children import Answer, side_by_side
from tests.helpers.rehearsal_idioms import HEAD, LOADING, WORKING, lay_out
from tests.helpers.rehearsal_row_faults import FAULTS, damage
from tests.helpers.rehearsal_rows import ask_rows
from tests.helpers.sampling import asked, sampled

pytestmark = pytest.mark.train
Answers = dict[str, dict[str, Answer]]
IMPORTS = "import datasets\nfrom datasets import *\n"
SAMPLE = 13  # every so many is tried in `make check`


def _of_both_sizes(pieces: dict[str, str]) -> dict[str, str]:
    return {
        f"{name}, {data}": code.replace("DATA", data) for name, code in pieces.items() for data in ("small", "large")
    }


GOOD = _of_both_sizes(
    {f"{name}, loaded": IMPORTS + code for name, code in LOADING.items()}
    | {name: HEAD + code for name, code in WORKING.items()}
)
BAD = _of_both_sizes({name: HEAD + code for name, code in FAULTS.items()})


@pytest.fixture(scope="module", name="answers")
def all_answers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What becomes of each piece, with all of its rows and in a rehearsal to which 600 rows are many."""
    wanted = {name: code for name, code in (GOOD | BAD).items() if name in asked(request)}

    def answered(mode: str) -> dict[str, Answer]:
        folder = tmp_path_factory.mktemp(mode)
        (work := folder / "work").mkdir()
        lay_out(work)
        damage(work)
        cases: list[dict[str, Any]] = [
            {"name": name, "code": code, "folder": str(work)} for name, code in wanted.items()
        ]
        return ask_rows(mode, folder, cases, HOLDFAST_SMALL_BOUNDS="1")

    real, twin = side_by_side(answered, ["real"], ["twin"])
    return {"real": real, "twin": twin}


@pytest.mark.parametrize("name", sampled(GOOD, SAMPLE))
def test_what_works_with_all_rows_works_with_those_at_hand(answers: Answers, name: str) -> None:
    assert answers["real"][name]["refused"] is None
    assert answers["twin"][name]["refused"] is None


@pytest.mark.parametrize("name", sampled(BAD, SAMPLE))
def test_what_fails_with_all_rows_fails_with_the_same_error(answers: Answers, name: str) -> None:
    real, twin = answers["real"][name]["refused"], answers["twin"][name]["refused"]
    assert real
    assert twin
    assert twin[0] == real[0]


def test_large_files_are_read_in_part_and_that_is_told(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("told")
    lay_out(folder)
    cases = [{"name": "large", "code": HEAD.replace("DATA", "large") + "answer = len(ds)", "folder": str(folder)}]
    answer = ask_rows("twin", folder, cases, HOLDFAST_SMALL_BOUNDS="1")["large"]
    told = {event["event"]: event for event in answer["told"] if event["event"] in ("shrunk", "fact")}

    assert answer["answer"] == 50
    assert (told["shrunk"]["asked"], told["shrunk"]["given"]) == (600, 50)
    assert (told["fact"]["about"], told["fact"]["path"], told["fact"]["rows"]) == ("dataset", "json", 600)
    assert "messages" in told["fact"]["columns"]
