"""The checklists: what a rule objects to fails, what nobody could see is unknown, and only what is shown passes."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from holdfast import check
from holdfast.adapters.rehearsal.passed import mark_of
from holdfast.adapters.storage.ledger import Ledger
from holdfast.adapters.storage.run_folder import save_plan
from holdfast.adapters.targets import read_target
from holdfast.app import VERBS
from holdfast.app.targets.local_inputs import input_digests
from holdfast.app.targets.programs import interpreter_of, program_of
from holdfast.app.targets.rendering import script_of
from holdfast.cli.main import cli
from holdfast.cli.text.checklist import render_checklist
from holdfast.core.check.finding import Finding, Rule, Severity, Skip
from holdfast.core.job.document import Document
from holdfast.core.run.event import Closed, RunRequested, RunStage
from holdfast.core.run.plan import Plan
from holdfast.engine.checklist.items import ITEMS
from holdfast.engine.checklist.table import ChecklistRow, checklist, checklist_items
from holdfast.results.check import ItemVerdict
from holdfast.rules import all_rules

ROOT = Path(__file__).parents[3]
RULES = {rule.code: rule for rule in all_rules()}
HEADER = '# /// script\n# dependencies = ["trl==1.16.0", "transformers==5.23.0", "trackio==0.43.0"]\n# ///\n'
TRAIN = """from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", report_to="trackio", push_to_hub=True, hub_model_id="me/capybara")
rows = load_dataset("trl-lib/Capybara", split="train")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
trainer.push_to_hub()
"""
SEND = """from huggingface_hub import run_uv_job

run_uv_job("train.py", flavor="a10g-large", timeout="4h", secrets={"HF_TOKEN": token})
"""
JOB = "method: sft\nmodel: builtin:tiny-chat\ndataset: builtin:stdlib-docstrings\n"
CLONE = 'subprocess.run(["git", "clone", "https://github.com/ggml-org/llama.cpp"], check=True)\n'
CMAKE = 'subprocess.run(["cmake", "-B", "build"], check=True)\n'


def table(tmp_path: Path, text: str, name: str = "train.py", **options: Any) -> dict[str, dict[str, Any]]:
    """The rows of a file's checklists, by item."""
    path = tmp_path / name
    path.write_text(text)
    answer = check([str(path)], checklist=True, cache=False, **options)
    return {row["item"]: row for row in answer["targets"][0]["checklist"]}


def verdicts(tmp_path: Path, text: str, name: str = "train.py", **options: Any) -> dict[str, str]:
    return {item: row["verdict"] for item, row in table(tmp_path, text, name, **options).items()}


