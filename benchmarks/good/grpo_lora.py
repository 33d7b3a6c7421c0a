"""Group relative policy optimization with an adapter, in a class of one's own."""

import os

from datasets import load_dataset
from peft import LoraConfig
from trl import GRPOConfig, GRPOTrainer

os.environ["WANDB_PROJECT"] = "gsm8k"


class Run:
    def __init__(self, output="gsm8k-grpo"):
        self.args = GRPOConfig(
            output_dir=output,
            run_name="lora",
            learning_rate=5e-6,
            adam_beta2=0.99,
            weight_decay=0.1,
            warmup_steps=0.1,
            lr_scheduler_type="cosine",
            optim="adamw_torch_fused",
            logging_steps=1,
            per_device_train_batch_size=4,
            gradient_accumulation_steps=4,
            num_generations=4,
            max_completion_length=256,
            num_train_epochs=1,
            save_steps=100,
            max_grad_norm=0.1,
            report_to="wandb",
        )
        self.adapter = LoraConfig(r=16, lora_alpha=64, task_type="CAUSAL_LM", lora_dropout=0.05)

    def start(self):
        data = load_dataset("openai/gsm8k", "main", split="train")
        data = data.map(lambda row: {"prompt": [{"role": "user", "content": row["question"]}]})
        trainer = GRPOTrainer(
            model="Qwen/Qwen2.5-1.5B-Instruct",
            reward_funcs=self.reward,
            args=self.args,
            train_dataset=data,
            peft_config=self.adapter,
        )
        trainer.train()
        trainer.save_state()

    @staticmethod
    def reward(completions, answer, **kwargs):
        return [float(a.split("####")[-1].strip() in c[0]["content"]) for c, a in zip(completions, answer)]


if __name__ == "__main__":
    Run().start()
