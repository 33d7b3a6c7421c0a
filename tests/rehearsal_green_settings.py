"""Jobs whose settings make a good start of no use, and beside each those that look like them and are as they should be."""

from tests.rehearsal_jobs import Job, job

RANKED = """
import os
rank, local, size = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"]), int(os.environ["WORLD_SIZE"])
assert (rank, local, size) == (0, 0, 1)
"""
GROUPED = """
import os, torch
torch.distributed.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
"""
LAUNCHED: tuple[Job, ...] = (
    job("reads-its-rank", "SFT", top=RANKED),
    job("joins-a-group", "SFT", top=GROUPED),
)
PAIRS = '{"question": str(i), "answer": str(i + 1)}'
FORMATS = """
def to_text(example):
    texts = []
    for i in range(len(example["question"])):
        texts.append(f"Q: {{example['question'][i]}} A: {{example['answer'][i]}}")
    return {}
"""
FORMATTED: tuple[Job, ...] = tuple(
    job(name, "SFT", fails, top=FORMATS.format(returned), row=PAIRS, given="formatting_func=to_text")
    for name, fails, returned in (
        ("formats-a-batch", "tokenize/user-code-error", "texts"),
        ("formats-a-record", "tokenize/user-code-error", '{"text": texts[0]}'),
        ("formats-a-row", "", "texts[0]"),
    )
)
OWN_OPTIMIZER = """
import torch
model = AutoModelForCausalLM.from_pretrained("work/tiny")
class Prodigy(torch.optim.AdamW):
    def __init__(self, parameters, lr):
        super().__init__(parameters, lr=lr / 1000)
        self.param_groups[0]["lr"] = lr / 1000
"""
NOISY = """
class Own(SFTTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        return 100 * super().compute_loss(model, inputs, return_outputs, **kwargs)
"""
RATES: tuple[Job, ...] = (
    job("an-exponent-is-lost", "SFT", "step/lr-too-high-divergence", settings="learning_rate=2.0"),
    job("an-exponent-is-lost-of-pairs", "DPO", "step/lr-too-high-divergence", settings="learning_rate=1e6"),
    job("half-a-step", "SFT", "step/lr-too-high-divergence", settings="learning_rate=0.5"),
    job("a-rate-beyond-sgd", "SFT", "step/lr-too-high-divergence", settings='learning_rate=300.0, optim="sgd"'),
    job("a-rate-of-sgd", "SFT", settings='learning_rate=2.0, optim="sgd"'),
    job("a-high-rate-of-an-adapter", "SFT", settings="learning_rate=5e-3", given="peft_config=LoraConfig(r=8)"),
    job(
        "a-rate-of-a-scale-of-its-own",
        "SFT",
        top=OWN_OPTIMIZER,
        model="model",
        given="optimizers=(Prodigy(model.parameters(), lr=1.0), None)",
    ),
    job("a-loss-of-another-scale", "SFT", top=NOISY, kind="Own", settings="learning_rate=1e-2"),
)
SETTINGS = (*LAUNCHED, *FORMATTED, *RATES)
DOUBTED_SETTINGS: dict[str, str] = {}
