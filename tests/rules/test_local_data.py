"""What lies beside a script is looked at: data that it reads, models that it names, and the columns that its trainer is given."""

import json
from pathlib import Path
from typing import Any

import pytest

import holdfast

PREFERENCES = {"prompt": "Two?", "chosen": "Yes.", "rejected": "No."}
QUESTION = {"question": "Two?", "good": "Yes.", "bad": "No."}
CHAT = {"messages": [{"role": "user", "content": "Two?"}, {"role": "assistant", "content": "Yes."}]}
HEAD = """import json, os, subprocess
from pathlib import Path
from datasets import Dataset, concatenate_datasets, load_dataset, load_from_disk
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import DPOConfig, DPOTrainer, GRPOTrainer, SFTConfig, SFTTrainer
"""
REQUIRES = '# /// script\n# dependencies = ["trl==1.16.0", "transformers==5.23.0", "datasets==5.2.0"]\n# ///\n'
DPO = "\nDPOTrainer('models/chat', args=DPOConfig('out', bf16=False), train_dataset=rows).train()\n"
CODES = ("DAT101", "DAT102", "DAT107", "DAT123", "MOD102", "MOD108", "MOD121", "MOD122")


def lay(folder: Path, **files: dict[str, Any]) -> None:
    """Put a model with a chat template that marks nothing, one without, and a file of each row into a folder."""
    (folder / "data").mkdir()
    for name, row in {"pref": PREFERENCES, "asked": QUESTION, "chat": CHAT, "text": {"text": "Two."}, **files}.items():
        (folder / "data" / f"{name}.jsonl").write_text((json.dumps(row) + "\n") * 4)
    for name, template in {"chat": {"chat_template": "{{ messages }}"}, "plain": {}}.items():
        model = folder / "models" / name
        model.mkdir(parents=True)
        (model / "config.json").write_text('{"model_type": "qwen2", "architectures": ["Qwen2ForCausalLM"]}')
        (model / "tokenizer.json").write_text("{}")
        (model / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
        (model / "tokenizer_config.json").write_text(json.dumps(template))


pytestmark = pytest.mark.usefixtures("place")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with models and data, in which holdfast runs."""
    lay(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def check(body: str, name: str = "train.py") -> dict[str, Any]:
    """Return what is said of a script with this body."""
    Path(name).write_text(REQUIRES + HEAD + body)
    answer: dict[str, Any] = holdfast.check(name, offline=True)["targets"][0]
    return answer


def found(answer: dict[str, Any]) -> list[str]:
    """Return the codes of what is found of models and data."""
    return [each["code"] for each in answer["findings"] if each["code"] in CODES]


def skipped(answer: dict[str, Any], code: str) -> str:
    """Return why a rule was skipped; empty where it was not."""
    return next((each["because"] for each in answer["skipped"] if each["code"] == code), "")


@pytest.mark.parametrize(
    "body",
    [
        "load_dataset('json', data_files='data/chatt.jsonl', split='train')",
        "load_dataset('json', data_files={'train': 'data/chat.jsonl', 'test': ['data/chatt.jsonl']})",
        "load_dataset('json', data_files='data/ch*t.json')",
        "load_dataset('./date')",
        "load_dataset('json', data_files='data/chat.jsonl', split='validation')",
        "Dataset.from_json('data/chatt.jsonl')",
        "load_from_disk('saved')",
        "load_from_disk('data')",
        "NAME = 'data/chatt.jsonl'\nload_dataset('json', data_files=NAME)",
        "open('log.txt', 'w').write('x')\nload_dataset('json', data_files='data/chatt.jsonl')",
        "open('data/chatt.jsonl').read()\nload_dataset('json', data_files='data/chatt.jsonl')",
    ],
)
def test_data_that_is_not_there_is_found(body: str) -> None:
    """A file, a folder or a split that a script reads and that is not beside it."""
    answer = check(body)

    assert found(answer) == ["DAT123"]


@pytest.mark.parametrize(
    "body",
    [
        "load_dataset('json', data_files='data/chat.jsonl', split='train')",
        "load_dataset('json', data_files='data/*.jsonl', split='train[:50%]')",
        "load_dataset('json', data_files={'validation': 'data/chat.jsonl'}, split='validation')",
        "load_dataset('./data')",
        "load_dataset('json', data_files='https://example.org/rows.jsonl')",
        "load_dataset('json', data_files='hf://datasets/a/b/rows.jsonl')",
        "load_dataset('json', data_files=os.environ['ROWS'])",
        "json.dump([], open('data/made.json', 'w'))\nload_dataset('json', data_files='data/made.json')",
        "Path('data/made.jsonl').write_text('{}')\nload_dataset('json', data_files='data/made.jsonl')",
        "subprocess.run(['wget', '-P', 'data', os.environ['URL']])\nload_dataset('json', data_files='data/made.jsonl')",
        "os.system('sh make.sh')\nload_dataset('json', data_files='data/made.jsonl')",
        "load_dataset('json', data_files='data/made.jsonl') if os.path.exists('data/made.jsonl') else None",
        "Dataset.from_list([{'text': 'x'}]).to_json('data/made.jsonl')\nload_dataset('json', data_files='data/made.jsonl')",
        "Dataset.from_list([{'text': 'x'}]).save_to_disk('made')\nload_from_disk('made')",
        "try:\n    load_dataset('json', data_files='data/made.jsonl')\nexcept Exception:\n    pass",
    ],
)
def test_data_that_is_there_or_may_be_is_let_pass(body: str) -> None:
    """So is what the script makes itself, looks for first, or reads from elsewhere."""
    assert found(check(body)) == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("SFTTrainer('./modelz/chat', train_dataset=rows)", "MOD108"),
        ("SFTTrainer('models/chatx', train_dataset=rows)", "MOD108"),
        ("AutoTokenizer.from_pretrained('models/chatx')", "MOD108"),
        ("AutoModelForCausalLM.from_pretrained('a/b/c')", "MOD108"),
        ("SFTTrainer('models/chat', train_dataset=rows)", ""),
        ("AutoTokenizer.from_pretrained('acme/chat')", ""),
        ("AutoModelForCausalLM.from_pretrained(os.environ['MODEL'])", ""),
        ("t = SFTTrainer(m, train_dataset=rows)\nt.save_model('./made')\nAutoTokenizer.from_pretrained('./made')", ""),
        ("m.save_pretrained('./made/last')\nAutoTokenizer.from_pretrained('./made/last')", ""),
        ("AutoTokenizer.from_pretrained('./made') if Path('./made').is_dir() else None", ""),
    ],
)
def test_a_model_s_folder_that_is_not_there_is_found(body: str, expected: str) -> None:
    """A path that can only be a folder; not the name of a repository, nor a folder that the script makes."""
    assert found(check(body)) == [expected] * bool(expected)


def test_a_folder_that_is_not_there_is_one_mistake_however_often_it_is_named() -> None:
    body = "AutoModelForCausalLM.from_pretrained('./modelz')\nAutoTokenizer.from_pretrained('./modelz')"
    assert found(check(body)) == ["MOD108"]
    assert found(check(body.replace("Tokenizer.from_pretrained('./modelz", "Tokenizer.from_pretrained('./tokens"))) == [
        "MOD108",
        "MOD108",
    ]


def test_elsewhere_it_is_a_warning(place: Path) -> None:
    """Where the script's folder is not the working one, and of an absolute path, nobody knows what is there when it runs."""
    (place / "scripts").mkdir()
    beside = check("AutoTokenizer.from_pretrained('./modelz/chat')", "scripts/train.py")
    absolute = check("load_dataset('json', data_files='/nowhere/rows.jsonl')")

    assert (found(beside), found(absolute)) == (["MOD108"], ["DAT123"])
    assert {each["severity"] for answer in (beside, absolute) for each in answer["findings"]} == {"warning"}


def test_what_is_wrong_with_a_folder_is_said_once_and_the_rest_is_skipped() -> None:
    """Nothing about the model or the data is passed over in silence."""
    answer = check(
        "rows = load_dataset('json', data_files='data/prefs.jsonl', split='train')" + DPO.replace("chat", "chatx")
    )

    assert sorted(found(answer)) == ["DAT123", "MOD108"]
    assert "not here" in skipped(answer, "MOD122")
    assert "cannot be read" in skipped(answer, "DAT101")


LOADED = "load_dataset('json', data_files='data/asked.jsonl', split='train')"
NAMED = "{'question': 'prompt', 'good': 'chosen', 'bad': 'rejected'}"


@pytest.mark.parametrize(
    "rows",
    [
        LOADED,
        f"{LOADED}.shuffle(seed=1).select(range(2))",
        "load_dataset('json', data_files='data/asked.jsonl')['train']",
        f"{LOADED}.train_test_split(test_size=0.1)['train']",
        f"{LOADED}.rename_column('question', 'prompt')",
        f"{LOADED}.rename_columns({NAMED}).remove_columns('chosen')",
        f"{LOADED}.rename_columns({NAMED}).select_columns(['prompt', 'chosen'])",
        "load_dataset('json', data_files='data/pref.jsonl', split='train').remove_columns(['rejected'])",
        "Dataset.from_json('data/asked.jsonl')",
        "Dataset.from_list([{'question': 'Two?', 'answer': 'Yes.'}])",
        "Dataset.from_dict({'question': ['Two?'], 'answer': ['Yes.']})",
    ],
)
def test_columns_that_the_trainer_cannot_use_are_found(rows: str) -> None:
    """As they are when they reach it: renamed, removed or selected by literal arguments."""
    assert found(check(f"rows = {rows}{DPO}")) == ["DAT101"]


@pytest.mark.parametrize(
    "rows",
    [
        "load_dataset('json', data_files='data/pref.jsonl', split='train')",
        "load_dataset('json', data_files='data/pref.jsonl')['train'].shuffle(seed=1)",
        f"{LOADED}.rename_columns({NAMED})",
        f"{LOADED}.rename_column('question', 'prompt').rename_column('good', 'chosen').rename_column('bad', 'rejected')",
        "Dataset.from_list([{'prompt': 'Two?', 'chosen': 'Yes.', 'rejected': 'No.'}])",
    ],
)
def test_columns_that_do_are_let_pass(rows: str) -> None:
    """And nothing of them is left unknown."""
    answer = check(f"rows = {rows}{DPO}")

    assert found(answer) == []
    assert not skipped(answer, "DAT101")


@pytest.mark.parametrize(
    "rows",
    [
        f"{LOADED}.map(make)",
        f"{LOADED}.map(lambda row: {{'prompt': row['question'], **make(row)}})",
        f"{LOADED}.rename_columns(json.loads(os.environ['NAMES']))",
        f"concatenate_datasets([{LOADED}, {LOADED}])",
        f"make({LOADED})",
        "load_dataset('json', data_files='data/asked.jsonl', field='rows', split='train')",
        "load_dataset('json', data_files=os.environ['ROWS'], split='train')",
        "Dataset.from_list([{os.environ['NAME']: 'x'}])",
        f"{LOADED}.with_transform(make)",
    ],
)
def test_columns_that_nobody_knows_are_skipped(rows: str) -> None:
    """A dataset that the script makes anew may have any."""
    answer = check(f"from made import make\nrows = {rows}{DPO}")

    assert found(answer) == []
    assert skipped(answer, "DAT101")


@pytest.mark.parametrize(
    "change",
    [
        "rows = load_dataset('json', data_files='data/asked.jsonl')\nrows['train'] = rows['train'].map(make)\nrows = rows['train']",
        f"rows = {LOADED}\nrows.set_transform(make)",
    ],
)
def test_what_is_changed_in_place_is_skipped(change: str) -> None:
    """An item that is given another value, and a transform that is set."""
    answer = check(f"from made import make\n{change}{DPO}")

    assert found(answer) == []
    assert skipped(answer, "DAT101")


TOKENIZED = """
tokenizer = AutoTokenizer.from_pretrained("models/plain"{more})
model = AutoModelForCausalLM.from_pretrained("models/plain")
{change}
rows = load_dataset("json", data_files="data/chat.jsonl", split="train")
SFTTrainer(model, args=SFTConfig("out", bf16=False), train_dataset=rows, processing_class=tokenizer).train()
"""


@pytest.mark.parametrize(
    ("more", "change", "expected"),
    [
        ("", "", ["MOD121"]),
        ("", "tokenizer.pad_token = tokenizer.eos_token", ["MOD121"]),
        ("", "tokenizer.chat_template = '{{ messages }}'", []),
        (", chat_template='{{ messages }}'", "", []),
        ("", "from trl import clone_chat_template\nclone_chat_template(model, tokenizer, 'acme/chat')", []),
        ("", "tokenizer = prepare(tokenizer)", []),
    ],
)
def test_a_tokenizer_in_a_variable_is_the_model_s_own(more: str, change: str, expected: list[str]) -> None:
    """As long as the script gives it no chat template."""
    assert found(check(TOKENIZED.format(more=more, change=change))) == expected


def test_a_job_with_a_folder_that_is_not_there_is_refused_by_check() -> None:
    """`models/…` is a folder's name, and not asked of the Hub."""
    for key, name, code in (("model", "models/nope", "MOD102"), ("dataset", "data/nope", "DAT102")):
        job = {"method": "sft", "model": "models/chat", "dataset": "data/chat.jsonl", key: name}
        Path("job.yaml").write_text("".join(f"{each}: {value}\n" for each, value in job.items()))
        answer = holdfast.check("job.yaml", offline=True)["targets"][0]
        assert code in found(answer)


def test_an_unknown_backend_is_found() -> None:
    """By the words with which `holdfast run` refuses it."""
    Path("job.yaml").write_text("method: sft\nmodel: models/chat\ndataset: data/chat.jsonl\nwhere: {backend: banana}\n")
    answer = holdfast.check("job.yaml", offline=True)["targets"][0]

    (finding,) = [each for each in answer["findings"] if each["code"] == "JOB119"]
    assert finding["message"] == "no backend is called 'banana'; use one of hf-jobs, local"


def test_the_checklist_names_what_is_read() -> None:
    """The files, not the builder that reads them."""
    Path("train.py").write_text(
        REQUIRES + HEAD + f"rows = load_dataset('json', data_files='data/pref.jsonl', split='train'){DPO}"
    )
    rows = holdfast.check("train.py", offline=True, checklist=True)["targets"][0]["checklist"]

    (row,) = [each for each in rows if each["item"] == "repositories"]
    assert row["because"] == "`models/chat` and `data/pref.jsonl` can be read"


@pytest.mark.parametrize(
    "config", ["SFTConfig('made/sft')", "SFTConfig(output_dir='made/sft')", "SFTConfig('made', max_steps=2)"]
)
def test_what_an_earlier_trainer_saves_is_not_missing(config: str) -> None:
    """A trainer saves to its config's first argument, by whatever way that is given."""
    first = (
        f"trainer = SFTTrainer('models/chat', args={config}, train_dataset=rows)\ntrainer.train()\ntrainer.save_model()"
    )

    assert "MOD108" not in found(check(f"{first}\nSFTTrainer('made/sft', train_dataset=rows)"))


LORA = """
from peft import LoraConfig

SFTTrainer(
    "./models/{model}",
    args=SFTConfig("out", bf16=False),
    train_dataset=load_dataset("json", data_files="data/{data}.jsonl", split="train"),
    peft_config=LoraConfig(target_modules="all-linear"),
).train()
"""
JOB = "method: dpo\nmodel: ./models/{model}\ndataset: data/{data}.jsonl\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [("train.py", REQUIRES + HEAD + LORA.format(model="chat", data="asked")), ("job.yaml", JOB)],
)
def test_what_lies_beside_a_file_of_a_folder_is_looked_at(
    name: str, text: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A walk looks at data and models as a check of the one file does, from wherever the walk begins."""
    project = place / "project"
    project.mkdir()
    lay(project)
    (project / name).write_text(text.format(model="chat", data="asked"))
    walked_above = codes_of(holdfast.check(["project"]), name)
    monkeypatch.chdir(project)
    named = codes_of(holdfast.check(name, offline=True), name)

    assert "DAT101" in named
    assert codes_of(holdfast.check(["."]), name) == named
    assert walked_above == named


@pytest.mark.parametrize(("name", "text"), [("train.py", REQUIRES + HEAD + LORA), ("job.yaml", JOB)])
def test_what_lies_nowhere_near_a_file_of_a_folder_is_skipped(name: str, text: str, place: Path) -> None:
    """It may be started elsewhere: nothing is reported of what is not there, and the skips say why."""
    (place / "below").mkdir()
    (place / "below" / name).write_text(text.format(model="gone", data="gone"))
    answer = told_of(holdfast.check(["below"]), name)

    assert found(answer) == []
    assert any("may be started elsewhere" in skip["because"] for skip in answer["skipped"])


def test_a_walk_looks_again_at_what_lies_here(place: Path) -> None:
    """A file whose data has changed is not answered from the cache."""
    (place / "train.py").write_text(REQUIRES + HEAD + LORA.format(model="chat", data="asked"))
    (place / "other.py").write_text(REQUIRES + HEAD + LORA.format(model="chat", data="text"))
    assert "DAT101" in codes_of(holdfast.check(["."]), "train.py")
    (place / "data" / "asked.jsonl").write_text((json.dumps(CHAT) + "\n") * 4)

    assert "DAT101" not in codes_of(holdfast.check(["."]), "train.py")


def test_a_path_of_a_job_is_looked_for_beside_it_and_in_the_working_directory(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is beside the job file is found from anywhere; of what is nowhere the message says where it was looked for."""
    (place / "job.yaml").write_text(JOB.format(model="chat", data="pref"))
    (place / "lost.yaml").write_text(JOB.format(model="gone", data="gone"))
    monkeypatch.chdir(place.parent)
    found, lost = (
        [
            each["message"]
            for each in holdfast.check(f"{place.name}/{name}.yaml", offline=True)["targets"][0]["findings"]
        ]
        for name in ("job", "lost")
    )

    where = "beside the job file or in the working directory"
    assert not [message for message in found if where in message]
    assert f"there is no folder `./models/gone` {where}" in lost
    assert f"no such file or folder {where}: data/gone.jsonl" in lost


@pytest.mark.parametrize(
    ("rows", "codes"),
    [
        ("Dataset.from_list([{'prompt': 'Two?', 'answer': 'Yes.'}])", ["RWD114"]),
        ("Dataset.from_dict({'prompt': ['Two?'], 'answer': ['Yes.']})", ["RWD114"]),
        (
            "load_dataset('json', data_files='data/asked.jsonl', split='train').rename_column('question', 'prompt')",
            ["RWD114"],
        ),
        ("Dataset.from_list([{'prompt': 'Two?', 'solution': 'Yes.'}])", []),
        ("Dataset.from_list([{'prompt': 'Two?', 'answer': 'Yes.'}]).map(make)", []),
    ],
)
def test_a_reward_is_held_against_the_columns_wherever_the_rows_are_from(rows: str, codes: list[str]) -> None:
    """Written out in the script, or read from a file; behind a `map` they are not known."""
    body = f"""from made import make
def right(completions, solution, **kwargs):
    return [1.0 for _ in completions]
rows = {rows}
GRPOTrainer("x/y", reward_funcs=right, train_dataset=rows)
"""
    answer = check(body)

    assert [each["code"] for each in answer["findings"] if each["code"] == "RWD114"] == codes
    assert bool(skipped(answer, "RWD114")) is ("map" in rows)


def told_of(answer: dict[str, Any], name: str) -> dict[str, Any]:
    """Return what is said of the file of some name."""
    told: dict[str, Any] = next(each for each in answer["targets"] if Path(each["path"]).name == name)
    return told


def codes_of(answer: dict[str, Any], name: str) -> list[str]:
    """Return the codes that are reported of the file of some name."""
    return [each["code"] for each in told_of(answer, name)["findings"]]


def test_a_folder_is_judged_alike_with_the_hub_and_without(place: Path) -> None:
    """What is not beside a script may be where it is started: `--offline` claims no more than a walk that may ask the Hub."""
    text = REQUIRES + HEAD + LORA.format(model="absent", data="absent")
    (place / "train.py").write_text(text)
    online, offline = (codes_of(holdfast.check(["."], offline=each), "train.py") for each in (False, True))

    assert online == offline
    assert "MOD108" in codes_of(holdfast.check("train.py", offline=True), "train.py")


@pytest.mark.parametrize(
    ("content", "told"),
    [('{"text": "a"}\n{"text": "b', "DAT102"), ("", "DAT102"), ('{"text": "a"}\n' * 400 + "nonsense\n", "DAT201")],
)
def test_data_that_cannot_be_read_is_told_once(content: str, told: str) -> None:
    """Two rules read it; that of all rows alone sees what is far from the beginning."""
    Path("data/broken.jsonl").write_text(content)
    Path("job.yaml").write_text("method: sft\nmodel: ./models/chat\ndataset: data/broken.jsonl\n")

    findings = holdfast.check("job.yaml", offline=True)["targets"][0]["findings"]
    messages = [each["message"] for each in findings]
    assert len(set(messages)) == len(messages)
    assert told in [each["code"] for each in findings]


@pytest.mark.parametrize(("weights", "lacking"), [((3, 1), "data/chat.jsonl"), ((1, 3), "data/pref.jsonl")])
def test_a_dataset_of_a_mixture_that_lacks_rows_is_named(weights: tuple[int, int], lacking: str) -> None:
    mix = f"[{{path: data/pref.jsonl, weight: {weights[1]}}}]"
    dataset = f"{{path: data/chat.jsonl, weight: {weights[0]}, rows: 7, mix: {mix}}}"
    Path("job.yaml").write_text(f"method: sft\nmodel: ./models/chat\ndataset: {dataset}\n")

    findings = holdfast.check("job.yaml", offline=True, select="DAT131")["targets"][0]["findings"]
    assert [each["message"].partition(",")[0] for each in findings] == [f"{lacking} has 4 rows"]
