"""What circulating pages say and is no longer true is found in a script that follows them, with what to write instead.

The claims and their numbers: the list of stale claims, each tried against trl 1.16, transformers 5.23 and huggingface_hub
2.4. Those that are no matter of a script are left out: names of an agent's tools (1, 36), prices (23), accounts (24), the
pages' own programs (26, 37), what is no fault (14, 17, 18, 31), what only the data shows (6, in part), and what nothing in
a script tells of (12, 28).
"""

from pathlib import Path

import pytest

from holdfast.app.check.target import check_target
from holdfast.app.check.target_request import TargetRequest
from holdfast.core.check.finding import Severity

HEADER = """# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0", "peft", "trackio", "datasets==5.2.0", "huggingface-hub==2.4.0", "torch"]
# ///
"""
TRAINING = """from datasets import load_dataset
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, SFTConfig, SFTTrainer

rows = load_dataset("trl-lib/Capybara", split="train")
"""
SFT = (
    TRAINING
    + 'trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", train_dataset=rows, args=SFTConfig(output_dir="out", {}))\n'
)
DPO = SFT.replace("SFT", "DPO")
GRPO = SFT.replace("SFT", "GRPO").replace("train_dataset", "reward_funcs=[score], train_dataset")
JOB = "from huggingface_hub import run_uv_job\n\nrun_uv_job({})\n"
LOAD = 'from transformers import AutoModelForCausalLM\n\nmodel = AutoModelForCausalLM.from_pretrained("m", {})\n'
HUB = "from huggingface_hub import HfApi\n\napi = HfApi()\n{}\n"
CLAIMS = [
    ("2", SFT.format("warmup_ratio=0.1"), "ARG101", "`warmup_steps`"),
    ("3", "import trackio\n" + SFT.format('report_to="trackio"') + "trainer.train()\ntrackio.finish()\n", "TRK101", "remove it"),
    ("4", 'import trackio\ntrackio.init(project="mine")\n' + SFT.format('report_to="trackio"') + "trainer.train()\n", "TRK102", "use the config's `project`"),
    ("5", JOB.format('"https://raw.githubusercontent.com/huggingface/trl/main/examples/scripts/grpo.py", timeout="2h"'), "REP104", "a tag or a commit"),
    ("6", TRAINING + 'GRPOTrainer(model="m", train_dataset=rows, args=GRPOConfig())\n', "RWD101", "`reward_funcs`"),
    ("7", JOB.format('"train.py", dependencies=["trl"], flavor="a10g-largex2", timeout="2h"'), "DST101", "one"),
    ("8", SFT.format('eval_strategy="steps"'), "EVL101", "`eval_dataset`"),
    ("9", JOB.format('"train.py", timeout="2h", secrets={"HF_TOKEN": "$HF_TOKEN"}'), "HUB106", "`get_token()`"),
    ("10", 'from huggingface_hub import snapshot_download\n\nsnapshot_download("me/m", allow_patterns=["last-checkpoint/*"])\n' + SFT.format('push_to_hub=True, hub_model_id="me/m", hub_strategy="every_save"'), "HUB105", "checkpoint"),
    ("11a", TRAINING + 'SFTTrainer(model="m", train_dataset=rows, resume_from_checkpoint="out/checkpoint-1")\n', "ARG107", "train(resume_from_checkpoint="),
    ("11b", SFT.format('resume_from_checkpoint="out/checkpoint-1"') + "trainer.train()\n", "ARG111", "trainer.train(resume_from_checkpoint="),
    ("13a", SFT.format("max_seq_length=512"), "ARG101", "`max_length`"),
    ("13b", SFT.format('evaluation_strategy="no"'), "ARG101", "`eval_strategy`"),
    ("13c", SFT.format("overwrite_output_dir=True"), "ARG105", "never read it"),
    ("13d", SFT.format('logging_dir="logs"'), "ARG105", "TENSORBOARD_LOGGING_DIR"),
    ("13e", SFT.format("save_safetensors=True"), "ARG105", "weights"),
    ("13f", SFT.format("group_by_length=True"), "ARG101", "train_sampling_strategy"),
    ("13g", SFT.format("no_cuda=True"), "ARG101", "`use_cpu`"),
    ("13h", SFT.format("jit_mode_eval=True"), "ARG105", "removed in transformers 5.0.0"),
    ("13i", SFT.format('push_to_hub_model_id="m"'), "ARG101", "`hub_model_id`"),
    ("13j", SFT.format('push_to_hub_organization="o"'), "ARG105", "removed in transformers 5.0.0"),
    ("13k", SFT.format('push_to_hub_token="t"'), "ARG101", "`hub_token`"),
    ("13l", DPO.format("max_prompt_length=512"), "ARG105", "prompts are no longer cut"),
    ("13m", GRPO.format("max_prompt_length=512"), "ARG105", "prompts are no longer cut"),
    ("13n", TRAINING + 'SFTTrainer(model="m", train_dataset=rows, tokenizer=None)\n', "ARG101", "`processing_class`"),
    ("15", LOAD.format('torch_dtype="auto"'), "ARG109", "`dtype`"),
    ("16a", LOAD.format("low_cpu_mem_usage=True"), "ARG111", "but ignores it"),
    ("16b", LOAD.format('dtype="auto"') + 'model.save_pretrained("out", safe_serialization=True)\n', "ARG111", "but ignores it"),
    ("19", SFT.format("gradient_checkpointing=True"), "ARG109", "`activation_checkpointing`"),
    ("20", SFT.format('run_name="first"'), "TRK104", "`report_to`"),
    ("21", 'import trackio\n\ntrackio.init(project="p", run_name="first")\n', "ARG101", "`name`"),
    ("22", JOB.format('"train.py", flavor="h100", timeout="2h"'), "JOB107", "no flavor 'h100'"),
    ("25a", HUB.format('api.get_job("x")'), "ARG115", "`inspect_job()`"),
    ("25b", HUB.format('api.get_job_logs("x")'), "ARG115", "`fetch_job_logs()`"),
    ("27", 'import subprocess\n\nsubprocess.run(["cmake", "-B", "build", "-S", "llama.cpp"], check=True)\n', "DEP114", "cmake"),
    ("29", 'import os\n\nos.environ["HF_HUB_ENABLE_HF_TRANSFER"] = "1"\nimport huggingface_hub\n', "DEP113", "HF_XET_HIGH_PERFORMANCE=1"),
    ("30", HUB.format('api.upload_file("a", "b", "user/repo")'), "ARG113", "path_or_fileobj="),
    ("32a", "from trl import PPOTrainer\n", "IMP101", "last release with it: 1.12.0"),
    ("32b", "from trl import ORPOTrainer\n", "IMP103", "from trl.experimental"),
    ("32c", "from trl.experimental.bco import BCOTrainer\n", "IMP102", "last release with it: 1.13.0"),
    ("34", 'from datasets import load_dataset\n\nload_dataset("x", trust_remote_code=True)\n', "ARG111", "but ignores it"),
    ("35", "import torch\nimport transformers\n\nscaler = torch.cuda.amp.GradScaler()\n", "PRC107", "`torch.amp.GradScaler"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "code", "told"), [claim[1:] for claim in CLAIMS], ids=[claim[0] for claim in CLAIMS])
