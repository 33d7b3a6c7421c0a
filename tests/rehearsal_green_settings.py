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
SETTINGS = (*LAUNCHED,)
DOUBTED_SETTINGS: dict[str, str] = {}
