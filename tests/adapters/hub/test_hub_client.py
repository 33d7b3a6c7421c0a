"""What the client makes of a Hub: accounts, repositories, where a token may write, what stands at an address."""

from collections.abc import Iterator

import pytest

from holdfast.adapters.hub.accounts import parse_account
from holdfast.adapters.hub.nearest import rank
from holdfast.catalog.hub.permissions import ABSENT, REFUSED, VALID
from holdfast.core.check.hub import Account, Link, Repo
from holdfast.core.check.reference import ReferenceRole
from holdfast.core.errors import SourceError
from tests.helpers.hub import LoopbackHub, Scope, loopback_hub
from tests.helpers.hub_asking import client, reference

README = {"README.md": "# hello"}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """A Hub that this process may ask."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with loopback_hub() as hub:
        yield hub


def test_an_account_tells_its_role_and_its_organizations(hub: LoopbackHub) -> None:
    """Who the token's user is, what the token is for, which organizations there are, and whether jobs can be paid."""
    hub.add_organization("acme", {"me": "write"})
    hub.add_organization("others", {"me": "read"})

    account = client(hub).account()

    assert (account.token, account.name, account.role, account.pays) == ("valid", "me", "write", True)
    assert account.organizations == {"acme": "write", "others": "read"}


def test_a_fine_grained_token_tells_its_scopes(hub: LoopbackHub) -> None:
    """What a fine-grained token may do is told by whom or what it is for."""
    hub.add_token(
        "hf_fine", role="fineGrained", scopes=(Scope("org", "acme"), Scope("user", "me", ("repo.content.read",)))
    )

    account = client(hub, "hf_fine").account()

    assert account.role == "fineGrained"
    assert account.scopes == {"acme": {"repo.content.read", "repo.write"}, "me": {"repo.content.read"}}


@pytest.mark.parametrize("token", ["hf_nobody_has_this", "$HF_TOKEN", "hf_a\nhf_b", "hf_é"])
def test_a_token_that_is_none_is_refused(hub: LoopbackHub, token: str) -> None:
    """A revoked token is refused by the Hub; one that no request could carry counts as refused, too."""
    assert client(hub, token).account() == Account(token=REFUSED)


def test_without_a_token_nobody_is_asked_whose_it_is(hub: LoopbackHub) -> None:
    """That there is no token is known without the Hub."""
    assert client(hub, None).account() == Account(token=ABSENT)
    assert hub.requests == []


def test_a_repository_tells_its_commit_and_the_sizes_of_its_files(hub: LoopbackHub) -> None:
    """What is there is told at its last commit."""
    made = hub.add_model("acme/small", {"config.json": "{}", "README.md": "# small"})

    repo = client(hub).repo(reference("model", "acme/small"))

    assert repo.commit == made.head.oid
    assert repo.files == {"README.md": 7, "config.json": 2}
    assert (repo.exists, repo.readable, repo.private, repo.gated) == (True, True, False, "")
    assert repo.modified_s == pytest.approx(made.head.made_s, abs=1.0)


@pytest.mark.parametrize(
    ("written", "there"),
    [
        ("trl-lib/Capibara", "trl-lib/Capybara"),
        ("trl_lib/Capybara", "trl-lib/Capybara"),
        ("trl-lib/capybara-", "trl-lib/Capybara"),
        ("HuggingFaceH4/ultrachat200k", "HuggingFaceH4/ultrachat_200k"),
        ("HuggingFaceH4/ultrachat_200kk", "HuggingFaceH4/ultrachat_200k"),
        ("Capybara", "trl-lib/Capybara"),
    ],
)
def test_a_typo_comes_with_the_nearest_name_that_there_is(hub: LoopbackHub, written: str, there: str) -> None:
    """A typo in the name or in its owner is told with the name that was meant, first."""
    for name in ("trl-lib/Capybara", "trl-lib/tldr", "HuggingFaceH4/ultrachat_200k", "HuggingFaceH4/no_robots"):
        hub.add_dataset(name, README)

    repo = client(hub).repo(reference("dataset", written))

    assert (repo.exists, repo.commit) == (False, None)
    assert repo.nearest[0] == there


def test_a_name_like_no_other_comes_alone(hub: LoopbackHub) -> None:
    """Nobody is told of names that were surely not meant."""
    hub.add_dataset("acme/chats", README)

    assert client(hub).repo(reference("dataset", "acme/mathematics")).nearest == ()


def test_a_renamed_repository_tells_its_name_of_today(hub: LoopbackHub) -> None:
    """The old name leads to the new one, with its files."""
    hub.add_dataset("old/chats", README)
    hub.rename("dataset", "old/chats", "new/chats")

    repo = client(hub).repo(reference("dataset", "old/chats"))

    assert (repo.exists, repo.name, dict(repo.files)) == (True, "new/chats", {"README.md": 7})


