"""Optimization by unpaired judgements."""

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import KTOConfig, KTOTrainer

model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2-0.5B-Instruct", dtype="auto", trust_remote_code=False)
tokenizer = AutoTokenizer.from_pretrained("Qwen/Qwen2-0.5B-Instruct")
train_dataset = load_dataset("trl-lib/kto-mix-14k", split="train")

training_args = KTOConfig(
    output_dir="qwen-kto",
    beta=0.1,
    desirable_weight=1.0,
    undesirable_weight=1.33,
    loss_type="kto",
    max_length=1024,
    per_device_train_batch_size=4,
    gradient_accumulation_steps=8,
    learning_rate=5e-7,
    lr_scheduler_type="cosine",
    logging_steps=10,
    save_strategy="no",
    remove_unused_columns=False,
)
trainer = KTOTrainer(model=model, args=training_args, processing_class=tokenizer, train_dataset=train_dataset)
trainer.train()
trainer.save_model(training_args.output_dir)
