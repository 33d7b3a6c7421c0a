"""A GPU that a job will have and this machine has not: scripts find it, and what needs it is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.rehearsal_parts import Played, play
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = [pytest.mark.train, pytest.mark.long]

PARTS = ("guards", "devices")


def script(place: Path, source: str, *, preloaded: tuple[str, ...] = (), **order: Any) -> Played:
    """Run a script whose job has a GPU."""
    home = {"HF_HOME": str(place / "home")}
    variables = order.pop("variables", {})
    return play(place, source, PARTS, home | variables, before=preloaded, **order)


SEEN = """
import torch
print(torch.cuda.is_available(), torch.cuda.device_count(), torch.cuda.is_bf16_supported(), torch.cuda.get_device_capability())
print(torch.cuda.get_device_properties(0).total_memory > 2**36, torch.cuda.mem_get_info()[0] > 2**36, torch.cuda.current_device())
print(torch.cuda.memory_allocated(), torch.cuda.max_memory_reserved(), bool(torch.cuda.get_device_name(0)))
from transformers.utils import is_torch_cuda_available
print(is_torch_cuda_available())
"""
PLACES = """
import io, torch
from torch import nn
x, linear = torch.randn(2, 3), nn.Linear(3, 3)
state = io.BytesIO(); torch.save(x, state); state.seek(0)
torch.cuda.set_device(0); torch.cuda.empty_cache(); torch.cuda.synchronize(); torch.cuda.manual_seed_all(0)
torch.backends.cuda.matmul.allow_tf32 = True
where = [
    x.to("cuda"), x.to("cuda:0"), x.to(0), x.to(torch.device("cuda")), x.to(device="cuda", dtype=torch.bfloat16), x.cuda(),
    x.cuda(non_blocking=True), linear.to("cuda")(x.cuda()), linear.cuda().weight, linear.to(device=torch.device("cuda", 0)).weight,
    torch.zeros(3, device="cuda"), torch.tensor([1], device="cuda"), torch.as_tensor([1.0], device=0), torch.randperm(3, device="cuda"),
    torch.randint(0, 3, (3,), device="cuda"), torch.arange(3, device="cuda"), torch.full((2,), 1.0, device="cuda"),
    torch.ones_like(x, device="cuda"), torch.empty(2, device="cuda"), x.new_zeros(3, device="cuda"), x.new_tensor([3], device="cuda"),
    nn.Linear(3, 3, device="cuda").weight, nn.Linear(3, 3, device="meta").to_empty(device="cuda").weight, torch.eye(2, device="cuda"),
    torch.load(state, map_location="cuda"), x.pin_memory().to("cuda", non_blocking=True), torch.linspace(0, 1, 3, device="cuda:0"),
]
print({str(each.device) for each in where})
with torch.device("cuda"):
    print(nn.Linear(2, 2).weight.device, torch.tensor([1]).device)
torch.set_default_device("cuda")
print(torch.ones(2).device, torch.tensor([1]).device, torch.rand(2, generator=torch.Generator(device="cuda")).device)
torch.set_default_device("cpu")
with torch.autocast("cuda", dtype=torch.float16):
    print(linear(x).dtype)
with torch.cuda.amp.autocast():
    print(linear(x).dtype)
scaler = torch.amp.GradScaler("cuda")
scaler.scale(linear(x).sum()).backward()
begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
begin.record(); end.record(); torch.cuda.synchronize(); print(begin.elapsed_time(end) > 0)
with torch.cuda.stream(torch.cuda.Stream()), torch.cuda.device(0):
    torch.cuda.current_stream().wait_stream(torch.cuda.Stream())
print(isinstance(torch.default_generator, torch.Generator), isinstance(torch.Generator(), torch.Generator))
"""


@pytest.mark.parametrize("preloaded", [(), ("torch", "transformers.trainer")])
def test_a_script_sees_a_gpu_and_libraries_do_not(tmp_path: Path, preloaded: tuple[str, ...]) -> None:
    """What scripts ask before they choose types and batch sizes is answered as on a large GPU."""
    done = script(tmp_path, SEEN, preloaded=preloaded)
    assert done.printed == ["True 1 True (8, 0)", "True True 0", "0 0 True", "False"], done.errors
    assert done.not_rehearsed == ["CUDA"]


@pytest.mark.parametrize("preloaded", [(), ("torch",)])
def test_moves_end_at_the_processor(tmp_path: Path, preloaded: tuple[str, ...]) -> None:
    """Every way to put something on a GPU leaves it usable."""
    done = script(tmp_path, PLACES, preloaded=preloaded)
    bfloat = "torch.bfloat16"
    assert done.printed == ["{'cpu'}", "cpu cpu", "cpu cpu cpu", bfloat, bfloat, "True", "True True"], done.errors
    assert done.not_rehearsed == ["CUDA"]


def test_a_misspelt_device_is_refused(tmp_path: Path) -> None:
    """What is no device raises what it raises."""
    done = script(tmp_path, "import torch\ntorch.zeros(1).to('cudo')")
    assert "Expected one of cpu, cuda" in done.errors


MACHINE_WITH_A_GPU = """
import functools, os, torch
@functools.cache
def is_available():
    return os.environ.get("CUDA_VISIBLE_DEVICES") != ""
