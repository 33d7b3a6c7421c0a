"""Secrets are taken out of what is kept; what only looks like one stays."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.storage.journal import JOURNAL
from holdfast.adapters.storage.ledger import Ledger
from holdfast.core.event import Closed, Event, Reported, Stage
from holdfast.core.redact import HIDDEN, redact, secrets_of

LETTERS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=36, max_size=60)
TOKENS = ["hf_{}", "ghp_{}", "github_pat_{}", "glpat-{}", "sk-proj-A1{}", "sk-ant-api03-B2{}", "wandb_v1_{}"]
AROUND = ["{}", "Bearer {}", '"{}"', "token={}&x=1", "https://user:{}@huggingface.co/me/x", "('{}',)", "{}.", "[{}]"]


@given(LETTERS, st.sampled_from(TOKENS), st.sampled_from(AROUND))
def test_tokens_of_the_providers_are_taken_out(letters: str, token: str, around: str) -> None:
    """Wherever they stand, in text and in JSON; what stands around them stays."""
    text = around.format(token.format(letters))
    for kept in (redact(text), redact(json.dumps({"because": text}))):
        assert letters[4:] not in kept
        assert HIDDEN in kept
    assert redact(text).startswith(around.partition("{}")[0])
    assert redact(text).endswith(around.partition("{}")[2])


@pytest.mark.parametrize(
    "text",
    [
        "hf_transfer",
        "hf_hub_download(repo_id)",
        "sk-learn-classification-of-long-texts",
        "checkpoint-1000",
        "0123456789abcdef0123456789abcdef01234567",
        "Qwen/Qwen2.5-0.5B-Instruct",
        "eyJ",
        "self.hf_device_map",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ],
)
def test_what_is_no_token_stays(text: str) -> None:
    """Names, commits and hashes are needed to understand what happened."""
    assert redact(text) == text


@given(
    st.text(min_size=8, max_size=30).filter(lambda value: "/" not in value and not value.isalpha()),
    st.text(max_size=20),
    st.text(max_size=20),
)
def test_values_that_the_environment_calls_secret_are_taken_out(secret: str, before: str, after: str) -> None:
    """In text, and as JSON spells them."""
    secrets = secrets_of({"MY_API_KEY": secret, "HOME": "/root"})

    assert secrets == (secret,)
    assert secret not in redact(before + secret + after, secrets) or secret in before + HIDDEN + after
    assert HIDDEN in json.loads(redact(json.dumps({"a": secret}), secrets))["a"]


def test_no_token_reaches_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the message of an exception, or in what a callback reports."""
    monkeypatch.setenv("WANDB_API_KEY", "correct-horse-battery")
    token = "hf_" + "Ab1" * 12
    ledger = Ledger(tmp_path)
    said = {"event": "end", "status": "failed", "because": f"401 Client Error for {token}"}
    ledger.append("a", [Reported(at_s=1, attempt=1, said=said)])
    ledger.append("a", [Closed(at_s=2, stage=Stage.FAILED, because="wandb: correct-horse-battery was refused")])

    kept = (tmp_path / "a" / JOURNAL).read_text() + (tmp_path / "ledger.sqlite").read_bytes().decode(errors="replace")
    assert token not in kept
    assert "correct-horse" not in kept
    assert "401 Client Error for hf_" in kept


def test_a_password_that_is_a_word_breaks_no_event(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds of events, names and paths stay what they are, whatever somebody has for a password."""
    for number, word in enumerate(("reported", "attempt1", "checkpoint-8", "finished")):
        monkeypatch.setenv(f"PASSWORD_{number}", word)
    said = {
        "event": "checkpoint",
        "path": "out/checkpoint-8",
        "status": "finished",
        "because": "checkpoint-8 of attempt1",
    }
    events: list[Event] = [
        Reported(at_s=1, attempt=1, said=said),
        Closed(at_s=2, stage=Stage.FAILED, because="reported by attempt1"),
    ]
    Ledger(tmp_path).append("a", events)
    (first, last) = [event for _, event in Ledger(tmp_path).read("a")]

    assert isinstance(first, Reported)
    assert first.said == {**said, "because": f"{HIDDEN} of {HIDDEN}"}
    assert isinstance(last, Closed)
    assert last.because == f"reported by {HIDDEN}"
