"""The answer to a request: a trace, or the reason why there is none."""

from importlib.metadata import PackageNotFoundError, version

from .building import UntraceableError
from .request import TraceAnswer, TraceRequest
from .stepping import trace_step

NAMED = ("torch", "transformers", "trl", "peft", "accelerate")


def answer_request(request: TraceRequest) -> TraceAnswer:
    """Return the trace of a step. What a library raises is the reason why there is none."""
    try:
        return trace_step(request)
    except UntraceableError as error:
        return TraceAnswer(problem=str(error))
    except Exception as error:  # noqa: BLE001 - a model's code may raise what it likes on fake tensors
        first = (str(error).splitlines() or [""])[0]
        return TraceAnswer(problem=f"the step fails on fake tensors: {type(error).__name__}: {first}")


def installed_versions() -> tuple[tuple[str, str], ...]:
    """Return the releases of the libraries that decide what a step does."""
    found = []
    for name in NAMED:
        try:
            found.append((name, version(name)))
        except PackageNotFoundError:
            continue
    return tuple(found)
