"""The loopback Hub takes what `huggingface_hub` writes, and refuses what the real one would."""

import pytest

from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.client import Ask, RaisedError
from tests.helpers.hub.fixtures import hub_without_faults, one_client, one_hub  # noqa: F401 - the fixtures `hub` and `ask`


def test_creation(hub: LoopbackHub, ask: Ask) -> None:
    """A repository is made where the token may, once, and what was asked for is kept."""
    ask("api.create_repo('me/made', private=True)")
    assert hub.model("me/made").private
    assert hub.created[-1]["name"] == "made"
    assert "already created this model repo" in ask("error_of(api.create_repo, 'me/made')")[1]
    assert ask("error_of(api.create_repo, 'me/made', exist_ok=True)[0]") == ""
    ask(
        "api.create_repo('me/made', repo_type='dataset'); api.create_repo('me/made', repo_type='space', space_sdk='gradio')"
    )
    assert hub.space("me/made").sdk == "gradio"
    for who, name in [("api", "acme/x"), ("api", "nobody-there/x"), ("as_whom('hf_me_read')", "me/x")]:
        refused = ask(f"error_of({who}.create_repo, '{name}')")
        assert "You don't have the rights to create a model under the namespace" in refused[1]
    hub.accounts.organizations["acme"].members["me"] = "write"
    ask("api.create_repo('acme/x', exist_ok=False)")
    hub.accounts.organizations["acme"].members.clear()
    ask("api.update_repo_settings('me/made', private=False, gated='auto')")
    assert (hub.model("me/made").private, hub.model("me/made").gated) == (False, "auto")
    ask("api.move_repo('me/made', 'me/moved')")
    assert ask("api.model_info('me/made').id") == "me/moved"
    ask("api.delete_repo('me/moved')")
    assert ask("error_of(api.delete_repo, 'me/moved')[0]") == "RepositoryNotFoundError"


def test_commits(hub: LoopbackHub, ask: Ask) -> None:
    """Small files travel in a commit, large ones beside it, once; deletions and copies too; others are refused."""
    repo = hub.add_model("me/target")
    large = bytes(range(256)) * 8
    ask(
        """
folder = Path(mkdtemp())
(folder / "config.json").write_text("{}")
(folder / "model.safetensors").write_bytes(bytes(range(256)) * 8)
(folder / "runs").mkdir()
(folder / "runs" / "log.txt").write_text("x")
api.upload_folder(repo_id="me/target", folder_path=folder, commit_message="Training in progress", commit_description="more")
"""
    )
    assert repo.files == {"config.json": b"{}", "model.safetensors": large, "runs/log.txt": b"x"}
    (commit,) = hub.commits
    assert (commit.message, commit.description, commit.author) == ("Training in progress", "more", "me")
    assert len(hub.asked("^PUT /upload/")) == 1
    ask(
        "api.upload_file(path_or_fileobj=folder / 'model.safetensors', path_in_repo='copy.safetensors', repo_id='me/target')"
    )
    assert len(hub.asked("^PUT /upload/")) == 1
    posted = len(hub.asked("/commit/"))
    ask("api.upload_folder(repo_id='me/target', folder_path=folder)")
    assert len(hub.asked("/commit/")) == posted  # nothing is new, which the client learns before it commits
    copied = "CommitOperationCopy('copy.safetensors', 'third.safetensors')"
    ask(f"api.create_commit('me/target', [CommitOperationDelete('runs/'), {copied}], commit_message='c')")
    assert sorted(repo.files) == ["config.json", "copy.safetensors", "model.safetensors", "third.safetensors"]
    ask("api.delete_file('copy.safetensors', 'me/target')")
    assert ask("error_of(api.delete_file, 'copy.safetensors', 'me/target')[0]") != ""
    assert len(hub.commits) == 4