@pytest.mark.parametrize(("access", "readable"), [({"me"}, True), (set[str](), False)])
def test_a_gated_repository_is_readable_to_those_with_access(
    hub: LoopbackHub, access: set[str], *, readable: bool
) -> None:
    """The files of a gated repository are for those whom its owner let in; that it is there is for all."""
    hub.add_model("acme/gated", README, gated="manual", access=access)

    repo = client(hub).repo(reference("model", "acme/gated"))

    assert (repo.exists, repo.gated, repo.readable) == (True, "manual", readable)


def test_a_fine_grained_token_may_not_read_what_its_user_may(hub: LoopbackHub) -> None:
    """Access to gated repositories is a permission of its own."""
    hub.add_model("acme/gated", README, gated="auto", access={"me"})
    hub.add_token("hf_fine", role="fineGrained", scopes=(Scope("user", "me"),), reads_gated=False)

    assert not client(hub, "hf_fine").repo(reference("model", "acme/gated")).readable


@pytest.mark.parametrize(("token", "exists"), [("hf_me_write", True), ("hf_you", False), (None, False)])
def test_a_private_repository_is_there_for_its_owner_alone(
    hub: LoopbackHub, token: str | None, *, exists: bool
) -> None:
    """To others, and to those without a token, it looks as if it were not there."""
    hub.add_user("you")
    hub.add_token("hf_you", user="you")
    hub.add_model("me/secret", README, private=True)

    repo = client(hub, token).repo(reference("model", "me/secret"))

    assert (repo.exists, repo.private, repo.readable) == (exists, exists, exists)


def test_a_missing_revision_comes_with_those_that_there_are(hub: LoopbackHub) -> None:
    """A revision that is not there is no missing repository."""
    hub.add_model("acme/small", README).commit({"b": "2"}, branch="dev")

    repo = client(hub).repo(reference("model", "acme/small", revision="v2.0"))

    assert (repo.exists, repo.commit, set(repo.revisions)) == (True, None, {"main", "dev"})


def test_a_revision_has_files_of_its_own(hub: LoopbackHub) -> None:
    """What is told is told of the revision that is asked for; a branch may have a slash in its name."""
    hub.add_model("acme/small", {"a": "1"}).commit({"b": "2"}, branch="feature/b")

    assert set(client(hub).repo(reference("model", "acme/small", revision="feature/b")).files) == {"a", "b"}
    assert set(client(hub).repo(reference("model", "acme/small")).files) == {"a"}


def test_what_no_repository_is_called_is_not_asked_for(hub: LoopbackHub) -> None:
    """A name that huggingface_hub itself refuses is never sent."""
    assert not client(hub).repo(reference("model", "../../etc/passwd")).exists
    assert not [request for request in hub.requests if ".." in request.path or "passwd" in request.path.split("?")[0]]


@pytest.mark.parametrize(
    ("target", "writable"),
    [
        ("me/new", "yes"),
        ("new", "yes"),
        ("me/there", "yes"),
        ("writers/new", "yes"),
        ("writers/there", "yes"),
        ("contributors/new", "yes"),
        ("contributors/there", "no"),
        ("contributors/mine", "yes"),
        ("readers/new", "no"),
        ("strangers/new", "no"),
        ("ghosts/new", "no"),
    ],
)
def test_a_token_writes_where_its_user_may(hub: LoopbackHub, target: str, writable: str) -> None:
    """To its own namespace and those of its organizations, as its role there is; nowhere else."""
    for name, role in (("writers", "write"), ("contributors", "contributor"), ("readers", "read")):
        hub.add_organization(name, {"me": role})  # type: ignore[dict-item]  # roles of a literal type
    hub.add_organization("strangers")
    for name in ("me/there", "writers/there", "contributors/there"):
        hub.add_model(name, README)
    hub.add_model("contributors/mine", README, created_by="me")

    found = client(hub).target(reference("target", target))

    assert (found.writable, bool(found.because)) == (writable, writable == "no")
    assert found.name == (target if "/" in target else f"me/{target}")
    assert (found.repo is not None) == target.endswith(("there", "mine"))


def test_a_read_only_token_writes_nowhere(hub: LoopbackHub) -> None:
    """Not even to its user's own repositories."""
    hub.add_token("hf_read", role="read")
    hub.add_model("me/there", README)

    for name in ("me/new", "me/there"):
        found = client(hub, "hf_read").target(reference("target", name))
        assert (found.writable, "read" in found.because) == ("no", True)


@pytest.mark.parametrize(
    ("scopes", "target", "writable"),
    [
        ((Scope("user", "me"),), "me/new", "yes"),
        ((Scope("user", "me", ("repo.content.read",)),), "me/new", "no"),
        ((Scope("org", "acme"),), "acme/new", "yes"),
        ((Scope("org", "acme"),), "me/new", "no"),
        ((Scope("model", "me/there"),), "me/there", "yes"),
        ((Scope("model", "me/other"),), "me/there", "no"),
    ],
)
def test_a_fine_grained_token_writes_where_its_scopes_say(
    hub: LoopbackHub, scopes: tuple[Scope, ...], target: str, writable: str
) -> None:
    """A scope is for one user, one organization or one repository."""
    hub.add_organization("acme", {"me": "admin"})
    hub.add_token("hf_fine", role="fineGrained", scopes=scopes)
    hub.add_model("me/there", README)

    assert client(hub, "hf_fine").target(reference("target", target)).writable == writable


