"""The loopback dataset viewer shows what is in the files, and refuses with the codes of the real one."""

from typing import Any

from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.client import Ask
from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub  # noqa: F401 - the fixtures `hub` and `ask`


def shown(hub: LoopbackHub, ask: Ask, path: str, token: str = "") -> Any:
    """Return what the dataset viewer says, with the status and code of a refusal."""
    return ask(
        """
import httpx2
headers = {"Authorization": f"Bearer {token}"} if token else {}
reply = httpx2.get(viewer + path, headers=headers)
reply.json() if reply.status_code == 200 else [reply.status_code, reply.headers["X-Error-Code"]]
""",
        viewer=hub.viewer,
        path=path,
        token=token,
    )


ROWS = "".join(f'{{"prompt": "p{n}", "turns": [{{"role": "user", "n": {n}}}]}}\n' for n in range(250))


def test_the_dataset_viewer(hub: LoopbackHub, ask: Ask) -> None:
    """It shows splits, sizes, columns with their types, and rows, worked out of the files."""
    hub.add_dataset("acme/shown", {"data/train.jsonl": ROWS, "data/test.csv": "a,b\n1,x\n2,y\n"})
    assert shown(hub, ask, "/is-valid?dataset=acme/shown")["viewer"] is True
    found = shown(hub, ask, "/splits?dataset=acme/shown")["splits"]
    assert {(one["config"], one["split"]) for one in found} == {("default", "train"), ("default", "test")}
    sizes = shown(hub, ask, "/size?dataset=acme/shown")
    assert (sizes["size"]["dataset"]["num_rows"], sizes["partial"]) == (252, False)
    assert {one["split"]: (one["num_rows"], one["num_columns"]) for one in sizes["size"]["splits"]} == {
        "train": (250, 2),
        "test": (2, 2),
    }
    assert (
        shown(hub, ask, "/info?dataset=acme/shown&config=default")["dataset_info"]["splits"]["test"]["num_examples"]
        == 2
    )
    rows = shown(hub, ask, "/rows?dataset=acme/shown&config=default&split=train&offset=240&length=100")
    assert (len(rows["rows"]), rows["num_rows_total"], rows["rows"][0]["row_idx"]) == (10, 250, 240)
    assert rows["rows"][0]["row"] == {"prompt": "p240", "turns": [{"role": "user", "n": 240}]}
    assert [(one["name"], one["type"]) for one in rows["features"]] == [
        ("prompt", {"dtype": "string", "_type": "Value"}),
        (
            "turns",
            {
                "feature": {
                    "role": {"dtype": "string", "_type": "Value"},
                    "n": {"dtype": "int64", "_type": "Value"},
                },
                "_type": "List",
            },
        ),
    ]
    first = shown(hub, ask, "/first-rows?dataset=acme/shown&config=default&split=train")
    assert (len(first["rows"]), first["truncated"]) == (100, True)
    files = shown(hub, ask, "/parquet?dataset=acme/shown")["parquet_files"]
    read = "import io, pyarrow.parquet as pq\npq.read_table(io.BytesIO(httpx2.get(url, follow_redirects=True).content)).num_rows"
    assert {one["split"]: ask(read, url=one["url"]) for one in files} == {"train": 250, "test": 2}


def test_configurations_of_the_viewer(hub: LoopbackHub, ask: Ask) -> None:
    """They are those of the card."""
    card = "---\nconfigs:\n- config_name: en\n  data_files:\n  - split: train\n    path: en/*.jsonl\n- config_name: fr\n  data_files: fr.jsonl\n---\n"
    hub.add_dataset("acme/configs", {"README.md": card, "en/1.jsonl": ROWS, "en/2.jsonl": ROWS, "fr.jsonl": ROWS})
    sizes = shown(hub, ask, "/size?dataset=acme/configs")["size"]
    assert {one["config"]: one["num_rows"] for one in sizes["configs"]} == {"en": 500, "fr": 250}
    one = shown(hub, ask, "/size?dataset=acme/configs&config=fr")["size"]
    assert (one["config"]["num_rows"], len(one["splits"])) == (250, 1)


def test_what_the_viewer_refuses(hub: LoopbackHub, ask: Ask) -> None:
    """With the codes of the real one."""
    hub.add_dataset("acme/good", {"a.jsonl": ROWS})
    hub.add_dataset("you/hidden", {"a.jsonl": ROWS}, private=True)
    hub.add_dataset("acme/scripted", {"scripted.py": "import datasets"})
    hub.add_dataset("acme/empty", {"README.md": "x"})
    hub.add_dataset("acme/damaged", {"a.parquet": b"PAR1 no"})
    hub.add_dataset("acme/new", {"a.jsonl": ROWS}, viewer=False)
    page = "/rows?dataset=acme/good&config=default&split="
    assert shown(hub, ask, "/splits") == [422, "MissingRequiredParameter"]
    assert shown(hub, ask, "/splits?dataset=acme/none") == [401, "ExternalUnauthenticatedError"]
    assert shown(hub, ask, "/splits?dataset=you/hidden", "hf_me_write") == [404, "ExternalAuthenticatedError"]
    assert len(shown(hub, ask, "/splits?dataset=you/hidden", "hf_you")["splits"]) == 1
    assert shown(hub, ask, "/splits?dataset=acme/scripted") == [501, "DatasetWithScriptNotSupportedError"]
    assert shown(hub, ask, "/splits?dataset=acme/empty") == [500, "EmptyDatasetError"]
    assert shown(hub, ask, "/size?dataset=acme/damaged") == [500, "DatasetGenerationError"]
    assert shown(hub, ask, "/splits?dataset=acme/new") == [500, "ResponseNotReady"]
    assert shown(hub, ask, "/splits?dataset=acme/good&config=en") == [404, "ConfigNotFoundError"]
    assert shown(hub, ask, page + "test") == [404, "SplitNotFoundError"]
    assert shown(hub, ask, page + "train&length=101") == [422, "InvalidParameter"]
    assert shown(hub, ask, "/is-valid?dataset=acme/scripted")["viewer"] is False
