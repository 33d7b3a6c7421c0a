"""What depends on a version branch, on a package that replaces TRL's classes, or on options that are not shown is a skip, no pass."""

from pathlib import Path

import pytest

from holdfast import check

VERSION = "import trl\nfrom packaging import version\nfrom trl import SFTConfig\n\n"
NEW = "version.parse(trl.__version__) >= version.parse('0.20')"
UNSLOTH = "try:\n    import unsloth\nexcept ImportError:\n    unsloth = None\n"
OLD_NAME = "SFTConfig(output_dir='out', max_seq_length=8)"


def skipped(tmp_path: Path, files: dict[str, str]) -> dict[str, str]:
    """Return the reasons of the skips of `train.py`, by rule; it has no findings."""
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    told = check(str(tmp_path / "train.py"), offline=True, cache=False)
    (target,) = told["targets"]
    assert not target["findings"]
    return {each["code"]: each["because"] for each in target["skipped"]}


@pytest.mark.parametrize(
    "text",
    [
        f"if {NEW}:\n    pass\nelse:\n    {OLD_NAME}\n",
        f"config = SFTConfig(output_dir='out') if {NEW} else {OLD_NAME}\n",
        f"def make():\n    if {NEW}:\n        return SFTConfig(output_dir='out', max_length=8)\n    return {OLD_NAME}\n\nmake()\n",
    ],
)
def test_an_old_argument_in_a_version_branch_is_not_called_right(tmp_path: Path, text: str) -> None:
    assert "version" in skipped(tmp_path, {"train.py": VERSION + text})["ARG101"]


def test_an_import_in_a_version_branch_is_not_called_right(tmp_path: Path) -> None:
    text = f"{VERSION}if {NEW}:\n    from trl import GoneTrainer\n"
    assert any(code.startswith("IMP") for code in skipped(tmp_path, {"train.py": text}))


def test_a_helper_that_may_import_a_patching_package_does_not_silence_a_script(tmp_path: Path) -> None:
    helper = f"{UNSLOTH}\n\ndef greet():\n    return 1\n"
    script = f"from trl import SFTConfig\nfrom util import greet\n\ngreet()\n{OLD_NAME}\n"
    because = skipped(tmp_path, {"util.py": helper, "train.py": script})["ARG101"]
    assert because == "unsloth replaces TRL's classes"


@pytest.mark.parametrize(
    "text",
    [
        f"if {NEW}:\n    SFTConfig(output_dir='out', max_length=8)\n",
        f"if False:\n    {OLD_NAME}\n",
        f"try:\n    SFTConfig(output_dir='out', max_length=8)\nexcept TypeError:\n    {OLD_NAME}\n",
    ],
)
def test_what_is_right_or_is_the_other_way_of_what_was_tried_is_no_question(tmp_path: Path, text: str) -> None:
    assert "ARG101" not in skipped(tmp_path, {"train.py": VERSION + text})


def test_a_finding_of_the_same_rule_is_told_alone(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{VERSION}{OLD_NAME}\nif not {NEW}:\n    {OLD_NAME}\n")
    told = check(str(tmp_path / "train.py"), offline=True, cache=False)
    (target,) = told["targets"]
    assert [each["line"] for each in target["findings"] if each["code"] == "ARG101"] == [5]
    assert "ARG101" not in {each["code"] for each in target["skipped"]}


@pytest.mark.parametrize("options", ["...", "… --bf16 true", "$ARGS"])
def test_options_that_a_command_does_not_show_are_not_called_missing(tmp_path: Path, options: str) -> None:
    (tmp_path / "train.sh").write_text(f"trl sft {options}\n")
    told = check(str(tmp_path / "train.sh"), offline=True, cache=False)
    (target,) = told["targets"]
    assert not target["findings"]
    assert "ARG112" in {each["code"] for each in target["skipped"]}


def test_the_program_after_options_that_are_not_shown_is_still_found(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"from trl import SFTConfig\n\n{OLD_NAME}\n")
    (tmp_path / "go.sh").write_text("accelerate launch ... train.py\n")
    told = check(str(tmp_path / "go.sh"), offline=True, cache=False)
    assert "ARG101" in {each["code"] for target in told["targets"] for each in target["findings"]}


TWO_PRECISIONS = "from trl import SFTConfig\nSFTConfig(output_dir='out', fp16=True, bf16=True)\n"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (TWO_PRECISIONS, "PRC102"),
        (TWO_PRECISIONS.replace("SFT", "GRPO"), "PRC102"),
        (TWO_PRECISIONS.replace("from trl", "from transformers").replace("SFTConfig", "TrainingArguments"), "PRC102"),
        (TWO_PRECISIONS.replace("fp16=True, bf16=True", "load_best_model_at_end=True, eval_strategy='no'"), None),
        (
            TWO_PRECISIONS.replace("fp16=True, bf16=True", "dataloader_prefetch_factor=2, dataloader_num_workers=0"),
            "CMB103",
        ),
        (TWO_PRECISIONS.replace("fp16=True, bf16=True", "max_seq_length=8"), None),
        (TWO_PRECISIONS.replace("fp16=True, ", ""), None),
    ],
)
def test_what_the_own_constructor_refuses_is_an_error_under_unsloth_too(
    tmp_path: Path, text: str, code: str | None
) -> None:
    """Unsloth's config calls the constructor of TRL's with the arguments that are written; what it may change is not judged."""
    (tmp_path / "train.py").write_text(f"import unsloth\n{text}")
    (target,) = check(str(tmp_path / "train.py"), offline=True, cache=False)["targets"]
    errors = [each["code"] for each in target["findings"] if each["severity"] != "info"]
    assert errors == ([code] if code else [])
