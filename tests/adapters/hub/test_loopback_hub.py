"""The loopback Hub is one to `huggingface_hub` itself: what is read of accounts and repositories is answered as the real Hub would."""

import hashlib
from pathlib import Path

import pytest

from tests.helpers.hub import LoopbackHub, Scope
from tests.helpers.hub.client import Ask
from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub  # noqa: F401 - the fixtures `hub` and `ask`
from tests.helpers.hub.weights import weights

CARD = "---\nlicense: mit\nbase_model: acme/base\ntags:\n- trl\ndatasets: [acme/chats]\n---\n# A model\n"


def test_whoami(hub: LoopbackHub, ask: Ask) -> None:
    """The client is told the user, the organizations with the user's role, and the token's role."""
    hub.add_organization("lab", {"me": "contributor"})
    told = ask("api.whoami()")
    assert (told["type"], told["name"], told["canPay"]) == ("user", "me", True)
    assert [(org["name"], org["roleInOrg"]) for org in told["orgs"]] == [("lab", "contributor")]
    assert told["auth"]["accessToken"]["role"] == "write"
    assert ask("as_whom('hf_me_read').whoami()['auth']['accessToken']['role']") == "read"
    assert ask("error_of(as_whom('hf_none').whoami)")[1].count("Invalid user token") == 1


def test_fine_grained_token(hub: LoopbackHub, ask: Ask) -> None:
    """What it may do is told as the Hub spells it, and is what it can do."""
    hub.add_model("me/private", {"a.txt": "a"}, private=True)
    hub.add_model("me/other", {"a.txt": "a"})
    scopes = (Scope("model", "me/private", ("repo.content.read",)), Scope("user", "me", ("repo.write",)))
    hub.add_token("hf_fine", role="fineGrained", scopes=scopes)
    hub.add_token("hf_tight", role="fineGrained", scopes=(Scope("model", "me/other"),), reads_gated=False)
    told = ask("as_whom('hf_fine').whoami()['auth']['accessToken']")
    assert told["role"] == "fineGrained"
    assert told["fineGrained"]["canReadGatedRepos"] is True
    assert [
        (one["entity"]["type"], one["entity"]["name"], one["permissions"]) for one in told["fineGrained"]["scoped"]
    ] == [
        ("model", "me/private", ["repo.content.read"]),
        ("user", "me", ["repo.write"]),
    ]
    assert ask("as_whom('hf_fine').model_info('me/private').private") is True
    assert ask("error_of(as_whom('hf_tight').model_info, 'me/private')[0]") == "RepositoryNotFoundError"
    assert ask("error_of(as_whom('hf_tight').auth_check, 'me/other', write=True)")[0] == ""
    assert "rights to create a model" in ask("error_of(as_whom('hf_tight').create_repo, 'me/third')")[1]


def test_info_of_a_model(hub: LoopbackHub, ask: Ask) -> None:
    """It comes with card, configuration, weights counted from their headers, sizes and hashes of files."""
    model = weights(a=[3, 4], b=[2, 5])
    hub.add_model(
        "acme/small",
        {
            "README.md": CARD,
            "config.json": '{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 8}',
            "tokenizer_config.json": '{"chat_template": "{{ x }}", "eos_token": {"content": "</s>"}}',
            "model.safetensors": model,
        },
        downloads=7,
    )
    told = ask("info = api.model_info('acme/small', files_metadata=True, securityStatus=True)\nvars(info)")
    assert told["safetensors"] == {"parameters": {"BF16": 22}, "total": 22}
    assert told["config"]["architectures"] == ["Qwen2ForCausalLM"]
    assert told["config"]["tokenizer_config"] == {"chat_template": "{{ x }}", "eos_token": "</s>"}
    assert (told["pipeline_tag"], told["library_name"], told["downloads"]) == ("text-generation", "transformers", 7)
    assert {"license:mit", "base_model:acme/base", "dataset:acme/chats", "trl", "safetensors"} <= set(told["tags"])
    assert told["security_repo_status"] == {"scansDone": True, "filesWithIssues": []}
    assert ask("info.card_data.license") == "mit"
    assert ask("{one.rfilename: one.size for one in info.siblings}")["model.safetensors"] == len(model)
    hashed = hashlib.sha256(model).hexdigest()
    assert ask("next(one.lfs.sha256 for one in info.siblings if one.rfilename.endswith('.safetensors'))") == hashed
    expanded = ask("vars(api.model_info('acme/small', expand=['safetensors', 'gated']))")
    assert (expanded["safetensors"]["total"], expanded["gated"], expanded["sha"]) == (22, False, None)
    assert ask("sorted(api.get_safetensors_metadata('acme/small').weight_map)") == ["a", "b"]


