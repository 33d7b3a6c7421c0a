"""What a program may make itself is no fault where it is not there yet."""

import json
from pathlib import Path

import pytest

from holdfast import check
from holdfast.adapters.readers.script import read_script
from holdfast.core.job.document import Document
from holdfast.engine.references.made import read_made

NAME = "data/rows.jsonl"


def notebook(*cells: str) -> Document:
    """Return a notebook with some cells, as far as its text goes."""
    text = json.dumps({"cells": [{"cell_type": "code", "source": cell} for cell in cells]})
    return Document(path="train.ipynb", kind="script", text=text, values={})


@pytest.mark.parametrize(
    "body",
    [
        f"open('{NAME}', 'w')",
        f"open('{NAME}', mode=how)",
        f"NAME = '{NAME}'\nopen(NAME, 'w')",
        "open(name, 'a')",
        "(folder / 'rows.jsonl').write_text('')",
        "import os\nos.makedirs('data')",
        "import shutil\nshutil.copy(source, target)",
        "import subprocess\nsubprocess.run(['sh', 'make.sh'])",
        "import os\nos.system('make')",
        "import os\nos.chdir('elsewhere') if os.path.exists('elsewhere') else os.chdir(folder)",
        f"from pathlib import Path\nif not Path('{NAME}').exists(): make()",
        f"frame.to_json('./{NAME}', lines=True)",
        "from huggingface_hub import snapshot_download\nsnapshot_download('a/b', local_dir='data')",
    ],
)
def test_what_writes_or_looks_may_make_it(body: str) -> None:
    """By its name, by its folder, or where neither can be seen."""
    assert read_made(read_script(body, "train.py")[0]).why(f"./{NAME}")


@pytest.mark.parametrize(
    "body",
    [
        f"open('{NAME}')",
        f"open('{NAME}', encoding='utf-8').read()",
        "open('log.txt', 'w').write('done')",
        "import json\njson.dump({}, open('result.json', mode='w'))",
        "from pathlib import Path\nPath('out').mkdir()",
        "import os\nos.makedirs('out/final', exist_ok=True)",
        "frame.to_json()",
        "settings.copy()\nframe.rename(columns={})\nasyncio.run(main())",
        "from huggingface_hub import snapshot_download\nsnapshot_download('a/b')",
    ],
)
def test_what_makes_something_else_does_not(body: str) -> None:
    """Nor does what only reads."""
    assert not read_made(read_script(body, "train.py")[0]).why(NAME)


@pytest.mark.parametrize("save", ["trainer.save_model(args.output_dir)", "model.save_pretrained(folder / 'final')"])
def test_a_model_that_is_saved_is_no_data_file(save: str) -> None:
    """Its folder may be any that a model is loaded from, whose name cannot be seen; a file of rows it cannot be."""
    made = read_made(read_script(save, "train.py")[0])

    assert (bool(made.why(NAME)), bool(made.why("out/merged"))) == (False, True)


@pytest.mark.parametrize(
    ("line", "may"),
    [
        ("!wget https://example.org/rows.jsonl", True),
        ("!git clone https://example.org/data", True),
        ("%cd data", True),
        ("%%bash\nmake rows", True),
        ("!pip install trl", False),
        ("%pip install -q trl", False),
        ("!nvidia-smi", False),
        ("%matplotlib inline", False),
    ],
)
def test_lines_of_a_shell_in_a_notebook_may_make_it(line: str, *, may: bool) -> None:
    """But those that install packages or show something."""
    assert bool(read_made(notebook(line, "import trl")).why(NAME)) is may


def test_of_what_is_there_only_its_name_tells() -> None:
    """A file that lies here is read, though others are written whose names cannot be seen."""
    hidden = read_made(read_script("open(name, 'w')", "train.py")[0])
    named = read_made(read_script(f"open('{NAME}', 'w')", "train.py")[0])

    assert (bool(hidden.why(NAME, here=True)), bool(named.why(NAME, here=True))) == (False, True)


def test_commands_name_what_they_make_elsewhere_too() -> None:
    """A name that stands in a shell script twice may be made by the first of its commands."""
    text = f"curl -o {NAME} https://example.org\ntrl sft --model_name_or_path ./base\n"
    made = read_made(Document(path="run.sh", kind="command", text=f"{text}cat {NAME}\n", values={}))

    assert (bool(made.why(NAME)), bool(made.why("./base"))) == (True, False)


TRAINING = """import sys
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
rows = load_dataset("json", data_files="{name}", split="train")
trainer = SFTTrainer("Qwen/Qwen2.5-0.5B", args=SFTConfig("out"), train_dataset=rows)
trainer.train()
{made}
"""


@pytest.mark.parametrize("name", ["absent.jsonl", "data/absent.jsonl"])
@pytest.mark.parametrize(
    ("made", "codes"),
    [
        ("trainer.save_model(sys.argv[1])", ["DAT123"]),
        ("trainer.save_model(output_dir=sys.argv[1])", ["DAT123"]),
        ("rows.save_to_disk(sys.argv[1])", []),
    ],
)
def test_a_program_that_saves_its_model_anywhere_lacks_its_data(
    made: str, codes: list[str], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of a model is no data file, whatever its name; that of rows may be."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(TRAINING.format(name=name, made=made))

    (target,) = check("train.py", offline=True, cache=False, select="DAT123")["targets"]

    assert [each["code"] for each in target["findings"]] == codes
