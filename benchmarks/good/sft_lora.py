"""Supervised fine-tuning with LoRA on chat data, pushed to the Hub and tracked."""

import trackio
from datasets import load_dataset
from peft import LoraConfig
from trl import SFTConfig, SFTTrainer

dataset = load_dataset("trl-lib/Capybara", split="train")
splits = dataset.train_test_split(test_size=0.1, seed=42)

config = SFTConfig(
    output_dir="qwen-capybara",
    push_to_hub=True,
    hub_model_id="someone/qwen-capybara",
    hub_strategy="every_save",
    num_train_epochs=3,
    per_device_train_batch_size=4,
    gradient_accumulation_steps=4,
    learning_rate=2e-5,
    lr_scheduler_type="cosine",
    warmup_steps=0.1,
    max_length=2048,
    packing=True,
    logging_steps=10,
    eval_strategy="steps",
    eval_steps=100,
    save_strategy="steps",
    save_steps=100,
    save_total_limit=2,
    report_to="trackio",
    project="capybara",
    run_name="lora-16",
    seed=42,
)
lora = LoraConfig(
    r=16, lora_alpha=32, lora_dropout=0.05, bias="none", task_type="CAUSAL_LM", target_modules="all-linear"
)

trainer = SFTTrainer(
    model="Qwen/Qwen2.5-0.5B",
    args=config,
    train_dataset=splits["train"],
    eval_dataset=splits["test"],
    peft_config=lora,
)
trainer.train()
trainer.save_model("qwen-capybara")
trainer.push_to_hub(dataset_name="trl-lib/Capybara")
print(trackio.__version__)
