"""Whether a GGUF file is the model that it was made from."""

from collections.abc import Iterator
from typing import Final, Literal

from holdfast.core.export import FileAnswer, ReferenceAnswer, VocabularyAnswer
from holdfast.engine.export.quantizations import FIRST, QUANTIZATIONS
from holdfast.results.export import ExportCheck

CLOSE: Final = 0.02
"""The relative difference of logits that arithmetic in 16 bits makes at most."""
COARSE: Final = 1.0
"""From here on, the logits of a quantized model have nothing to do with those of the original."""
TIMES: Final = 5.0
"""How many times the usual loss of a quantization is allowed: small models lose more than the one that it was measured on."""
LEAST: Final = 0.005
"""The loss that is always allowed: the sample is small."""


def vocabulary_because(answer: VocabularyAnswer) -> str:
    """Return why a vocabulary cannot be converted; empty if it can."""
    if answer.equal == answer.texts:
        return ""
    return (
        f"the runtime reads {max(0, answer.equal):,} of {answer.texts:,} texts as the tokenizer does, with the best of all pre-tokenizers "
        f"that it has{f' ({answer.pre_tokenizer})' if answer.pre_tokenizer else ''}. The first that differs: {answer.first}"
    )


def describe_pre_tokenizer(answer: VocabularyAnswer) -> str:
    """Return how texts are split, and how that was found out."""
    listed = (
        f"with {answer.listed}, which the converter's table names, they are not"
        if answer.listed
        else "the converter's table has none"
    )
    how = {
        "hash": f"{answer.pre_tokenizer}, by its hash in the converter's table",
        "proof": f"{answer.pre_tokenizer}, since with it the ids of {answer.texts:,} texts are equal; {listed}",
    }
    return how.get(answer.found_by, "none is needed")


def vocabulary_notes(answer: VocabularyAnswer) -> Iterator[str]:
    """Yield what is worth knowing of how texts are read."""
    if answer.composed:
        yield (
            "the original composes characters (é out of e and an accent: Unicode NFC) before it reads a text, and the runtime does not: "
            "texts that are not composed are read differently"
        )
    if answer.unspaced:
        yield "a text that begins with a space is read with one space more than transformers reads: sentencepiece has always done so"


def file_checks(
    quantization: str, file: FileAnswer, original: ReferenceAnswer, max_loss: float | None
) -> list[ExportCheck]:
    """Return the proofs of a GGUF file.

    Args:
        quantization: Its quantization.
        file: What was measured on it.
        original: What was measured on the original.
        max_loss: The share by which the perplexity may grow; None for what is usual.
    """
    return [
        _ids(file),
        _logits(quantization, file),
        _perplexity(quantization, file, original, max_loss),
        _generation(file, original),
    ]


def _ids(file: FileAnswer) -> ExportCheck:
    equal = file.equal == file.texts
    because = f"the ids of {file.equal:,} of {file.texts:,} texts are equal"
    if not equal:
        because += f". The first that differs: {file.first}"
    if not file.template:
        because += "; the chat template is another than that of the tokenizer"
    return _check("token-ids", fine=equal and file.template, value=file.equal / file.texts, because=because)


def _logits(quantization: str, file: FileAnswer) -> ExportCheck:
    if file.relative is None or file.agreement is None:
        return _check("logits", fine=False, value=None, because="some logits are not numbers")
    allowed = CLOSE if quantization == FIRST else COARSE
    because = (
        f"apart from the original's by {file.relative:.2g} of their variation (allowed: {allowed:g}), the same likeliest token at "
        f"{file.agreement:.1%} of positions"
    )
    return _check("logits", fine=file.relative <= allowed, value=file.relative, because=because)


def _perplexity(quantization: str, file: FileAnswer, original: ReferenceAnswer, max_loss: float | None) -> ExportCheck:
    if file.perplexity is None or original.perplexity is None:
        return _check("perplexity", fine=False, value=None, because="the perplexity is not a number")
    usual = QUANTIZATIONS[quantization].usual_loss
    allowed = max(LEAST, TIMES * usual) if max_loss is None else max_loss
    loss = file.perplexity / original.perplexity - 1
    because = (
        f"{file.perplexity:.4g} on {original.tokens:,} tokens, the original {original.perplexity:.4g}: {loss:+.2%} (usual with 7 billion "
        f"parameters: {usual:+.2%}, allowed: {allowed:+.2%})"
    )
    return _check("perplexity", fine=loss <= allowed, value=loss, because=because)


def _generation(file: FileAnswer, original: ReferenceAnswer) -> ExportCheck:
    if file.endless:
        because = f"the runtime would go on after {', '.join(file.endless)}, with which the original ends an answer"
        return _check("generation", fine=False, value=float(file.generated), because=because)
    how = "the model ended it" if file.ended else f"cut off after {file.generated}"
    theirs = "ended it" if original.ended else "was cut off too"
    because = f"{file.generated} tokens, {how}; the original {theirs} ({original.generated} tokens). {file.answer!r}"
    fine = file.generated > 0 and (file.ended or not original.ended)
    return _check("generation", fine=fine, value=float(file.generated), because=because)


def _check(
    name: Literal["token-ids", "logits", "perplexity", "generation"], *, fine: bool, value: float | None, because: str
) -> ExportCheck:
    return ExportCheck(name=name, verdict="pass" if fine else "fail", value=value, because=because)
