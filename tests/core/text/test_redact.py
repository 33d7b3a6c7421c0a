"""Secrets are taken out of what is kept; what only looks like one stays."""

import base64
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.storage.journal import JOURNAL
from holdfast.adapters.storage.ledger import Ledger
from holdfast.core.run.event import Closed, Event, Reported, RunStage
from holdfast.core.text.redact import (
    ELSEWHERE,
    HIDDEN,
    is_secret,
    named_secrets,
    redact,
    redact_parts,
    secrets_in_yaml,
    secrets_of,
)

LETTERS = st.text("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", min_size=36, max_size=60)
TOKENS = ["hf_{}", "ghp_{}", "github_pat_{}", "glpat-{}", "sk-proj-A1{}", "sk-ant-api03-B2{}", "wandb_v1_{}"]
AROUND = [
    "{}",
    "Bearer {}",
    '"{}"',
    "token={}&x=1",
    "https://user:{}@huggingface.co/me/x",
    "('{}',)",
    "{}.",
    "[{}]",
    "s_{}",
    "/a/run_{}/model",
    "%2F{}%3D",
]


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


HEX = st.text("0123456789abcdef", min_size=32, max_size=64)
BASE64 = st.binary(min_size=30, max_size=400).map(lambda content: base64.b64encode(content).decode())
WORDS = st.lists(st.sampled_from(["run", "sft", "qwen", "lora", "v2", "0", "7b", "it", "2026"]), min_size=1, max_size=6)
HEALTHY = [
    "{}",
    "commit {}",
    "sha256:{}",
    "https://huggingface.co/me/x/tree/{}",
    "data:image/png;base64,{}",
    "id={}",
    '"{}"',
]
HEALTHY += ["wandb: run {}", "revision={}", "checkpoint-{}", "token_id: {}", "cache_key={}", "rng_state_{}.pth"]


@given(st.one_of(HEX, BASE64, WORDS.map("-".join), st.uuids().map(str)), st.sampled_from(HEALTHY))
def test_what_only_looks_random_stays(value: str, around: str) -> None:
    """Hashes, commits, names of runs and images are what people look for in a log."""
    assert redact(around.format(value)) == around.format(value)


@given(
    HEX,
    st.sampled_from(
        ["WANDB_API_KEY", "MLFLOW_TRACKING_PASSWORD", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "hub_token"]
    ),
)
def test_a_key_that_looks_like_a_commit_is_known_by_its_name(key: str, name: str) -> None:
    """As a shell, Python, YAML, JSON and a log write it."""
    secret = f"a1b2c3{key}"
    for text in (
        f"export {name}={secret}",
        f'os.environ["{name}"] = "{secret}"',
        f"{name}: {secret}",
        json.dumps({name: secret}),
        f"{name}='{secret}'",
    ):
        assert secret not in redact(text)
        assert name in redact(text)
    assert secret not in redact(f'wandb.login(key="{secret}")')


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("postgres://me:s3cr3t-w0rd@db/x", "postgres://me:[redacted]@db/x"),
        (
            "GET https://host/a.py?ref=main&token=0a1b2c3d4e5f6071&n=2 and https://host/b?sig=aB%2Bcdef12",
            "GET https://host/a.py?ref=main&token=[redacted]&n=2 and https://host/b?sig=[redacted]",
        ),
        (
            "https://bucket.example/k?X-Amz-Date=20261128T1&X-Amz-Signature=0123456789abcdef",
            "https://bucket.example/k?X-Amz-Date=20261128T1&X-Amz-Signature=[redacted]",
        ),
        ("Authorization: Bearer 0a1b2c3d4e5f6071", "Authorization: Bearer [redacted]"),
        (
            "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIE" * 20 + "\n-----END RSA PRIVATE KEY-----",
            "-----BEGIN RSA PRIVATE KEY-----[redacted]-----END RSA PRIVATE KEY-----",
        ),
    ],
)
def test_secrets_that_have_a_place_of_their_own_are_taken_out(text: str, kept: str) -> None:
    """Passwords of addresses, headers, and keys."""
    assert redact(text) == kept


@pytest.mark.parametrize(
    "text",
    [
        "https://user:${TOKEN}@huggingface.co/me/x",
        'f"https://user:{token}@huggingface.co"',
        "https://user:password@host/",
        "https://host/a.py?token=$TOKEN_NAME&sort_key=created_at_desc",
        'f"https://host/a.py?token={hub_token}"',
        'hub_token=os.environ["HF_TOKEN"]',
        'api_key = get_secret_2024_v2_final("wandb")',
        "WANDB_API_KEY=${{ secrets.WANDB_API_KEY }}",
        'login(token=os.environ["HF_TOKEN"])',
        "login('Qwen/Qwen2.5-0.5B-Instruct')",
        "hub_token: null",
        "Authorization: Bearer {token}",
        "http://localhost:8000/v1@2",
        'eos_token="<|im_end|>"',
    ],
)
def test_code_that_only_names_a_secret_stays(text: str) -> None:
    """It is what a finding is about."""
    assert redact(text) == text


@pytest.mark.parametrize(
    ("name", "value", "secret"),
    [
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", True),
        ("HF_TOKEN", "hf_short1", True),
        ("MY_LICENSE_KEY", "A1B2C3D4E5F6A7B8", True),
        ("EOS_TOKEN", "<|im_end|>", False),
        ("pad_token", "<|endoftext_2|>", False),
        ("SORT_KEY", "customer_id_2", False),
        ("PROMPT_KEY", "messages_of_user_1", False),
        ("HF_TOKEN_PATH", "token_file_1", False),
        ("GOOGLE_APPLICATION_CREDENTIALS", "/home/me/key.json", False),
        ("OPENAI_API_KEY", "EMPTY", False),
        ("API_KEY", "$OTHER_KEY_1", False),
        ("MAX_TOKEN_LENGTH", "12345678", False),
    ],
)
def test_a_setting_is_secret_by_its_name_unless_its_value_says_otherwise(name: str, value: str, secret: bool) -> None:
    """Names of tokens are names of words too, and a path is no secret."""
    assert is_secret(name, value) == secret
    assert list(named_secrets({"a": [{name: value}]})) == [value] * secret
    assert list(secrets_in_yaml(f"a:\n  - {name}: {value}\n")) == [value] * secret


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text(max_size=20)),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(max_size=10), part, max_size=3),
    max_leaves=20,
)


@given(JSON)
def test_values_without_secrets_stay_as_they_are(value: object) -> None:
    """Whatever JSON they hold."""
    assert redact_parts(value, secrets=()) == value


@given(
    st.text(min_size=8, max_size=30).filter(lambda value: not ELSEWHERE.match(value) and not value.isalpha()),
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
    ledger.append("a", [Closed(at_s=2, stage=RunStage.FAILED, because="wandb: correct-horse-battery was refused")])

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
        Closed(at_s=2, stage=RunStage.FAILED, because="reported by attempt1"),
    ]
    Ledger(tmp_path).append("a", events)
    (first, last) = [event for _, event in Ledger(tmp_path).read("a")]

    assert isinstance(first, Reported)
    assert first.said == {**said, "because": f"{HIDDEN} of {HIDDEN}"}
    assert isinstance(last, Closed)
    assert last.because == f"reported by {HIDDEN}"
