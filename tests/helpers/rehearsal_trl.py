"""TRL's own scripts, by their command lines and by their files, on rows of the right shape."""

from importlib.util import find_spec
from pathlib import Path

from tests.helpers.rehearsal_jobs import Job, line

TRL = find_spec("trl")
SCRIPTS = Path(str(TRL.origin if TRL else "")).parent / "scripts"
ROWS = {
    "sft": '{{"messages": [{{"role": "user", "content": "{i}?"}}, {{"role": "assistant", "content": "It is {i}."}}]}}\n',
    "dpo": '{{"prompt": "{i}?", "chosen": "It is {i}.", "rejected": "No."}}\n',
    "kto": '{{"prompt": "{i}?", "completion": "It is {i}.", "label": {label}}}\n',
    "reward": '{{"chosen": "{i}? It is {i}.", "rejected": "{i}? No."}}\n',
    "grpo": '{{"prompt": [{{"role": "user", "content": "{i}?"}}], "solution": "{i}"}}\n',
}
ROWS["rloo"] = ROWS["grpo"]
MORE = {
    "grpo": "--reward_funcs think_format_reward --num_generations 4 --per_device_train_batch_size 4 --max_completion_length 32"
}
MORE["rloo"] = MORE["grpo"]
VARIANTS = {
    "packing": "sft --packing --max_length 64",
    "peft": "sft --use_peft --lora_r 8 --lora_alpha 16",
    "evaluated": "sft --eval_strategy steps --eval_steps 5",
    "dpo-peft": "dpo --use_peft --eval_strategy epoch",
    "reward-peft": "reward --use_peft --lora_task_type SEQ_CLS",
    "grpo-peft": "grpo --use_peft",
    "pushed": "sft --push_to_hub --hub_model_id me/line",
}


def _files(method: str) -> dict[str, str]:
    def rows(numbers: range) -> str:
        return "".join(ROWS[method].format(i=i, label=str(bool(i % 2)).lower()) for i in numbers)

    return {f"rows/{method}/train.jsonl": rows(range(40)), f"rows/{method}/test.jsonl": rows(range(40, 50))}


def _words(method: str, more: str) -> str:
    usual = f"--model_name_or_path work/tiny --dataset_name rows/{method} --output_dir out/trl --report_to none"
    return f"{usual} {MORE.get(method, '')} {more}"


def _line(name: str, words: str, fails: str = "") -> Job:
    method, _, more = words.partition(" ")
    return line(name, f"trl {method} {_words(method, more)}", fails, files=_files(method))


LINES = [_line(f"trl-{name}", words) for name, words in ({method: method for method in ROWS} | VARIANTS).items()]
PATHS = [
    Job(
        name=f"file-{name}",
        source="",
        target=str(SCRIPTS / f"{name}.py"),
        arguments=tuple(_words(name, "").split()),
        files=_files(name),
    )
    for name in ROWS
]
FOUR_BITS = _line("trl-four-bits", "sft --load_in_4bit --use_peft", "model/bnb-requires-newer-or-gpu")
"""Fails where bitsandbytes is not installed, as it is not where tests run."""
OFFICIAL = {each.name: each for each in (*LINES, *PATHS, FOUR_BITS)}
