"""`holdfast explain`: a page fits on a screen, an area and the index list what there is, and keys have examples."""

import json
import re

import pytest
from click import unstyle

from holdfast import explain
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.app.explain.verb import names
from holdfast.cli.main import run_command
from holdfast.cli.text.markdown import WIDTH, render_markdown
from holdfast.core.errors import UsageError
from holdfast.core.job_file.job import Job, all_keys
from holdfast.rules import AREAS, all_rules
from holdfast.signatures import all_signatures

SCREEN = 50  # lines
SHARED = {rule.name for rule in all_rules()} & {each.name for each in all_signatures()}
FIXTURES = re.compile(r"calls\.\d|Seen\(|objects to:|^\*\w+: ", re.MULTILINE)
NEEDED = {"method": "sft", "model": "m", "dataset": "d"}


@pytest.mark.parametrize("name", [*(rule.code for rule in all_rules()), *(each.name for each in all_signatures())])
def test_a_page_fits_on_a_screen(name: str) -> None:
    """About 40 lines of 100 characters, in the user's words: no fixture of a test, and no key that no file has."""
    page = unstyle(render_markdown(explain(name)["text"]))
    lines, prose = page.splitlines(), re.sub(r"^```.*?^```$", "", page, flags=re.MULTILINE | re.DOTALL)

    assert len(lines) <= (2 * SCREEN if name in SHARED else SCREEN)
    assert not FIXTURES.search(page)
    assert "\n## " in page
    assert max(map(len, prose.splitlines())) <= WIDTH


def test_the_page_of_a_rule_has_what_a_linters_has(capsys: pytest.CaptureFixture[str]) -> None:
    """What, why, an example with what is said of it, what to write instead, the fix, since when, and what it rests on."""
    assert run_command(["explain", "CMB105"]) == 0
    page = capsys.readouterr().out

    for part in (
        "## What it does",
        "## Why is this bad",
        "## Example",
        "## Use instead",
        "## Fix safety",
        "## References",
    ):
        assert part in page
    assert "Severity: error" in page
    assert "Since: holdfast 0.1.0" in page
    assert "# line 12: `SFTTrainer` of trl 1.16.0 raises ValueError" in page
    assert "-    peft_config=lora,\n" in page


def test_what_is_no_rule_has_a_page_too() -> None:
    """SYN001 stands in findings like a rule's code."""
    assert "exit code 2" in explain("SYN001")["text"]


def test_areas_and_the_index_list_every_rule_and_class() -> None:
    """By an area's three letters, and all of them without a name."""
    codes = {rule.code for rule in all_rules()}
    listed = {code for area in AREAS for code in re.findall(r"^- (\w+) ", explain(area)["text"], re.MULTILINE)}
    index = explain()["text"]

    assert listed == codes
    assert codes <= set(re.findall(r"^- (\w+) ", index, re.MULTILINE))
    assert all(f"- {each.name}: " in index for each in all_signatures())


@pytest.mark.parametrize(
    ("meant", "wrong"),
    [
        ("ARG101", "AGR101"),
        ("ARG", "arq"),
        ("renamed-argument", "renamed_argument"),
        ("cuda-oom-eval", "cuda-oom-evl"),
        ("dataset.rows", "datset.rows"),
    ],
)
def test_a_misspelt_name_gets_the_nearest(meant: str, wrong: str) -> None:
    """Whatever can be explained: a code, an area, a rule's name, a class, a key."""
    assert meant in names()
    with pytest.raises(UsageError) as raised:
        explain(wrong)
    assert f"did you mean `{meant}`?" in raised.value.fix


def test_the_beginning_of_several_codes_gets_them_all() -> None:
    """`ARG11` is no slip of one of them."""
    with pytest.raises(UsageError) as raised:
        explain("arg11")
    assert "`ARG110`, `ARG111`" in raised.value.fix
    assert "`ARG119`" in raised.value.fix


@pytest.mark.parametrize("code", ["ARG999", "arg190", "DST001"])
def test_the_number_of_no_rule_is_meant_for_no_other(code: str) -> None:
    with pytest.raises(UsageError, match=f"nothing is called '{code}'") as raised:
        explain(code)
    assert raised.value.fix == f"`holdfast explain {code[:3].upper()}` lists the rules of this area"


def test_explain_takes_a_name_or_all(capsys: pytest.CaptureFixture[str]) -> None:
    """Neither, or both, is a wrong question."""
    assert run_command(["explain"]) == run_command(["explain", "ARG101", "--all"]) == 2
    assert run_command(["explain", "--all", "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rules"]) == len(all_rules())


def test_each_key_of_a_job_has_its_type_its_default_and_an_example() -> None:
    """An example is a line of YAML that gives the key, and a job may say it."""
    text = explain("job")["text"]
    for key in all_keys():
        told = re.search(rf"^- `{re.escape(key)}` \((.+)\): \S.*\n  - `(.+)`$", text, re.MULTILINE)
        assert told, key
        value = dict(JobFileReader().read(told[2], "job.yaml").values)
        assert next(iter(value)) == key.split(".")[0]
        assert key.split(".")[-1] in json.dumps(value)
        Job.model_validate({**NEEDED, **value})
    assert "- `recover.attempts` (whole number above 0, default 3): " in text
    assert "- `method` (sft, dpo, grpo, reward, kto or rloo, required): " in text


def test_an_argument_that_is_passed_on_has_its_classes() -> None:
    """With the type and the default that each method's class gives it; what no class takes gets the nearest."""
    text = explain("train.learning_rate")["text"]

    assert "- `trl.SFTConfig` (float, default 2.0e-05)" in text
    assert "- `trl.DPOConfig`, `trl.GRPOConfig`, `trl.KTOConfig`, `trl.RLOOConfig` (float, default 1.0e-06)" in text
    assert "cosine_with_restarts" in explain("train.lr_scheduler_type")["text"]
    with pytest.raises(UsageError) as raised:
        explain("train.learnin_rate")
    assert "did you mean `train.learning_rate`?" in raised.value.fix


def test_one_key_is_explained_with_those_under_it() -> None:
    """`dataset` has eleven, and no others are told."""
    listed = re.findall(r"^- `([\w.]+)`", explain("dataset")["text"], re.MULTILINE)

    assert "dataset.rows" in listed
    assert all(key.split(".")[0] == "dataset" for key in listed)


@pytest.mark.parametrize(
    ("name", "key"), [("sft", "method"), ("GRPO", "method"), ("job.peft", "peft"), ("job.train", "train")]
)
def test_methods_and_keys_after_the_word_job_are_explained(name: str, key: str) -> None:
    assert explain(name) == explain(key)
