"""Preference optimization with an adapter in a function with defaults."""

from datasets import load_dataset
from peft import LoraConfig, TaskType
from transformers import AutoTokenizer, set_seed
from trl import DPOConfig, DPOTrainer


def train(model_id="HuggingFaceTB/SmolLM2-360M-Instruct", beta=0.05):
    set_seed(7)
    adapter = LoraConfig(task_type=TaskType.CAUSAL_LM, r=8, lora_alpha=16, use_rslora=True)
    options = dict(
        output_dir="smol-dpo",
        max_steps=200,
        learning_rate=1e-5,
        lr_scheduler_type="linear",
        warmup_steps=20,
        weight_decay=0.01,
        max_grad_norm=1.0,
    )
    args = DPOConfig(beta=beta, loss_type=["ipo"], precompute_ref_log_probs=True, **options)
    trainer = DPOTrainer(
        model=model_id,
        args=args,
        train_dataset=load_dataset("argilla/distilabel-intel-orca-dpo-pairs", split="train[:2000]"),
        processing_class=AutoTokenizer.from_pretrained(model_id),
        peft_config=adapter,
    )
    return trainer.train()


train()