def test_weights_in_several_files(hub: LoopbackHub, ask: Ask) -> None:
    """Their headers come in one answer, and count together."""
    index = '{"metadata": {"total_size": 44}, "weight_map": {"a": "m-1.safetensors", "b": "m-2.safetensors"}}'
    files = {"m-1.safetensors": weights(a=[3, 4]), "m-2.safetensors": weights(b=[2, 5])}
    hub.add_model("acme/shards", {"model.safetensors.index.json": index, **files})
    assert ask("api.model_info('acme/shards').safetensors.total") == 22
    assert ask("api.get_sharded_safetensors_metadata('acme/shards').weight_map") == {
        "a": "m-1.safetensors",
        "b": "m-2.safetensors",
    }


def test_tree(hub: LoopbackHub, ask: Ask) -> None:
    """Folders are listed unless all levels are asked for together with them; long lists come in pages; what is not there is told apart."""
    hub.add_dataset(
        "acme/tree", {f"data/{n}.txt": str(n) for n in range(5)} | {"README.md": "x", "data/deep/a.bin": "b"}
    )
    hub.page_size = 2
    listed = "sorted(one.path for one in api.list_repo_tree('acme/tree', repo_type='dataset', {}))"
    assert ask(listed.format("recursive=False")) == ["README.md", "data"]
    assert len(ask(listed.format("recursive=True"))) == 9
    hub.page_size = 1000
    assert len(hub.asked("/tree/.*cursor=")) == 4
    assert ask(listed.format("path_in_repo='data/deep'")) == ["data/deep/a.bin"]
    assert ask(
        "[one.last_commit.title for one in api.list_repo_tree('acme/tree', repo_type='dataset', expand=True)]"
    ) == [
        "initial commit",
        "initial commit",
    ]
    missing = ask("error_of(lambda: list(api.list_repo_tree('acme/tree', 'none', repo_type='dataset')))")
    assert missing[0] == "RemoteEntryNotFoundError"
    found = ask(
        "[one.path for one in api.get_paths_info('acme/tree', ['data', 'no', 'README.md'], repo_type='dataset')]"
    )
    assert sorted(found) == ["README.md", "data"]
    assert ask("api.file_exists('acme/tree', 'README.md', repo_type='dataset')") is True
    assert ask("api.file_exists('acme/tree', 'no.md', repo_type='dataset')") is False


def test_what_cannot_be_seen(hub: LoopbackHub, ask: Ask) -> None:
    """A repository that is not there, or private to others, is the same to the client, with a token and without."""
    hub.add_model("you/secret", {"a.txt": "a"}, private=True)
    for name in ("you/secret", "you/nothing"):
        for who in ("api", "nobody"):
            assert ask(f"error_of({who}.model_info, '{name}')[0]") == "RepositoryNotFoundError"
            assert ask(f"error_of({who}.hf_hub_download, '{name}', 'a.txt')[0]") == "RepositoryNotFoundError"
        assert ask(f"api.repo_exists('{name}')") is False
    assert ask("as_whom('hf_you').model_info('you/secret').private") is True
    assert ask("error_of(as_whom('hf_stale').model_info, 'acme/small')")[0] == "HfHubHTTPError"


