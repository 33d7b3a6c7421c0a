"""How bad a finding is depends on how sure it is which versions a program gets."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast import check
from holdfast.adapters.targets import read_target
from holdfast.app.check.programs import resolve_versions
from holdfast.catalog.api import Api, released
from holdfast.core.check.finding import PROGRAMS, Case, Finding, Rule, Severity, Skip
from holdfast.core.environment.requirement import ProjectRequirements, Requirement
from holdfast.core.job.document import Document
from holdfast.core.text.places import Place
from holdfast.engine.check.program import check_program
from holdfast.engine.check.program_facts import VersionContext
from holdfast.engine.check.rule_runner import severity_of
from holdfast.engine.resolve import Resolution, resolve

SCRIPT = Document(path="train.py", kind="script", values={})
HERE = Place("train.py", 1, 1)


def declared(*texts: str) -> ProjectRequirements:
    requirements = tuple(
        Requirement(name=text.split(">")[0].split("=")[0], specifier=text[len(text.split(">")[0].split("=")[0]) :], text=text, place=HERE)
        for text in texts
    )  # fmt: skip
    return ProjectRequirements(kind="header", origin="the script header", requirements=requirements)


def version_context(said: ProjectRequirements) -> VersionContext:
    return VersionContext(resolution=resolve(said), declared=said)


def rule_for(*versions: str) -> Rule:
    """A rule that objects to some releases of trl."""

    def check(api: Api) -> Iterator[Finding]:
        if api.versions.get("trl") in versions:
            yield Finding("train", f"trl {api.versions['trl']} is wrong", place=HERE)

    return rule(check)


def rule(check: Callable[..., Iterator[Finding]]) -> Rule:
    example = (Case(script="pass"),)
    return Rule(
        code="ARG901",
        name="wrong",
        explain="",
        severity=Severity.ERROR,
        check=check,
        source="",
        bad=example,
        good=example,
        kinds=PROGRAMS,
    )


def told(results: list[Finding | Skip]) -> list[tuple[str, str]]:
    return [(severity_of(each).value, each.message) for each in results if isinstance(each, Finding)]


def test_what_is_wrong_with_the_resolved_versions_is_an_error() -> None:
    """The job will get them."""
    newest = released("trl")[-1]
    results = check_program([rule_for(newest)], [SCRIPT], version_context(declared(f"trl=={newest}")))

    assert told(results) == [("error", f"trl {newest} is wrong")]


def test_what_is_wrong_with_admitted_versions_is_a_warning_with_the_right_floor() -> None:
    """The lowest release that a range admits is asked about too, and the first good one above it is named."""
    wrong = released("trl")[: released("trl").index("0.20.0")]
    results = check_program([rule_for(*wrong)], [SCRIPT], version_context(declared("trl>=0.12.0")))

    ((severity, message),) = told(results)
    assert severity == "warning"
    assert message.startswith("trl 0.12.0 is wrong")
    assert message.endswith("require `trl>=0.20.0`)")


def test_what_is_wrong_at_both_ends_is_told_once() -> None:
    """An error is not repeated as a warning."""
    results = check_program([rule_for(*released("trl"))], [SCRIPT], version_context(declared("trl>=0.12.0")))

    assert [severity for severity, _ in told(results)] == ["error"]


def test_without_a_declared_version_nothing_is_certain() -> None:
    """It is checked against the newest, which is said, and no error comes of it."""
    newest = released("trl")[-1]
    results = check_program([rule_for(newest)], [SCRIPT], version_context(ProjectRequirements()))

    assert told(results) == [
        ("warning", f"trl {newest} is wrong (nothing pins trl: checked against the newest, trl {newest})")
    ]


def test_what_needs_no_version_is_as_certain_as_ever() -> None:
    """A missing pin is no doubt about a rule that does not ask for versions."""

    def check(job: Document) -> Iterator[Finding]:
        yield Finding("train", f"{job.path} is wrong", place=HERE)

    assert told(check_program([rule(check)], [SCRIPT], version_context(ProjectRequirements()))) == [
        ("error", "train.py is wrong")
    ]


OLD_SCRIPT = 'from trl import SFTConfig\n\nSFTConfig("out", max_seq_length=512, evaluation_strategy="steps")\n'
UNPINNED = "(nothing pins {0}: checked against the newest, {0} "


def judged(folder: Path, requirements: str) -> tuple[dict[str, list[str]], list[str]]:
    """The messages about two old arguments, by severity, and what is skipped: the codes."""
    (folder / ".git").mkdir()
    (folder / "requirements.txt").write_text(requirements)
    (folder / "train.py").write_text(OLD_SCRIPT)
    (target,) = check([str(folder / "train.py")], select=["ARG101"], offline=True)["targets"]
    found: dict[str, list[str]] = {}
    for each in target["findings"]:
        found.setdefault(each["severity"], []).append(each["message"])
    return found, [skip["code"] for skip in target["skipped"]]


@pytest.mark.parametrize(
    "requirements",
    [
        "trl @ git+https://github.com/huggingface/trl.git\ntransformers",
        "git+https://github.com/huggingface/trl.git@main\ntransformers",
        "transformers",
        "trl @ git+https://github.com/huggingface/trl\ntransformers @ git+https://github.com/huggingface/transformers",
    ],
)
def test_a_branch_or_nothing_is_judged_against_the_newest(tmp_path: Path, requirements: str) -> None:
    """As warnings that say so; it does not pass in silence."""
    found, skipped = judged(tmp_path, requirements)

    assert [*found] == ["warning"]
    assert len(found["warning"]) == 2
    assert all("nothing pins trl" in each for each in found["warning"])
    assert not skipped


@pytest.mark.parametrize(
    "requirements",
    ["trl[vllm]", "trl==1.16.0\ntransformers @ git+https://github.com/huggingface/transformers", "trl==1.16.0\nvllm"],
)
def test_what_depends_on_trl_alone_is_certain_where_trl_is_known(tmp_path: Path, requirements: str) -> None:
    """What depends on transformers, which is not, is a warning."""
    found, skipped = judged(tmp_path, requirements)

    (error,), (warning,) = found["error"], found["warning"]
    assert "takes no `max_seq_length`" in error
    assert "takes no `evaluation_strategy`" in warning
    assert UNPINNED.format("transformers") in warning
    assert not skipped


def test_the_tag_of_a_release_is_the_release(tmp_path: Path) -> None:
    """Of 0.19.0, which takes `max_seq_length` still."""
    found, skipped = judged(tmp_path, "trl @ git+https://github.com/huggingface/trl.git@v0.19.0\ntransformers==4.53.3")

    assert [each for each in found["error"] if "max_seq_length" in each] == []
    assert not skipped


@pytest.mark.parametrize(
    "requirements",
    [
        "trl @ git+https://github.com/huggingface/trl.git@0f88c179e30b3439467942a08c3190f624d5c423",
        "trl==99.0",
        "trl @ https://example.org/trl-1.0-py3-none-any.whl",
        "trl==${VERSION}",
    ],
)
def test_what_remains_unknown_is_skipped(tmp_path: Path, requirements: str) -> None:
    """A commit, a wheel from elsewhere, an unknown release: nothing is claimed, and it is no pass."""
    assert judged(tmp_path, requirements) == ({}, ["ARG101"])


def test_a_version_that_is_not_known_is_claimed_nothing_of() -> None:
    """An exact pin outside of the history is unknown, and not the newest."""
    results = check_program([rule_for(*released("trl"))], [SCRIPT], version_context(declared("trl==99.0.0")))

    assert told(results) == []


def test_several_jobs_of_one_script_are_told_of_once() -> None:
    """What all of them say alike stands in the file once."""
    newest = released("trl")[-1]
    results = check_program([rule_for(newest)], [SCRIPT, SCRIPT], version_context(declared(f"trl=={newest}")))

    assert len(results) == 1


def test_a_fact_that_no_script_tells_is_a_skip() -> None:
    """The machine is not known: a script may run anywhere."""

    def check(machine: object) -> Iterator[Finding]:
        yield Finding("train", f"{machine}")

    (result,) = check_program([rule(check)], [SCRIPT], version_context(ProjectRequirements()))

    assert isinstance(result, Skip)
    assert result.missing == ("machine",)


@pytest.mark.parametrize(
    ("imports", "kind"), [("import transformers", "environment"), ("import transformers, trl", "nothing")]
)
def test_an_environment_counts_if_it_has_all_that_the_script_uses(tmp_path: Path, imports: str, kind: str) -> None:
    """A script that imports what is not installed there will run elsewhere: nothing says with which versions."""
    packages = tmp_path / ".venv" / "lib" / "python3.12" / "site-packages"
    (packages / "transformers-4.57.6.dist-info").mkdir(parents=True)
    (tmp_path / ".venv" / "pyvenv.cfg").write_text("version = 3.12\n", encoding="utf-8")
    (tmp_path / ".git").mkdir()
    script = tmp_path / "train.py"
    script.write_text(imports + "\n", encoding="utf-8")
    documents = read_target(str(script)).documents

    assert resolve_versions(str(script), documents, "catalog").declared.kind == kind


def test_the_resolution_names_its_date() -> None:
    """Whoever reads the answer can tell what was not known yet."""
    told_of = version_context(declared("trl>=0.12.0"))

    assert told_of.because == f"by the script header; catalog of {told_of.resolution.date}"
    assert isinstance(told_of.resolution, Resolution)


ONLINE = """\
# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///
from datasets import load_dataset
from trl import {method}Config, {method}Trainer

