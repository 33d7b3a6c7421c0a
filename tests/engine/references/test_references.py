"""What a job names outside itself is found wherever it stands, and what it writes or keeps on the machine is left alone."""

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from holdfast.adapters.readers.command_line import read_commands
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.foreign import find_reader
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.settings import read_settings
from holdfast.adapters.targets.commands import read_line_documents
from holdfast.core.check.reference import Reference
from holdfast.core.job.document import Document
from holdfast.engine.references import references
from holdfast.engine.references.table import AUTO_PEFT, BUILDERS, FUNCTIONS, OTHER_MODEL, SETTINGS, TRAINER

IMPORTS = """from datasets import load_dataset
from huggingface_hub import HfApi, create_repo, hf_hub_download, login, run_uv_job, snapshot_download, upload_folder
from peft import AutoPeftModelForCausalLM, PeftModel
from transformers import AutoConfig, AutoModelForCausalLM, AutoProcessor, AutoTokenizer, TrainingArguments
from trl import DPOTrainer, GRPOTrainer, ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser
import os, sys, trackio
"""


def of_script(body: str) -> tuple[Reference, ...]:
    return references(read_script(IMPORTS + body, "train.py")[0])


def of_job(text: str) -> tuple[Reference, ...]:
    return references(JobFileReader().read(text, "job.yaml"))


def of_command(text: str) -> tuple[Reference, ...]:
    (line,) = read_commands(text, "run.sh")
    document = command_document(line, text, "run.sh")
    assert document
    return references(document)


def of_foreign(text: str, path: str = "recipe.yaml") -> tuple[Reference, ...]:
    document = read_settings(text, path)
    reader = find_reader(document.values)
    assert reader
    return references(reader(document))


def told(found: tuple[Reference, ...]) -> list[tuple[Any, ...]]:
    """Each as role, name and what else is asked for of it."""
    return [
        (each.role, each.name, *filter(None, (each.revision, each.config, each.split, *each.files))) for each in found
    ]


CALLS: list[tuple[str, list[tuple[str, ...]]]] = [
    ('load_dataset("a/b")', [("dataset", "a/b")]),
    ('load_dataset(path="a/b", name="en", split="train")', [("dataset", "a/b", "en", "train")]),
    ('load_dataset("a/b", "en", None, None, "test")', [("dataset", "a/b", "en", "test")]),
    ('load_dataset("a/b", revision="v1", split=["train", "test"])', [("dataset", "a/b", "v1", "train+test")]),
    ('load_dataset("a/b", data_files={"train": ["x.json", "y.json"]})', [("dataset", "a/b", "x.json", "y.json")]),
    ('load_dataset("a/b", data_dir="en", data_files="x.json")', [("dataset", "a/b", "en/x.json")]),
    ('load_dataset("a/b", data_dir="en/")', [("dataset", "a/b", "en/**")]),
    ('AutoModelForCausalLM.from_pretrained("a/b", revision="v1")', [("model", "a/b", "v1")]),
    ('AutoModelForCausalLM.from_pretrained("a/b", subfolder="x")', [("model", "a/b", "x/**")]),
    ('AutoModelForCausalLM.from_pretrained("a/b-GGUF", gguf_file="m.gguf")', [("file", "a/b-GGUF", "m.gguf")]),
    ('AutoTokenizer.from_pretrained(pretrained_model_name_or_path="a/b")', [("tokenizer", "a/b")]),
    ('AutoProcessor.from_pretrained("a/b")', [("tokenizer", "a/b")]),
    ('AutoConfig.from_pretrained("a/b")', [("file", "a/b", "config.json")]),
    ('PeftModel.from_pretrained(model, "a/b")', [("adapter", "a/b")]),
    ('AutoPeftModelForCausalLM.from_pretrained("a/b")', [("adapter", "a/b")]),
    ('hf_hub_download("a/b", "x.json", subfolder="y", revision="v1")', [("file", "a/b", "v1", "y/x.json")]),
    ('snapshot_download("a/b", allow_patterns="*.json")', [("file", "a/b", "*.json")]),
    ('create_repo("me/x", repo_type="dataset")', [("target", "me/x")]),
    ('upload_folder(folder_path="out", repo_id="me/x")', [("target", "me/x")]),
    ('HfApi().upload_file(path_or_fileobj="x", path_in_repo="x", repo_id="me/x")', [("target", "me/x")]),
    ('load_dataset("a/b").push_to_hub("me/x")', [("dataset", "a/b"), ("target", "me/x")]),
    ('trackio.init(project="p", space_id="me/t")', [("space", "me/t")]),
    ('run_uv_job("https://example.org/train.py")', [("link", "https://example.org/train.py")]),
    ('SFTTrainer("a/b", train_dataset=rows)', [("model", "a/b")]),
    ('DPOTrainer(model="a/b", ref_model="a/c", train_dataset=rows)', [("model", "a/b"), ("model", "a/c")]),
    ('GRPOTrainer("a/b", reward_funcs=["a/reward", score], train_dataset=rows)', [("model", "a/b"), ("model", "a/reward")]),
    ('SFTConfig("out", push_to_hub=True, hub_model_id="me/x")', [("target", "me/x")]),
    ('SFTConfig(output_dir="runs/qwen-sft", push_to_hub=True)', [("target", "qwen-sft")]),
    ('SFTConfig(report_to="trackio", trackio_space_id="me/t")', [("space", "me/t")]),
    ('SFTConfig(chat_template_path="a/b")', [("tokenizer", "a/b")]),
]  # fmt: skip