def test_a_script_that_follows_a_stale_claim_is_told_so(tmp_path: Path, text: str, code: str, told: str) -> None:
    """The finding is there, once, and says what to write instead."""
    script = tmp_path / "train.py"
    script.write_text(HEADER + text, encoding="utf-8")
    findings = check_target(TargetRequest(path=str(script))).result.findings

    assert [told in finding.message for finding in findings if finding.code == code] == [True], findings


def test_unsloth_beside_the_newest_trl_is_told_of(tmp_path: Path) -> None:
    """Claim 33: the newest Unsloth takes no such TRL, and an old one comes instead."""
    script = tmp_path / "train.py"
    script.write_text(
        HEADER.replace('"peft"', '"unsloth"') + "from unsloth import FastLanguageModel\n", encoding="utf-8"
    )
    findings = check_target(TargetRequest(path=str(script))).result.findings

    assert "pip installs a release of 2025" in next(each.message for each in findings if each.code == "DEP115")


def test_what_is_true_today_is_left_alone(tmp_path: Path) -> None:
    """The same script without the claims has nothing that is wrong."""
    script = tmp_path / "train.py"
    script.write_text(HEADER + SFT.format("warmup_steps=0.1, seed=1"), encoding="utf-8")
    findings = check_target(TargetRequest(path=str(script))).result.findings

    assert [finding for finding in findings if finding.severity is not Severity.INFO] == []