class TestScript:
    """What can be seen of a training script."""

    def test_what_is_shown_passes(self, tmp_path: Path) -> None:
        """A header that brings all, a push, a tracker and plain errors pass; money, time and token are unknown."""
        told = verdicts(tmp_path, HEADER + TRAIN)
        passed = {"dependencies", "push", "errors", "self-contained", "progress", "settings"}
        unknown = {"repositories", "known-good", "hardware", "timeout", "time", "token", "variables", "cost"}
        assert {item for item, verdict in told.items() if verdict == "pass"} == passed
        assert {item for item, verdict in told.items() if verdict == "unknown"} == unknown
        assert told["build-tools"] == "not applicable"

    def test_evidence_is_a_place(self, tmp_path: Path) -> None:
        """A pass tells the line that shows it."""
        (evidence,) = table(tmp_path, HEADER + TRAIN)["push"]["evidence"]
        assert (evidence["code"], evidence["line"]) == (None, 7)

    def test_undeclared_import_fails(self, tmp_path: Path) -> None:
        """What the header does not install is told with the rule that says so."""
        row = table(tmp_path, HEADER + "import sklearn\n" + TRAIN)["dependencies"]
        assert row["verdict"] == "fail"
        assert [each["code"] for each in row["evidence"]] == ["DEP104"]

    def test_strange_import_is_unknown(self, tmp_path: Path) -> None:
        """A module that nobody knows may lie beside the script, or not."""
        told = verdicts(tmp_path, HEADER + "import my_rewards\n" + TRAIN)
        assert (told["dependencies"], told["self-contained"]) == ("unknown", "unknown")

    def test_without_header(self, tmp_path: Path) -> None:
        """Without a header nobody says what will be there."""
        told = verdicts(tmp_path, TRAIN)
        assert (told["dependencies"], told["self-contained"]) == ("unknown", "unknown")

    def test_local_data_is_not_self_contained(self, tmp_path: Path) -> None:
        """A script that reads a file of this machine does not run alone."""
        assert verdicts(tmp_path, HEADER + TRAIN.replace("trl-lib/Capybara", "./data"))["self-contained"] == "fail"

    @pytest.mark.parametrize(("rows", "verdict"), [("rows.jsonl", "pass"), ("absent.jsonl", "fail")])
    def test_defaults_of_options_are_what_a_plain_start_uses(self, rows: str, verdict: str, tmp_path: Path) -> None:
        """What `argparse` gives without a command line is looked for, though a command line may name something else."""
        (tmp_path / "rows.jsonl").write_text('{"text": "What is one plus one? Two."}\n')
        script = f"""import argparse
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
parser = argparse.ArgumentParser()
parser.add_argument("--rows", default={str(tmp_path / rows)!r})
args = parser.parse_args()
SFTTrainer("builtin:tiny-chat", train_dataset=load_dataset("json", data_files=args.rows, split="train")).train()
"""
        assert verdicts(tmp_path, script)["repositories"] == verdict

    @pytest.mark.parametrize(
        ("started", "build_tools", "errors"),
        [
            (CMAKE, "fail", "pass"),
            (CLONE, "unknown", "pass"),
            ('subprocess.run(["apt-get", "install", "-y", "git"], check=True)\n' + CLONE, "pass", "pass"),
            ('subprocess.run(["uv", "pip", "list"])\n', "not applicable", "unknown"),
            ("subprocess.check_call(command)\n", "unknown", "pass"),
        ],
    )
    def test_programs_that_it_starts(self, tmp_path: Path, started: str, build_tools: str, errors: str) -> None:
        """A program has to be installed, and its failure has to end the run."""
        told = verdicts(tmp_path, f"{HEADER}import subprocess\n{TRAIN}{started}")
        assert (told["build-tools"], told["errors"]) == (build_tools, errors)

    def test_swallowed_error_is_unknown(self, tmp_path: Path) -> None:
        """Where any error of `train()` is caught, nobody knows whether it will be told."""
        text = TRAIN.replace("trainer.train()", "try:\n    trainer.train()\nexcept Exception:\n    pass")
        row = table(tmp_path, HEADER + text)["errors"]
        assert (row["verdict"], row["evidence"][0]["line"]) == ("unknown", 10)
        assert verdicts(tmp_path, HEADER + text.replace("    pass", "    raise"))["errors"] == "pass"

    def test_push_under_a_condition_is_unknown(self, tmp_path: Path) -> None:
        """Whether a script pushes that asks its arguments first shows when it runs."""
        text = TRAIN.replace("push_to_hub=True, ", "")
        assert verdicts(tmp_path, HEADER + text)["push"] == "pass"
        asking = text.replace("trainer.push_to_hub()", "if args.push_to_hub:\n    trainer.push_to_hub()")
        assert verdicts(tmp_path, HEADER + asking)["push"] == "unknown"

    def test_silent_trainer_is_unknown(self, tmp_path: Path) -> None:
        """A trainer that logs nothing shows no progress; one that reports to nothing keeps no settings."""
        told = verdicts(tmp_path, HEADER + TRAIN.replace('report_to="trackio"', 'logging_strategy="no"'))
        assert (told["progress"], told["settings"]) == ("unknown", "unknown")

    def test_syntax_error_has_no_checklist(self, tmp_path: Path) -> None:
        """Of what cannot be read nothing is said but that."""
        path = tmp_path / "train.py"
        path.write_text("print 1\n")
        (target,) = check([str(path)], checklist=True)["targets"]
        assert "checklist" not in target


