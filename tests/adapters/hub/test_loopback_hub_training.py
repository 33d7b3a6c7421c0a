"""The loopback Hub is one to `datasets`, `transformers` and `trl` too: what they load and push is what they would from the real one."""

import io
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.client import Ask, RaisedError, client_of
from tests.helpers.hub.fixtures import hub_without_faults, one_hub  # noqa: F401 - the fixture `hub`
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

SETUP = """
import os, warnings
from pathlib import Path
from tempfile import mkdtemp
import torch
from datasets import Dataset, get_dataset_config_names, load_dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback
from trl import SFTConfig, SFTTrainer
torch.set_num_threads(1)
"""
TRAIN = """
rows = Dataset.from_dict({"text": ["1 plus 1 equals 2."] * 8})
settings = {"use_cpu": True, "bf16": False, "max_steps": 4, "save_steps": 2, "report_to": "none", "max_length": 32} | settings
args = SFTConfig(mkdtemp(), push_to_hub=True, hub_model_id=target, **settings)
trainer = SFTTrainer(model, args=args, train_dataset=rows)
trainer.train()
"""
ROWS = "".join(f'{{"prompt": "p{n}", "completion": "c{n}"}}\n' for n in range(6))
CARD = "---\nconfigs:\n- config_name: en\n  data_files:\n  - split: train\n    path: en/*.jsonl\n  - split: held\n    path: held.jsonl\n- config_name: fr\n  data_files: fr.jsonl\n---\n"


@pytest.fixture(scope="module", name="ask")
def one_client(whole: LoopbackHub) -> Iterator[Ask]:
    """One process for the file: its imports take seconds."""
    with client_of(whole, SETUP, **quiet_environment(**whole.variables)) as ask:
        yield ask