rows = load_dataset("a/b", split="train")
args = {method}Config(output_dir="out", per_device_train_batch_size={batch}, num_generations={generations})
{method}Trainer(model="a/b", reward_funcs=len, args=args, train_dataset=rows)
"""


def generating(folder: Path, method: str, batch: int, generations: int, *launcher: str) -> list[tuple[str, str]]:
    """Severity and message of what CMB101 says of a script, or of the command that launches it."""
    path = folder / "train.py"
    path.write_text(ONLINE.format(method=method, batch=batch, generations=generations))
    targets, words = ([], [*launcher, str(path)]) if launcher else ([str(path)], [])
    (target,) = check(targets, arguments=words, select=["CMB101"], offline=True)["targets"]
    assert not target["skipped"]
    return [(each["severity"], each["message"]) for each in target["findings"]]


def test_a_training_on_the_processor_is_one_process(tmp_path: Path) -> None:
    """Nothing starts several of them by itself, as several GPUs would: what is wrong is an error, and no warning for some numbers."""
    path = tmp_path / "train.py"
    path.write_text(
        ONLINE.format(method="GRPO", batch=4, generations=6).replace("output_dir", "use_cpu=True, output_dir")
    )

    (target,) = check([str(path)], select=["CMB101"], offline=True)["targets"]
    (found,) = target["findings"]
    assert (found["severity"], "processes" in found["message"]) == ("error", False)
    assert "x 1 step =" in found["message"]


@pytest.mark.parametrize("method", ["GRPO", "RLOO"])
def test_nobody_says_how_many_processes_there_will_be(tmp_path: Path, method: str) -> None:
    """One, where nothing is known; what is right with other numbers is a warning that says with which it is wrong."""
    ((severity, message),) = generating(tmp_path, method, 4, 6)
    assert severity == "warning"
    assert message.endswith("(with 1, 2, 4, 5, 7 or 8 processes; nothing says how many there will be)")
    assert generating(tmp_path, method, 6, 6) == []
    ((severity, message),) = generating(tmp_path, method, 4, 1)
    assert (severity, "processes" in message) == ("error", False)


def test_a_launcher_that_hides_its_number_leaves_what_holds_for_every_number(tmp_path: Path) -> None:
    """One generation is too few in any number of processes; whether groups are whole stays open."""
    (tmp_path / "run.sh").write_text("torchrun --nproc_per_node $N train.py\n")
    found: list[list[str]] = []
    for generations in (1, 6):
        (tmp_path / "train.py").write_text(ONLINE.format(method="GRPO", batch=4, generations=generations))
        (target,) = check([str(tmp_path / "run.sh")], select=["CMB101"], offline=True)["targets"]
        assert [each["code"] for each in target["skipped"]] == ["CMB101"]
        found.append([each["message"] for each in target["findings"]])

    assert found == [["`num_generations` is 1: advantages need at least 2 for each prompt"], []]


@pytest.mark.parametrize("arguments", ["num_generations=1", "generation_batch_size=16, steps_per_generation=4"])
def test_generations_that_do_not_do_are_found_once(tmp_path: Path, arguments: str) -> None:
    """The class raises too; the rule with the fix reports it."""
    script = ONLINE.format(method="GRPO", batch=8, generations=8).replace("num_generations=8", arguments)
    (tmp_path / "train.py").write_text(script)
    (target,) = check([str(tmp_path / "train.py")], select=["CMB"], offline=True)["targets"]

    assert [each["code"] for each in target["findings"]] == ["CMB101"]


def test_a_launcher_says_how_many_processes_there_will_be(tmp_path: Path) -> None:
    """Then it is an error, or nothing."""
    ((severity, message),) = generating(tmp_path, "GRPO", 4, 6, "torchrun", "--nproc_per_node", "2")
    assert (severity, message.count("processes")) == ("error", 0)
    assert generating(tmp_path, "GRPO", 4, 6, "torchrun", "--nproc_per_node", "3") == []


def reported(folder: Path, script: str, **options: Any) -> dict[str, Any]:
    """What is said of a script that gets the newest releases."""
    header = '# /// script\n# dependencies = ["trl==1.16.0", "transformers==5.23.0"]\n# ///\n'
    (folder / "train.py").write_text(header + script)
    target: dict[str, Any] = check([str(folder / "train.py")], offline=True, **options)["targets"][0]
    return target


def codes(target: Mapping[str, Any]) -> list[str]:
    return [finding["code"] for finding in target["findings"]]


def test_what_a_rename_uncovers_is_told_with_it(tmp_path: Path) -> None:
    """`eval_strategy` without data is wrong whatever it was called."""
    script = 'from trl import SFTConfig, SFTTrainer\n\nargs = SFTConfig("out", {}="steps")\nSFTTrainer("m", args=args, train_dataset=rows)\n'

    assert codes(reported(tmp_path, script.format("evaluation_strategy"))) == ["ARG101", "EVL101"]
    assert codes(reported(tmp_path, script.format("eval_strategy"))) == ["EVL101"]


def test_what_a_moved_class_refuses_is_told_with_it(tmp_path: Path) -> None:
    """Its new place has arguments of its own."""
    script = 'from trl import OnlineDPOTrainer\n\nOnlineDPOTrainer("m", reward_model=reward, train_dataset=rows)\n'

    assert codes(reported(tmp_path, script)) == ["IMP103", "ARG101"]


def test_one_cause_is_told_once(tmp_path: Path) -> None:
    """A trainer whose `policy` and `reward_model` have other names now lacks neither a model nor a reward."""
    script = 'from trl import RLOOTrainer\n\nRLOOTrainer(policy="m", reward_model=reward, train_dataset=rows)\n'

    assert codes(reported(tmp_path, script)) == ["ARG101", "ARG101"]


def test_as_many_findings_are_mended_as_there_were_fixes(tmp_path: Path) -> None:
    """The count that a check gives is the one that comes of it."""
    script = (
        "from trl import OnlineDPOConfig, OnlineDPOTrainer, SFTConfig\n\n"
        'first = SFTConfig("out", max_seq_length=512, evaluation_strategy="no", overwrite_output_dir=True)\n'
        "print(first.max_seq_length)\n"
        'OnlineDPOTrainer("m", args=OnlineDPOConfig("out", gpu_memory_utilization=0.5), tokenizer=tokenizer)\n'
    )
    offered = [finding["fix"] for finding in reported(tmp_path, script)["findings"] if finding["fix"]]

    fixed = reported(tmp_path, script, fix=True, unsafe_fixes=True)["fixed"]

    assert len(fixed) == len(offered) == 8


def test_a_rule_may_say_two_things_of_one_place() -> None:
    """Both are told, and what two documents of one file say alike is told once."""

    def twice(job: Document) -> Iterator[Finding]:
        yield from (Finding("train", message, place=HERE) for message in ("one thing", "another"))
        if job.values:
            yield Finding("train", "a third", place=HERE)

    found = list(check_program([rule(twice)], [SCRIPT, SCRIPT], version_context(declared("trl==1.16.0"))))
    more = list(
        check_program(
            [rule(twice)], [SCRIPT, replace(SCRIPT, values={"a": 1})], version_context(declared("trl==1.16.0"))
        )
    )

    assert [each.message for each in found if isinstance(each, Finding)] == ["one thing", "another"]
    assert [each.message for each in more if isinstance(each, Finding)] == ["one thing", "another", "a third"]


GROUPS = """method: grpo
model: m
dataset: rows.jsonl
rewards: [accuracy_reward]
train: {{per_device_train_batch_size: 6, {}: 4, gradient_accumulation_steps: 2}}
"""


@pytest.mark.parametrize("name", ["num_generation", "num_generations"])
def test_what_follows_from_a_misspelt_argument_is_judged_by_what_was_meant(tmp_path: Path, name: str) -> None:
    """12 completions are whole groups of 4, and no whole groups of the 8 that hold if nothing is set."""
    job, script = tmp_path / "job.yaml", ONLINE.format(method="GRPO", batch=12, generations=4)
    job.write_text(GROUPS.format(name))
    targets = check([str(job)], select=["ARG", "CMB"], offline=True)["targets"]
    targets.append(reported(tmp_path, script.replace("num_generations", name), select=["ARG", "CMB"]))

    assert [codes(each) for each in targets] == [["ARG106"] if name == "num_generation" else []] * 2


def test_what_a_misspelt_argument_hides_is_told_with_it(tmp_path: Path) -> None:
    script = 'from trl import SFTConfig, SFTTrainer\n\nargs = SFTConfig("out", eval_stratgy="steps")\nSFTTrainer("m", args=args, train_dataset=rows)\n'
    assert codes(reported(tmp_path, script)) == ["ARG106", "EVL101"]


PLAIN = 'from trl import SFTConfig, SFTTrainer\n\nargs = SFTConfig("out")\nSFTTrainer("m", args=args, train_dataset=rows).train()\n'
CALLS = """from datasets import Dataset, load_dataset
from huggingface_hub import HfApi
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline, set_seed
import torch

tokenizer, model = AutoTokenizer.from_pretrained("m"), AutoModelForCausalLM.from_pretrained("m")


def use(text, number, options):
    ids = tokenizer(text, return_tensors="pt", max_length=number)
    torch.save(model.generate(ids, **options), text)
    model.forward(ids, number)
    return tokenizer.decode(ids[number]), tokenizer.apply_chat_template(text)
"""


def test_a_call_that_a_rule_is_not_about_leaves_nothing_undecided(tmp_path: Path) -> None:
    """That what a tokenizer gets in some function is unknown is no reason to skip a rule about `map`."""
    without, beside = ([each["code"] for each in reported(tmp_path, head + PLAIN)["skipped"]] for head in ("", CALLS))
    assert sorted({*beside} - {*without}) == []
