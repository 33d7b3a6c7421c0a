"""Datasets of the Hub in a rehearsal: their first rows, read from a Hub on loopback by the real client, and its errors."""

import io
import json
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.children import Answer, side_by_side
from tests.helpers.hub import LoopbackHub, loopback_hub
from tests.helpers.rehearsal_rows import ask_rows

pytestmark = [pytest.mark.train, pytest.mark.long]
Answers = dict[str, dict[str, Answer]]
OWN_CACHES = ("HF_HOME", "HF_HUB_CACHE", "HF_DATASETS_CACHE")
ROWS = 30_000  # of the large dataset
TOLD = 1_000_000  # rows that its page tells of
LOAD = "from datasets import *\n"

GOOD = {
    "lines": "d = load_dataset('acme/lines', split='train'); assert d[3]['id'] == 3; answer = len(d)",
    "splits": "d = load_dataset('acme/lines'); assert set(d) == {'train', 'test'}; d['test'][0]",
    "slice": "d = load_dataset('acme/lines', split='train[:10]'); assert len(d) == 10",
    "percent": "a, b = load_dataset('acme/large', split=['train[:90%]', 'train[90%:]']); assert len(a) > len(b) > 0",
    "config": "d = load_dataset('acme/configs', 'second', split='train'); assert d[0]['id'] == 100",
    "configs": "names = get_dataset_config_names('acme/configs'); assert set(names) == {'first', 'second'}",
    "files": "d = load_dataset('acme/lines', data_files='train.jsonl', split='train'); d[0]",
    "files by split": "d = load_dataset('acme/lines', data_files={'eval': 'test.jsonl'})['eval']; d[0]",
    "address": "d = load_dataset('json', data_files='hf://datasets/acme/lines/train.jsonl', split='train'); d[0]",
    "stream": "d = load_dataset('acme/large', split='train', streaming=True).shuffle(seed=1, buffer_size=20_000).take(5); list(d)",
    "large": "d = load_dataset('acme/large', split='train'); assert len(d) <= 2000 or not twin; answer = d[0]['id']",
    "large, far": "d = load_dataset('acme/large', split='train'); d[25_000]; d.select(range(20_000, 20_100)); d.train_test_split(test_size=10_000)['test'][0]",
    "large, last": "d = load_dataset('acme/large', split='train[:1%]'); assert len(d) > 0",
    "large, classes": "d = load_dataset('acme/large', split='train'); assert sorted(d.unique('label')) == [0, 1]",
    "private": "d = load_dataset('me/mine', split='train', token='hf_me_write'); d[0]",
    "builder": "b = load_dataset_builder('acme/large'); assert b.info.splits['train'].num_examples == TOLD",
    "twice": "a = load_dataset('acme/lines', split='train'); b = load_dataset('acme/lines', split='train'); assert len(a) == len(b)",
}
BAD = {
    "unknown file": "load_dataset('acme/lines', data_files='nope.jsonl')",  # before the cache knows the dataset
    "missing": "load_dataset('acme/nothing')",
    "unknown split": "load_dataset('acme/lines', split='validation')",
    "unknown split of large": "load_dataset('acme/large', split='validation')",
    "no config": "load_dataset('acme/configs')",
    "unknown config": "load_dataset('acme/configs', 'third')",
    "unknown revision": "load_dataset('acme/lines', revision='v9')",
    "gated": "load_dataset('acme/gated')",
    "broken": "load_dataset('acme/broken')",
    "slice after the end": "load_dataset('acme/large', split='train[2000000:2000100]')",
    "row after the end": "load_dataset('acme/large', split='train')[TOLD + 5]",
    "no rows": "load_dataset('acme/empty')",
    "not readable": "load_dataset('acme/unreadable', split='train')",
}


def _lines(numbers: range) -> str:
    return "".join(json.dumps({"text": f"row {number}", "id": number}) + "\n" for number in numbers)


