"""An adapter put on a model by hand, trained with transformers, merged and pushed."""

from datasets import load_dataset
from huggingface_hub import HfApi
from peft import LoraConfig, PeftModel, PromptTuningConfig, get_peft_model
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    DataCollatorForLanguageModeling,
    Trainer,
    TrainingArguments,
)

tokenizer = AutoTokenizer.from_pretrained("gpt2")
tokenizer.pad_token = tokenizer.eos_token
base = AutoModelForCausalLM.from_pretrained("gpt2", low_cpu_mem_usage=True)
config = LoraConfig(
    r=8, lora_alpha=16, target_modules=["c_attn"], lora_dropout=0.1, bias="none", fan_in_fan_out=True, use_dora=False
)
prompt = PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=8)
model = get_peft_model(base, config, adapter_name="default")
model.print_trainable_parameters()

data = load_dataset("Salesforce/wikitext", "wikitext-2-raw-v1", split="train[:10%]")
data = data.map(lambda rows: tokenizer(rows["text"], truncation=True, max_length=128), batched=True)

args = TrainingArguments(
    output_dir="gpt2-lora",
    per_device_train_batch_size=8,
    num_train_epochs=1,
    learning_rate=1e-3,
    logging_steps=10,
    save_strategy="no",
    report_to="none",
    label_names=["labels"],
    max_grad_norm=1.0,
    adam_epsilon=1e-8,
)
trainer = Trainer(
    model=model,
    args=args,
    train_dataset=data,
    data_collator=DataCollatorForLanguageModeling(tokenizer=tokenizer, mlm=False),
)
trainer.train()
model.save_pretrained("gpt2-lora")
merged = PeftModel.from_pretrained(base, "gpt2-lora").merge_and_unload()
merged.push_to_hub("someone/gpt2-lora", private=True)
HfApi().upload_folder(repo_id="someone/gpt2-lora", folder_path="gpt2-lora", commit_message="adapter")