def test_commits_that_are_refused(hub: LoopbackHub, ask: Ask) -> None:
    """By rights, by a commit in between, by a branch that is not there; a pull request is open to others."""
    repo = hub.add_model("me/guarded", {"a.txt": "a"})
    add = "[CommitOperationAdd('b.txt', b'b')], commit_message='m'"
    assert "403" in ask(f"error_of(as_whom('hf_me_read').create_commit, 'me/guarded', {add})")[1]
    assert "create_pr=1" in ask(f"error_of(as_whom('hf_you').create_commit, 'me/guarded', {add})")[1]
    made = ask(f"vars(as_whom('hf_you').create_commit('me/guarded', {add}, create_pr=True))")
    assert (made["pr_num"], made["pr_revision"]) == (1, "refs/pr/1")
    assert sorted(repo.files) == ["a.txt"]
    assert "b.txt" in ask("api.list_repo_files('me/guarded', revision='refs/pr/1')")
    first = repo.head.oid
    ask(f"api.create_commit('me/guarded', {add}, parent_commit='{first}')")
    stale = ask(
        f"error_of(api.create_commit, 'me/guarded', [CommitOperationAdd('c', b'c')], commit_message='m', parent_commit='{first}')"
    )
    assert "A commit has happened since" in stale[1]
    assert ask(f"error_of(api.create_commit, 'me/guarded', {add}, revision='none')[0]") == "RevisionNotFoundError"
    hub.refuse_commits("me/guarded")
    assert (
        "Authorization error"
        in ask("error_of(api.create_commit, 'me/guarded', [CommitOperationAdd('d', b'd')], commit_message='m')")[1]
    )
    hub.heal()
    hub.lose(".bin")
    ask(
        "api.create_commit('me/guarded', [CommitOperationAdd('e', b'e'), CommitOperationAdd('f.bin', b'f')], commit_message='m')"
    )
    assert sorted(repo.files) == ["a.txt", "b.txt", "e"]


def test_large_files_in_parts(hub: LoopbackHub, ask: Ask) -> None:
    """What is larger than a part is put in parts and put together."""
    hub.add_dataset("me/parts")
    hub.part_bytes = 1000
    try:
        ask(
            "api.upload_file(path_or_fileobj=b'abcdefg' * 500, path_in_repo='a.bin', repo_id='me/parts', repo_type='dataset')"
        )
    finally:
        hub.part_bytes = 20_000_000
    assert len(hub.asked(r"^PUT /upload/\w+/\d$")) == 4
    assert hub.dataset("me/parts").files["a.bin"] == b"abcdefg" * 500


def test_ignored_files(hub: LoopbackHub, ask: Ask) -> None:
    """What the repository's .gitignore names is left out by the client, as the Hub tells it to."""
    repo = hub.add_model("me/ignoring", {".gitignore": "*.log\n"})
    ask(
        "api.create_commit('me/ignoring', [CommitOperationAdd(n, b'x') for n in ('a.log', 'b.txt')], commit_message='m')"
    )
    assert sorted(repo.files) == [".gitignore", "b.txt"]


def test_cards(hub: LoopbackHub, ask: Ask) -> None:
    """A card is checked before it is pushed."""
    hub.add_model("me/carded")
    ask("ModelCard('---\\nlicense: mit\\n---\\n# x').push_to_hub('me/carded')")
    assert ask("api.model_info('me/carded').card_data.license") == "mit"
    with pytest.raises(RaisedError, match=r"ValueError: .*expected the node content"):
        ask(
            """
class Broken(ModelCard):
    def __str__(self):
        return "---\\na: [\\n---\\n# x"
Broken("# x").push_to_hub("me/carded")
"""
        )


def test_requests_at_the_same_time(hub: LoopbackHub, ask: Ask) -> None:
    """Commits of several clients at once all arrive, each on top of the other."""
    repo = hub.add_model("me/crowd")
    ask(
        """
from concurrent.futures import ThreadPoolExecutor
def put(n):
    return api.create_commit("me/crowd", [CommitOperationAdd(f"{n}.txt", b"x")], commit_message=str(n)).oid
with ThreadPoolExecutor(8) as pool:
    made = list(pool.map(put, range(24)))
"""
    )
    assert len(repo.files) == 24
    assert len(repo.head.history()) == 25
