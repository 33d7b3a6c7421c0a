"""The rules about combinations share the faults among them: each is told once, at an argument, for exact versions."""

from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from holdfast import check
from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest
from holdfast.core.check.finding import Finding, Severity
from holdfast.engine.check.rule_runner import run_rules, severity_of
from holdfast.rules import all_rules

FAMILY = ("CMB", "EVL", "PRC102")
RULES = [rule for rule in all_rules() if rule.code.startswith((*FAMILY, "RWD115"))]
SCRIPT = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM
from trl import {name}Config, {name}Trainer as Trainer

rows = load_dataset("trl-lib/Capybara", split="train")


def score(completions, **kwargs):
    return [0.0]


{before}
args = {name}Config("out", {config})
{between}
trainer = Trainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows, {trainer})
"""


@cache
def api(*versions: tuple[str, str]) -> Api:
    return Api({**newest(), **dict(versions)})


def script(name: str, config: str = "", trainer: str = "", *, before: str = "", between: str = "") -> str:
    own = trainer if name != "GRPO" or "reward_funcs" in trainer else f"reward_funcs=score, {trainer}"
    return SCRIPT.format(name=name, config=config, trainer=own, before=before, between=between)


def told(
    source: str, processes: int | None = None, known: Mapping[str, object] | None = None, /, **versions: str
) -> list[Finding]:
    """The family's findings, each once."""
    counted = {} if processes is None else {"processes": processes}
    facts = {"api": api(*versions.items()), **counted, **(known or {})}
    results = [each for document in read_script(source, "train.py") for each in run_rules(RULES, document, facts)]
    findings = {(each.rule and each.rule.code, each.place): each for each in results if isinstance(each, Finding)}
    return list(findings.values())


def codes(source: str, **versions: str) -> list[str]:
    return [each.rule.code for each in told(source, **versions) if each.rule]


@pytest.mark.parametrize(("rule", "case"), [(rule, case) for rule in RULES for case in rule.bad if case.script])
def test_tells_each_fault_once(rule: Any, case: Any) -> None:
    """No fault of an example is told by two rules."""
    findings = told(case.script, None, case.facts, **case.versions)

    assert [each.rule for each in findings if each.rule is rule]
    assert Counter(each.place for each in findings).most_common(1)[0][1] == 1
    assert len(findings) == 1


@pytest.mark.parametrize(
    ("source", "code"),
    [
        (script("SFT", "dataloader_prefetch_factor=2"), "CMB103"),
        (script("SFT", "bf16=True, fp16=True"), "PRC102"),
        (script("SFT", "eval_strategy='epoch'"), "EVL101"),
        (script("SFT", "eval_strategy='epoch', load_best_model_at_end=True", "eval_dataset=rows"), "EVL102"),
        (script("SFT", "packing=True, max_length=None"), "CMB104"),
        (script("GRPO", "auto_find_batch_size=True"), "CMB103"),
        (script("GRPO", "generation_batch_size=8, steps_per_generation=2"), "CMB101"),
        (script("GRPO", "reward_weights=[1.0, 2.0]"), "RWD115"),
        (script("GRPO", "sync_ref_model=True"), "CMB103"),
    ],
)
def test_tells_of_what_raises(source: str, code: str) -> None:
    """Each fault has its rule."""
    assert [each.rule.code for each in told(source, 1) if each.rule] == [code]


JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\ntrain:\n"


@pytest.mark.parametrize(
    ("train", "expected"),
    [
        ("load_best_model_at_end: true", ["EVL101"]),
        ("load_best_model_at_end: true, eval_strategy: epoch", ["EVL101", "EVL102"]),
        ("load_best_model_at_end: true, eval_strategy: epoch, bf16: true, fp16: true", ["EVL101", "EVL102", "PRC102"]),
        ("save_strategy: best", ["EVL102"]),
    ],
)
def test_a_job_is_told_of_all_at_once(tmp_path: Path, train: str, expected: list[str]) -> None:
    """A job without rows to evaluate on is told what else is wrong with its evaluation."""
    path = tmp_path / "job.yaml"
    path.write_text(JOB.rstrip("\n") + f" {{{train}}}\n", encoding="utf-8")

    (target,) = check([path], offline=True)["targets"]

    assert sorted(each["code"] for each in target["findings"]) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (script("GRPO", "num_generations=1, generation_batch_size=8, steps_per_generation=2"), ["CMB101", "CMB101"]),
        (
            script("SFT", "eval_strategy='epoch', save_strategy='steps', load_best_model_at_end=True"),
            ["EVL101", "EVL102"],
        ),
        (
            script("SFT", "eval_strategy='steps', dataloader_prefetch_factor=2, bf16=True, fp16=True"),
            ["CMB103", "EVL101", "PRC102"],
        ),
        (script("SFT", "load_best_model_at_end=True, metric_for_best_model='accuracy'"), ["EVL102"]),
    ],
)
def test_tells_of_all_that_raises(source: str, expected: list[str]) -> None:
    """An error does not hide those that the class, or the trainer that its config goes to, would raise once it is fixed."""
    assert sorted(each.rule.code for each in told(source, 1) if each.rule) == expected