class TestSending:
    """What can be seen of a script that sends a job."""

    def test_whole_submission(self, tmp_path: Path) -> None:
        """A timeout and a token that are given pass; whether the time is enough stays unknown."""
        told = verdicts(tmp_path, SEND, "send.py")
        assert (told["timeout"], told["time"], told["token"]) == ("pass", "unknown", "pass")
        assert told["progress"] == told["push"] == "not applicable"

    @pytest.mark.parametrize(
        ("old", "new", "item", "verdict"),
        [
            (', timeout="4h"', "", "timeout", "fail"),
            ('"4h"', '"4 hours"', "timeout", "fail"),
            ('"4h"', "30", "time", "fail"),
            ('"4h"', "given", "timeout", "unknown"),
            ("HF_TOKEN", "OTHER", "token", "unknown"),
            ('flavor="a10g-large"', 'flavor="h100"', "hardware", "fail"),
            ('flavor="a10g-large", timeout="4h"', 'flavor="cpu-basic"', "timeout", "unknown"),
            ('secrets={"HF_TOKEN": token}', "**more", "token", "unknown"),
        ],
    )
    def test_faults(self, tmp_path: Path, old: str, new: str, item: str, verdict: str) -> None:
        """Each fault fails the item that it concerns; what is hidden is unknown."""
        assert verdicts(tmp_path, SEND.replace(old, new), "send.py")[item] == verdict

    def test_what_is_sent_is_judged(self, tmp_path: Path) -> None:
        """Of a script that lies beside, what it imports and pushes is told; its timeout and its token are the sender's."""
        (tmp_path / "train.py").write_text(HEADER + TRAIN)
        told = verdicts(tmp_path, SEND, "send.py")
        assert {told[item] for item in ("dependencies", "self-contained", "push", "timeout", "token")} == {"pass"}
        told = verdicts(tmp_path, SEND.replace(', timeout="4h"', ""), "send.py")
        assert told["timeout"] == "fail"


class TestJobFile:
    """What can be seen of a job file."""

    def test_here(self, tmp_path: Path) -> None:
        """A job on this machine with what this machine has: only what a run or a plan can show is unknown."""
        told = verdicts(tmp_path, JOB, "job.yaml")
        assert {item for item, verdict in told.items() if verdict == "unknown"} == {"known-good", "hardware"}
        assert "fail" not in told.values()

    def test_model_of_the_hub_is_unknown(self, tmp_path: Path) -> None:
        """A rule that could not be asked shows nothing, and its reason is told."""
        row = table(tmp_path, JOB.replace("builtin:tiny-chat", "Qwen/Qwen2.5-0.5B"), "job.yaml")["repositories"]
        assert row["verdict"] == "unknown"
        assert "MOD102" in row["because"]
        assert "MOD102" in [each["code"] for each in row["evidence"]]

    def test_no_timeout_elsewhere_fails(self, tmp_path: Path) -> None:
        """Another backend's own timeout is no timeout."""
        assert verdicts(tmp_path, JOB + "where: {backend: hf-jobs}\n", "job.yaml")["timeout"] == "fail"

    def test_timeout_elsewhere_passes(self, tmp_path: Path) -> None:
        """A timeout of one's own passes, and its cost is unknown."""
        told = verdicts(tmp_path, JOB + "where: {backend: hf-jobs, timeout: 4h}\n", "job.yaml")
        assert (told["timeout"], told["cost"]) == ("pass", "unknown")


