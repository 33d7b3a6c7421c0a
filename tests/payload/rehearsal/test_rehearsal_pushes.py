"""Pushes of a rehearsal: everything is done up to the request, the answers are the Hub's, and no write arrives there."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.children import ask
from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.fixtures import hub_without_faults, one_hub  # noqa: F401 - the fixture `hub`
from tests.helpers.rehearsal_parts import Played, play
from tests.helpers.sampling import sampled
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

PARTS = ("guards", "pushes")
NO_RIGHTS = "no: You don't have the rights to create a model under the namespace"
HOOK_EVENTS = """
import json
from huggingface_hub import HfApi, ModelCard, create_repo, hf_hub_download, metadata_update, upload_file, upload_folder
api = HfApi()
def told(call, *args, **kwargs):
    try:
        answer = call(*args, **kwargs)
        print(json.dumps([type(answer).__name__, str(answer)]))
    except Exception as error:
        print(json.dumps([type(error).__name__, str(error)]))
"""


def push(place: Path, hub: LoopbackHub, source: str, **order: Any) -> Played:
    """Run a script, and see to it that nothing was written to the Hub."""
    done = play(place, HOOK_EVENTS + source, PARTS, hub.variables | order.pop("variables", {}), **order)
    writes = [each.told for each in hub.requests if each.method not in ("GET", "HEAD")]
    assert set(writes) <= {"POST /api/validate-yaml"}
    assert hub.commits == []
    assert hub.created == []
    return done


def answers(done: Played) -> list[tuple[str, str]]:
    """Return class and text of what each call gave or raised."""
    assert done.printed, done.errors
    return [(kind, text) for kind, text in (json.loads(line) for line in done.printed if line.startswith("["))]


@pytest.fixture(autouse=True)
def nothing_made(hub: LoopbackHub) -> Iterator[None]:
    """Each test begins with a Hub on which nothing was made."""
    hub.created.clear()
    yield
    hub.created.clear()


def test_a_hub_that_cannot_be_reached_is_not_waited_for(tmp_path: Path) -> None:
    """The client would try six times, and wait half a minute in all."""
    source = 'told(hf_hub_download, "me/model", "config.json")\ntold(list, api.list_repo_tree("me/model"))'

    done = play(tmp_path, HOOK_EVENTS + source, PARTS, {"HF_ENDPOINT": "http://127.0.0.1:1", "HF_HUB_OFFLINE": "0"})

    assert [kind for kind, _ in answers(done)] == ["LocalEntryNotFoundError", "ConnectError"]
    assert "Retry" not in done.errors
    assert done.errors.count("thrown while requesting") == 2


def test_a_program_without_the_client_of_the_hub_sends_its_own_requests(tmp_path: Path, hub: LoopbackHub) -> None:
    source = """
import os, sys
sys.modules["huggingface_hub"] = None  # as where it is not installed
import httpx
print(httpx.get(os.environ["HF_ENDPOINT"] + "/api/models/me/none", timeout=20).status_code)
"""
    done = play(tmp_path, source, PARTS, hub.variables)
    assert done.printed == ["401"], done.errors  # as the Hub answers those whom it does not know


def test_objects_are_like_the_real_ones(tmp_path: Path, hub: LoopbackHub) -> None:
    """What is returned has the classes and names that a script goes on with."""
    source = """
told(create_repo, "short", private=True)
told(create_repo, "me/short", exist_ok=True)
told(upload_file, path_or_fileobj=b"abc", path_in_repo="a.txt", repo_id="me/short")
told(upload_folder, folder_path=".", repo_id="me/short", create_pr=True)
told(ModelCard("---\\nlicense: mit\\n---\\nhi").push_to_hub, "me/short")
told(metadata_update, "me/short", {"tags": ["x"]})
told(api.create_branch, "me/short", branch="dev")
told(api.create_tag, "me/short", tag="v1")
told(api.delete_file, "a.txt", "me/short")
told(api.create_repo, "me/space", repo_type="space", space_sdk="gradio")
told(api.update_repo_settings, "me/short", private=False)
told(api.delete_repo, "me/short")
"""
    done = push(tmp_path, hub, source, writable=[["me/short", "yes"]])
    told = answers(done)
    kinds = "RepoUrl RepoUrl CommitInfo CommitInfo CommitInfo CommitInfo NoneType NoneType CommitInfo RepoUrl NoneType NoneType"
    assert " ".join(kind for kind, _ in told) == kinds, told
    assert told[0][1] == f"{hub.address}/me/short"
    pushed = [each for each in done.facts("push") if each["action"] == "commit"]
    assert (pushed[0]["files"], pushed[0]["bytes"], pushed[0]["private"]) == (["a.txt"], 3, True)
    assert {each["stage"] for each in pushed} == {"push"}
    assert done.failed == []
    assert done.not_rehearsed == ["whether me/space may be written to"]


def test_what_is_pushed_can_be_read(tmp_path: Path, hub: LoopbackHub) -> None:
    """Files of a repository that was made here are listed and loaded; of one that is there, the real ones too."""
    hub.add_model("me/there", {"real.txt": "real"})
    source = """
