"""Everything that reads files which others wrote, each with good inputs to start from and the way a user reaches it."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, Final

from holdfast.app.check.target import check_target
from holdfast.app.check.target_request import TargetRequest
from holdfast.app.hub_access import HubAccess
from holdfast.core.errors import HoldfastError
from holdfast.core.run.event import Closed, Event, Reported, RunRequested, RunStage, Starting
from holdfast.core.run.requested_job import RequestedJob
from holdfast.engine.check.rule_runner import BROKEN
from tests.helpers.hostile_inputs import (
    Change,
    Choose,
    change_integers,
    change_json,
    change_python,
    change_records,
    change_safetensors,
    change_toml,
    change_yaml,
    make_input,
)

ROOT: Final = Path(__file__).parent.parent.parent
SCRIPT: Final = (
    'from trl import SFTConfig, SFTTrainer\nSFTTrainer("m", SFTConfig(output_dir="o", learning_rate=1e-5))\n'
)
HEADER: Final = '# /// script\n# requires-python = ">=3.11"\n# dependencies = ["trl==1.16.0", "peft>=0.17"]\n# [tool.uv]\n# exclude-newer = "2026-11-01T00:00:00Z"\n# ///\n'
JOB: Final = "method: sft\nmodel: m\ndataset: {path: chat.jsonl, eval_fraction: 0.2}\ntrain: {learning_rate: 2.0e-3, max_steps: 5}\npeft: {r: 16, target_modules: all-linear}\nquantization: {bits: 4}\nname: a-run\n"
CHAT: Final = b'{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}\n' * 3
ROWS: Final = b'{"prompt": "a", "completion": "b", "n": 1, "x": [1.5, null], "t": "2026-01-01"}\n{"prompt": "c", "completion": "d", "n": 2, "x": [], "t": "2026-01-02"}\n'
LINES: Final = "trl==1.16.0 --hash=sha256:ab\n-r more.txt\ntransformers>=5,<6 ; python_version > '3.10'\ngit+https://github.com/huggingface/trl@v1.0#egg=trl\n./local\n-c c.txt\n"


@dataclass(frozen=True, slots=True)
class Reader:
    """One reader.

    Attributes:
        file: What the input's file is called.
        read: Reads it, as a user would have it read; raises what the user would see.
        seeds: Gives good inputs.
        changes: What changes inputs of this format without making them unreadable.
        beside: Other files of the folder, by name.
    """

    file: str
    read: Callable[[Path], object]
    seeds: Callable[[], Sequence[bytes]]
    changes: Sequence[Change]
    beside: Mapping[str, bytes] = field(default_factory=dict[str, bytes])

    def input(self, choose: Choose) -> bytes:
        """Return a hostile input."""
        return make_input(self.seeds(), choose, self.changes)

    def place(self, folder: Path) -> Path:
        """Write the files that lie beside the input, and return where it goes."""
        for name, content in self.beside.items():
            (folder / name).write_bytes(content)
        path = folder / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        return path


def run_reader(reader: Reader, path: Path, data: bytes) -> None:
    """Have an input read. What holdfast raises on purpose is an answer like any other.

    Raises:
        Exception: The reader failed.
    """
    path.write_bytes(data)
    try:
        reader.read(path)
    except HoldfastError as error:
        str(error)


def _checked(path: Path) -> None:
    _check(TargetRequest(path=str(path), hub=HubAccess.OFFLINE))


def _check(request: TargetRequest) -> None:
    result = check_target(request, alone=True).result
    broken = [each.because for each in result.skipped if BROKEN in each.because]
    if broken:
        raise AssertionError(broken)


def _checked_beside(path: Path) -> None:
    """Check the script beside a file."""
    _checked(path.parent / "train.py")


def _checked_job(path: Path) -> None:
    """Check the job beside a file, or in the folder above it."""
    _checked(next(each for each in (path.parent / "job.yaml", path.parent.parent / "job.yaml") if each.exists()))


def _started(path: Path) -> None:
    """Check a command line whose words are a file's lines."""
    words = path.read_bytes().decode("utf-8", "surrogateescape").split("\n")
    _check(TargetRequest(path="command line", arguments=tuple(words), hub=HubAccess.OFFLINE))


