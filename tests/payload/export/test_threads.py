"""A GGUF file is read with the threads that holdfast counted, on any system."""

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from holdfast.payload.export import proving, runtime
from holdfast.payload.export.runtime import Gguf

pytestmark = pytest.mark.train


@pytest.fixture
def contexts(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The settings of each context that the runtime made, on a system that has no affinity: macOS."""
    made: list[Any] = []

    def make(_model: str, settings: Any) -> str:
        made.append(settings)
        return "context"

    c = SimpleNamespace(
        llama_log_callback=lambda *_: None,
        llama_log_set=lambda *_: None,
        llama_model_default_params=SimpleNamespace,
        llama_model_load_from_file=lambda *_: "model",
        llama_model_get_vocab=lambda _: "vocabulary",
        llama_context_default_params=SimpleNamespace,
        llama_init_from_model=make,
        llama_free=lambda _: None,
    )
    monkeypatch.setattr(runtime, "library", lambda: c)
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    return made


@pytest.mark.parametrize("threads", [1, 7])
def test_a_file_is_read_with_the_threads_of_its_request(contexts: list[Any], threads: int) -> None:
    """Both its prompts and its answers."""
    with Gguf("m.gguf", threads=threads).context(8):
        assert (contexts[0].n_threads, contexts[0].n_threads_batch) == (threads, threads)


def test_a_proof_reads_with_the_threads_of_its_request(
    contexts: list[Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The file is opened with them."""
    (tmp_path / "reference.json").write_text("{}")
    monkeypatch.setattr(proving, "np", SimpleNamespace(load=lambda _: None))
    monkeypatch.setattr(proving, "Converter", lambda _: None)
    opened = {}

    def keep(file: str, *, threads: int) -> Gguf:
        opened[file] = Gguf(file, threads=threads)
        raise KeyError(file)

    monkeypatch.setattr(proving, "Gguf", keep)
    with pytest.raises(KeyError):
        proving.prove(proving.ProofRequest(converter="", file="m.gguf", reference=str(tmp_path), threads=5))
    with opened["m.gguf"].context(8):
        assert contexts[0].n_threads == 5
