"""GGUF files: looked at before anything heavy, made, and proved; what fails a proof gets no name."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Final

from holdfast.adapters.environment.extras import install_command
from holdfast.adapters.environment.machine import count_cpus
from holdfast.adapters.export.converter import KeptConverter, open_converter
from holdfast.adapters.export.toolchain import look_at_tools
from holdfast.adapters.storage.check_cache import user_cache
from holdfast.app.export.steps import Export, ExportRequest
from holdfast.app.models.model_files import model_facts
from holdfast.catalog.builtin import stdlib_docstrings
from holdfast.core.errors import GroupedError, HoldfastError, UnexportableError, UsageError
from holdfast.core.export import FileAnswer, ReferenceAnswer, StageAnswer, VocabularyAnswer
from holdfast.engine.export.proofs import describe_pre_tokenizer, file_checks, vocabulary_because, vocabulary_notes
from holdfast.engine.export.quantizations import FIRST, QUANTIZATIONS, fallback_notes, needed_bytes
from holdfast.engine.export.readiness import PRE_TOKENIZER, why_not_ready, why_unknown
from holdfast.results.export import ExportCheck, ExportedFile

TEXTS: Final = 400
"""How many texts the token ids are compared on."""
SAMPLE_ROWS: Final = 200
READ_ALIKE: Final = "token-ids"
BYTES: Final = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I8": 1, "U8": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufPlan:
    """How GGUF files are made.

    Attributes:
        converter: The converter.
        vocabulary: What is known of the vocabulary.
    """

    converter: KeptConverter
    vocabulary: VocabularyAnswer

    @property
    def converter_text(self) -> str:
        """The converter with its release and the digest of its archive."""
        return f"llama.cpp in llama-cpp-python {self.converter.release}, sha256 {self.converter.sha256}"

    @property
    def pre_tokenizer_text(self) -> str:
        """How texts are split, and how that was found out."""
        return describe_pre_tokenizer(self.vocabulary)


def prepare_gguf(export: Export, scratch: Path) -> GgufPlan:
    """Return how GGUF files are made; nothing heavy is done.

    Raises:
        UsageError: They cannot be made; one error for each reason.
        SourceError: The tokenizer cannot be loaded.
    """
    request = export.request
    source = request.source.found.source
    tools = look_at_tools(request.out)
    problems: list[HoldfastError] = [
        *_unsuited(request),
        *why_not_ready(tools, _needed(request), str(request.out), install_command("gguf")),
    ]
    converter: KeptConverter | None = None
    if tools.runtime:
        try:
            converter = open_converter(user_cache(os.environ), tools.runtime, offline=request.offline)
        except UsageError as error:
            problems.append(error)
    if converter is not None:
        names = tuple(map(str, request.source.config.get("architectures") or ()))
        known = converter.architectures()
        problems += why_unknown(names, known, tools.runtime, f"{source.path}/config.json")
    if problems or converter is None:
        raise problems[0] if len(problems) == 1 else GroupedError("GGUF files cannot be made", problems)
    export.notes += fallback_notes(request.source.config, request.gguf)
    return GgufPlan(converter=converter, vocabulary=_look(export, converter, scratch))


def _unsuited(request: ExportRequest) -> Iterator[HoldfastError]:
    if request.source.found.source.classifies:
        what = f"{request.source.name} has a head that classifies, which GGUF files do not have"
        yield UsageError(what, where="GGUF files", fix="export without GGUF files")


def _needed(request: ExportRequest) -> int:
    """Return how much disk all steps take, as far as the model's files tell."""
    source = request.source
    facts = model_facts(source.found.source.path, offline=request.offline, where="the base")
    stored = sum(count * BYTES.get(dtype, 2) for dtype, count in facts.parameters.items())
    return needed_bytes(sum(facts.parameters.values()), stored, request.gguf)


def _look(export: Export, converter: KeptConverter, scratch: Path) -> VocabularyAnswer:
    """Return what is known of the vocabulary.

    Raises:
        UsageError: The runtime reads texts differently.
    """
    source = export.request.source
    folder = scratch / "vocabulary"
    folder.mkdir()
    stage_request = {
        "converter": str(converter.folder),
        "path": source.found.source.path,
        "revision": source.revision,
        "tokenizer": source.found.source.tokenizer,
        "template": source.found.source.template,
        "texts": TEXTS,
        "scratch": str(folder),
    }
    answer = export.do("vocabulary", "vocabulary", stage_request, VocabularyAnswer)
    if because := vocabulary_because(answer):
        fix = "use the tokenizer files of the base if training did not change them, or a newer llama-cpp-python; otherwise, export without GGUF files"
        raise UnexportableError(because, PRE_TOKENIZER, where=source.found.source.tokenizer, fix=fix)
    export.notes += vocabulary_notes(answer)
    return answer