SILENT = [
    'load_dataset("json", data_files="rows.json")',
    'load_dataset("imagefolder", data_dir="images")',
    'load_dataset("./rows")',
    'load_dataset("/data/rows")',
    'load_dataset("~/rows")',
    'load_dataset("data/rows")',
    'load_dataset("a/b/c")',
    'load_dataset("rows.jsonl")',
    'load_dataset("acme/rows.parquet")',
    "load_dataset(sys.argv[1])",
    'load_dataset(os.environ["DATA"])',
    'load_dataset("a/b", name=sys.argv[1])',
    'load_dataset("a/b", **settings)',
    'AutoModelForCausalLM.from_pretrained("./out")',
    'AutoModelForCausalLM.from_pretrained("outputs/checkpoint-500")',
    'AutoModelForCausalLM.from_pretrained("checkpoints")\nSFTConfig(output_dir="checkpoints")',
    'SFTConfig(output_dir="qwen/sft")\nAutoModelForCausalLM.from_pretrained("qwen/sft")',
    'trainer = SFTTrainer(model, train_dataset=rows)\ntrainer.save_model("me/final")\nAutoTokenizer.from_pretrained("me/final")',
    'rows.save_to_disk("tokenized")\nSFTConfig(output_dir=sys.argv[1])\nload_dataset("tokenized")',
    'SFTConfig(output_dir=sys.argv[1])\nAutoModelForCausalLM.from_pretrained("final-model")',
    'snapshot_download(repo, local_dir="base-model")\nAutoTokenizer.from_pretrained("base-model")',
    'SFTConfig(hub_model_id="me/x")',
    'SFTConfig(push_to_hub=False, hub_model_id="me/x")',
    'SFTConfig(trackio_space_id="me/t")',
    'upload_folder(folder_path="out", repo_id="a/b", create_pr=True)',
    'create_repo("me/x", repo_type=kind)',
    'run_uv_job("train.py")',
    'GRPOTrainer(model, reward_funcs="accuracy_reward", train_dataset=rows)',
]


@pytest.mark.parametrize(("body", "expected"), CALLS)
def test_calls_name_what_they_load_and_write(body: str, expected: list[tuple[str, ...]]) -> None:
    """Each call, with its arguments by keyword or by position, is told of with all that it asks for."""
    assert told(of_script(body)) == expected