torch.cuda.is_available = is_available
torch.cuda.device_count = lambda: 2 if os.environ.get("CUDA_VISIBLE_DEVICES") != "" else 0
"""


def test_the_gpu_of_this_machine_is_left_alone(tmp_path: Path) -> None:
    """A rehearsal without `--gpu` plays the GPU that a job will have, also where there is one."""
    (tmp_path / "machine.py").write_text(MACHINE_WITH_A_GPU)
    asks = SEEN + "import os\nprint(os.environ.get('CUDA_VISIBLE_DEVICES'))"
    variables = {"PYTHONPATH": str(tmp_path), "CUDA_VISIBLE_DEVICES": "1"}
    done = script(tmp_path, asks, preloaded=("torch", "machine"), variables=variables)
    assert done.printed == ["True 1 True (8, 0)", "True True 0", "0 0 True", "False", "1"], done.errors


def test_nothing_is_replaced_without_a_gpu(tmp_path: Path) -> None:
    """A job on a processor fails as it will."""
    done = script(tmp_path, "import torch\nprint(torch.cuda.is_available())\ntorch.zeros(1).to('cuda')", gpu="none")
    assert done.printed == ["False"]
    assert "Torch not compiled with CUDA enabled" in done.errors or "No CUDA" in done.errors
    assert done.not_rehearsed == []


SETTINGS = """
import json
from transformers import TrainingArguments
from trl import GRPOConfig, SFTConfig
def told(kind, **settings):
    try:
        args = kind("out", report_to="none", **settings)
        return [args.bf16, args.fp16, args.mixed_precision, args.optim.value, str(args.device), bool(args.deepspeed), bool(args.fsdp)]
    except Exception as error:
        return f"{type(error).__name__}: {error}"
for name, kind, settings in CASES:
    print(json.dumps([name, told(globals()[kind], **settings)]))
