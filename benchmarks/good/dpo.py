"""Preference optimization with a reference model and evaluation."""

from datasets import load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer

name = "Qwen/Qwen2-0.5B-Instruct"
model = AutoModelForCausalLM.from_pretrained(name, dtype="bfloat16")
reference = AutoModelForCausalLM.from_pretrained(name, dtype="bfloat16")
tokenizer = AutoTokenizer.from_pretrained(name)

train = load_dataset("trl-lib/ultrafeedback_binarized", split="train")
test = load_dataset("trl-lib/ultrafeedback_binarized", split="test")

training_args = DPOConfig(
    output_dir="qwen-dpo",
    beta=0.1,
    loss_type=["sigmoid"],
    label_smoothing=0.0,
    max_length=1024,
    per_device_train_batch_size=4,
    per_device_eval_batch_size=4,
    gradient_accumulation_steps=2,
    learning_rate=5e-7,
    num_train_epochs=1,
    eval_strategy="epoch",
    save_strategy="epoch",
    load_best_model_at_end=True,
    metric_for_best_model="eval_loss",
    logging_steps=25,
    report_to=["none"],
)
trainer = DPOTrainer(
    model=model,
    ref_model=reference,
    args=training_args,
    train_dataset=train,
    eval_dataset=test,
    processing_class=tokenizer,
)
trainer.train()
metrics = trainer.evaluate()
trainer.log_metrics("eval", metrics)
trainer.save_metrics("eval", metrics)