def test_rows_of_a_dataset(hub: LoopbackHub, ask: Ask) -> None:
    """`load_dataset` finds splits by the names of files, reads JSON lines and Parquet, and streams."""
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pa.table({"a": [1, 2, 3]}), sink)
    hub.add_dataset("acme/rows", {"data/train.jsonl": ROWS, "data/test.jsonl": ROWS[: len(ROWS) // 2]})
    hub.add_dataset("acme/columns", {"data/train-00000-of-00001.parquet": sink.getvalue()})
    assert ask("{split: rows.num_rows for split, rows in load_dataset('acme/rows').items()}") == {"train": 6, "test": 3}
    assert ask("load_dataset('acme/columns', split='train')['a'][:]") == [1, 2, 3]
    assert ask("next(iter(load_dataset('acme/rows', split='test', streaming=True)))") == {
        "prompt": "p0",
        "completion": "c0",
    }
    assert ask("[row['a'] for row in load_dataset('acme/columns', split='train', streaming=True)]") == [1, 2, 3]


def test_configurations_of_a_dataset(hub: LoopbackHub, ask: Ask) -> None:
    """They are those of the card; one that is not there, no choice, and a split that is not there are refused by `datasets`."""
    hub.add_dataset("acme/langs", {"README.md": CARD, "en/a.jsonl": ROWS, "held.jsonl": ROWS, "fr.jsonl": ROWS * 2})
    assert ask("get_dataset_config_names('acme/langs')") == ["en", "fr"]
    assert ask("load_dataset('acme/langs', 'fr', split='train').num_rows") == 12
    assert ask("load_dataset('acme/langs', 'en', split='held').num_rows") == 6
    for asked, said in [
        ("", "Config name is missing"),
        (", 'de'", "BuilderConfig 'de' not found"),
        (", 'fr', split='x'", "Unknown split"),
    ]:
        with pytest.raises(RaisedError, match=said):
            ask(f"load_dataset('acme/langs'{asked})")


def test_datasets_that_are_not_to_be_had(hub: LoopbackHub, ask: Ask) -> None:
    """One that is not there, one that is gated, one of a program, one of no data."""
    hub.add_dataset("acme/gate", {"README.md": "x", "a.jsonl": ROWS}, gated="auto")
    hub.add_dataset("acme/scripted", {"scripted.py": "import datasets"})
    hub.add_dataset("acme/empty", {"README.md": "x"})
    for name, said in [
        ("acme/none", "doesn't exist on the Hub or cannot be accessed"),
        ("acme/gate", "is a gated dataset on the Hub"),
        ("acme/scripted", "Dataset scripts are no longer supported"),
        ("acme/empty", "doesn't contain any data files"),
    ]:
        with pytest.raises(RaisedError, match=said):
            ask(f"load_dataset('{name}')")


def test_a_renamed_dataset_at_a_revision(hub: LoopbackHub, ask: Ask) -> None:
    """It is read under its old name, as it was."""
    repo = hub.add_dataset("acme/before", {"train.jsonl": ROWS})
    repo.tag("v1")
    repo.commit({"train.jsonl": ROWS * 2})
    hub.rename("dataset", "acme/before", "acme/after")
    assert ask("load_dataset('acme/before', split='train').num_rows") == 12
    assert ask("load_dataset('acme/before', split='train', revision='v1').num_rows") == 6


def test_a_model(hub: LoopbackHub, ask: Ask, tiny: Path) -> None:
    """Model and tokenizer are loaded from the Hub as from their folder; the Hub counts the weights as torch does."""
    hub.add_model("acme/tiny", tiny)
    loaded = "model = AutoModelForCausalLM.from_pretrained({!r})\nsum(p.numel() for p in model.parameters())"
    count = ask(loaded.format("acme/tiny"))
    assert count == ask(loaded.format(str(tiny)))
    assert ask("AutoTokenizer.from_pretrained('acme/tiny')('1 plus 1')['input_ids']") == ask(
        f"AutoTokenizer.from_pretrained({str(tiny)!r})('1 plus 1')['input_ids']"
    )
    assert ask("from huggingface_hub import HfApi\nHfApi().model_info('acme/tiny').safetensors.total") == count


def test_models_that_are_not_to_be_had(hub: LoopbackHub, ask: Ask, tiny: Path) -> None:
    """One that is gated and one that is not there are told apart."""
    hub.add_model("acme/gated-tiny", tiny, gated="manual")
    for name, said in [("acme/gated-tiny", "gated repo"), ("acme/tinny", "is not a valid model identifier")]:
        with pytest.raises(RaisedError, match=said):
            ask(f"AutoModelForCausalLM.from_pretrained('{name}')")


def test_pushes_by_hand(hub: LoopbackHub, ask: Ask, tiny: Path) -> None:
    """A model, a tokenizer and a dataset that are pushed can be loaded again."""
    ask("AutoModelForCausalLM.from_pretrained(folder).push_to_hub('me/by-hand', private=True)", folder=str(tiny))
    ask("AutoTokenizer.from_pretrained(folder).push_to_hub('me/by-hand')", folder=str(tiny))
    assert hub.model("me/by-hand").private
    assert {"model.safetensors", "config.json", "tokenizer.json"} <= set(hub.model("me/by-hand").files)
    ask("Dataset.from_dict({'a': [1, 2]}).push_to_hub('me/rows', 'small', split='held')")
    assert ask("load_dataset('me/rows', 'small', split='held')['a'][:]") == [1, 2]


STEPS = ["Training in progress, step 2", "Training in progress, step 4"]


@pytest.mark.parametrize(
    ("strategy", "messages", "folders"),
    [
        ("end", ["End"], set()),
        ("every_save", STEPS, set()),
        ("checkpoint", [said for step in STEPS for said in (step, f"{step}, checkpoint")], {"last-checkpoint"}),
        (
            "all_checkpoints",
            [said for step in STEPS for said in (step, f"{step}, checkpoint")],
            {"checkpoint-2", "checkpoint-4"},
        ),
    ],
)
def test_pushes_of_a_trainer(
    hub: LoopbackHub, ask: Ask, tiny: Path, strategy: str, messages: list[str], folders: set[str]
) -> None:
    """Each strategy makes its commits, and the last push one only if something is new; the model is then the one in its folder."""
    target = f"me/{strategy.replace('_', '-')}"
    ask(TRAIN, model=str(tiny), target=target, settings={"hub_strategy": strategy, "hub_always_push": True})
    ask("trainer.push_to_hub(commit_message='End')")
    assert [commit.message for commit in hub.commits] == messages
    files = hub.model(target).files
    assert {path.split("/")[0] for path in files if path.endswith("trainer_state.json")} == folders
    assert files["model.safetensors"] == (Path(ask("args.output_dir")) / "model.safetensors").read_bytes()
    assert {"config.json", "tokenizer.json", "training_args.bin", "README.md"} <= set(files)


def test_a_push_that_is_refused_meanwhile(hub: LoopbackHub, ask: Ask, tiny: Path) -> None:
    """Transformers says nothing when the Hub refuses its commits during training; the last push, by hand, does raise."""
    hub.refuse_commits("me/refused")
    ask(TRAIN, model=str(tiny), target="me/refused", settings={"hub_strategy": "every_save"})
    assert [request.answered for request in hub.asked("me/refused/commit/")] != []
    assert {request.answered for request in hub.asked("me/refused/commit/")} == {403}
    assert set(hub.model("me/refused").files) <= {".gitattributes"}
    with pytest.raises(RaisedError, match="403"):
        ask("trainer.push_to_hub()")


@pytest.mark.long
def test_a_trainer_whose_token_may_not_write(hub: LoopbackHub, ask: Ask, tiny: Path) -> None:
    """It is refused when it is built, before any step."""
    hub.add_token("hf_me_read", role="read")
    with pytest.raises(RaisedError, match="rights to create a model"):
        ask(TRAIN, model=str(tiny), target="me/not-mine", settings={"hub_token": "hf_me_read"})
    assert hub.asked("not-mine/commit") == []
