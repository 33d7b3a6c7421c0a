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
SETTINGS = (*LAUNCHED, *FORMATTED)
DOUBTED_SETTINGS: dict[str, str] = {}
