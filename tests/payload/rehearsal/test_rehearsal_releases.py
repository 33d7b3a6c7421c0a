"""Rehearsals in environments of older releases: what holdfast takes the place of in the libraries was otherwise then.

Each environment is made by uv, and needs a registry. What people of that time wrote passes, and no weights are downloaded.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from pathlib import Path

import pytest

from holdfast.adapters.rehearsal.server import RehearsalServer
from holdfast.app.rehearse.playing import judge_parts, run_parts
from holdfast.app.rehearse.rehearsing import make_part_request, wanted
from holdfast.app.targets.programs import program_of
from tests.helpers.hub import loopback_hub
from tests.helpers.real_world import MODELS, files_of
from tests.helpers.rehearsing import told

pytestmark = [pytest.mark.train, pytest.mark.long, pytest.mark.timeout(1800)]

UV = str(Path(sys.executable).with_name("uv"))
STACKS = {
    "0.15.2": "transformers==4.49.0 peft==0.14.0 accelerate==1.4.0 datasets==3.3.2 bitsandbytes==0.45.3",
    "0.19.1": "transformers==4.53.2 peft==0.16.0 accelerate==1.8.1 datasets==4.0.0 bitsandbytes==0.46.1",
    "0.24.0": "transformers==4.57.1 peft==0.17.1 accelerate==1.11.0 datasets==4.2.0 bitsandbytes==0.48.1",
}
"""What went with releases of trl when these came out: each finds and makes models in a way of its own."""
MODEL = "Qwen/Qwen2.5-0.5B-Instruct"
SCRIPT = """
from datasets import Dataset
from peft import AutoPeftModelForCausalLM, LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer
tokenizer = AutoTokenizer.from_pretrained("{model}")
model = AutoModelForCausalLM.from_pretrained("{model}", {given})
rows = [{{"messages": [{{"role": "user", "content": f"{{i}} plus 1?"}}, {{"role": "assistant", "content": f"{{i + 1}}."}}]}} for i in range(64)]
parts = Dataset.from_list(rows).train_test_split(0.25, seed=0)
args = SFTConfig(output_dir="out", learning_rate=1e-4, max_steps=50, eval_strategy="steps", eval_steps=10, save_steps=10, report_to="none")
lora = LoraConfig(target_modules={modules}, task_type="CAUSAL_LM")
trainer = SFTTrainer(model, args=args, train_dataset=parts["train"], eval_dataset=parts["test"], processing_class=tokenizer, peft_config=lora)
trainer.train()
trainer.save_model("out/adapter")
tokenizer.save_pretrained("out/adapter")
AutoPeftModelForCausalLM.from_pretrained("out/adapter").merge_and_unload().save_pretrained("out/merged")
"""
GIVEN = {
    "on-the-gpu": 'device_map="auto", torch_dtype="auto", low_cpu_mem_usage=True',
    "in-four-bits": 'quantization_config=BitsAndBytesConfig(load_in_4bit=True), device_map={"": 0}',
    "with-flash-attention": 'attn_implementation="flash_attention_2", torch_dtype="bfloat16"',
}
"""How the model is asked for."""


@pytest.mark.parametrize("trl", STACKS)
def test_what_was_written_for_an_older_release_passes(trl: str, tmp_path: Path) -> None:
    """Whichever way it loads its model, without its weights; modules that the model does not have are told as such."""
    for name, given in GIVEN.items():
        (tmp_path / f"{name}.py").write_text(_script(given))
    (tmp_path / "modules-of-another.py").write_text(_script(GIVEN["on-the-gpu"], modules='["query"]'))
    python = _make_environment(trl, tmp_path / "venv")
    with loopback_hub() as hub, chdir(tmp_path):
        hub.add_model(MODEL, dict(_files()))
        found = dict(_rehearse(python, sorted(tmp_path.glob("*.py")), tmp_path / "told", hub.variables))
        downloads = hub.asked(r"^GET .*model\.safetensors")

    assert found == {name: [] for name in GIVEN} | {"modules-of-another": ["model/lora-target-modules-not-found"]}
    assert downloads == []


def _script(given: str, modules: str = '["q_proj", "v_proj"]') -> str:
    return SCRIPT.format(model=MODEL, given=given, modules=modules)


def _files() -> Iterator[tuple[str, str | bytes]]:
    """Yield the model's files, with the template where releases before transformers 4.50 look for it."""
    files = dict(files_of(MODELS[MODEL]))
    template, settings = str(files["chat_template.jinja"]), json.loads(files["tokenizer_config.json"])
    yield from {**files, "tokenizer_config.json": json.dumps({**settings, "chat_template": template})}.items()


def _make_environment(trl: str, folder: Path) -> str:
    """Make an environment with a release of trl; return its Python."""
    python = str(folder / "bin" / "python")
    variables = {**os.environ, "UV_FIND_LINKS": os.environ.get("PIP_FIND_LINKS", "")}
    subprocess.run([UV, "venv", "--quiet", "--python", sys.executable, str(folder)], check=True)
    wanted_there = ["torch==2.13.0", f"trl=={trl}", *STACKS[trl].split()]
    words = [UV, "pip", "install", "--quiet", "--python", python, *wanted_there]
    subprocess.run(words, check=True, env=variables)
    return python


def _rehearse(
    python: str, scripts: Sequence[Path], folder: Path, variables: Mapping[str, str]
) -> Iterator[tuple[str, list[str]]]:
    """Yield the name of each script and what failed of it, rehearsed by one server."""
    programs = [program_of(str(each), (), ()) for each in scripts]
    modules = {module: None for each in programs for module in wanted(each)}
    (folder / "server").mkdir(parents=True)
    with RehearsalServer(
        [python], header="", wanted=[*modules], folder=folder / "server", variables=variables
    ) as server:
        server.wait_ready(600)
        for script, program in zip(scripts, programs, strict=True):
            part_request = make_part_request(program, folder / script.stem, gpu=False, offline=False)
            yield (
                script.stem,
                told(judge_parts(run_parts(server, part_request, 120, lambda _: None), (), imports_s=0.0)),
            )
