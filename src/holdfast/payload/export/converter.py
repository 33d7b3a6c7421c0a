"""llama.cpp's own converter, in this process. It is of the same release as the runtime, and so is the `gguf` library beside it."""

import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from .errors import ExportError

PROGRAM = "convert_hf_to_gguf"
PIECES = "tokenizer.model"
"""The pieces of a sentencepiece tokenizer with their scores. Some architectures (Gemma, Phi-3, InternLM) are converted from nothing else."""
NAME = re.compile(r'^ {12}res = "([^"]+)"', re.MULTILINE)
UNKNOWN = "BPE pre-tokenizer was not recognized"
FIRST = ("qwen2", "llama-bpe", "gpt-2", "tekken", "default")
"""Names of pre-tokenizers that are tried before the others."""


@dataclass(frozen=True)
class Recognized:
    """How the converter would have texts split.

    Attributes:
        name: The name that it found by its table of hashes; empty if it is not there.
        asked: Whether the vocabulary needs one at all.
    """

    name: str = ""
    asked: bool = False


def _score_of_rank(_: Any, number: int) -> float:
    """Return the score of a piece if no sentencepiece model tells it: pieces stand in the order of their scores.

    The converter has the same score for all, which merges them from the left; whether this one is right, the token ids prove.
    """
    return -float(number)


class _Errors(logging.Handler):
    """Keeps the last error that the converter logs: before it gives up, it says why."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.last = "its last lines say why"

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the message of a record."""
        self.last = record.getMessage()


class Converter:
    """The converter.

    Args:
        folder: Its folder.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)
        for each in (self._folder / "gguf-py", self._folder):
            if str(each) not in sys.path:
                sys.path.insert(0, str(each))

    def knows(self, architecture: str) -> bool:
        """Whether it can convert an architecture."""
        return architecture in import_module("conversion").TEXT_MODEL_MAP

    def pre_tokenizers(self) -> list[str]:
        """Return the names of all pre-tokenizers of this release."""
        names = NAME.findall((self._folder / "conversion" / "base.py").read_text(encoding="utf-8"))
        return list(dict.fromkeys([*FIRST, *names]))

    def convert(self, model: Path, out: Path, *options: str, pre_tokenizer: str = "") -> Recognized:
        """Convert a model; return how texts are split.

        Args:
            model: The folder of the model.
            out: The file to write.
            options: Options of the converter.
            pre_tokenizer: The name to use if the converter does not find one; that of a proof.
        """
        found: list[str] = []
        with self._named(pre_tokenizer, found), self._begun(model):
            self._run(model, out, options)
        return Recognized(found[0], asked=True) if found else Recognized()

    @contextmanager
    def _named(self, pre_tokenizer: str, found: list[str]) -> Iterator[None]:
        base: Any = import_module("conversion.base").TextModel
        own = base.get_vocab_base_pre

        def name(model: Any, tokenizer: Any) -> str:
            try:
                found.append(own(model, tokenizer))
            except NotImplementedError:
                found.append("")
            return pre_tokenizer or found[0] or FIRST[-1]

        pieces: Any = import_module("gguf").LlamaHfVocab
        unscored = pieces.get_token_score
        base.get_vocab_base_pre, pieces.get_token_score = name, _score_of_rank
        try:
            yield
        finally:
            base.get_vocab_base_pre, pieces.get_token_score = own, unscored

    @contextmanager
    def _begun(self, model: Path) -> Iterator[None]:
        """Have the file say what stands around every text: what the tokenizer does, and not what its settings leave out."""
        tokenizer: Any = import_module("transformers").AutoTokenizer.from_pretrained(model)
        whole, own = (tokenizer("a", add_special_tokens=each)["input_ids"] for each in (True, False))
        more = {
            "bos": whole[:1] == [tokenizer.bos_token_id] and whole != own,
            "eos": whole[-1:] == [tokenizer.eos_token_id] and whole != own,
        }
        special: Any = import_module("gguf").SpecialVocab
        add = special.add_to_gguf

        def add_with_flags(vocabulary: Any, *args: Any, **named: Any) -> None:
            vocabulary.add_special_token.update(more)
            add(vocabulary, *args, **named)

        special.add_to_gguf = add_with_flags
        try:
            yield
        finally:
            special.add_to_gguf = add

    def _run(self, model: Path, out: Path, options: tuple[str, ...]) -> None:
        program: Any = import_module(PROGRAM)
        words, sys.argv = sys.argv, [PROGRAM, str(model), "--outfile", str(out), *options]
        said = _Errors()
        logging.getLogger().addHandler(said)
        try:
            program.main()
        except (SystemExit, FileNotFoundError, ValueError) as error:
            if isinstance(error, SystemExit) and not error.code:
                return
            because = said.last if isinstance(error, SystemExit) else str(error)
            if PIECES in because and not (model / PIECES).exists():
                raise ExportError(
                    "tokenizer file", f"the converter needs {PIECES}, which the tokenizer lacks"
                ) from error
            if not isinstance(error, SystemExit):
                raise
            raise ExportError("converter", f"the converter gave up: {because}") from error
        finally:
            sys.argv = words
            logging.getLogger().removeHandler(said)

    def tensor_types(self, path: Path) -> dict[str, int]:
        """Return how many tensors of a GGUF file have each type."""
        reader = import_module("gguf").GGUFReader(path)
        names = [tensor.tensor_type.name for tensor in reader.tensors]
        return {name: names.count(name) for name in sorted(set(names), key=names.count, reverse=True)}

    def text_of(self, path: Path, key: str) -> str | None:
        """Return a text of the metadata of a GGUF file; None if there is none."""
        field = import_module("gguf").GGUFReader(path).get_field(key)
        return None if field is None else str(field.contents())