"""
BF16 = [True, False, "bf16", "adamw_torch_fused", "cpu", False, False]
FINE: list[tuple[str, str, dict[str, Any], list[Any]]] = [
    ("default", "SFTConfig", {}, BF16),
    ("bf16", "TrainingArguments", {"bf16": True}, BF16),
    ("fp16", "TrainingArguments", {"fp16": True}, BF16),
    ("tf32", "SFTConfig", {"tf32": True}, BF16),
    ("compile", "SFTConfig", {"torch_compile": True, "torch_compile_mode": "max-autotune"}, BF16),
    ("fsdp", "SFTConfig", {"fsdp": "full_shard auto_wrap"}, BF16),
    ("ddp", "SFTConfig", {"ddp_backend": "nccl", "ddp_find_unused_parameters": False}, BF16),
    ("offload", "SFTConfig", {"activation_offloading": True}, BF16),
    ("full eval", "TrainingArguments", {"bf16": True, "bf16_full_eval": True}, BF16),
    ("fp32", "SFTConfig", {"bf16": False}, [False, False, "no", *BF16[3:]]),
    ("on purpose", "SFTConfig", {"use_cpu": True}, BF16),
]
REFUSED: list[tuple[str, str, dict[str, Any], str]] = [
    ("both", "TrainingArguments", {"bf16": True, "fp16": True}, "At most one of fp16 and bf16"),
    ("optimizer", "SFTConfig", {"optim": "adamw_8bits"}, "is not a valid OptimizerNames"),
    ("no deepspeed", "SFTConfig", {"deepspeed": "none.json"}, "deepspeed|DeepSpeed|none.json"),
    ("no fsdp file", "SFTConfig", {"fsdp": "full_shard", "fsdp_config": "none.json"}, "none.json"),
]


def test_settings_of_a_gpu(tmp_path: Path) -> None:
    """Settings that need a GPU pass, those that are wrong anywhere are refused, and what is not shown is named."""
    cases = [list(each[:3]) for each in (*FINE, *REFUSED)]
    done = script(tmp_path, f"CASES = {cases!r}\n{SETTINGS}")
    told = dict(json.loads(line) for line in done.printed)
    assert {name: told[name] for name, *_ in FINE} == {name: expected for name, _, _, expected in FINE}, done.errors
    for name, _, _, said in REFUSED:
        assert any(part in told[name] for part in said.split("|")), told[name]
    assert {"bf16 without a GPU", "tf32=True", "fp16=True", "torch_compile=True", "ddp_backend='nccl'"} <= set(
        done.not_rehearsed
    )
    asked = {each["setting"]: each["asked"] for each in done.facts("replaced")}
    assert asked["fp16"] == "True"


TRAINING = """
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, pipeline
from trl import SFTConfig, SFTTrainer
from peft import LoraConfig
assert torch.cuda.is_available()
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
model = AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.bfloat16).to(device)
rows = Dataset.from_dict({"text": ["1 plus 1 equals 2."] * 8})
args = SFTConfig("out", max_steps=2, report_to="none", max_length=32, tf32=True, gradient_checkpointing=True, **SETTINGS)
trainer = SFTTrainer(model, args=args, train_dataset=rows, eval_dataset=rows, peft_config=LoraConfig(r=4, modules_to_save=["lm_head"]))
trainer.train(); trainer.evaluate()
tokenizer = AutoTokenizer.from_pretrained(FOLDER)
inputs = tokenizer("1 plus", return_tensors="pt").to("cuda")
print(len(trainer.model.generate(**inputs, max_new_tokens=3)[0]))
print(len(pipeline("text-generation", model=FOLDER, device=0)("1", max_new_tokens=2)))
"""


@pytest.mark.parametrize("settings", [{}, {"fp16": True, "optim": "adamw_torch"}])
def test_training_for_a_gpu(tmp_path: Path, tiny: Path, settings: dict[str, Any]) -> None:
    """A script written for a GPU alone trains, evaluates and generates, its types mixed as they will be."""
    done = script(tmp_path, f"FOLDER = {str(tiny)!r}\nSETTINGS = {settings!r}\n{TRAINING}")
    assert done.code == 0, done.errors
    assert done.printed[-1] == "1"


HALF = """
from datasets import Dataset
from trl import SFTConfig, SFTTrainer
rows = Dataset.from_dict({"text": ["1 plus 1 equals 2."] * 8})
args = SFTConfig("out", max_steps=1, report_to="none", max_length=32, fp16=True, per_device_train_batch_size=2)
trainer = SFTTrainer(FOLDER, args=args, train_dataset=rows)
trainer.train()
print(trainer.accelerator.scaler, next(trainer.model.parameters()).dtype)
"""


def test_half_precision_without_a_gpu_trains(tmp_path: Path, tiny: Path) -> None:
    """As it does in reality: in float32. Nothing is refused for it, and it is named."""
    parts = (*PARTS, "trainers")
    done = play(tmp_path, f"FOLDER = {str(tiny)!r}\n{HALF}", parts, {"HF_HOME": str(tmp_path / "home")}, gpu="none")
    assert done.printed[-1] == "None torch.float32", done.errors
    assert not [each for each in done.told if each["event"] == "fault"]
    assert "fp16=True" in done.not_rehearsed


def test_accelerate_without_a_trainer(tmp_path: Path) -> None:
    """A loop of the script's own with fp16, a process group of NCCL, and torch.compile."""
    source = """
import os, torch
from accelerate import Accelerator
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK=os.environ["RANK"], WORLD_SIZE=os.environ["WORLD_SIZE"])
torch.distributed.init_process_group("nccl", init_method=f"file://{os.getcwd()}/meet" if False else None, store=torch.distributed.HashStore(), rank=0, world_size=1)
print(torch.distributed.get_world_size(), torch.distributed.get_backend(), os.environ["LOCAL_RANK"], torch.cuda.device_count())
torch.distributed.destroy_process_group()
for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"):
    os.environ.pop(name)
accelerator = Accelerator(mixed_precision="fp16")
model = torch.nn.Linear(2, 2)
model, optimizer = accelerator.prepare(model, torch.optim.AdamW(model.parameters()))
loss = torch.compile(model)(torch.ones(1, 2, device=accelerator.device)).sum()
accelerator.backward(loss); optimizer.step(); print(loss.item() == loss.item())
"""
    ranks = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4"}
    done = script(tmp_path, source, variables=ranks)
    assert done.printed == ["1 gloo 0 4", "True"], done.errors
    assert {"several processes", "NCCL", "fp16", "torch.compile"} <= set(done.not_rehearsed)
