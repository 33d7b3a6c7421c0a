"""What a run does beyond this machine: found before it starts, and bound to all that decides it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from holdfast.app.run.effects import UNNAMED, effects_of_resume, effects_of_run
from holdfast.cli.main import run_command

PUSHES = {
    "named": ("from huggingface_hub import HfApi\nHfApi().upload_folder(folder_path='.', repo_id='me/x')", ["me/x"]),
    "of a parameter": ("def finish(model):\n    model.push_to_hub('me/x')", [UNNAMED]),
    "of an attribute": ("class A:\n    def on_save(self):\n        self.trainer.push_to_hub()", [UNNAMED]),
    "while saving": ("def save(model):\n    model.save_pretrained('out', push_to_hub=True)", [UNNAMED]),
    "by a scheduler": (
        "from huggingface_hub import CommitScheduler\nCommitScheduler('me/x', folder_path='.')",
        [UNNAMED],
    ),
    "in the background": ("api.run_as_future(api.upload_folder, folder_path='.')", [UNNAMED]),
    "by a command": ("import subprocess\nsubprocess.run(['hf', 'upload', 'me/x', '.'])", [UNNAMED]),
    "by a shell": ("import os\nos.system('huggingface-cli upload me/x .')", [UNNAMED]),
    "by git": ("import os\nos.system('git push')", [UNNAMED]),
    "into a file there": ("def keep(rows):\n    rows.to_parquet('hf://datasets/me/x/a.parquet')", [UNNAMED]),
    "in a module": ("import helper\nhelper.go()", [UNNAMED]),
    "in a module of a package": ("from parts.inner import deep\ndeep.go()", [UNNAMED]),
}
QUIET = {
    "switched off": "settings = dict(push_to_hub=False)",
    "a comment": "# trainer.push_to_hub() when it is good\nprint('hello')",
    "reads from the Hub": "from datasets import load_dataset\nload_dataset('parquet', data_files='hf://datasets/a/b/c.parquet')",
    "nothing": "print('hello')",
}
JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: rows.jsonl\ntrain: {max_steps: 4}\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script's modules beside it, one of which pushes."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.delenv("HOLDFAST_RUNS", raising=False)
    (tmp_path / "helper.py").write_text("def go():\n    api.upload_folder(folder_path='.')\n")
    (tmp_path / "parts" / "inner").mkdir(parents=True)
    (tmp_path / "parts" / "inner" / "deep.py").write_text("def go():\n    api.create_commit(repo_id='me/x')\n")
    (tmp_path / "rows.jsonl").write_text('{"messages": []}\n')
    return tmp_path


@pytest.mark.parametrize("how", PUSHES)
def test_a_push_that_the_source_shows_is_found(here: Path, how: str) -> None:
    """Whatever the object is that pushes."""
    source, expected = PUSHES[how]
    (here / "train.py").write_text(source + "\n")

    assert effects_of_run("train.py").pushes == expected


@pytest.mark.parametrize("how", QUIET)
def test_what_does_not_push_asks_nobody(here: Path, how: str) -> None:
    """A person who is asked for nothing agrees without reading."""
    (here / "train.py").write_text(QUIET[how] + "\n")

    effects = effects_of_run("train.py")
    assert (effects.pushes, effects.costs) == ([], False)


def test_a_job_that_is_sent_elsewhere_costs(here: Path) -> None:
    """By its backend, or by a script that submits another."""
    (here / "train.py").write_text("from huggingface_hub import run_job\nrun_job(image='a', command=['b'])\n")
    (here / "job.yaml").write_text(JOB)

    assert effects_of_run("train.py").costs
    assert not effects_of_run("job.yaml").costs
    assert effects_of_run("job.yaml", set={"where.backend": "hf-jobs"}).costs
    assert [
        effects_of_run("train.py").backend,
        effects_of_run("job.yaml").backend,
        effects_of_run("job.yaml", set={"where.backend": "hf-jobs"}).backend,
    ] == ["", "", "hf-jobs"]


def test_a_folder_that_cannot_be_searched_is_passed_over(here: Path) -> None:
    """Its own path is as long as a path may be, so that none in it can be asked for."""
    (here / "job.yaml").write_text(JOB)
    deep = here
    while len(str(deep)) < 4090:
        deep /= "a" * min(4094 - len(str(deep)), 200)
        deep.mkdir()

    assert effects_of_run("job.yaml").pushes == []


PAID = {"where.backend": "hf-jobs", "where.hardware": "a10g-large", "where.timeout": "49m"}
COSTS: dict[str, tuple[dict[str, object], float | None]] = {
    "until its timeout, and while it saves": ({}, 1.5),
    "a budget, which nobody keeps once the supervisor is gone": ({"where.budget_usd": 0.5}, 1.5),
    "whatever it needs": ({"where.timeout": None}, None),
    "the price is not known": ({"where.hardware": "abacus"}, None),
    "it may get larger hardware": ({"recover.allow": ["hardware"]}, None),
    "larger hardware, and a budget": ({"recover.allow": ["hardware"], "where.budget_usd": 0.5}, None),
    "a machine that has no price": ({"where.backend": "fake", "where.hardware": None}, None),
}


@pytest.mark.parametrize("case", COSTS)
def test_what_it_costs_at_most(here: Path, case: str) -> None:
    """By the prices of the catalog, before anything is sent; of a job whose limits do not say it, nothing is guessed."""
    sets, usd = COSTS[case]
    (here / "job.yaml").write_text(JOB)
    effects = effects_of_run("job.yaml", set={**PAID, **sets})

    assert effects.costs
    assert effects.most_usd == (None if usd is None else pytest.approx(usd))


def test_a_script_that_starts_others_may_cost_anything(here: Path) -> None:
    """Its own machine is not all that it uses."""
    (here / "train.py").write_text("from huggingface_hub import run_job\nrun_job(image='a', command=['b'])\n")

    assert effects_of_run("train.py", set=PAID).most_usd is None
    (here / "train.py").write_text("print(1)\n")
    assert effects_of_run("train.py", set=PAID).most_usd == pytest.approx(1.5)


def test_a_job_pushes_where_its_file_says(here: Path) -> None:
    """The script that is rendered from it has the words of a push in any case."""
    (here / "job.yaml").write_text(JOB)

    assert effects_of_run("job.yaml").pushes == []
    assert effects_of_run("job.yaml", set={"output.push_to": "me/x"}).pushes == ["me/x"]


CHANGES: dict[str, Callable[[Path], object]] = {
    "the script": lambda here: (here / "train.py").write_text("print(2)\n"),
    "a module": lambda here: (here / "helper.py").write_text("pass\n"),
    "a package": lambda here: (here / "parts" / "__init__.py").write_text("pass\n"),
    "settings": lambda here: (here / "settings.json").write_text("{}\n"),
    "requirements": lambda here: (here / "requirements.txt").write_text("trl\n"),
}


@pytest.mark.parametrize("what", CHANGES)
def test_the_digest_is_of_all_that_decides(here: Path, what: str) -> None:
    """It stays while nothing changes."""
    (here / "train.py").write_text("print(1)\n")
    before = effects_of_run("train.py").digest
    assert effects_of_run("train.py").digest == before

    CHANGES[what](here)
    assert effects_of_run("train.py").digest != before


def test_arguments_are_part_of_the_digest(here: Path) -> None:
    """A script may push if it is told to."""
    (here / "train.py").write_text("print(1)\n")
    digests = {effects_of_run("train.py", arguments=words).digest for words in ([], ["--a"], ["--a", "b"])}

    assert len(digests) == 3


def test_a_run_that_succeeded_has_no_effects(here: Path) -> None:
    """`resume` refuses it, and says why."""
    (here / "train.py").write_text(PUSHES["by git"][0].replace("os.system('git push')", "print('git push')") + "\n")
    assert run_command(["run", "train.py", "--no-rehearse", "--offline", "--quiet"]) == 0
    (run,) = (path.name for path in (here / "runs").iterdir() if path.is_dir())

    assert effects_of_resume(run).pushes == ()


@pytest.mark.parametrize("kill_at", ["plan.json", None])
def test_a_run_that_goes_on_has_those_it_began_with(here: Path, kill_at: str | None) -> None:
    """With its own arguments and settings, wherever it is resumed from."""
    (here / "train.py").write_text("import sys\nprint('git push')\nsys.exit(1)\n")
    run_command(["run", "train.py", "--no-rehearse", "--offline", "--quiet", "--", "--a"])
    (run,) = ((here / "runs" / path.name) for path in (here / "runs").iterdir() if path.is_dir())
    if kill_at:
        (run / kill_at).unlink()
    effects = effects_of_resume(str(run))

    assert effects.pushes == [UNNAMED]
    (here / "helper.py").write_text("changed = True\n")
    assert effects_of_resume(str(run)).digest != effects.digest
