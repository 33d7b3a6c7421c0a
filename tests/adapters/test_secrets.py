"""The secrets that this process knows are found, whatever its other threads do."""

import os
from threading import Event, Thread

import pytest

from holdfast.adapters.secrets import environment_secrets, redacted


def test_secrets_are_found_while_another_thread_changes_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable that comes and goes does not break off the thread that redacts, and hides no other secret."""
    monkeypatch.setenv("MY_API_KEY", "correct-horse-9")
    over = Event()

    def change() -> None:
        while not over.is_set():
            os.environ["HOLDFAST_COMES_AND_GOES"] = "value"
            del os.environ["HOLDFAST_COMES_AND_GOES"]

    thread = Thread(target=change)
    thread.start()
    try:
        found = {environment_secrets() for _ in range(2_000)}
    finally:
        over.set()
        thread.join()

    assert all("correct-horse-9" in secrets for secrets in found)
    assert redacted("key correct-horse-9") == "key [redacted]"
