"""The metadata of GGUF files, as llama.cpp writes them; what is damaged is said, and never waited for."""

import struct
from pathlib import Path

import pytest

from holdfast.adapters.local.gguf_files import read_gguf_metadata
from holdfast.core.errors import SourceError
from tests.helpers.gguf_files import array_of_texts, gguf_bytes, number, text

WHOLE = gguf_bytes(
    {
        "general.architecture": text("qwen2"),
        "qwen2.context_length": number(4, "I", value=32768),
        "qwen2.attention.causal": number(7, "?", value=0),
        "tokenizer.ggml.tokens": array_of_texts(["a", "", "ü" * 300]),
        "tokenizer.ggml.token_type": struct.pack("<IIQ3i", 9, 5, 3, 1, 1, 3),
        "tokenizer.chat_template": text("{{ messages }}"),
    }
)


def test_values_behind_arrays_are_read(tmp_path: Path) -> None:
    """The chat template stands behind the vocabulary."""
    path = tmp_path / "m.gguf"
    path.write_bytes(WHOLE + bytes(64))

    assert read_gguf_metadata(path) == {
        "general.architecture": "qwen2",
        "qwen2.context_length": 32768,
        "qwen2.attention.causal": False,
        "tokenizer.chat_template": "{{ messages }}",
    }


@pytest.mark.parametrize("size", range(0, len(WHOLE), 31))
def test_a_file_that_is_cut_short(tmp_path: Path, size: int) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(WHOLE[:size])

    with pytest.raises(SourceError, match=r"m\.gguf is not a whole GGUF file") as raised:
        read_gguf_metadata(path)
    assert raised.value.fix == "export or download it again"


@pytest.mark.parametrize(
    ("content", "because"),
    [
        (b"version https://git-lfs.github.com/spec/v1\n", "does not begin with `GGUF`"),
        (WHOLE[:4] + b"\1" + WHOLE[5:], "its version is 1"),
        (gguf_bytes({"a": struct.pack("<I", 99)}), "a value of type 99"),
        (gguf_bytes({"a": struct.pack("<IIQ", 9, 9, 1 << 60)}), "an array of type 9"),
        (gguf_bytes({"a": struct.pack("<IIQ", 9, 8, 1 << 60)}), "it ends too early"),
        (gguf_bytes({"a": struct.pack("<IQ", 8, 1 << 63)}), "it ends too early"),
    ],
)
def test_a_file_that_is_something_else(tmp_path: Path, content: bytes, because: str) -> None:
    path = tmp_path / "m.gguf"
    path.write_bytes(content)

    with pytest.raises(SourceError) as raised:
        read_gguf_metadata(path)
    assert because in raised.value.what