@pytest.mark.parametrize("body", SILENT)
def test_paths_and_hidden_names_are_no_mentions(body: str) -> None:
    """What is a file or a folder, or is written by the program itself, or is not known, is nothing to ask the Hub about."""
    assert [each for each in of_script(body) if each.role != "target" and not each.local] == []
    assert [each for each in of_script(body) if each.role == "target" and "me/x" in each.name] == []


@pytest.mark.parametrize("name", ["./base", "/models/base", "models/base", "a/b/c", "org/a--b"])
def test_a_folder_with_a_model_is_a_mention_of_this_machine(name: str) -> None:
    """Of a model, an adapter or a tokenizer, but not of one that the program writes itself."""
    found = of_script(f'AutoModelForCausalLM.from_pretrained("{name}")\nSFTTrainer("{name}", train_dataset=rows)')

    assert {(each.role, each.name, each.local) for each in found} == {("model", name, True)}
    saved = f'trainer = SFTTrainer(model, train_dataset=rows)\ntrainer.save_model("{name}")\n'
    assert not of_script(f'{saved}AutoTokenizer.from_pretrained("{name}")')
    (data,) = of_script(f'load_dataset("{name}")')
    assert (data.role, data.name, data.local, data.read and data.read.reader) == ("dataset", name, True, "folder")


def test_what_a_program_pushes_it_may_read() -> None:
    """A repository that a program pushes to need not be there before; what it reads beside that has to."""
    found = of_script(
        'rows.push_to_hub("me/rows")\nload_dataset("me/rows")\nload_dataset("a/b").push_to_hub("me/tokenized")\nload_dataset("me/tokenized")'
    )

    assert told(found) == [
        ("dataset", "me/rows"),
        ("dataset", "a/b"),
        ("target", "me/tokenized"),
    ]  # of `rows` nothing is known


def test_a_mention_says_where_it_stands() -> None:
    """By keyword or by position, a name has a place of its own, which a fix can write to."""
    source = IMPORTS + 'load_dataset("a/b")\nload_dataset(path="a/c")\n'
    document = read_script(source, "train.py")[0]
    places = [document.place(each.key) for each in references(document)]

    spelled = [
        source.splitlines()[(place.line or 1) - 1][(place.column or 1) - 1 : (place.end_column or 1) - 1]
        for place in places
    ]
    assert spelled == ['"a/b"', "path"]  # of an argument by keyword, its name


def test_a_mention_knows_what_stands_around_it() -> None:
    """What may fail without harm is told so; what may never be reached is not told of at all."""
    found = of_script(
        'try:\n    load_dataset("a/b")\nexcept Exception:\n    load_dataset("a/c")\nload_dataset("a/d")\n'
    )

    assert [(each.name, each.certain) for each in found] == [("a/b", False), ("a/d", True)]


@pytest.mark.parametrize(
    ("body", "own"),
    [
        ('load_dataset("a/b")', False),
        ('load_dataset("a/b", token=True)', False),
        ('load_dataset("a/b", token=os.environ["HF_TOKEN"])', False),
        ('login()\nload_dataset("a/b")', False),
        ('login(token=os.getenv("HF_TOKEN"))\nload_dataset("a/b")', False),
        ('load_dataset("a/b", token="hf_x")', True),
        ('login("hf_x")\nload_dataset("a/b")', True),
        ('from google.colab import userdata\nlogin(token=userdata.get("HF"))\nload_dataset("a/b")', True),
        ('os.environ["HF_TOKEN"] = "hf_x"\nload_dataset("a/b")', True),
    ],
)
def test_a_token_of_its_own_is_noted(body: str, own: bool) -> None:
    """A program that logs in with another token sees what the one at hand may not see."""
    assert [each.own_token for each in of_script(body)] == [own]


