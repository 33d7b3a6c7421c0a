"""What is known of the data that reaches a trainer is what datasets makes of it."""

import inspect

import pytest

from holdfast.adapters.readers.script import read_script
from holdfast.catalog.formats import form_of
from holdfast.catalog.formats.forms import type_of_values
from holdfast.engine.check.program_facts import TRAIN_DATA
from holdfast.engine.references.local_data import FILES, FROM_DISK, FROM_FILES, HARMLESS
from holdfast.engine.script.training_data import KEEPING, after, trace, written_rows

pytestmark = pytest.mark.train

ROWS = "Dataset.from_list([{'a': 1, 'b': 'x', 'c': 2.5}, {'a': 2, 'b': 'y', 'c': 0.5}])"
SCRIPT = "from datasets import Dataset\nfrom trl import SFTTrainer\nSFTTrainer('m', train_dataset={rows})\n"


@pytest.mark.parametrize(
    "steps",
    [
        "",
        ".shuffle(seed=1)",
        ".rename_column('a', 'z')",
        ".rename_column(original_column_name='a', new_column_name='z').remove_columns('b')",
        ".rename_columns({'a': 'b', 'b': 'a'})",
        ".remove_columns(['a', 'c'])",
        ".remove_columns(column_names='a')",
        ".select_columns(['c', 'a'])",
        ".select_columns('b').repeat(2)",
        ".train_test_split(test_size=1)['train'].select([0])",
        ".take(1)",
        ".filter(lambda row: row['a'] > 1).flatten_indices().skip(0)",
        ".shard(num_shards=2, index=0)",
        ".map(lambda row: {'text': row['b']})",
        ".map(lambda row: {'a': str(row['a'])}, remove_columns='a')",
        ".map(lambda row: {'messages': [{'role': 'user', 'content': row['b']}]}, remove_columns=['a', 'c']).remove_columns('b')",
        ".map(lambda rows: {'n': [1 for row in rows['a']]}, batched=True, remove_columns=['a'])",
    ],
)
def test_columns_are_those_that_datasets_gives(steps: str) -> None:
    """Names in their order, whatever was done to the rows."""
    datasets = pytest.importorskip("datasets")
    (document,) = read_script(SCRIPT.format(rows=ROWS + steps), "train.py")
    flow = trace(document, TRAIN_DATA)
    known = after(written_rows(flow.source), flow.steps)
    real = eval(ROWS + steps, {"Dataset": datasets.Dataset})  # noqa: S307 - the texts above

    assert list(known.columns) == real.column_names
    assert known.types.keys() == set(real.column_names) - ({"n"} if "batched" in steps else set())
    assert all(form_of(known.types[name]) in (form_of(type_of_values(real[name])), "unknown") for name in known.types)


def test_the_tables_are_what_datasets_takes() -> None:
    """Methods and their parameters by the names they have."""
    datasets = pytest.importorskip("datasets")
    for path in FROM_FILES:
        method = getattr(datasets.Dataset, path.rpartition(".")[2])
        assert next(iter(inspect.signature(method).parameters)) == FILES
    for path, parameter in FROM_DISK.items():
        owner = datasets
        for name in path.split(".")[1:]:
            owner = getattr(owner, name)
        assert next(iter(inspect.signature(owner).parameters)) == parameter
    assert all(hasattr(datasets.Dataset, name) for name in KEEPING)
    loads = inspect.signature(datasets.load_dataset).parameters.keys() - HARMLESS
    assert loads == {"features", "storage_options", "config_kwargs", "download_config"}
