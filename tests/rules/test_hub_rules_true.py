"""What the rules on the Hub's facts say is what the clients do: huggingface_hub, datasets, trackio and uv, against a Hub on loopback."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from tests.helpers.hub import LoopbackHub, Scope, loopback_hub
from tests.helpers.tiny import quiet_environment

# Each expression, as what it raises, or what it gives.
CHILD = """
import json, sys, warnings
warnings.filterwarnings("ignore")
import datasets, huggingface_hub
from datasets import Dataset, load_dataset
from huggingface_hub import *
huggingface_hub.utils.disable_progress_bars()
datasets.disable_progress_bars()
def said(expression):
    try:
        value = eval(expression)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return value if isinstance(value, (bool, int, list)) else "done"
print(json.dumps({each: said(each) for each in json.load(sys.stdin)}))
"""
TWO = "---\nconfigs:\n- config_name: en\n  data_files: en.jsonl\n- config_name: de\n  data_files: de.jsonl\n---\n"
DEFAULT = TWO.replace("data_files: de.jsonl", "data_files: de.jsonl\n  default: true")
ROWS = '{"text": "a"}\n' * 10


@pytest.fixture(name="hub", scope="module")
def seeded_hub() -> Iterator[LoopbackHub]:
    """A Hub with something of everything."""
    with loopback_hub() as hub:
        hub.add_user("stranger")
        hub.add_organization("library", {"me": "read"})
        hub.add_organization("club", {"me": "contributor"})
        hub.add_organization("acme", {"me": "write"})
        hub.add_token("hf_read", role="read")
        hub.add_token("hf_fine", role="fineGrained", scopes=(Scope("org", "acme"),))
        for name in ("me/public", "acme/small", "club/others"):
            hub.add_model(name, {"config.json": "{}"})
        hub.rename("model", "acme/old", "acme/small")
        hub.add_dataset("acme/chats", {"data/train.jsonl": ROWS, "data/test.jsonl": ROWS})
        hub.add_dataset("acme/two", {"en.jsonl": ROWS, "de.jsonl": ROWS, "README.md": TWO})
        hub.add_dataset("acme/default", {"en.jsonl": ROWS, "de.jsonl": ROWS, "README.md": DEFAULT})
        hub.add_dataset("acme/script", {"script.py": "import datasets\n"})
        hub.add_dataset("acme/gated", {"train.jsonl": ROWS}, gated="manual")
        hub.add_dataset("stranger/private", {"train.jsonl": ROWS}, private=True)
        hub.add_dataset("acme/new", {"train.jsonl": ROWS})
        hub.rename("dataset", "acme/former", "acme/new")
        hub.rename("dataset", "chats", "acme/chats")
        yield hub
        assert hub.failures == []


def ask(hub: LoopbackHub, token: str | None, *expressions: str) -> dict[str, Any]:
    """What the clients say with a token."""
    hub.token = token
    with TemporaryDirectory() as home:  # a cache of its own: what is cached is read, whoever may
        caches = {"HF_HOME": home, "HF_HUB_CACHE": f"{home}/hub", "HF_DATASETS_CACHE": f"{home}/datasets"}
        answer = subprocess.run(
            [sys.executable, "-c", CHILD],
            input=json.dumps(expressions),
            capture_output=True,
            text=True,
            check=True,
            env=quiet_environment(**hub.variables | caches),
            cwd=home,
        )
    said: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return said


def compare(said: Mapping[str, Any], expected: Mapping[str, Any]) -> None:
    """An expected text begins what was said; any other value is it."""
    wrong = {
        each: said[each]
        for each, value in expected.items()
        if not (str(said[each]).startswith(value) if isinstance(value, str) else said[each] == value)
    }
    assert wrong == {}


REFUSED = "HfHubHTTPError: "
PUSHED = "create_repo('{0}', exist_ok=True)"
UPLOADED = "upload_file(path_or_fileobj=b'x', path_in_repo='x', repo_id='{0}')"


def test_a_token_that_writes(hub: LoopbackHub) -> None:
    """What the rules on targets, files and revisions claim, and what they leave alone."""
    expected = {
        # HUB111, HUB113, HUB123
        PUSHED.format("stranger/x"): REFUSED,
        PUSHED.format("nobody/x"): REFUSED,
        PUSHED.format("library/x"): REFUSED,
        PUSHED.format("club/x"): "done",
        PUSHED.format("club/others"): "done",
        UPLOADED.format("club/others"): REFUSED,
        PUSHED.format("me/x"): "done",
        PUSHED.format("bare"): "done",
        # HUB114
        "create_repo('me/public', exist_ok=True, private=True)": "done",
        "bool(model_info('me/public').private)": False,
        # HUB119, HUB122
        "create_repo('me/public')": REFUSED,
        UPLOADED.format("me/none"): "RepositoryNotFoundError",
        "create_commit('me/none', operations=[], commit_message='x')": "RepositoryNotFoundError",
        # HUB116, HUB117, HUB118, HUB120
        "hf_hub_download('acme/small', 'none.json')": "RemoteEntryNotFoundError",
        "[each.name for each in __import__('pathlib').Path(snapshot_download('acme/small', allow_patterns='*.gguf', local_dir='x')).glob('*.*f')]": [],
        "hf_hub_download('acme/small', 'config.json', revision='v9')": "RevisionNotFoundError",
        "load_dataset('acme/chats', revision='v9')": "DatasetNotFoundError",
        "hf_hub_download('acme/old', 'config.json')": "done",
        "len(load_dataset('acme/former', split='train'))": 10,
        "hf_hub_download('acme/none', 'config.json')": "RepositoryNotFoundError",
    }
    compare(ask(hub, "hf_me_write", *expected), expected)


def test_datasets(hub: LoopbackHub) -> None:
    """What the rules on datasets claim, and what they leave alone."""
    expected = {
        "load_dataset('acme/none')": "DatasetNotFoundError",  # DAT107
        "load_dataset('chats')": "HfUriError",  # DAT120
        "load_dataset('none')": "DatasetNotFoundError",
        "load_dataset('stranger/private')": "DatasetNotFoundError",
        "load_dataset('acme/gated')": "done",  # one's own organization's
        "load_dataset('acme/two')": "ValueError: Config name is missing",  # DAT109
        "load_dataset('acme/two', streaming=True)": "ValueError: Config name is missing",
        "load_dataset('acme/default')": "done",
        "load_dataset('acme/two', 'de')": "done",
        "load_dataset('acme/two', 'fr')": "ValueError: BuilderConfig 'fr' not found",  # DAT110
        "load_dataset('acme/chats', 'fr')": "ValueError: BuilderConfig 'fr' not found",
        "load_dataset('acme/chats', data_files='none/*.jsonl', split='train')": "DataFilesNotFoundError",  # DAT113
        "load_dataset('acme/chats', data_dir='none', split='train')": "EmptyDatasetError",
        "load_dataset('acme/chats', split='dev')": 'ValueError: Unknown split "dev"',  # DAT111
        "load_dataset('acme/chats', split='Train')": 'ValueError: Unknown split "Train"',
        "load_dataset('acme/chats', split='train+dev')": 'ValueError: Unknown split "dev"',
        "load_dataset('acme/chats', split='dev', streaming=True)": "ValueError: Bad split: dev",
        "len(load_dataset('acme/chats', split='all'))": 20,
        "len(load_dataset('acme/chats', split='train+test[:50%]'))": 15,
        "load_dataset('acme/chats', split='train[20:30]')": 'ValueError: Instruction "train[20:30]" corresponds to no data',  # DAT115
        "load_dataset('acme/chats', split='train[:1%]')": 'ValueError: Instruction "train[:1%]" corresponds to no data',
        "len(load_dataset('acme/chats', split='train[8:50]'))": 2,
        "len(load_dataset('acme/chats', data_files='data/t*.jsonl', split='train'))": 20,
        "load_dataset('acme/chats', data_files=['none.jsonl', 'data/test.jsonl'], split='train')": "FileNotFoundError",
        "len(load_dataset('acme/chats', data_files=['none*.jsonl', 'data/test.jsonl'], split='train'))": 10,
        "load_dataset('acme/script')": "RuntimeError: Dataset scripts are no longer supported",  # DAT112
        "load_dataset('acme/script', trust_remote_code=True)": "RuntimeError: Dataset scripts are no longer supported",
        "load_dataset('acme/chats', split='train').select(range(11))": "IndexError",  # DAT116
        "len(load_dataset('acme/chats', split='train').select(range(10)))": 10,
        "load_dataset('acme/chats', split='train').shuffle(seed=1).select(range(5, 30))": "IndexError",
        "len(load_dataset('acme/chats', split='train').take(30))": 10,
    }
    order = sorted(expected, key=lambda each: "none" not in each)  # a cache would hide that no file fits
    compare(ask(hub, "hf_me_write", *order), expected)


@pytest.mark.long
def test_other_tokens(hub: LoopbackHub) -> None:
    """What the rules on the account claim: of no token, a refused, a reading and a fine-grained one."""
    closed = "DatasetNotFoundError: Dataset 'acme/gated' is a gated dataset"
    nothing = {
        "load_dataset('acme/gated', token=False)": closed,
        "load_dataset('acme/gated')": closed,
    }  # DAT108, HUB121
    refused = {  # HUB109
        "hf_hub_download('acme/small', 'config.json')": REFUSED,
        "load_dataset('acme/chats')": REFUSED,
        PUSHED.format("me/x2"): REFUSED,
        "hf_hub_download('acme/small', 'config.json', token=False)": "done",
    }
    reading = {  # HUB110
        PUSHED.format("me/x3"): REFUSED,
        PUSHED.format("me/public"): "done",
        UPLOADED.format("me/public"): REFUSED,
    }
    fine = {  # HUB112
        PUSHED.format("me/x4"): REFUSED,
        UPLOADED.format("me/public"): REFUSED,
        UPLOADED.format("acme/small"): "done",
    }
    for token, expected in ((None, nothing), ("hf_bad", refused), ("hf_read", reading), ("hf_fine", fine)):
        compare(ask(hub, token, *expected), expected)


@pytest.mark.parametrize(
    ("token", "space"), [("hf_me_write", "stranger/t"), ("hf_me_write", "library/t"), ("hf_read", "me/t")]
)
def test_a_space_that_may_not_be_made(hub: LoopbackHub, token: str, space: str) -> None:
    """TRK110: trackio raises where it may not make the Space."""
    hub.token = token
    program = f"from trackio.deploy import create_space_if_not_exists\ncreate_space_if_not_exists({space!r})\n"
    answer = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env=quiet_environment(**hub.variables),
    )
    assert answer.returncode
    assert "403" in answer.stderr


def test_both_splits_are_downloaded(hub: LoopbackHub) -> None:
    """DAT119: for one split the files of the others are stored, too, once as they are and once as Arrow."""
    hub.add_dataset("acme/sized", {"train.jsonl": ROWS, "test.jsonl": ROWS})
    load = "len(load_dataset('acme/sized', split='train', cache_dir='cache'))"
    stored = "sorted(file.name for file in __import__('pathlib').Path('cache').rglob('*.arrow'))"

    assert ask(hub, "hf_me_write", load, stored)[stored] == ["sized-test.arrow", "sized-train.arrow"]


@pytest.mark.parametrize(("status", "content"), [(404, "404: Not Found"), (401, "no"), (200, "<!DOCTYPE html>\n")])
def test_uv_runs_whatever_is_answered(hub: LoopbackHub, tmp_path: Path, status: int, content: str) -> None:
    """JOB117, JOB118: an error's text, or a page, is handed to Python as if it were the script."""
    address = hub.add_page(f"/script-{status}.py", content, status=status)
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("uv is not installed")
    answer = subprocess.run(
        [uv, "run", "--no-project", "--python", sys.executable, address],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=quiet_environment(no_proxy="*"),
    )
    assert answer.returncode
    assert "Error" in answer.stderr
    assert f"/script-{status}" in answer.stderr