@pytest.mark.parametrize("gated", ["auto", "manual"])
def test_gated(hub: LoopbackHub, ask: Ask, gated: str) -> None:
    """Everybody sees it and its list of files; the files are for those who were let in."""
    name = f"acme/gated-{gated}"
    repo = hub.add_model(name, {"config.json": "{}", "model.safetensors": "x"}, gated=gated)
    assert ask(f"nobody.model_info('{name}').gated") == gated
    assert len(ask(f"nobody.list_repo_files('{name}')")) == 2
    refused = ask(f"error_of(nobody.hf_hub_download, '{name}', 'config.json')")
    assert refused[0] == "GatedRepoError"
    assert "Please log in" in refused[1]
    assert "not in the authorized list" in ask(f"error_of(api.hf_hub_download, '{name}', 'config.json')")[1]
    assert ask(f"error_of(api.auth_check, '{name}')[0]") == "GatedRepoError"
    repo.asked.add("me")
    assert "awaiting a review" in ask(f"error_of(api.auth_check, '{name}')")[1]
    repo.access.add("me")
    assert ask(f"error_of(api.auth_check, '{name}')[0]") == ""
    assert ask(f"Path(api.hf_hub_download('{name}', 'model.safetensors')).read_text()") == "x"
    hub.add_token("hf_shut", role="fineGrained", reads_gated=False)
    assert "fine-grained token settings" in ask(f"error_of(as_whom('hf_shut').auth_check, '{name}')")[1]


def test_taken_down(hub: LoopbackHub, ask: Ask) -> None:
    """The info of a model still says so; its files are gone."""
    hub.add_model("acme/down", {"config.json": "{}"}, disabled=True)
    assert ask("api.model_info('acme/down').disabled") is True
    assert ask("error_of(api.auth_check, 'acme/down')[0]") == "DisabledRepoError"


def test_renamed(hub: LoopbackHub, ask: Ask) -> None:
    """The client is led to the new name, from an old one, one without a namespace, and one in other letters."""
    hub.add_model("acme/old", {"config.json": "{}", "m.safetensors": "w"})
    hub.rename("model", "acme/old", "acme/new-name")
    hub.rename("model", "old", "acme/new-name")
    for name in ("acme/old", "old", "Acme/New-Name"):
        assert ask(f"api.model_info('{name}').id") == "acme/new-name"
        assert ask(f"Path(api.hf_hub_download('{name}', 'm.safetensors')).read_text()") == "w"
        assert sorted(ask(f"api.list_repo_files('{name}')")) == ["config.json", "m.safetensors"]
    assert {request.answered for request in hub.asked("/api/models/old")} == {307}


def test_revisions(hub: LoopbackHub, ask: Ask) -> None:
    """Branches, tags and commits are read as they were; one that is not there is told apart from a file that is not."""
    repo = hub.add_model("me/history", {"a.txt": "one", "gone.txt": "x"})
    repo.tag("v1")
    second = repo.commit({"a.txt": "two"}, gone=("gone.txt",), message="Second")
    repo.commit({"a.txt": "three"}, branch="dev")
    read = "Path(api.hf_hub_download('me/history', 'a.txt', revision={!r})).read_text()"
    assert [ask(read.format(at)) for at in ("main", "v1", "dev", second.oid)] == ["two", "one", "three", "two"]
    assert ask("error_of(api.model_info, 'me/history', revision='v9')[0]") == "RevisionNotFoundError"
    assert ask("error_of(api.hf_hub_download, 'me/history', 'gone.txt')[0]") == "RemoteEntryNotFoundError"
    assert ask("[one.title for one in api.list_repo_commits('me/history')]") == ["Second", "initial commit"]
    ask(
        "api.create_branch('me/history', branch='b', revision='v1'); api.create_tag('me/history', tag='t', revision='dev')"
    )
    told = ask(
        "refs = api.list_repo_refs('me/history')\n{one.name: one.target_commit for one in refs.branches + refs.tags}"
    )
    assert told == {
        "main": second.oid,
        "dev": repo.at("dev").oid,
        "b": repo.at("v1").oid,
        "v1": repo.at("v1").oid,
        "t": repo.at("dev").oid,
    }
    assert "already exists" in ask("error_of(api.create_branch, 'me/history', branch='b')")[1]
    ask("api.delete_branch('me/history', branch='b'); api.delete_tag('me/history', tag='t')")
    assert sorted(repo.branches) == ["dev", "main"]