def test_a_job_file_names() -> None:
    """Every key of a job file that names something of the Hub, each where it stands."""
    found = of_job(
        """
method: sft
model: {path: Qwen/Qwen2.5-0.5B, revision: v1, chat_template: Qwen/Qwen2.5-0.5B-Instruct}
dataset: {path: trl-lib/Capybara, config: en, split: "train[:90%]", eval_split: test}
train: {chat_template_path: a/b}
track: {with: trackio, space: me/trackio}
output: {push_to: me/capybara}
evaluate:
  - {dataset: openai/gsm8k, config: main, metric: exact_match}
  - {dataset: [rows.jsonl, cais/mmlu]}
"""
    )

    assert [(each.role, each.name, each.key) for each in found] == [
        ("model", "Qwen/Qwen2.5-0.5B", "model.path"),
        ("dataset", "trl-lib/Capybara", "dataset.path"),
        ("dataset", "trl-lib/Capybara", "dataset.eval_split"),
        ("tokenizer", "Qwen/Qwen2.5-0.5B-Instruct", "model.chat_template"),
        ("dataset", "openai/gsm8k", "evaluate.0.dataset"),
        ("dataset", "cais/mmlu", "evaluate.1.dataset.1"),
        ("target", "me/capybara", "output.push_to"),
        ("space", "me/trackio", "track.space"),
        ("tokenizer", "a/b", "train.chat_template_path"),
    ]
    assert [(each.revision, each.config, each.split) for each in found][:3] == [
        ("v1", None, None),
        (None, "en", "train[:90%]"),
        (None, "en", "test"),
    ]


@pytest.mark.parametrize("name", ["builtin:tiny-chat", "rows.jsonl", "./rows", "data/rows", "/rows"])
def test_a_job_file_s_own_data_is_no_mention(name: str) -> None:
    """What lies on the machine, or is made by holdfast, is nothing to ask the Hub about."""
    assert of_job(f"method: sft\nmodel: {name}\ndataset: {name}\n") == ()


def test_a_job_file_trains_on_train() -> None:
    """Where a job file names no split, the one called `train` has to be there."""
    assert told(of_job("method: sft\nmodel: gpt2\ndataset: a/b\n")) == [("model", "gpt2"), ("dataset", "a/b", "train")]


def test_commands_name_their_splits() -> None:
    """A command of TRL's trains on `train`, and takes `test` where it evaluates."""
    assert told(
        of_command("trl sft --model_name_or_path a/m --model_revision v1 --dataset_name a/b --eval_strategy steps")
    ) == [
        ("model", "a/m", "v1"),
        ("dataset", "a/b", "train"),
        ("dataset", "a/b", "test"),
    ]
    assert told(
        of_command(
            "trl sft --model_name_or_path ./m --dataset_name a/b --dataset_config en --push_to_hub --output_dir out/q"
        )
    ) == [
        ("model", "./m"),
        ("dataset", "a/b", "en", "train"),
        ("target", "q"),
    ]


def test_what_a_shell_computes_is_no_mention() -> None:
    """A variable in a command may be anything."""
    assert of_command('trl sft --model_name_or_path "$MODEL" --dataset_name a/b --dataset_config $CONFIG') == ()


def test_an_address_that_a_command_sends_away_is_named() -> None:
    """`hf jobs uv run` of an address has a document of its own, for there is no script at hand to read."""
    text = "hf jobs uv run --flavor t4-small https://example.org/train.py --epochs 1\n"
    (line,) = read_commands(text, "run.sh")
    (document,) = read_line_documents(line, text, "run.sh")

    assert told(references(document)) == [("link", "https://example.org/train.py")]
    assert document.place("script").column == text.index("https") + 1
    assert (
        list(read_line_documents(read_commands("uv run https://example.org/train.py", "run.sh")[0], "", "run.sh")) == []
    )


