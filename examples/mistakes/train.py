"""A script in the style of tutorials from 2024. The releases that it declares do not accept it."""

# /// script
# dependencies = ["trl==1.16.0", "transformers==5.23.0"]
# ///

from datasets import load_dataset
from trl import SFTConfig, SFTTrainer

args = SFTConfig(
    output_dir="capybara",
    max_seq_length=1024,
)
rows = load_dataset("trl-lib/Capybara", split="train")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
trainer.train()
