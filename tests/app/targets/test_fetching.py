"""Targets that lie elsewhere: fetched, kept with their digest, and worked on like files of this machine."""

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path

import pytest

from holdfast.adapters.hub.scripts import fetch_script
from holdfast.app.check.verb import check
from holdfast.app.run.effects import effects_of_run
from holdfast.app.run.verb import run
from holdfast.app.targets.fetching import fetch_target
from holdfast.cli.main import run_command
from tests.helpers.hub import LoopbackHub, loopback_hub

SCRIPT = 'from trl import SFTConfig\n\nargs = SFTConfig(output_dir="o", {setting}=512)\n'
OLD, NEW = SCRIPT.format(setting="max_seq_length"), SCRIPT.format(setting="max_length")
JOB = "method: sft\nmodel: Qwen/Qwen2.5-0.5B\ndataset: trl-lib/Capybara\ntrain:\n  {key}: 20\n"


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LoopbackHub]:
    """Another host and a Hub, and a cache of one's own."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.chdir(tmp_path)
    with loopback_hub() as hub:
        for name, value in hub.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        yield hub


def codes(target: str, *, offline: bool = False) -> list[str]:
    (result,) = check(target, select="ARG", offline=offline).targets
    return [finding.code for finding in result.findings]


def test_a_script_elsewhere_is_checked_as_it_is_now(hub: LoopbackHub) -> None:
    """Each time anew; with --offline, what was fetched last."""
    address = hub.add_page("/a/my%20train.py", OLD, media_type="text/plain")
    assert codes(address) == ["ARG101"]
    hub.add_page("/a/my%20train.py", NEW, media_type="text/plain")
    assert codes(address, offline=True) == ["ARG101"]
    assert codes(address) == []
    assert codes(address, offline=True) == []
    assert len(hub.asked("^GET /a/")) == 2


def test_a_copy_is_kept_under_its_digest_and_name(hub: LoopbackHub) -> None:
    """What is resumed starts from the file that it began with, whatever stands at the address now."""
    address = hub.add_page("/train.py", OLD, media_type="text/plain")
    first = Path(fetch_target(address))
    hub.add_page("/train.py", NEW, media_type="text/plain")
    second = Path(fetch_target(address))

    assert (first.name, first.read_text(), second.read_text()) == ("train.py", OLD, NEW)
    (index,) = first.parents[1].glob("addresses/*.json")
    kept = json.loads(index.read_text())
    assert kept == {
        "address": address,
        "path": str(second),
        "sha256": sha256(NEW.encode()).hexdigest(),
        "commit": None,
    }
    second.write_text("changed by somebody")
    assert fetch_target(address) == str(second)
    assert second.read_text() == NEW


def test_a_file_of_a_repository_comes_with_its_commit_and_the_token(hub: LoopbackHub) -> None:
    """A private one is read as the token sees it; one at a commit is fetched once."""
    repo = hub.add_dataset("me/jobs", {"a b/job.yaml": JOB.format(key="max_steps")}, private=True)
    commit = repo.head.oid
    address = f"hf://datasets/me/jobs@{commit}/a b/job.yaml"
    path = fetch_target(address)

    assert Path(path).read_text() == JOB.format(key="max_steps")
    (index,) = Path(path).parents[1].glob("addresses/*.json")
    assert json.loads(index.read_text())["commit"] == commit
    assert fetch_target(address) == path
    assert len(hub.asked("^GET /datasets/me/jobs/resolve")) == 1
    (page,) = hub.asked("^GET /datasets/me/jobs/resolve")
    assert page.token


def test_the_token_goes_to_no_other_host(hub: LoopbackHub) -> None:
    """Nor with `https://` to the Hub: the script is read by whoever reads the address."""
    fetch_target(hub.add_page("/train.py", NEW, media_type="text/plain"))
    hub.add_model("me/open", {"train.py": NEW})
    fetch_target(f"{hub.address}/me/open/resolve/main/train.py")

    assert {request.token for request in hub.asked("train.py")} == {None}


@pytest.mark.parametrize(
    ("address", "what", "fix"),
    [
        ("HOST/page.py", "the address leads to a web page, not to a script", "raw"),
        ("HOST/none.py", "there is no such file", "browser"),
        ("HOST/large.py", "larger than 5 MB", "name a script"),
        ("http://example.org/train.py", "not encrypted", "https://example.org/train.py"),
        (
            "https://github.com/huggingface/trl/blob/v1.0/trl/scripts/sft.py",
            "a page that shows the file",
            "https://raw.githubusercontent.com/huggingface/trl/v1.0/trl/scripts/sft.py",
        ),
        (
            "https://huggingface.co/me/jobs/blob/main/train.py",
            "a page that shows the file",
            "https://huggingface.co/me/jobs/resolve/main/train.py",
        ),
        ("https://gist.github.com/me/0123", "a page that shows the file", "https://gist.github.com/me/0123/raw"),
        ("hf://train.py", "names no file of a repository", "hf://owner/name/train.py"),
        ("hf://me/absent/train.py", "there is no such file", "browser"),
        ("hhtps://example.org/train.py", "addresses with `hhtps://` cannot be fetched", "https://"),
        ("file:///tmp/a b.py", "addresses with `file://` cannot be fetched", "name '/tmp/a b.py'"),
    ],
)
@pytest.mark.parametrize("verb", ["check", "run", "rehearse", "plan"])
def test_what_is_no_file_is_told(
    hub: LoopbackHub, capsys: pytest.CaptureFixture[str], verb: str, address: str, what: str, fix: str
) -> None:
    """What, where, how to fix; before anything is made."""
    hub.add_page("/page.py", "\n<!DOCTYPE html><html></html>")
    hub.add_page("/large.py", "#" * 5_000_001, media_type="text/plain")
    named = address.replace("HOST", hub.outside)
    code = run_command([verb, named])
    said = capsys.readouterr().err

    assert code == 2
    assert what in said
    assert f"where: {named}" in said
    assert fix in said.partition("fix:")[2]
    assert [*Path().iterdir()] == []


def test_a_host_without_tls_was_reached(hub: LoopbackHub, capsys: pytest.CaptureFixture[str]) -> None:
    address = hub.add_page("/train.py", NEW, media_type="text/plain").replace("http://", "https://")
    assert run_command(["check", address]) == 1
    assert "speaks no TLS" in capsys.readouterr().err


def test_a_host_that_fails_is_no_wrong_question(hub: LoopbackHub, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither is a file that may not be read; what was fetched before is not lost."""
    address = hub.add_page("/train.py", NEW, media_type="text/plain")
    fetch_target(address)
    for status, fix in ((500, "try again later"), (403, "hf auth login")):
        hub.fail("/train.py", status=status)
        run_command(["check", address])
        assert fix in capsys.readouterr().err
        hub.heal()
    assert codes(address, offline=True) == []


