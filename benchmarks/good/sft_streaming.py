"""Supervised fine-tuning on a stream, with settings out of dictionaries and the environment."""

import os

from accelerate import Accelerator, PartialState
from datasets import load_dataset
from huggingface_hub import login
from trl import SFTConfig, SFTTrainer

COMMON = {
    "learning_rate": 3e-4,
    "lr_scheduler_type": "constant_with_warmup",
    "warmup_steps": 100,
    "weight_decay": 0.0,
}

if os.environ.get("HF_TOKEN"):
    login(token=os.environ["HF_TOKEN"], add_to_git_credential=False)

stream = load_dataset("HuggingFaceFW/fineweb-edu", name="sample-10BT", split="train", streaming=True)
accelerator = Accelerator(gradient_accumulation_steps=1, mixed_precision="no")

config = SFTConfig(
    output_dir=os.environ.get("OUTPUT", "out"),
    dataset_text_field="text",
    max_steps=5000,
    max_length=512,
    per_device_train_batch_size=8,
    save_steps=1000,
    logging_steps=20,
    logging_first_step=True,
    dataset_num_proc=None,
    padding_free=False,
    completion_only_loss=None,
    dataloader_pin_memory=True,
    model_init_kwargs={"dtype": "bfloat16", "attn_implementation": "eager"},
    eos_token="<|endoftext|>",
    **COMMON,
)
trainer = SFTTrainer(model="HuggingFaceTB/SmolLM2-135M", args=config, train_dataset=stream)
if PartialState().is_main_process:
    print(accelerator.num_processes)
trainer.train()