def _large() -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rnd = random.Random(1)  # noqa: S311 - text that does not compress
    texts = [f"{rnd.getrandbits(4000):x}" for _ in range(ROWS)]
    labels = [int(number >= ROWS // 2) for number in range(ROWS)]
    table, file = pa.table({"text": texts, "id": list(range(ROWS)), "label": labels}), io.BytesIO()
    pq.write_table(table, file, row_group_size=ROWS // 3)
    return file.getvalue()


def _page(**told: Any) -> str:
    return f"---\n{json.dumps(told)}\n---\n"


@pytest.fixture(scope="module", name="hub")
def full_hub() -> Iterator[LoopbackHub]:
    """A Hub with datasets that are good, and such as are not."""
    with loopback_hub() as hub:
        hub.add_dataset("acme/lines", {"train.jsonl": _lines(range(50)), "test.jsonl": _lines(range(9))})
        half = _large()
        names = [f"data/train-0000{number}-of-00002.parquet" for number in (0, 1)]
        info = {"splits": [{"name": "train", "num_bytes": 9, "num_examples": TOLD}]}
        files = {"configs": [{"config_name": "default", "data_files": [{"split": "train", "path": "data/*"}]}]}
        hub.add_dataset("acme/large", {"README.md": _page(dataset_info=info, **files), **dict.fromkeys(names, half)})
        configs = [{"config_name": name, "data_files": f"{name}.jsonl"} for name in ("first", "second")]
        written = {"first.jsonl": _lines(range(9)), "second.jsonl": _lines(range(100, 109))}
        hub.add_dataset("acme/configs", {"README.md": _page(configs=configs), **written})
        hub.add_dataset("acme/gated", {"train.jsonl": _lines(range(9))}, gated="manual")
        hub.add_dataset("acme/broken", {"train.jsonl": _lines(range(9)) + '{"text": \n' + _lines(range(9))})
        hub.add_dataset("acme/empty", {"README.md": "nothing"})
        hub.add_dataset("acme/unreadable", {"train-00000-of-00001.parquet": half[: len(half) // 2]})
        hub.add_dataset("me/mine", {"train.jsonl": _lines(range(9))}, private=True)
        yield hub


def _asked(hub: LoopbackHub, mode: str, folder: Path, pieces: dict[str, str]) -> dict[str, Answer]:
    folder.mkdir(exist_ok=True)
    variables = {name: value for name, value in hub.variables.items() if name not in OWN_CACHES}
    codes = {name: LOAD + code.replace("TOLD", str(TOLD)) for name, code in pieces.items()}
    cases = [{"name": name, "code": code, "folder": str(folder)} for name, code in codes.items()]
    return ask_rows(mode, folder, cases, **variables)


@pytest.fixture(scope="module", name="answers")
def all_answers(hub: LoopbackHub, tmp_path_factory: pytest.TempPathFactory) -> Answers:
    """What becomes of each piece, with all of its rows and in a rehearsal."""
    folder = tmp_path_factory.mktemp("hub")
    both = side_by_side(lambda mode: _asked(hub, mode, folder / mode, BAD | GOOD), ["real"], ["twin"])
    return {"real": both[0], "twin": both[1]}


def _of(answers: dict[str, Answer], names: dict[str, str]) -> dict[str, Any]:
    return {name: answers[name]["refused"] and answers[name]["refused"][0] for name in names}


def test_what_works_with_the_real_thing_works_with_its_first_rows(answers: Answers) -> None:
    # That a page tells of more rows than there are is refused, in reality; here nobody has counted.
    wrong = {name: answer["refused"] for name, answer in answers["twin"].items() if name in GOOD and answer["refused"]}
    assert not wrong
    assert answers["twin"]["lines"]["answer"] == answers["real"]["lines"]["answer"]
    expected = {name: None for name in GOOD if "acme/large" not in GOOD[name]}
    assert _of(answers["real"], GOOD).items() >= expected.items()


def test_what_the_hub_refuses_is_refused_with_the_same_error(answers: Answers) -> None:
    expected = {name: kind for name, kind in _of(answers["real"], BAD).items() if "acme/large" not in BAD[name]}
    assert all(expected.values()), expected
    assert _of(answers["twin"], BAD) == expected | {
        "unknown split of large": "ValueError",
        "slice after the end": "ValueError",
        "row after the end": "IndexError",
    }


def test_a_large_dataset_costs_a_few_megabytes(hub: LoopbackHub, tmp_path: Path) -> None:
    """Each of its two files has 15 MB."""
    hub.requests.clear()
    answer = _asked(hub, "twin", tmp_path, {"large": GOOD["large"]})["large"]

    spans = [re.match(r"bytes=(\d+)-(\d+)", request.headers.get("range", "")) for request in hub.asked("GET .*parquet")]
    fetched = sum(int(span[2]) - int(span[1]) + 1 for span in spans if span)
    whole = [request.told for request in hub.asked("GET .*parquet") if "range" not in request.headers]
    assert answer["refused"] is None
    assert 0 < fetched < 15_000_000
    assert len(whole) == len([told for told in whole if "/api/" in told])


def test_the_number_of_rows_is_that_of_the_page(answers: Answers) -> None:
    facts = [event for event in answers["twin"]["large"]["told"] if event["event"] == "fact"]
    assert [(fact["path"], fact["split"], fact["rows"]) for fact in facts] == [("acme/large", "train", TOLD)]


def test_a_hub_that_is_down_fails_as_it_does(hub: LoopbackHub, tmp_path: Path) -> None:
    try:
        hub.fail("/api/datasets/", status=429, headers={"RateLimit": '"api";r=0;t=0'})
        pieces = {"down": "load_dataset('acme/lines', split='train')"}
        refused = [_asked(hub, mode, tmp_path / mode, pieces)["down"]["refused"] for mode in ("real", "twin")]
    finally:
        hub.heal()
    assert refused[0]
    assert refused[1][0] == refused[0][0]