def test_nothing_is_fetched_where_nobody_may_be_asked(
    hub: LoopbackHub, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the option or by the environment; what to do is said."""
    address = hub.add_page("/train.py", NEW, media_type="text/plain")
    assert run_command(["check", address, "--offline"]) == 2
    assert "fetch it once where its host is reached" in capsys.readouterr().err
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert run_command(["check", address]) == 2
    assert "unset HF_HUB_OFFLINE" in capsys.readouterr().err
    assert not hub.asked("train.py")


@pytest.mark.parametrize("words", [("check", "--fix"), ("check", "--unsafe-fixes"), ("plan", "--apply")])
def test_a_file_elsewhere_is_not_edited(
    hub: LoopbackHub, capsys: pytest.CaptureFixture[str], words: tuple[str, str]
) -> None:
    """`--diff` shows what would change."""
    verb, option = words
    address = hub.add_page("/train.py", OLD, media_type="text/plain")
    assert run_command([verb, address, option]) == 2
    assert "cannot be fixed there" in capsys.readouterr().err
    assert not hub.asked("train.py"), "it is refused before anything is fetched"
    assert run_command([verb, address, option, "--offline"]) == 2
    assert "cannot be fixed there" in capsys.readouterr().err, "nor does it matter that no copy was fetched before"
    assert check(address, diff=True).targets[0].diff


def test_a_confirmation_is_bound_to_what_stands_there(hub: LoopbackHub) -> None:
    """Another script at the same address is another content."""
    first = effects_of_run(hub.add_page("/train.py", OLD, media_type="text/plain")).digest
    assert effects_of_run(hub.add_page("/train.py", OLD, media_type="text/plain")).digest == first
    assert effects_of_run(hub.add_page("/train.py", NEW, media_type="text/plain")).digest != first


def test_a_run_is_called_by_its_address(hub: LoopbackHub) -> None:
    """Refused by check here: `show` names the address, and so does the advice."""
    address = hub.add_page("/job.yaml", JOB.format(key="max_step"), media_type="text/plain")
    refused = run(address, offline=False, rehearse=False)

    assert (refused.stage, refused.asked.target, refused.asked.job) == ("failed", address, "job")
    assert address in refused.next[0].command
    assert Path(refused.folder, "job.yaml").read_text() == JOB.format(key="max_step")


def test_a_commit_in_an_address_is_that_of_the_file(hub: LoopbackHub) -> None:
    """As on GitHub, which sends no header with it."""
    commit = "0123456789abcdef0123456789abcdef01234567"
    address = hub.add_page(f"/o/r/{commit}/train.py", NEW, media_type="text/plain")
    assert fetch_script(address, {}).commit == commit
    assert fetch_target(address) == fetch_target(address)
    assert len(hub.asked(commit)) == 2
