"""A reward model out of preferences."""

from datasets import load_dataset
from peft import LoraConfig
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from trl import RewardConfig, RewardTrainer

base = "Qwen/Qwen2.5-0.5B-Instruct"
tokenizer = AutoTokenizer.from_pretrained(base, use_fast=True)
model = AutoModelForSequenceClassification.from_pretrained(base, num_labels=1, dtype="float32")
model.config.pad_token_id = tokenizer.pad_token_id

args = RewardConfig(
    output_dir="qwen-reward",
    center_rewards_coefficient=0.01,
    max_length=1024,
    per_device_train_batch_size=8,
    num_train_epochs=1,
    gradient_checkpointing=True,
    learning_rate=1e-4,
    disable_dropout=True,
    eval_strategy="steps",
    eval_steps=50,
    logging_steps=25,
    report_to="none",
)
data = load_dataset("trl-lib/ultrafeedback_binarized")
trainer = RewardTrainer(
    model=model,
    args=args,
    processing_class=tokenizer,
    train_dataset=data["train"],
    eval_dataset=data["test"],
    peft_config=LoraConfig(task_type="SEQ_CLS", r=32, lora_alpha=16, modules_to_save=["score"]),
)
trainer.train()
trainer.save_model("qwen-reward")