class TestUnasked:
    """What was not asked shows nothing."""

    def test_left_out_rule_leaves_unknown(self, tmp_path: Path) -> None:
        """With `--ignore DEP104`, nobody knows whether all is declared."""
        row = table(tmp_path, HEADER + TRAIN, ignore=["DEP104"])["dependencies"]
        assert (row["verdict"], row["because"]) == ("unknown", "DEP104 not selected")

    def test_comment_leaves_unknown(self, tmp_path: Path) -> None:
        """What a comment lets pass does not fail, and does not pass either."""
        text = SEND.replace(', timeout="4h"', "").rstrip() + "  # holdfast: ignore[JOB104] a try\n"
        assert verdicts(tmp_path, text, "send.py")["timeout"] == "unknown"

    @given(st.sets(st.sampled_from(sorted(RULES)), max_size=20), st.sets(st.sampled_from(sorted(RULES)), max_size=20))
    def test_silence_never_passes(self, failing: set[str], skipped: set[str]) -> None:
        """Whatever is found and skipped: a finding fails its items, and where a rule was skipped nothing passes."""
        job = Document(path="job.yaml", kind="job", values={})
        found = [Finding("", "bad", rule=RULES[code], severity=Severity.WARNING) for code in failing]
        rows = checklist([job], found, [Skip(RULES[code], (), ("offline",)) for code in skipped])
        for row in rows:
            assert (row.status is ItemVerdict.FAIL) == bool(failing & {*row.item.codes})
            assert row.status is not ItemVerdict.PASS or not skipped & {*row.item.codes}
            assert row.because

    def test_remark_does_not_fail(self) -> None:
        """A finding of severity info is no objection."""
        remark = Finding("", "well", rule=RULES["JOB101"], severity=Severity.INFO)
        rows = checklist([Document(path="job.yaml", kind="job", values={})], [remark], [])
        assert all(row.status is not ItemVerdict.FAIL for row in rows)

    def test_worst_of_several_trainings_counts(self) -> None:
        """What one training of a script shows is not true of the other."""
        pushed = {"method": "sft", "train": {"push_to_hub": True}}
        documents = [Document(path="t.py", kind="script", values=values) for values in (pushed, {"method": "sft"})]
        assert status(checklist(documents, [], []), "push") is ItemVerdict.UNKNOWN
        assert status(checklist(documents[:1], [], []), "push") is ItemVerdict.PASS


def status(rows: tuple[ChecklistRow, ...], name: str) -> ItemVerdict:
    return next(row.status for row in rows if row.item.name == name)


def test_items_rest_on_rules_that_there_are() -> None:
    """Each code that an item names is a rule's, and each name is one item's."""
    assert {code for item in ITEMS for code in item.codes} <= RULES.keys()
    assert len({item.name for item in ITEMS}) == len(ITEMS)


