"""The presets of `trl-jobs`, which its launcher still sends: each is found to fail, for the two arguments that are gone."""

from importlib.metadata import distribution
from pathlib import Path

import pytest

from holdfast.adapters.targets import read_target
from holdfast.app.check.programs import check
from holdfast.app.hub_access import HubAccess, open_outside
from holdfast.core.check.finding import Severity
from holdfast.engine.check.rule_runner import severity_of
from holdfast.rules import all_rules

PRESETS = sorted(Path(str(file.locate())) for file in distribution("trl-jobs").files or () if file.suffix == ".yaml")
REQUIREMENTS = "trl==1.16.0\ntransformers==5.23.0\n"


@pytest.mark.parametrize("preset", PRESETS, ids=lambda path: path.stem)
def test_a_preset_is_found_to_fail(preset: Path, tmp_path: Path) -> None:
    """Beside versions of today, both removed arguments are named where they stand, each with what to do, and no other."""
    (tmp_path / "requirements.txt").write_text(REQUIREMENTS, encoding="utf-8")
    path = tmp_path / preset.name
    path.write_text(preset.read_text(encoding="utf-8"), encoding="utf-8")
    asked = read_target(str(path))
    checked = check(asked, tuple(all_rules()), "catalog", open_outside(asked.document, HubAccess.OFFLINE))
    errors = [finding for finding in checked.findings if severity_of(finding) is Severity.ERROR]
    lines = path.read_text(encoding="utf-8").splitlines()

    assert {finding.rule.code if finding.rule else "": finding.message for finding in errors} == {
        "ARG101": "`SFTConfig` of trl 1.16.0, transformers 5.23.0 takes no `warmup_ratio`: renamed to `warmup_steps`, "
        "removed in transformers 5.15.0; `warmup_steps` below 1 is a part of all steps",
        "ARG105": "`SFTConfig` of trl 1.16.0, transformers 5.23.0 takes no `overwrite_output_dir`: removed in "
        "transformers 5.0.0; the trainer never read it",
    }
    assert {lines[(finding.place.line or 0) - 1].partition(":")[0] for finding in errors if finding.place} == {
        "warmup_ratio",
        "overwrite_output_dir",
    }
    assert all(finding.fix and finding.fix.safe for finding in errors)


def test_all_presets_are_there() -> None:
    """A release with others would need another look."""
    assert len(PRESETS) == 19