create_repo("me/new")
upload_file(path_or_fileobj=b"x" * 100, path_in_repo="deep/a.safetensors", repo_id="me/new")
upload_file(path_or_fileobj=b"more", path_in_repo="mine.txt", repo_id="me/there")
print(json.dumps(["read", open(hf_hub_download("me/new", "deep/a.safetensors")).read()[:3]]))
print(json.dumps(["read", open(hf_hub_download("me/there", "real.txt")).read()]))
told(api.list_repo_files, "me/new")
told(lambda: api.model_info("me/new").private)
told(lambda: [each.path for each in api.list_repo_tree("me/new", recursive=True)])
told(lambda: api.get_paths_info("me/new", ["deep/a.safetensors"])[0].size)
told(hf_hub_download, "me/new", "none.txt")
told(lambda: api.file_exists("me/new", "none.txt"))
told(lambda: api.repo_exists("me/new"))
told(lambda: api.repo_exists("me/never"))
"""
    told = answers(push(tmp_path, hub, source))
    assert [text for _, text in told[:6]] == [
        "xxx",
        "real",
        "['deep/a.safetensors']",
        "False",
        "['deep', 'deep/a.safetensors']",
        "100",
    ]
    assert (told[6][0], [text for _, text in told[7:]]) == ("RemoteEntryNotFoundError", ["False", "True", "False"])


REFUSED = {
    "a name that cannot be": ('create_repo, "a/b/c"', {}, "HFValidationError", "Repo id must be"),
    "one that is there": ('create_repo, "me/there"', {}, "HfHubHTTPError", "409"),
    "nobody's rights": ('create_repo, "acme/x"', {}, "HfHubHTTPError", "403 Forbidden: You don't have the rights"),
    "a commit without rights": (
        'upload_file, path_or_fileobj=b"a", path_in_repo="a", repo_id="acme/x"',
        {},
        "HfHubHTTPError",
        "403 Forbidden",
    ),
    "nothing to commit to": (
        'upload_file, path_or_fileobj=b"a", path_in_repo="a", repo_id="me/never"',
        {},
        "RepositoryNotFoundError",
        "404",
    ),
    "a file that is not": (
        'upload_file, path_or_fileobj="none", path_in_repo="a", repo_id="me/there"',
        {},
        "ValueError",
        "none",
    ),
    "no token": ('create_repo, "me/x"', {"HF_TOKEN": ""}, "HfHubHTTPError", "401 Unauthorized"),
    "a wrong token": ('create_repo, "x"', {"HF_TOKEN": "hf_wrong"}, "HfHubHTTPError", "401 Unauthorized"),
    "a wrong token, a whole name": (
        'create_repo, "me/x"',
        {"HF_TOKEN": "hf_wrong"},
        "HfHubHTTPError",
        "401 Unauthorized",
    ),
    "a job without the Hub": ('create_repo, "me/x"', {"HF_HUB_OFFLINE": "1"}, "OfflineModeIsEnabled", "offline mode"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_the_hub_refuses(tmp_path: Path, hub: LoopbackHub, case: str) -> None:
    """Refusals are those that the real client raises; those of rights and tokens are failures of the push."""
    call, variables, kind, said = REFUSED[case]
    hub.add_model("me/there", {"a.txt": "a"})
    done = push(tmp_path, hub, f"told({call})", variables=variables, writable=[["acme/x", NO_RIGHTS]])
    told = answers(done)[0]
    assert told[0] == kind
    assert said in told[1]
    if said[:3] in ("401", "403", "404"):
        assert [stage for stage, _ in done.failed] == ["push"]


RIGHTS = "import json; from holdfast.adapters.hub.rights import read_rights; print(json.dumps(read_rights()))"


def test_what_a_token_may_write_to_is_asked_before(tmp_path: Path, hub: LoopbackHub) -> None:
    """A token that only reads is refused as the Hub refuses it; of another one, that the script brings, nothing is known."""
    hub.add_token("hf_read", role="read")
    variables = hub.variables | {"HF_TOKEN": "hf_read", "HF_HUB_OFFLINE": "0"}
    token, writable = ask(["-c", RIGHTS], None, **variables)  # huggingface_hub reads them when it is imported
    calls = 'told(create_repo, "me/new")\ntold(create_repo, "ghosts/new")'
    source = f'{calls}\ntold(create_repo, "me/new", token={hub.token!r})'
    done = push(tmp_path, hub, source, variables=variables, token=token, writable=writable)
    refused, foreign, other = answers(done)
    assert (refused[0], "the token of `me` may only read" in refused[1]) == ("HfHubHTTPError", True)
    assert (foreign[0], "403" in foreign[1]) == ("HfHubHTTPError", True)
    assert other[0] == "RepoUrl"
    assert done.not_rehearsed == ["whether me/new may be written to"]
    assert [stage for stage, _ in done.failed] == ["push", "push"]


def test_a_repository_of_another_is_asked_about_at_the_hub(tmp_path: Path, hub: LoopbackHub) -> None:
    """A contributor makes repositories in an organization, and writes to its own alone: only the Hub knows which these are."""
    hub.add_organization("contributors", {"me": "contributor"})
    hub.add_model("contributors/there", {"a.txt": "a"})
    source = 'told(upload_file, path_or_fileobj=b"a", path_in_repo="a", repo_id="contributors/there")'
    assert answers(push(tmp_path, hub, source))[0][0] == "HfHubHTTPError"


def test_refusals_are_those_of_the_hub(tmp_path: Path, hub: LoopbackHub) -> None:
    """The same script against the Hub itself, where nothing is made either, raises the same classes."""
    hub.add_model("me/there", {"a.txt": "a"})
    calls = [call for call, variables, *_ in REFUSED.values() if not variables and "acme" not in call]
    source = HOOK_EVENTS + "\n".join(f"told({call})" for call in calls)
    real = play(tmp_path, source, (), hub.variables)
    hub.requests.clear()
    hub.created.clear()
    guarded = push(tmp_path, hub, "\n".join(f"told({call})" for call in calls))
    assert [kind for kind, _ in answers(guarded)] == [kind for kind, _ in answers(real)]


def test_without_the_hub(tmp_path: Path, hub: LoopbackHub) -> None:
    """A rehearsal that leaves the Hub alone does everything else, and asks nothing."""
    source = """