def test_search(hub: LoopbackHub, ask: Ask) -> None:
    """By words, author, tags and gating, sorted and in pages, without what this token does not see."""
    for n in range(5):
        hub.add_dataset(
            f"acme/found-{n}", {"README.md": f"---\nlicense: {'mit' if n % 2 else 'gpl'}\n---\n"}, downloads=n
        )
    hub.add_dataset("you/found-secret", private=True)
    hub.page_size = 2
    listed = "[one.id for one in api.list_datasets(search='FOUND', {})]"
    assert ask(listed.format("sort='downloads'")) == [f"acme/found-{n}" for n in (4, 3, 2, 1, 0)]
    assert ask(listed.format("sort='downloads', limit=3")) == [f"acme/found-{n}" for n in (4, 3, 2)]
    hub.page_size = 1000
    assert len(hub.asked("cursor=")) == 3
    assert len(ask(listed.format("filter='license:mit'"))) == 2
    assert ask(listed.format("author='you'")) == []
    assert ask("[one.id for one in as_whom('hf_you').list_datasets(author='you')]") == ["you/found-secret"]
    hub.add_model("acme/found-model", {"config.json": '{"model_type": "qwen2"}'}, gated="auto")
    assert ask("[one.id for one in api.list_models(search='found', gated=True)]") == ["acme/found-model"]
    assert ask("[one.config for one in api.list_models(search='found', fetch_config=True)]") == [
        {"model_type": "qwen2"}
    ]


def test_namespaces(hub: LoopbackHub, ask: Ask) -> None:
    """Whether a user or an organization exists can be asked."""
    assert len(hub.accounts.organizations["acme"].members) == 0
    assert ask("api.get_user_overview('you').username") == "you"
    assert ask("api.get_organization_overview('acme').name") == "acme"
    assert ask("error_of(api.get_user_overview, 'acme')[0]") == "HfHubHTTPError"
    assert ask("error_of(api.get_organization_overview, 'none')[0]") == "HfHubHTTPError"


def test_jobs_hardware(hub: LoopbackHub, ask: Ask) -> None:
    """Flavors come with memory, GPU and price, to everybody."""
    told = {
        one["name"]: one
        for one in ask(
            "[vars(one) | {'accelerator': one.accelerator and vars(one.accelerator)} for one in nobody.list_jobs_hardware()]"
        )
    }
    assert told["cpu-basic"]["accelerator"] is None
    assert told["t4-small"]["accelerator"]["model"] == "Tesla T4"
    assert told["a100-large"]["unit_cost_usd"] > 0
    hub.hardware = []
    assert ask("api.list_jobs_hardware()") == []
    hub.hardware = None


def test_a_folder_as_a_repository(hub: LoopbackHub, ask: Ask, tmp_path: Path) -> None:
    """A folder of this machine can stand for what is in a repository; a snapshot of it is the same again."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.json").write_text("{}")
    (tmp_path / "m.safetensors").write_bytes(b"w")
    hub.add_model("acme/folder", tmp_path)
    there = ask(
        "folder = Path(api.snapshot_download('acme/folder'))\nsorted(str(p.relative_to(folder)) for p in folder.rglob('*') if p.is_file())"
    )
    assert there == ["m.safetensors", "sub/a.json"]