def _launched(path: Path) -> None:
    """Check a command line that names a file of accelerate's."""
    words = ("accelerate", "launch", "--config_file", str(path), str(path.parent / "train.py"))
    _check(TargetRequest(path="command line", arguments=words, hub=HubAccess.OFFLINE))


def _inspected(path: Path) -> None:
    from holdfast.adapters.local.tables import read_head
    from holdfast.app.inspect.verb import inspect

    try:
        read_head(path)
    except HoldfastError as error:
        str(error)
    inspect(path, offline=True)


def _inspected_beside(path: Path) -> None:
    from holdfast.app.inspect.verb import inspect

    inspect(path.parent, offline=True)


def _diagnosed(path: Path) -> None:
    from holdfast.app.diagnose.verb import diagnose

    diagnose(path)


def _verified(path: Path) -> None:
    from holdfast.app.verify.verb import verify

    verify(path.parent)


def _listed(path: Path) -> None:
    """List the runs of a folder, and show the one whose journal a file is."""
    from holdfast.app.diagnose.verb import diagnose
    from holdfast.app.logs.verb import logs
    from holdfast.app.runs.verb import runs
    from holdfast.app.show.verb import show

    base = path.parent.parent
    for name in ("ledger.sqlite", "ledger.sqlite-wal", "ledger.sqlite-shm", "a/report.html"):
        (base / name).unlink(missing_ok=True)
    runs(runs=base)
    for ask in (show, logs, diagnose):
        try:
            ask("a", runs=base)
        except HoldfastError as error:
            str(error)


def _texts(*texts: str) -> Callable[[], Sequence[bytes]]:
    return lambda: [text.encode() for text in texts]


def _files(*patterns: str) -> Callable[[], Sequence[bytes]]:
    @cache
    def read() -> Sequence[bytes]:
        return [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))]

    return read


@cache
def _notebooks() -> Sequence[bytes]:
    cells = [
        {"cell_type": "markdown", "source": ["# a"], "metadata": {}},
        {
            "cell_type": "code",
            "source": "%pip install trl==1.16.0\n!pip install peft",
            "outputs": [],
            "execution_count": None,
        },
        {"cell_type": "code", "source": SCRIPT.splitlines(keepends=True), "outputs": [], "execution_count": 1},
    ]
    old = {"nbformat": 3, "worksheets": [{"cells": [{"cell_type": "code", "input": SCRIPT}]}]}
    return [json.dumps(each).encode() for each in ({"nbformat": 4, "metadata": {}, "cells": cells}, old)]


