"""What `doctor` found, as text."""

from collections.abc import Iterator

from click import style

from holdfast.engine.units import render_bytes
from holdfast.results.doctor import DoctorResult, HubAccountFacts, LocalFacts, PlaceProblem, PlaceResult

WIDTH = 11
"""Columns of the names of facts."""
TITLES = {"local": "this machine", "hub": "the Hub", "hf-jobs": "Hugging Face Jobs"}
NO_TOKEN = "none: public repositories can be read; `hf auth login` is needed to push"  # noqa: S105 - a state


def render_doctor(result: DoctorResult) -> str:
    """Return each place with its facts and its problems."""
    return "\n\n".join("\n".join(_place(place)) for place in result.places)


def _place(place: PlaceResult) -> Iterator[str]:
    ready = style("ready", fg="green") if place.ready else style("not ready", fg="red")
    if not isinstance(place.facts, LocalFacts) and not place.facts.asked:
        ready = style(f"not checked: {place.facts.because}", dim=True)
    yield f"{style(TITLES[place.name], bold=True)}: {ready}"
    for name, fact in _facts(place):
        yield f"  {style(f'{name:{WIDTH}}', dim=True)} {fact}"
    for problem in place.problems:
        yield from _problem(problem)


def _facts(place: PlaceResult) -> Iterator[tuple[str, str]]:
    if isinstance(place.facts, LocalFacts):
        yield from _local(place.facts)
    elif isinstance(place.facts, HubAccountFacts):
        yield from _hub(place.facts)


def _problem(problem: PlaceProblem) -> Iterator[str]:
    yield f"  {style('error:', fg='red', bold=True)} {problem.what}"
    yield f"    {style('where:', dim=True)} {problem.where}"
    yield f"    {style('fix:', dim=True)}   {problem.fix}"


def _local(facts: LocalFacts) -> Iterator[tuple[str, str]]:
    yield (
        "machine",
        f"{facts.cpus} cores, {render_bytes(facts.memory_bytes)} memory, {render_bytes(facts.free_disk_bytes)} free disk",
    )
    for gpu in facts.gpus:
        yield "GPU", f"{gpu.name}, {render_bytes(gpu.memory_bytes)}, compute capability {gpu.capability}"
    if not facts.gpus:
        yield "GPU", "none"
    if facts.driver:
        yield "driver", f"NVIDIA {facts.driver}"
    yield "Python", f"{facts.python}, {facts.environment}"
    yield "uv", facts.uv or "not installed"
    yield "libraries", ", ".join(f"{name} {version}" for name, version in facts.packages.items()) or "none"
    yield "sandbox", "yes, by the kernel" if facts.sandbox else f"no: {facts.no_sandbox}"


def _hub(facts: HubAccountFacts) -> Iterator[tuple[str, str]]:
    if facts.token == "absent":  # noqa: S105 - a state
        yield "token", NO_TOKEN
    if facts.token == "valid":  # noqa: S105 - a state
        yield "token", f"of {facts.user}, for {facts.role or 'unknown use'}"
        for name, role in facts.organizations.items():
            yield "member of", f"{name} ({role or 'unknown role'})"