def test_recipes_and_other_programs_files_are_read() -> None:
    """A recipe names as its command does; axolotl's and LLaMA-Factory's files name their models under keys of their own."""
    recipe = "model_name_or_path: a/m\ndataset_name: a/b\ndataset_config: en\nper_device_train_batch_size: 4\npush_to_hub: true\nhub_model_id: me/x\n"
    axolotl = "base_model: a/m\ndatasets:\n  - path: a/b\n    type: alpaca\n"
    factory = "stage: sft\nmodel_name_or_path: a/m\ndataset: identity\noutput_dir: saves/x\n"

    assert told(of_foreign(recipe, "sft.yaml")) == [("model", "a/m"), ("dataset", "a/b", "en"), ("target", "me/x")]
    assert told(of_foreign(axolotl))[0] == ("model", "a/m")
    assert told(of_foreign(factory)) == [("model", "a/m")]


def test_nothing_is_named_twice() -> None:
    """A document that is read for each of several trainers tells each thing once."""
    found = of_script('rows = load_dataset("a/b")\nfor _ in range(3):\n    load_dataset("a/b")\n')

    assert len(found) == len({each.key for each in found}) == 2


def test_data_that_is_asked_about_by_itself_names_nothing() -> None:
    """`inspect` has read it already."""
    assert references(Document(path="rows.jsonl", kind="data", values={"dataset": {"path": "a/b"}})) == ()


@pytest.mark.long
def test_the_table_is_what_the_libraries_take() -> None:
    """Every parameter in the table is one of the installed function's, and those by position stand in that order."""
    program = """
import dataclasses, inspect, json, sys
import datasets, huggingface_hub, peft, trackio, transformers, trl
from datasets.packaged_modules import _PACKAGED_DATASETS_MODULES
from trl.scripts.utils import ScriptArguments
asked = json.load(sys.stdin)
def parameters(path):
    value = sys.modules[path.split(".")[0]]
    for part in path.split(".")[1:]:
        value = getattr(value, part, None)
    return None if value is None else list(inspect.signature(value).parameters)
fields = {field.name for kind in (trl.SFTConfig, trl.GRPOConfig, trl.DistillationConfig, trl.ModelConfig, ScriptArguments,
          trl.scripts.grpo.GRPOScriptArguments) for field in dataclasses.fields(kind)}
trainers = {name for kind in dir(trl) if kind.endswith("Trainer") for name in inspect.signature(getattr(trl, kind).__init__).parameters}
print(json.dumps([{path: parameters(path) for path in asked}, sorted(fields), sorted(trainers), sorted(_PACKAGED_DATASETS_MODULES)]))
"""
    environment = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}
    answer = subprocess.run(
        [sys.executable, "-c", program.replace("import datasets,", "import trl.scripts.grpo, datasets,")],
        input=json.dumps(
            [*FUNCTIONS, "peft.PeftModel.from_pretrained", "peft.AutoPeftModelForCausalLM.from_pretrained"]
        ),
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    signatures, fields, trainers, builders = json.loads(answer.stdout.splitlines()[-1])

    for path, naming in FUNCTIONS.items():
        taken = signatures[path]
        if taken is None:  # of earlier releases
            assert path == "huggingface_hub.upload_large_folder"
            continue
        assert list(naming.positions) == taken[: len(naming.positions)], path
        details = {naming.name, naming.config, naming.split, naming.kind_by, *naming.files} - {""}
        assert details <= {*taken}, path
    assert signatures["peft.PeftModel.from_pretrained"][:2] == ["model", "model_id"]
    assert (
        signatures["peft.AutoPeftModelForCausalLM.from_pretrained"][:1]
        == list(AUTO_PEFT.positions)
        == list(OTHER_MODEL.positions)
    )
    assert {name for name in SETTINGS if name != "reward_model_name_or_path"} <= {*fields}
    assert {"model", "ref_model", "reward_funcs", "teacher_model"} <= {*trainers} & TRAINER.keys()
    assert {*builders} <= BUILDERS