class TestEarlier:
    """What a rehearsal and a run have shown is told, and no command is named that there is not."""

    @pytest.fixture(autouse=True)
    def own_folders(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Runs and cache of this test alone."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        monkeypatch.delenv("HOLDFAST_RUNS", raising=False)

    def known_good(self, folder: Path) -> dict[str, Any]:
        return table(folder, JOB, "job.yaml")["known-good"]

    def test_nothing_was_shown(self, tmp_path: Path) -> None:
        """It is unknown, and the command that shows it is named."""
        row = self.known_good(tmp_path)
        assert row["verdict"] == "unknown"
        assert "`holdfast rehearse" in row["because"]

    def test_rehearsal_passed(self, tmp_path: Path) -> None:
        """A rehearsal of the same job counts, and one of another does not."""
        self.known_good(tmp_path)
        program = program_of(str(tmp_path / "job.yaml"), (), ())
        mark_of(program, interpreter_of(program), input_digests(program)).make(None)
        assert self.known_good(tmp_path)["verdict"] == "pass"
        other = table(tmp_path, JOB + "seed: 7\n", "other.yaml")["known-good"]
        assert other["verdict"] == "unknown"

    @pytest.mark.parametrize(("stage", "verdict"), [(RunStage.SUCCEEDED, "pass"), (RunStage.FAILED, "unknown")])
    def test_run_ended(self, stage: RunStage, verdict: str, tmp_path: Path) -> None:
        """The newest run of the same job is named, with what became of it."""
        self.known_good(tmp_path)
        asked, runs = read_target(str(tmp_path / "job.yaml"), ()), tmp_path / "runs"
        plan = Plan(name="job", script=script_of(asked), script_name="job.yaml", cwd=str(tmp_path))
        (runs / "job-1").mkdir(parents=True)
        save_plan(runs / "job-1", plan)
        Ledger(runs).append("job-1", [RunRequested(at_s=10.0, folder="runs/job-1"), Closed(at_s=99.0, stage=stage)])
        row = self.known_good(tmp_path)
        assert row["verdict"] == verdict
        assert "job-1" in row["because"]


def test_commands_that_are_named_exist() -> None:
    """In messages, pages and docs: `holdfast plan` is none yet."""
    sources = [
        *ROOT.glob("src/holdfast/**/*.py"),
        *ROOT.glob("src/holdfast/**/*.toml"),
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/*.md"),
    ]
    named = {word for path in sources for word in re.findall(r"`holdfast ([a-z]+)\b", path.read_text(encoding="utf-8"))}
    assert named <= {*VERBS, "mcp"}


class TestFaces:
    """How it is told."""

    def test_text_has_a_line_an_item(self, tmp_path: Path) -> None:
        """The table stands above the findings, with a verdict, the item, and what makes it so."""
        path = tmp_path / "send.py"
        path.write_text(SEND.replace(', timeout="4h"', ""))
        result = CliRunner().invoke(cli, ["check", "--checklist", str(path)], standalone_mode=False)
        lines = result.output.splitlines()
        assert lines[0].startswith("checklist of ")
        assert sum(line.startswith(("pass", "fail", "unknown", "not applicable")) for line in lines) == len(ITEMS)
        assert any(line.startswith("fail") and "JOB104 line 3" in line for line in lines)
        assert "\x1b" not in result.output

    def test_json_holds_the_table(self, tmp_path: Path) -> None:
        """In JSON each target has its table, and without the option it has none; the exit code is that of check."""
        path = tmp_path / "send.py"
        path.write_text(SEND.replace(', timeout="4h"', ""))
        runner, words = CliRunner(), ["check", str(path), "--format", "json"]
        told = runner.invoke(cli, [*words, "--checklist"], standalone_mode=False)
        (target,) = json.loads(told.output)["targets"]
        assert {row["verdict"] for row in target["checklist"]} >= {"fail", "unknown"}
        assert told.return_value == 0  # a warning alone
        (target,) = json.loads(runner.invoke(cli, words, standalone_mode=False).output)["targets"]
        assert "checklist" not in target

    def test_cache_keeps_both_answers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What was kept of a check without the checklists is not taken for one with them."""
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        for name in ("a.py", "b.py"):
            (tmp_path / name).write_text(HEADER + TRAIN)
        with_them = [check([str(tmp_path)], checklist=asked)["targets"] for asked in (False, True, False)]
        assert [all("checklist" in target for target in targets) for targets in with_them] == [False, True, False]

    def test_markup_in_names_is_text(self) -> None:
        """What looks like markup is shown as it is written."""
        rows = checklist_items(
            checklist([Document(path="t.py", kind="script", values={"method": "[red]x[/]"})], [], [])
        )
        row = structs.replace(rows[0], because="nobody has looked for [bold]this[/bold]")
        assert "[bold]this[/bold]" in render_checklist("t.py", [row])


def test_rule_kinds_matter() -> None:
    """A rule about job files that was left out says nothing of a script."""
    left: list[Rule] = [rule for rule in all_rules() if rule.code == "HUB102"]
    script = Document(path="t.py", kind="script", values={"environment": {"secrets": ["HF_TOKEN"]}})
    assert status(checklist([script], [], [], left_out=left), "token") is ItemVerdict.PASS
