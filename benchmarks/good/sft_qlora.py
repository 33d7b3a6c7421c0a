"""Supervised fine-tuning of a model in four bits, with its own loading and a tokenizer."""

import torch
from datasets import load_dataset
from peft import LoraConfig, prepare_model_for_kbit_training
from transformers import AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from trl import SFTConfig, SFTTrainer

MODEL = "meta-llama/Llama-3.2-1B"


def load():
    quantization = BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_compute_dtype=torch.bfloat16,
        bnb_4bit_use_double_quant=True,
    )
    model = AutoModelForCausalLM.from_pretrained(
        MODEL, quantization_config=quantization, device_map={"": 0}, attn_implementation="sdpa"
    )
    return prepare_model_for_kbit_training(model, use_gradient_checkpointing=True)


def main():
    tokenizer = AutoTokenizer.from_pretrained(MODEL)
    tokenizer.pad_token = tokenizer.eos_token
    data = load_dataset("philschmid/dolly-15k-oai-style", split="train")
    args = SFTConfig(
        output_dir="llama-dolly",
        max_steps=500,
        per_device_train_batch_size=2,
        gradient_accumulation_steps=8,
        gradient_checkpointing=True,
        gradient_checkpointing_kwargs={"use_reentrant": False},
        optim="paged_adamw_8bit",
        learning_rate=1e-4,
        bf16=True,
        max_length=1024,
        completion_only_loss=False,
        logging_steps=5,
        save_strategy="epoch",
        report_to="none",
        dataloader_num_workers=2,
    )
    peft_config = LoraConfig(
        r=64, lora_alpha=16, lora_dropout=0.1, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM"
    )
    trainer = SFTTrainer(
        model=load(), args=args, train_dataset=data, processing_class=tokenizer, peft_config=peft_config
    )
    trainer.train(resume_from_checkpoint=False)
    trainer.save_model(args.output_dir)
    tokenizer.save_pretrained(args.output_dir)


if __name__ == "__main__":
    main()