@pytest.mark.parametrize(("token", "writable"), [(None, "unknown"), ("hf_revoked", "no")])
def test_without_a_valid_token_nothing_is_asked_of_the_target(
    hub: LoopbackHub, token: str | None, writable: str
) -> None:
    """A refused token writes nowhere; none at hand here says nothing of where the job will run."""
    assert client(hub, token).target(reference("target", "me/new")).writable == writable


def test_a_target_that_is_not_there_is_not_compared_with_others(hub: LoopbackHub) -> None:
    """A new name is no typo: nobody searches for names like it."""
    hub.add_model("me/models", README)
    client(hub).target(reference("target", "me/model"))

    assert not hub.asked(r"search=|author=")


def test_a_space_is_looked_for_among_spaces(hub: LoopbackHub) -> None:
    """A model of the same name is none."""
    hub.add_model("me/board", README)
    asked: ReferenceRole = "space"

    assert not client(hub).repo(reference(asked, "me/board")).exists
    hub.add_space("me/board", README)
    assert client(hub).repo(reference(asked, "me/board")).exists


def test_an_address_tells_what_stands_there(hub: LoopbackHub) -> None:
    """A script is told from a page, and from nothing; the token stays here."""
    script = hub.add_page("/raw/train.py", "print()", media_type="text/plain; charset=utf-8")
    page = hub.add_page("/blob/train.py", "<html>", media_type="text/html")
    asked = client(hub)

    assert asked.link(script) == Link(status=200, media_type="text/plain")
    assert asked.link(page) == Link(status=200, media_type="text/html")
    assert asked.link(f"{hub.outside}/nothing.py").status == 404
    assert not [request for request in hub.requests if "authorization" in request.headers]


def test_an_address_that_serves_no_head_is_read_a_little(hub: LoopbackHub) -> None:
    """Some hosts answer 405 to HEAD."""
    address = hub.add_page("/train.py", "x" * 100_000, media_type="text/x-python")
    hub.fail("^HEAD ", status=405)

    assert client(hub).link(address) == Link(status=200, media_type="text/x-python")
    (read,) = hub.asked("^GET /train.py")
    assert read.headers["range"] == "bytes=0-511"


@pytest.mark.parametrize("address", ["file:///etc/passwd", "ftp://example.org/train.py", "train.py"])
def test_only_addresses_of_the_web_are_asked(hub: LoopbackHub, address: str) -> None:
    """No file of this machine is opened by its address."""
    with pytest.raises(SourceError):
        client(hub).link(address)


def test_a_question_is_asked_once(hub: LoopbackHub) -> None:
    """What was answered is remembered; another token's answers are another's."""
    hub.add_model("acme/small", README)
    asked = client(hub)

    assert asked.repo(reference("model", "acme/small")) == asked.repo(reference("file", "acme/small"))
    assert len(hub.asked("/api/models/acme/small")) == 1


def test_what_a_repository_holds_now_is_never_from_memory(hub: LoopbackHub) -> None:
    """After a push the shelf shows it, with digests."""
    made, asked = hub.add_model("me/out", README), client(hub)
    before = asked.repo_tree(reference("target", "me/out"))
    made.commit({"config.json": "{}", "model.safetensors": b"\0" * 20_000_000})
    after = asked.repo_tree(reference("target", "me/out"))

    assert before.files is not None
    assert after.files is not None
    assert set(before.files) == {"README.md"}
    assert set(after.files) == {"README.md", "config.json", "model.safetensors"}
    assert set(after.files["model.safetensors"].digests) == {"sha256"}
    assert set(after.files["config.json"].digests) == {"git"}
    assert after.modified_s > before.modified_s
    assert asked.repo_tree(reference("target", "me/nothing")).files is None


def test_what_the_hub_leaves_out_of_an_account_is_unknown() -> None:
    """Fields that are not there, or of another form, are no error."""
    assert parse_account({"name": "me", "orgs": [{"name": "acme"}, "odd"], "auth": []}) == Account(
        token=VALID, name="me", organizations={"acme": ""}
    )


def test_names_are_ranked_by_likeness() -> None:
    """The same owner goes before another, and nothing unlike is named at all."""
    others = ["Qwen/Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-0.5B", "unsloth/Qwen2.5-0.5B", "Qwen/QwQ-32B"]

    assert rank("Qwen/Qwen2.5-0.5", others)[0] == "Qwen/Qwen2.5-0.5B"
    assert "Qwen/QwQ-32B" not in rank("Qwen/Qwen2.5-0.5", others)
    assert rank("m", []) == ()


def test_a_repository_that_was_taken_down_is_not_readable(hub: LoopbackHub) -> None:
    """It is there, but its files are not."""
    hub.add_model("acme/gone", README, disabled=True)

    repo = client(hub).repo(reference("model", "acme/gone"))

    assert isinstance(repo, Repo)
    assert (repo.exists, repo.readable) == (True, False)
