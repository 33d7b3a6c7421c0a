"""Where scripts with injected faults run: the environment each needs, its arguments, and which ask for a prepared machine."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from tests.helpers.hub import LoopbackHub, Scope

OFFLINE = "offline"
HUB = "hub"
"""As `me`, who may write."""
NOBODY = "hub without a token"
WRONG = "hub with a token of nobody's"
READER = "hub with a token that may not write"
HOMELESS = "a home of caches that cannot be made"
PLACES = {
    "hf_home_readonly": HOMELESS,
    "push_token_missing_401": NOBODY,
    "push_bad_token": WRONG,
    "push_preupload_403": READER,
    **dict.fromkeys(
        (
            "hub_model_revision_missing",
            "hub_dataset_bad_split",
            "hub_500_resolve",
            "hub_503_api",
            "hub_429",
            "hub_hang",
            "jobs_404_script",
        ),
        HUB,
    ),
}
"""Where a script runs that is no `OFFLINE` one."""
TROUBLE = {"hub_500_resolve": ("/resolve/", 500), "hub_503_api": ("/api/", 503), "hub_429": ("", 429)}
"""Requests that the Hub refuses, and how."""
BEYOND = {
    "a process of its own that a signal ends": ("sigkill_midrun", "sigterm_midrun", "sigint_midrun", "sigkill_during_save", "sigint_midrun2", "sigterm_jit"),
    "a full disk, few files or little memory": ("disk_full", "inode_full", "shm_small_workers", "nofile_limit", "ulimit_v", "cgroup_oom_dataloader", "disk_full_save_limit"),
    "several processes": (
        "dist_rank_dies_exc", "dist_rank_sigkill", "dist_rank_hang", "dist_shape_mismatch", "dist_op_mismatch", "trl_ddp_ok", "trl_ddp_rank_dies",
        "trl_ddp_rank_hang", "torchrun_peer_missing", "trl_ddp2_rank_dies", "trl_ddp2_rank_sigkill", "trl_ddp2_restart", "trl_ddp_silent_independent",
    ),
    "a reader of its output that goes away, or another job in its folder": ("stdout_closed", "two_jobs_one_output"),
    "commits, which a rehearsal does not send": ("push_commit_500", "push_commit_hang"),
    "the Hub's Jobs, which train nothing here": ("jobs_402", "jobs_timeout_short", "jobs_secret_missing"),
    "a tracker, which a rehearsal leaves out": ("trackio_space",),
    "an environment without PEFT": ("peft_missing",),
    "weights, which are not read": ("nan_weights_filter_off",),
    "knowledge of what the better answer is": ("dpo_swapped",),
    "releases in which rows of a pack see one another": ("packing_sdpa",),
}  # fmt: skip
"""What cannot be shown in a rehearsal on this machine, by what it takes."""
REASONS = {name: reason for reason, names in BEYOND.items() for name in names}


def variables_of(place: str, hub: LoopbackHub) -> Mapping[str, str]:
    """Return the environment variables of a place."""
    if place in (OFFLINE, HOMELESS):
        return {"HF_HUB_OFFLINE": "1"} | ({"HF_HOME": "/proc/nope"} if place == HOMELESS else {})
    return hub.variables | {
        NOBODY: {"HF_TOKEN": ""},
        WRONG: {"HF_TOKEN": "hf_wrong"},
        READER: {"HF_TOKEN": "hf_reader"},
    }.get(place, {})


def stock(hub: LoopbackHub, work: Path) -> None:
    """Put on the Hub what the scripts load from there."""
    hub.add_organization("org")
    hub.add_token("hf_reader", role="fineGrained", scopes=(Scope("user", "me", ("repo.content.read",)),))
    hub.add_model("org/tiny", {each.name: each.read_bytes() for each in (work / "tiny").iterdir()})
    rows = "".join(
        f'{{"messages": [{{"role": "user", "content": "{i}?"}}, {{"role": "assistant", "content": "{i}."}}]}}\n'
        for i in range(32)
    )
    hub.add_dataset("org/chat", {"train.jsonl": rows.encode()})


def trouble(hub: LoopbackHub, name: str) -> None:
    """Let go wrong what goes wrong for a script."""
    hub.heal()
    if name in TROUBLE:
        pattern, status = TROUBLE[name]
        hub.fail(pattern, status=status)
    elif name == "hub_hang":
        hub.hang("")


def arguments_of(name: str, world: Path) -> tuple[str, ...]:
    """Return the arguments of a script: the folder that it writes to, in which there may be something already."""
    if name == "resume_true_picks_corrupt":
        shutil.copytree(world / "work" / "ck_trunc_model", folder := world / f"out-{name}", dirs_exist_ok=True)
        for newer in folder.glob("checkpoint-8"):
            shutil.rmtree(newer)
    if name == "output_dir_readonly":
        (world / "closed").write_text("no folder")  # for the one who may write everywhere, as tests often are
        return ("closed/out",)
    return (f"out-{name}",)
