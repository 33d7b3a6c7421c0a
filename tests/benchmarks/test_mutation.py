"""Small faults in what the core judges are noticed by its tests: a fixed sample of them. `make mutation` tries all."""

from pathlib import Path

import pytest

from benchmarks.mutation import ROOT, Part, equivalents, located, mutate, parts

SAMPLED = [part for part in parts() if part.sample]
SOURCE = ROOT / "src" / "holdfast"


@pytest.mark.long
@pytest.mark.parametrize("part", SAMPLED, ids=[part.name for part in SAMPLED])
def test_faults_in_a_verdict_are_noticed(part: Part, tmp_path: Path) -> None:
    """How a run ended, which rank failed first, which comment lets what pass: of these no fault may be missed."""
    pytest.importorskip("mutmut", reason="needs the mutation extra")
    scores = mutate(part, tmp_path / "mutation", part.sample).values()

    assert sum(score.killed for score in scores) >= len(part.sample)
    assert [str(mutant) for score in scores for mutant in score.survived] == []


def test_what_is_mutated_is_there() -> None:
    """A part that names a module or a test which was renamed would mutate, or notice, nothing."""
    for part in parts():
        assert [module for module in part.modules if not (SOURCE / module).exists()] == []
        for test in (*part.tests, *part.slow):
            path, _, name = located(test).partition("::")
            assert f"def {name}" in (ROOT / path).read_text()


def test_a_mutant_that_is_called_equivalent_is_one_of_a_line_that_is_there() -> None:
    """A line that was changed since is judged anew."""
    texts = {module: " ".join((SOURCE / module).read_text().split()) for module, _, _ in equivalents()}

    assert [line for module, line, _ in equivalents() if " ".join(line.split()) not in texts[module]] == []
