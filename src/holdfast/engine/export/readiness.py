"""Whether GGUF files can be made here: everything that is missing at once, before anything heavy is done."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from holdfast.core.errors import HoldfastError, UnexportableError
from holdfast.core.export import ExportTools
from holdfast.engine.units import render_bytes

HERE: Final = "this machine"
TOOLS: Final = "gguf-build-tools-missing"
UNKNOWN: Final = "gguf-arch-unsupported"
PRE_TOKENIZER: Final = "gguf-pretokenizer-unknown"
TOKENIZER_FILE: Final = "gguf-tokenizer-file-missing"
"""Classes of failure."""
SYSTEM_COMMANDS: Final[Mapping[str, str]] = {
    "debian": "sudo apt-get install --yes build-essential cmake",
    "ubuntu": "sudo apt-get install --yes build-essential cmake",
    "fedora": "sudo dnf install --assumeyes gcc-c++ make cmake",
    "rhel": "sudo dnf install --assumeyes gcc-c++ make cmake",
    "arch": "sudo pacman -S --noconfirm base-devel cmake",
    "alpine": "sudo apk add build-base cmake",
    "darwin": "xcode-select --install; brew install cmake",
}
FLAGS: Final = "CMAKE_ARGS='-DGGML_NATIVE=OFF -DGGML_AVX2=ON -DGGML_FMA=ON -DGGML_F16C=ON'"
"""The runtime for any x86 processor of the last ten years; one that is built for the processor at hand crashed on some."""


def why_not_ready(tools: ExportTools, needed_bytes: int, out: str, install: str) -> Iterator[HoldfastError]:
    """Yield what is missing.

    Args:
        tools: What there is.
        needed_bytes: How much disk all steps take.
        out: The folder of the export.
        install: The command that installs the runtime.
    """
    build = f"{FLAGS} {install}"
    if not tools.runtime:
        what = "llama-cpp-python, the runtime of GGUF files, is not installed"
        yield UnexportableError(what, TOOLS, where="this environment", fix=build)
        yield from _unbuildable(tools)
    elif tools.broken:
        yield UnexportableError(
            f"llama-cpp-python {tools.runtime} does not load: {tools.broken}",
            TOOLS,
            where="this environment",
            fix=f"build it again: {build} --force-reinstall --no-cache-dir",
        )
    if tools.missing and tools.runtime:  # else the extra brings them
        what = f"the converter needs {', '.join(tools.missing)}"
        fix = f"pip install {' '.join(tools.missing)}"
        yield UnexportableError(what, TOOLS, where="this environment", fix=fix)
    if needed_bytes > tools.free_bytes:
        what = f"all steps together need {render_bytes(needed_bytes)} of disk, and {render_bytes(tools.free_bytes)} are free"
        fix = "free some disk space, or choose another disk with --out"
        yield UnexportableError(what, "disk-full", where=out, fix=fix)


def _unbuildable(tools: ExportTools) -> Iterator[HoldfastError]:
    """Yield what is missing to build the runtime, which has no wheel on PyPI."""
    command = next((SYSTEM_COMMANDS[name] for name in tools.system if name in SYSTEM_COMMANDS), "")
    fix = command or "install a C++ compiler and CMake with the system's own package manager"
    lacking = {"C++ compiler (c++, g++ or clang++)": tools.compiler, "CMake": tools.cmake}
    for name, there in lacking.items():
        if not there:
            what = f"there is no {name}, with which the runtime is built"
            yield UnexportableError(what, TOOLS, where=HERE, fix=fix)


def why_unknown(
    architectures: Sequence[str], known: Collection[str], release: str, where: str
) -> Iterator[HoldfastError]:
    """Yield that the converter does not know the architecture of a model, if that is so."""
    name = next(iter(architectures), "")
    if name not in known:
        what = f"the converter of llama-cpp-python {release} does not know the architecture {name or '(none is named)'}"
        fix = "export without GGUF files, or install a newer llama-cpp-python that knows it"
        yield UnexportableError(what, UNKNOWN, where=where, fix=fix)