@pytest.mark.parametrize(
    "source",
    [
        script("SFT"),
        script("SFT", "**settings"),
        script("SFT", "eval_strategy='epoch'", "**others"),
        script("SFT", "dataloader_prefetch_factor=workers"),
        script("SFT", "dataloader_prefetch_factor=2, dataloader_num_workers=workers"),
        script("GRPO", "reward_weights=[1.0, 2.0]", "reward_funcs=make_rewards()"),
        script("GRPO", "reward_weights=[1.0, 2.0]", "reward_funcs=[score] + more"),
        script("GRPO", "reward_weights=[1.0, 2.0]", "reward_funcs=None"),
        script("GRPO", "reward_weights=[1.0, 2.0]", "reward_funcs=(score,)"),
        script("GRPO", "per_device_train_batch_size=4"),
        script("SFT", "eval_strategy='epoch'", between="args.eval_strategy = 'no'"),
        script("SFT", "eval_strategy='epoch'", between="args = change(args)"),
        script("SFT", between="args.eval_strategy = 'epoch'"),
        script("SFT", "eval_strategy='epoch'", before="class Own(Trainer):\n    pass\n").replace(
            "= Trainer(", "= Own("
        ),
        script("SFT", "bf16=True, fp16=True", before="class Own(SFTConfig):\n    x: int = 0\n").replace(
            "= SFTConfig(", "= Own("
        ),
    ],
)
def test_says_nothing_where_the_source_does_not(source: str) -> None:
    """Values that are computed, settings that may come from elsewhere, and classes of the program's own are left alone."""
    assert codes(source) == []


def test_is_exact_for_versions() -> None:
    """A check counts from the release on that has it, with that release's defaults."""
    pair = script("SFT", "padding_free=True")

    assert codes(pair) == ["CMB104"]
    assert codes(pair, trl="0.19.1", transformers="4.53.3") == []
    assert codes(script("GRPO", "auto_find_batch_size=True"), trl="0.19.1", transformers="4.53.3") == []


def test_names_the_versions_and_the_place() -> None:
    """A finding stands at the last written argument that the condition reads, and names the release that says so."""
    (finding,) = told(script("SFT", "dataloader_num_workers=0, dataloader_prefetch_factor=2"))

    assert finding.key == "train.dataloader_prefetch_factor"
    assert f"trl {newest()['trl']}" in finding.message
    assert f"transformers {newest()['transformers']}" in finding.message
    assert finding.place is not None
    assert finding.place.line == SCRIPT.splitlines().index('args = {name}Config("out", {config})') + 1


def test_an_ignored_argument_is_a_warning() -> None:
    """What a class goes on without is no error."""
    model = "model = AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-0.5B')"
    source = script("SFT", "model_init_kwargs={'dtype': 'bfloat16'}", before=model)
    (finding,) = told(source.replace('Trainer("Qwen/Qwen2.5-0.5B"', "Trainer(model"))

    assert severity_of(finding) is Severity.WARNING
    assert finding.key == "train.model_init_kwargs"


def test_a_word_that_its_argument_does_not_know_is_told_by_one_rule() -> None:
    """The constructor refuses it too, and says the same."""
    rules = [rule for rule in all_rules() if rule.code in ("ARG110", "CMB103")]
    source = "from peft import RoadConfig\nRoadConfig(variant='road_3')\n"
    (document,) = read_script(source, "train.py")
    results = run_rules(rules, document, {"api": api()})

    assert [each.rule.code for each in results if isinstance(each, Finding) and each.rule] == ["ARG110"]