def _frame() -> Any:
    import polars as pl

    return pl.DataFrame(
        {
            "messages": [[{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]] * 20,
            "text": ["a", None] * 10,
            "n": list(range(20)),
            "label": pl.Series(["x", "y"] * 10, dtype=pl.Categorical),
        }
    )


@cache
def _parquets() -> Sequence[bytes]:
    made = list[bytes]()
    for options in (
        {"compression": "zstd"},
        {"compression": "uncompressed", "row_group_size": 5},
        {"use_pyarrow": True},
    ):
        file = BytesIO()
        _frame().write_parquet(file, **options)
        made.append(file.getvalue())
    return made


@cache
def _arrows() -> Sequence[bytes]:
    import polars as pl

    stream, file = BytesIO(), BytesIO()
    _frame().with_columns(pl.col("label").cast(pl.String)).write_ipc_stream(stream)
    _frame().write_ipc(file)
    return [stream.getvalue(), file.getvalue()]


@cache
def _safetensors() -> Sequence[bytes]:
    header = json.dumps(
        {
            "__metadata__": {"format": "pt"},
            "a.weight": {"dtype": "BF16", "shape": [2, 3], "data_offsets": [0, 12]},
            "b": {"dtype": "F32", "shape": [], "data_offsets": [12, 16]},
        }
    ).encode()
    return [len(header).to_bytes(8, "little") + header + bytes(16)]


@cache
def _manifests() -> Sequence[bytes]:
    files = {
        "config.json": {"bytes": 2, "sha256": "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
        "model.safetensors": {"bytes": 9, "sha256": "0" * 64},
    }
    return [json.dumps({"step": 5, "world_size": 1, "files": files}).encode()]


@cache
def _journals() -> Sequence[bytes]:
    from holdfast.core.run.event_json import event_to_json

    said: list[dict[str, Any]] = [
        {
            "event": "started",
            "step": 0,
            "config": {"learning_rate": 1e-5},
            "max_steps": 3,
            "world_size": 1,
            "versions": {"trl": "1.16.0"},
        },
        {"event": "step", "step": 1, "loss": 1.5, "eval_loss": 1.0, "at_s": 5.0},
        {"event": "checkpoint", "step": 1, "path": "x"},
        {"event": "error", "type": "ValueError", "text": "no", "traceback": "Traceback"},
        {"event": "finished", "step": 3, "metrics": {"eval_loss": 0.5}},
    ]
    events: list[Event] = [
        RunRequested(at_s=1, folder="f", about=RequestedJob(method="sft", model="m")),
        Starting(at_s=2, attempt=1, backend="local"),
        *(Reported(at_s=3.0 + n, attempt=1, said=each) for n, each in enumerate(said)),
        Closed(at_s=9, stage=RunStage.FAILED, because="it failed"),
    ]
    lines = []
    for event in events:
        kind, fields = event_to_json(event)
        lines.append(json.dumps({"kind": kind, "fields": fields}, default=str))
    return ["\n".join([*lines, ""]).encode()]


LOG: Final = """\
{'loss': 2.31, 'grad_norm': 1.2, 'learning_rate': 1e-05, 'epoch': 0.1}
 10%|#         | 1/10 [00:01<00:09,  1.00s/it]
[rank1]: Traceback (most recent call last):
[rank1]:   File "/home/u/train.py", line 12, in <module>
[rank1]:     trainer.train()
[rank1]:   File "/usr/lib/python3.11/site-packages/transformers/trainer.py", line 2500, in train
[rank1]:     return inner_training_loop(
[rank1]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.2 GiB is free. Process 1 has 77 GiB memory in use.
slurmstepd: error: Detected 1 oom_kill event in StepId=4711.batch. Some of the step tasks have been OOM Killed.
KeyError: 'messages'
The above exception was the direct cause of the following exception:
  + Exception Group Traceback (most recent call last):
  |   File "x.py", line 3, in f
  | ExceptionGroup: two (2 sub-exceptions)
  +-+---------------- 1 ----------------
    | ValueError: {"a": [1, 2]}
RuntimeError: mat1 and mat2 shapes cannot be multiplied (4x8 and 16x32)
2026-11-20 10:00:00,123 [rank0] INFO loss: nan
{"event": "step", "loss": 1.0}
"""
LOCK: Final = 'version = 1\nrequires-python = ">=3.11"\n[[package]]\nname = "trl"\nversion = "1.16.0"\nsource = { registry = "https://pypi.org/simple" }\nresolution-markers = ["python_full_version >= \'3.12\'"]\n[[package]]\nname = "transformers"\nversion = "5.23.0"\nsource = {git = "https://x"}\n'
PYPROJECT: Final = '[project]\nname = "x"\nversion = "1"\nrequires-python = ">=3.11"\ndependencies = ["trl==1.16.0", "x[a]"]\n[project.optional-dependencies]\na = ["transformers>5"]\n[dependency-groups]\ndev = [{include-group = "b"}]\nb = ["peft"]\n[tool.uv]\nconstraint-dependencies = ["torch<3"]\n[tool.uv.sources]\ntrl = { git = "https://x" }\n[tool.poetry.dependencies]\npython = "^3.11"\ntrl = {version = "^1.2", optional = true}\n[tool.holdfast]\nignore = ["DAT101"]\n'
SETUP: Final = 'from setuptools import setup\nREQ = ["trl==1.16.0"]\nsetup(name="x", install_requires=REQ + ["peft"], python_requires=">=3.11")\n'
CONDA: Final = (
    "name: x\ndependencies:\n  - python=3.11\n  - pip:\n    - trl==1.16.0\n  - conda-forge::transformers=5.1\n"
)
DOCKER: Final = "FROM python:3.11\nENV A=1\nRUN pip install -r requirements.txt trl==1.16.0 && \\\n  uv pip install 'peft>0.1'\nRUN --mount=type=cache pip install transformers\n"
SHELL: Final = '#!/bin/bash\n#SBATCH --nodes=2 --gres=gpu:8\n#SBATCH --time=1-00:00:00\nexport A="x $HOME"\nfor i in 1 2; do\naccelerate launch --num_processes 8 --config_file acc.yaml train.py --lr ${LR:-1e-5} <<EOF\nx\nEOF\ndone\ntrl sft --model_name_or_path m --dataset_name d --learning_rate 1e-5 \\\n  --output_dir o | tee x.log\ntorchrun --nproc_per_node=4 train.py\n'
MAKE: Final = (
    "LR := 1e-5\ntrain: train.py data\n\t@python $< --lr $(LR)\n\ttrl dpo --model_name_or_path m --output_dir $@\n"
)
WORDS: Final = "accelerate\nlaunch\n--num_processes\n8\ntrain.py\n--learning_rate\n1e-5"
TRL: Final = "trl\nsft\n--config\nconfig.yaml\n--model_name_or_path\nm\n--bf16\n--num_train_epochs=3\n--lora_target_modules\na\nb"
UV: Final = "uv\nrun\n--with\ntrl==1.16.0\n--python\n3.11\ntrain.py"
ACCELERATE: Final = "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\ndeepspeed_config:\n  zero_stage: 3\nmixed_precision: bf16\nnum_machines: 1\nnum_processes: 8\nfsdp_config:\n  fsdp_version: 2\n"
DEEPSPEED: Final = '{"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}}, "train_batch_size": "auto", "bf16": {"enabled": true}, "optimizer": {"type": "AdamW", "params": {"lr": "auto"}}}'
AXOLOTL: Final = "base_model: m\ndatasets:\n  - path: a/b\n    type: chat_template\n    split: train\nadapter: qlora\nload_in_4bit: true\nlora_r: 8\nlearning_rate: 1e-5\nmicro_batch_size: 2\nrl: dpo\n"
FACTORY: Final = "model_name_or_path: m\nstage: sft\ndo_train: true\nfinetuning_type: lora\ndataset: a,b\ntemplate: qwen\ncutoff_len: 2048\nlearning_rate: 1e-4\nbf16: true\n"
CONFIG: Final = '{"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 2048, "eos_token_id": [1, 2], "rope_scaling": {"rope_type": "yarn", "factor": 4.0}, "quantization_config": {"quant_method": "bitsandbytes", "load_in_4bit": true}, "auto_map": {"AutoModel": "x.Y"}, "tie_word_embeddings": false, "text_config": {"hidden_size": 8}}'
TOKENIZER: Final = '{"tokenizer_class": "LlamaTokenizerFast", "chat_template": [{"name": "default", "template": "{% for m in messages %}{{ m.content }}{% endfor %}"}], "eos_token": {"content": "</s>"}, "added_tokens_decoder": {"1": {"content": "</s>", "special": true}}, "model_max_length": 1000000000000000019884624838656}'
ADAPTER: Final = '{"peft_type": "LORA", "base_model_name_or_path": "m", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj"], "modules_to_save": null, "task_type": "CAUSAL_LM"}'
GENERATION: Final = '{"eos_token_id": [1], "temperature": 0.7, "do_sample": true, "max_length": 20}'
INDEX: Final = '{"metadata": {"total_size": 16}, "weight_map": {"a.weight": "model-00001-of-00001.safetensors"}}'
CARD: Final = "---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: data/*.jsonl\n  default: true\ndataset_info:\n  features:\n  - name: messages\n    list:\n    - name: role\n      dtype: string\n  splits:\n  - name: train\n    num_examples: 3\n---\n# x\n"
WITH_MODEL: Final[Mapping[str, bytes]] = {
    "job.yaml": b"method: sft\nmodel: m\ndataset: chat.jsonl\npeft: {r: 8}\n",
    "chat.jsonl": CHAT,
}
PYTHON: Final = (change_python,)
TREE: Final = (change_json,)
BINARY: Final = (change_integers,)
BESIDE: Final[Mapping[str, bytes]] = {"train.py": SCRIPT.encode()}


def _declared(file: str, *texts: str, changes: Sequence[Change]) -> Reader:
    return Reader(file, _checked_beside, _texts(*texts), changes, BESIDE)


def _of_model(file: str, text: str) -> Reader:
    return Reader(f"m/{file}", _checked_job, _texts(text), TREE, WITH_MODEL)


def _settings(read: Callable[[Path], object], file: str, text: str, *changes: Change) -> Reader:
    script = f'from trl import SFTConfig, SFTTrainer\nSFTTrainer("m", SFTConfig(output_dir="o", deepspeed="{file}"))\n'
    return Reader(file, read, _texts(text), changes, {"train.py": script.encode()})


READERS: Final[Mapping[str, Reader]] = {
    "script": Reader("t.py", _checked, _files("benchmarks/good/*.py", "examples/**/*.py"), PYTHON),
    "script-header": Reader("t.py", _checked, _texts(HEADER + SCRIPT), (change_records,)),
    "notebook": Reader("t.ipynb", _checked, _notebooks, TREE),
    "command-line": Reader("words", _started, _texts(WORDS, TRL, UV), (change_records,), {"train.py": SCRIPT.encode(), "config.yaml": b"learning_rate: 1e-5\n"}),
    "shell-script": Reader("t.sh", _checked, _texts(SHELL), (change_records,), BESIDE),
    "makefile": Reader("t.mk", _checked, _texts(MAKE), (change_records,), BESIDE),
    "job-file": Reader("job.yaml", _checked, _texts(JOB), (change_yaml, change_records), {"chat.jsonl": CHAT}),
    "recipe": Reader("recipe.yaml", _checked, _texts(AXOLOTL, FACTORY), (change_yaml, change_records)),
    "accelerate-config": Reader("acc.yaml", _launched, _texts(ACCELERATE), (change_yaml, change_records), BESIDE),
    "deepspeed-config": _settings(_checked_beside, "ds.json", DEEPSPEED, change_json),
    "pyproject": _declared("pyproject.toml", PYPROJECT, changes=(change_toml, change_records)),
    "lock": _declared("uv.lock", LOCK, changes=(change_toml, change_records)),
    "requirements": _declared("requirements.txt", LINES, changes=(change_records,)),
    "setup-py": _declared("setup.py", SETUP, changes=PYTHON),
    "setup-cfg": _declared("setup.cfg", "[options]\ninstall_requires =\n  trl==1.16.0\n  peft\npython_requires = >=3.11\n", changes=(change_records,)),
    "pipfile": _declared("Pipfile", '[packages]\ntrl = "==1.16.0"\npeft = {version = "*", extras = ["a"]}\n[requires]\npython_version = "3.11"\n', changes=(change_toml, change_records)),
    "conda-environment": _declared("environment.yml", CONDA, changes=(change_yaml, change_records)),
    "dockerfile": _declared("Dockerfile", DOCKER, changes=(change_records,)),
    "jsonl": Reader("d.jsonl", _inspected, lambda: [CHAT, ROWS], TREE),
    "json": Reader("d.json", _inspected, lambda: [b"[" + b",".join(ROWS.split(b"\n")[:2]) + b"]", json.dumps(json.loads(CHAT.split(b"\n")[0]), indent=1).encode() * 2], TREE),
    "csv": Reader("d.csv", _inspected, _texts('prompt,completion,n\n"a, b",c,1\nd,"e\n""f""",2\n', "text\nx\ny\n"), (change_records,)),
    "text": Reader("d.txt", _inspected, _texts("a\nb\n"), (change_records,)),
    "parquet": Reader("d.parquet", _inspected, _parquets, BINARY),
    "arrow": Reader("d.arrow", _inspected, _arrows, BINARY),
    "dataset-card": Reader("README.md", _inspected_beside, _texts(CARD), (change_yaml, change_records), {"d.jsonl": CHAT}),
    "config": _of_model("config.json", CONFIG),
    "tokenizer-config": _of_model("tokenizer_config.json", TOKENIZER),
    "adapter-config": _of_model("adapter_config.json", ADAPTER),
    "generation-config": _of_model("generation_config.json", GENERATION),
    "weights-index": _of_model("model.safetensors.index.json", INDEX),
    "safetensors": Reader("m/model.safetensors", _checked_job, _safetensors, (change_safetensors, change_integers), WITH_MODEL),
    "log": Reader("t.log", _diagnosed, lambda: [LOG.encode(), *_files("examples/mistakes/*.out")()], (change_records, change_json)),
    "manifest": Reader("checkpoint-5/holdfast-manifest.json", _verified, _manifests, TREE),
    "journal": Reader("a/ledger.jsonl", _listed, _journals, TREE),
}  # fmt: skip