told(create_repo, "me/x")
told(upload_file, path_or_fileobj=b"abc", path_in_repo="a.txt", repo_id="me/x")
told(upload_file, path_or_fileobj=b"abc", path_in_repo="a.txt", repo_id="me/other")
"""
    done = push(tmp_path, hub, source, offline=True)
    assert [kind for kind, _ in answers(done)] == ["RepoUrl", "CommitInfo", "CommitInfo"], done.errors
    assert hub.requests == []
    assert "whether me/other is there" in done.not_rehearsed


ASKED = """
from huggingface_hub import notebook_login, whoami
told(create_repo, "before")
notebook_login()
told(lambda: whoami()["name"])
told(create_repo, "mine")
told(upload_file, path_or_fileobj=b"abc", path_in_repo="a.txt", repo_id="you/mine")
told(lambda: open(hf_hub_download("you/mine", "a.txt")).read())
told(lambda: api.model_info("acme/x").id)
"""


def test_a_notebook_whose_user_logs_in(tmp_path: Path, hub: LoopbackHub) -> None:
    """Nobody is asked: what comes after it goes on as if somebody had, with a token that no request takes along."""
    hub.add_model("acme/x", {"config.json": "{}"})
    variables = {"HF_TOKEN": "", "HF_HUB_OFFLINE": "0"}
    done = push(tmp_path, hub, ASKED, variables=variables, script=str(tmp_path / "a.ipynb"))
    kinds = [kind for kind, _ in answers(done)]
    assert kinds == ["HfHubHTTPError", "str", "RepoUrl", "CommitInfo", "str", "str"], done.errors
    assert [text for _, text in answers(done)][-2:] == ["abc", "acme/x"]
    assert "the login that the notebook asks for" in done.not_rehearsed
    assert not [each for each in hub.requests if "Pretended" in each.headers.get("authorization", "")]


TRAINING = """
from datasets import Dataset, load_dataset
from peft import AutoPeftModelForCausalLM, LoraConfig
from transformers import AutoTokenizer
from trl import SFTConfig, SFTTrainer
rows = Dataset.from_dict({"text": ["1 plus 1 equals 2."] * 8})
settings = {"use_cpu": True, "bf16": False, "max_steps": 4, "save_steps": 2, "report_to": "none", "max_length": 32}
args = SFTConfig("out", push_to_hub=True, hub_model_id=TARGET, hub_strategy="every_save", hub_private_repo=True, **settings)
trainer = SFTTrainer(FOLDER, args=args, train_dataset=rows, peft_config=LoraConfig(r=4))
trainer.train()
print(json.dumps(["done", trainer.push_to_hub(commit_message="End", dataset_name="mine").commit_message]))
trainer.model.push_to_hub("me/adapter", private=True)
trainer.processing_class.push_to_hub("me/adapter")
print(json.dumps(["loaded", type(AutoPeftModelForCausalLM.from_pretrained("me/adapter")).__name__]))
print(json.dumps(["loaded", str(AutoTokenizer.from_pretrained("me/adapter")("1 plus")["input_ids"])]))
rows.push_to_hub("me/rows", "small", split="held", private=True)
print(json.dumps(["loaded", str(load_dataset("me/rows", "small", split="held").num_rows)]))
"""


@pytest.mark.train
@pytest.mark.parametrize("before", sampled([(), ("trl.trainer.sft_trainer", "peft", "datasets")], 2))
def test_a_trainer_that_pushes(tmp_path: Path, hub: LoopbackHub, tiny: Path, before: tuple[str, ...]) -> None:
    """It makes its repository, pushes at saves and at the end, and what was pushed loads from its name."""
    source = f"FOLDER, TARGET = {str(tiny)!r}, 'mine'\n{TRAINING}"
    done = push(tmp_path, hub, source, writable=[["me/mine", "yes"]], before=before)
    assert done.code == 0, done.errors
    assert [text for _, text in answers(done)][:2] == ["End", "PeftModelForCausalLM"]
    assert answers(done)[-1][1] == "8"
    commits = [each for each in done.facts("push") if each["action"] == "commit"]
    assert {each["repository"] for each in commits} == {"me/mine", "me/adapter", "me/rows"}
    last = [each for each in commits if each["repository"] == "me/mine"][-1]
    assert {"adapter_model.safetensors", "README.md", "training_args.bin"} <= set(last["files"])
    assert (last["private"], last["kind"]) == (True, "model")
    assert last["bytes"] > 10_000
    assert not (tmp_path / "work/out").exists()


@pytest.mark.train
@pytest.mark.long
def test_a_trainer_that_may_not_push(tmp_path: Path, hub: LoopbackHub, tiny: Path) -> None:
    """It is refused when it is made, and the failure is one of the push."""
    source = f"FOLDER, TARGET = {str(tiny)!r}, 'acme/mine'\n{TRAINING}"
    done = push(tmp_path, hub, source, writable=[["acme/mine", NO_RIGHTS]])
    assert done.code == 1
    assert "403 Forbidden: You don't have the rights" in done.errors
    assert [stage for stage, _ in done.failed] == ["push"]


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        ('ModelCard("---\\nlicense: mit\\n---\\nA model").push_to_hub, "me/x"', "CommitInfo"),
        ('login, token="hf_" + "a" * 34', "NoneType"),
        ("api.whoami", "dict"),
    ],
)
def test_what_an_offline_rehearsal_cannot_ask_fails_nothing(
    tmp_path: Path, hub: LoopbackHub, call: str, answer: str
) -> None:
    """A card and a token are taken for good, and the rehearsal says that nobody asked."""
    source = f"from huggingface_hub import login\ncreate_repo('me/x', exist_ok=True)\ntold({call})\n"
    done = push(tmp_path, hub, source, offline=True)

    assert [kind for kind, _ in answers(done)] == [answer], done.errors
    assert [each for each in done.told if "whether the Hub accepts" in str(each.get("what"))]