def make_gguf(export: Export, plan: GgufPlan, draft: Path, scratch: Path) -> list[ExportedFile]:
    """Return the GGUF files; those that fail a proof are not in the draft of the folder.

    Args:
        export: The export.
        plan: How they are made.
        draft: The folder that is delivered, with the merged model.
        scratch: A folder for what is not.
    """
    requested, maker = export.request.gguf, _Maker(export, plan, draft, scratch)
    try:
        export.original = original = maker.refer()
        first = maker.first(original)
    except HoldfastError as error:
        return _all_failed(requested, f"{error.what}; {error.fix}")
    others = [each for each in requested if each != FIRST]
    if any(check.verdict != "pass" for check in first.checks):
        return [first, *_all_failed(others, "the f16 file that it is made from fails a proof")]
    found = [first] if FIRST in requested else []
    return found + [maker.quantized(each, original) for each in others]


def _all_failed(quantizations: Iterable[str], because: str) -> list[ExportedFile]:
    return [_failed(each, because) for each in quantizations]


@dataclass(frozen=True, slots=True)
class _Maker:
    export: Export
    plan: GgufPlan
    draft: Path
    scratch: Path

    def refer(self) -> ReferenceAnswer:
        """Return what the original gives."""
        sample = self.scratch / "sample.txt"
        text = self.export.request.sample or "\n\n".join(islice(stdlib_docstrings.texts(), SAMPLE_ROWS))
        sample.write_text(text, encoding="utf-8")
        stage_request = {"model": str(self.draft), "sample": str(sample), "texts": TEXTS, "out": str(self.scratch)}
        return self.export.do("reference", "reference", stage_request, ReferenceAnswer)

    def first(self, original: ReferenceAnswer) -> ExportedFile:
        """Return the file that the others are made from."""
        stage_request = {
            "converter": str(self.plan.converter.folder),
            "model": str(self.draft),
            "out": str(self._file(FIRST)),
            "name": Path(self.export.request.source.name).name,
            "pre_tokenizer": self.plan.vocabulary.pre_tokenizer,
        }
        self.export.do("convert", "convert", stage_request, StageAnswer)
        return self._proved(FIRST, original)

    def quantized(self, quantization: str, original: ReferenceAnswer) -> ExportedFile:
        """Return a file of another quantization."""
        file_type = QUANTIZATIONS[quantization].file_type
        stage_request = {"file": str(self._file(FIRST)), "out": str(self._file(quantization)), "file_type": file_type}
        try:
            self.export.do(f"quantize {quantization}", "quantize", stage_request, StageAnswer)
            return self._proved(quantization, original)
        except HoldfastError as error:
            return _failed(quantization, f"{error.what}; {error.fix}")

    def _proved(self, quantization: str, original: ReferenceAnswer) -> ExportedFile:
        """Return a file with its proofs; it gets its name if they hold."""
        made = self._file(quantization)
        stage_request = {
            "converter": str(self.plan.converter.folder),
            "file": str(made),
            "reference": str(self.scratch),
            "threads": count_cpus(),
        }
        file = self.export.do(f"prove {quantization}", "prove", stage_request, FileAnswer)
        checks = file_checks(quantization, file, original, self.export.request.max_loss)
        if self.export.request.is_twin:
            checks = [each for each in checks if each.name == READ_ALIKE]
        good = all(check.verdict == "pass" for check in checks)
        size = made.stat().st_size
        name = f"{Path(self.export.request.source.name).name}-{quantization}.gguf"
        if good and quantization in self.export.request.gguf:
            os.link(made, self.draft / name)
        return ExportedFile(
            path=str(self.export.request.out / name) if good else "",
            format="gguf",
            quantization=quantization,
            bytes=size,
            memory_bytes=file.memory_bytes,
            types=file.types,
            checks=checks,
        )

    def _file(self, quantization: str) -> Path:
        return self.scratch / f"{quantization}.gguf"


def _failed(quantization: str, because: str) -> ExportedFile:
    """Return a file that could not be made."""
    check = ExportCheck(name="weights", verdict="fail", value=None, because=because)
    return ExportedFile(
        path="", format="gguf", quantization=quantization, bytes=0, memory_bytes=0, types={}, checks=[check]
    )
