"""Faults in what scripts do with rows: pieces that fail, and must fail alike in a rehearsal.

`DATA` stands for `small` (all rows are read) or `large` (some are); `lay_out` of `rehearsal_idioms` comes first.
"""

import json
from pathlib import Path

from tests.helpers.rehearsal_idioms import LARGE, SMALL, row


def damage(folder: Path) -> None:
    """Write files that are damaged."""
    for name, rows in (("small", SMALL), ("large", LARGE)):
        lines = [json.dumps(row(number)) for number in range(rows)]
        (folder / f"{name}_bad_first.jsonl").write_text("\n".join(["{broken", *lines]), encoding="utf-8")
        (folder / f"{name}_bad_early.jsonl").write_text("\n".join([*lines[:20], '{"id": ', *lines]), encoding="utf-8")
        whole = (folder / f"{name}.parquet").read_bytes()
        (folder / f"{name}_truncated.parquet").write_bytes(whole[: len(whole) // 2])
        (folder / f"{name}_ragged.csv").write_text(
            "a,b\n" + "1,2\n" * 10 + "1,2,3,4\n" + "1,2\n" * rows, encoding="utf-8"
        )
        (folder / f"{name}_mixed").mkdir()
        (folder / f"{name}_mixed" / "a.jsonl").write_text("\n".join(lines[:30]), encoding="utf-8")
        (folder / f"{name}_mixed" / "b.jsonl").write_text('{"other": 1}\n' * rows, encoding="utf-8")
        (folder / f"{name}_latin.csv").write_bytes(b"a,b\n" + b"gr\xf6\xdfe,2\n" * rows)
    (folder / "empty.jsonl").write_text("", encoding="utf-8")
    (folder / "empty.csv").write_text("", encoding="utf-8")


FAULTS = {
    "missing file": "load_dataset('json', data_files='DATA_nope.jsonl', split='train')",
    "missing file of a split": "load_dataset('json', data_files={'train': 'DATA.jsonl', 'test': 'nope.jsonl'})",
    "glob of nothing": "load_dataset('json', data_files='DATA_nope/*.jsonl', split='train')",
    "missing folder": "load_dataset('./DATA_nope')",
    "no data files": "load_dataset('json', data_files=[])",
    "unknown split": "load_dataset('json', data_files='DATA.jsonl', split='trian')",
    "unknown split in a list": "load_dataset('DATA_folder', split=['train', 'valid'])",
    "unknown split of a sum": "load_dataset('DATA_folder', split='train+dev')",
    "unknown key": "load_dataset('DATA_folder')['validation']",
    "slice after the end": "load_dataset('json', data_files='DATA.jsonl', split='train[900:1000]')",
    "bad slice": "load_dataset('json', data_files='DATA.jsonl', split='train[:110%]')",
    "bad spec": "load_dataset('json', data_files='DATA.jsonl', split='train[abc]')",
    "broken first line": "load_dataset('json', data_files='DATA_bad_first.jsonl', split='train')",
    "broken line": "load_dataset('json', data_files='DATA_bad_early.jsonl', split='train')",
    "empty file": "load_dataset('json', data_files='empty.jsonl', split='train')",
    "empty csv": "load_dataset('csv', data_files='empty.csv', split='train')",
    "truncated parquet": "load_dataset('parquet', data_files='DATA_truncated.parquet', split='train')",
    "not parquet": "load_dataset('parquet', data_files='DATA.jsonl', split='train')",
    "not json": "load_dataset('json', data_files='DATA.parquet', split='train')",
    "ragged csv": "load_dataset('csv', data_files='DATA_ragged.csv', split='train')",
    "latin csv": "load_dataset('csv', data_files='DATA_latin.csv', split='train')",
    "two shapes": "load_dataset('json', data_files=['DATA_mixed/a.jsonl', 'DATA_mixed/b.jsonl'], split='train')[0]['text'].x",
    "two shapes of csv": "load_dataset('csv', data_files=['DATA.csv', 'DATA_ragged.csv'], split='train')",
    "unknown parquet column": "load_dataset('parquet', data_files='DATA.parquet', columns=['nope'], split='train')['nope']",
    "wrong features": "load_dataset('json', data_files='DATA.jsonl', features=Features({'text': Value('int64')}), split='train')",
    "unknown field": "load_dataset('json', data_files='DATA_field.json', field='rows', split='train')",
    "unknown option": "load_dataset('json', data_files='DATA.jsonl', nope=1)",
    "unknown builder": "load_dataset('jsonlines', data_files='DATA.jsonl')",
    "saved folder loaded": "ds.save_to_disk('saved_DATA')\nload_dataset('saved_DATA')",
    "not saved": "load_from_disk('DATA_folder')",
    "nothing saved": "load_from_disk('DATA_nowhere')",
    "cannot save": "ds.save_to_disk('/proc/nope/ds')",
    "from_json of nothing": "Dataset.from_json('DATA_nope.jsonl')",
    "generator raises": "def rows():\n    yield {'a': 1}\n    raise KeyError('b')\nDataset.from_generator(rows)",
    "generator of nothing": "def rows():\n    return\n    yield\nDataset.from_generator(rows)[0]",
    "columns of two lengths": "Dataset.from_dict({'a': [1, 2], 'b': [1]})",
    "unknown column": "ds['nope']",
    "unknown column of a row": "ds[0]['nope']",
    "row after the end": "ds[700]",
    "rows after the end": "ds[[1, 700]]",
    "row before the beginning": "ds[-701]",
    "select after the end": "ds.select(range(500, 700))",
    "select list after the end": "ds.select([1, 5000])",
    "split too large": "ds.train_test_split(test_size=700)",
    "split above 1": "ds.train_test_split(test_size=1.5)",
    "split by a text": "ds.train_test_split(test_size=0.2, stratify_by_column='lang')",
    "bad shard": "ds.shard(num_shards=4, index=4)",
    "map raises": "ds.map(lambda r: {'t': r['nope']})",
    "map raises at an odd row": "ds.map(lambda r: {'t': r['completion'].upper()})",
    "map returns a text": "ds.map(lambda r: 'text')",
    "map of other lengths": "ds.map(lambda b: {'t': [1]}, batched=True)",
    "map in processes raises": "ds.map(lambda r: {'t': r['nope']}, num_proc=2)",
    "map of unknown columns": "ds.map(lambda a: {'t': a}, input_columns=['nope'])",
    "map removes unknown": "ds.map(lambda r: {'t': 1}, remove_columns=['nope'])",
    "map with wrong arguments": "ds.map(lambda r: r, batch_sise=4)",
    "filter raises": "ds.filter(lambda r: len(r['completion']) > 1)",
    "filter of batch": "ds.filter(lambda b: True, batched=True)",
    "nothing to remove": "ds.remove_columns('nope')",
    "nothing to rename": "ds.rename_column('nope', 'text')",
    "rename onto another": "ds.rename_column('text', 'prompt')",
    "cannot cast": "ds.cast_column('text', Value('int64'))",
    "labels unknown": "ds.cast_column('lang', ClassLabel(names=['en']))",
    "unknown sort": "ds.sort('nope')",
    "column of another length": "ds.add_column('n', [1, 2, 3])",
    "side by side, not as long": "concatenate_datasets([ds, Dataset.from_dict({'z': [1, 2]})], axis=1)",
    "other features": "concatenate_datasets([ds, Dataset.from_dict({'text': [1, 2]})])",
    "pandas of unknown": "ds.to_pandas()['nope']",
    "stream of unknown split": "load_dataset('json', data_files='DATA.jsonl', split='trian', streaming=True)",
    "stream of a slice": "load_dataset('json', data_files='DATA.jsonl', split='train[:10%]', streaming=True)",
    "stream has no length": "len(load_dataset('json', data_files='DATA.jsonl', split='train', streaming=True))",
    "stream raises": "next(iter(load_dataset('json', data_files='DATA.jsonl', split='train', streaming=True).map(lambda r: {'t': r['nope']})))",
    "stream of nothing": "next(iter(load_dataset('json', data_files='DATA_nope.jsonl', split='train', streaming=True)))",
    "dict has no select": "load_dataset('DATA_folder').select(range(10))",
    "not a spec": "ds.train_test_split(0.1)['validation']",
}
