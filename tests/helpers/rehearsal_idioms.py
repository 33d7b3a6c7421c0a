"""Ways in which scripts use `datasets`, as pieces that run on any of the files that `lay_out` writes.

Each runs with all of its rows and with those of a rehearsal, and must do without an error what it does with all.
`DATA` stands for `small` (all rows are read) or `large` (some are).
"""

import gzip
import json
from pathlib import Path
from typing import Any

SMALL, LARGE = 60, 600  # rows
HEAD = "import datasets\nfrom datasets import *\nds = load_dataset('json', data_files='DATA.jsonl', split='train')\n"


def row(number: int) -> dict[str, Any]:
    """Return one of the rows; every thirtieth is odd."""
    odd = number % 30 == 7
    text = "" if odd else f"question {number} " * (number % 9 + 1)
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": f"ответ {number}"}]
    return {
        "id": number,
        "text": text,
        "prompt": f"prompt {number}",
        "completion": None if odd else f"done {number}",
        "label": number % 2,
        "good": number % 3 == 0,
        "score": number / 7,
        "lang": ["en", "de", "fr"][number % 3],
        "messages": ([{"role": "system", "content": "be brief"}, *messages]) if odd else messages,
    }


def lay_out(folder: Path) -> None:
    """Write the files that the pieces read."""
    import pandas as pd  # type: ignore[import-untyped]  # it has no types

    for name, rows in (("small", SMALL), ("large", LARGE)):
        told = [row(number) for number in range(rows)]
        lines = "".join(json.dumps(one) + "\n" for one in told)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        (folder / f"{name}_list.json").write_text(json.dumps(told), encoding="utf-8")
        (folder / f"{name}_field.json").write_text(json.dumps({"version": 1, "data": told}), encoding="utf-8")
        (folder / f"{name}.txt").write_text("".join(f"line {number}\n" for number in range(rows)), encoding="utf-8")
        with gzip.open(folder / f"{name}_zipped.jsonl.gz", "wt", encoding="utf-8") as file:
            file.write(lines)
        flat = pd.DataFrame([{key: one[key] for key in one if key != "messages"} for one in told])
        flat.to_csv(folder / f"{name}.csv", index=False)
        flat.to_csv(folder / f"{name}.tsv", index=False, sep="\t")
        pd.DataFrame(told).to_parquet(folder / f"{name}.parquet", row_group_size=100)
        several = folder / f"{name}_folder"
        several.mkdir()
        (several / "train.jsonl").write_text(lines, encoding="utf-8")
        (several / "test.jsonl").write_text(lines, encoding="utf-8")
        shards = folder / f"{name}_shards"
        shards.mkdir()
        for shard in range(4):
            part = "".join(json.dumps(one) + "\n" for one in told[shard::4])
            (shards / f"part-{shard}.jsonl").write_text(part, encoding="utf-8")


LOADING = {
    "no split": "d = load_dataset('json', data_files='DATA.jsonl')\ntrain = d['train']\nassert list(d) == ['train']",
    "dict of files": """d = load_dataset('json', data_files={'train': 'DATA.jsonl', 'test': 'small.jsonl'})
assert set(d) == {'train', 'test'} and d['test'][3]['id'] == 3""",
    "list of files": "d = load_dataset('json', data_files=['DATA.jsonl', 'small.jsonl'], split='train'); d[0]",
    "glob": "d = load_dataset('json', data_files='DATA_shards/*.jsonl', split='train'); d[0]",
    "folder": "d = load_dataset('DATA_folder'); d['train'][0]; d['test'][0]",
    "data_dir": "d = load_dataset('json', data_dir='DATA_folder', split='test'); d[0]",
    "list of rows": "d = load_dataset('json', data_files='DATA_list.json', split='train'); assert d[1]['id'] == 1",
    "field": "d = load_dataset('json', data_files='DATA_field.json', field='data', split='train'); d[0]",
    "gzip": "d = load_dataset('json', data_files='DATA_zipped.jsonl.gz', split='train'); d[0]",
    "csv": "d = load_dataset('csv', data_files='DATA.csv', split='train'); assert d[2]['id'] == 2",
    "tsv": "d = load_dataset('csv', data_files='DATA.tsv', delimiter='\\t', split='train'); d[2]",
    "parquet": "d = load_dataset('parquet', data_files='DATA.parquet', split='train'); assert d[2]['id'] == 2",
    "parquet columns": "d = load_dataset('parquet', data_files='DATA.parquet', columns=['text'], split='train'); d['text'][0]",
    "text": "d = load_dataset('text', data_files='DATA.txt', split='train'); assert d[3]['text'] == 'line 3'",
    "percent": "a = load_dataset('json', data_files='DATA.jsonl', split='train[:10%]')\nb = load_dataset('json', data_files='DATA.jsonl', split='train[10%:]')\nassert len(a) and len(b)\nassert not set(a['id']) & set(b['id'])",
    "first rows": "d = load_dataset('json', data_files='DATA.jsonl', split='train[:20]'); assert d['id'][:] == list(range(20))",
    "last rows": "d = load_dataset('json', data_files='DATA.jsonl', split='train[-5:]'); assert len(d) == 5",
    "rows in the middle": "d = load_dataset('json', data_files='DATA.jsonl', split='train[30:50]'); assert len(d) == 20",
    "sum of splits": "d = load_dataset('DATA_folder', split='train+test'); d[0]",
    "sum of slices": "d = load_dataset('DATA_folder', split='train[:10%]+test[:5]'); assert len(d) >= 6",
    "list of splits": "a, b = load_dataset('DATA_folder', split=['train', 'test']); a[0]; b[0]",
    "list of slices": "a, b = load_dataset('DATA_folder', split=['train[:80%]', 'train[80%:]']); assert len(a) > len(b) > 0",
    "ReadInstruction": "d = load_dataset('DATA_folder', split=ReadInstruction('train', to=10, unit='abs')); assert len(d) == 10",
    "Split.TRAIN": "d = load_dataset('DATA_folder', split=Split.TRAIN); d[0]",
    "all": "d = load_dataset('DATA_folder', split='all'); d[0]",
    "features": "f = Features({'text': Value('string')})\nd = load_dataset('text', data_files='DATA.txt', features=f, split='train'); assert d.features == f",
    "in memory": "d = load_dataset('json', data_files='DATA.jsonl', split='train', keep_in_memory=True); d[0]",
    "num_proc": "d = load_dataset('json', data_files='DATA_shards/*.jsonl', split='train', num_proc=4); d[0]",
    "twice": "a = load_dataset('json', data_files='DATA.jsonl', split='train')\nb = load_dataset('json', data_files='DATA.jsonl', split='train')\nassert len(a) == len(b)",
    "cache_dir": "d = load_dataset('json', data_files='DATA.jsonl', split='train', cache_dir='cache'); d[0]",
    "force_redownload": "d = load_dataset('json', data_files='DATA.jsonl', split='train', download_mode='force_redownload'); d[0]",
    "builder": "b = load_dataset_builder('json', data_files='DATA.jsonl')\nb.download_and_prepare()\nd = b.as_dataset(split='train'); d[0]",
    "from_json": "d = Dataset.from_json('DATA.jsonl'); d[0]",
    "from_csv": "d = Dataset.from_csv('DATA.csv'); d[0]",
    "from_parquet": "d = Dataset.from_parquet('DATA.parquet'); d[0]",
    "from_text": "d = Dataset.from_text('DATA.txt'); d[0]",
    "DatasetDict.from_csv": "d = DatasetDict.from_csv({'train': 'DATA.csv', 'test': 'small.csv'}); d['train'][0]",
    "from_generator": "import json\ndef rows():\n    for line in open('DATA.jsonl'):\n        yield json.loads(line)\nd = Dataset.from_generator(rows); d[0]",
    "from_generator of arguments": "def rows(files):\n    for file in files:\n        for line in open(file):\n            yield {'text': line}\nd = Dataset.from_generator(rows, gen_kwargs={'files': ['DATA.txt', 'small.txt']}); d[0]",
    "from_list": "import json\nd = Dataset.from_list([json.loads(line) for line in open('DATA.jsonl')]); d[0]",
    "from_dict": "d = Dataset.from_dict({'text': open('DATA.txt').read().splitlines()}); d[0]",
    "from_pandas": "import pandas as pd\ndf = pd.read_csv('DATA.csv').dropna()\nd = Dataset.from_pandas(df[df.label == 1], preserve_index=False); d[0]",
    "from_pandas split": "import pandas as pd\ndf = pd.read_json('DATA.jsonl', lines=True)\nd = DatasetDict({'train': Dataset.from_pandas(df[:-10]), 'test': Dataset.from_pandas(df[-10:])}); d['test'][9]",
    "from_polars": "import polars as pl\nd = Dataset.from_polars(pl.read_parquet('DATA.parquet')); d[0]",
    "disk": "load_dataset('json', data_files='DATA.jsonl', split='train').save_to_disk('here/DATA')\nd = load_from_disk('here/DATA'); d[0]\nd = Dataset.load_from_disk('here/DATA'); d[0]",
    "disk dict": "load_dataset('DATA_folder').save_to_disk('there/DATA')\nd = load_from_disk('there/DATA'); d['train'][0]\nd = DatasetDict.load_from_disk('there/DATA'); d['test'][0]",
    "stream": "d = load_dataset('json', data_files='DATA.jsonl', split='train', streaming=True); next(iter(d))",
    "stream dict": "d = load_dataset('DATA_folder', streaming=True); next(iter(d['test']))",
    "stream worked on": "d = load_dataset('json', data_files='DATA.jsonl', split='train', streaming=True).shuffle(seed=1, buffer_size=10_000).map(lambda r: {'n': len(r['text'])}).filter(lambda r: r['n'] > 3).take(5)\nassert len(list(d)) == 5",
    "stream split": "d = load_dataset('json', data_files='DATA.jsonl', split='train', streaming=True)\ntest, train = d.take(10), d.skip(10)\nassert len(list(test)) == 10 and next(iter(train))['id'] == 10",
    "stream collected": "d = load_dataset('json', data_files='DATA.jsonl', split='train', streaming=True).take(50)\nds = Dataset.from_generator(lambda: (yield from d), features=d.features); assert len(ds) == 50",
    "stream interleaved": "a, b = (load_dataset('json', data_files='DATA.jsonl', split='train', streaming=True) for _ in 'ab')\nd = interleave_datasets([a, b], probabilities=[0.7, 0.3], seed=1); next(iter(d))",
}

WORKING = {
    "a thousandth": "ds[550 if len(ds) != 60 else 50]",
    "slice": "rows = ds[:500]; assert set(rows) == set(ds.column_names)\nassert len(rows['id']) == min(500, 60 if 'DATA' == 'small' else 600)",
    "slice beyond": "rows = ds[20:40]; assert len(rows['id']) == 20",
    "list of numbers": "rows = ds[[0, 5, 59]]; assert len(rows['id']) == 3",
    "numpy number": "import numpy as np\nds[np.int64(55)]; ds[np.array([1, 55])]",
    "negative": "ds[-1]",
    "column": "ds['text'][55]; ds['text'][:]; list(ds['id']); len(ds['id'])",
    "column of numbers": "import numpy as np\nnp.array(ds['score']).mean(); sum(ds['score'])",
    "select": "d = ds.select(range(50)); assert len(d) == 50 or twin; d[20]",
    "select all but": "n = int(0.9 * len(ds)); a, b = ds.select(range(n)), ds.select(range(n, len(ds))); assert len(a) > len(b) > 0",
    "select hard-coded": "d = ds.select(range(40, 60)); assert len(d) == 20",
    "select far": "d = ds.select(range(0, 600 if 'DATA' == 'large' else 60)); e = d.select(range(50, 55)); assert len(e) == 5",
    "select list": "import random\nd = ds.select(random.sample(range(60), 30)); assert len(d) >= 16",
    "select at most": "d = ds.select(range(min(10_000, len(ds)))); d[0]",
    "take skip": "a, b = ds.take(10), ds.skip(50); assert len(a) == 10 and len(b) > 0",
    "shard": "d = ds.shard(num_shards=60, index=59); assert len(d) > 0",
    "split by share": "d = ds.train_test_split(test_size=0.1, seed=1); assert len(d['test']) and len(d['train']) > len(d['test'])",
    "split by number": "d = ds.train_test_split(test_size=50); assert len(d['test']) and len(d['train'])",
    "split by numbers": "d = ds.train_test_split(train_size=30, test_size=20, shuffle=False); assert len(d['test']) and len(d['train'])",
    "split twice": "d = ds.train_test_split(test_size=0.2)['train'].train_test_split(test_size=0.2)['test']; d[0]",
    "split by class": "d = ds.class_encode_column('lang').train_test_split(test_size=0.2, stratify_by_column='lang'); d['test'][0]",
    "shuffle": "d = ds.shuffle(seed=42).select(range(30)); assert len(d) == 30",
    "sort": "d = ds.sort('score'); assert d[0]['score'] == 0",
    "map": "d = ds.map(lambda r: {'text': r['prompt'] + '!'}); assert d[0]['text'] == 'prompt 0!'",
    "map batched": "d = ds.map(lambda b: {'n': [len(t) for t in b['text']]}, batched=True, remove_columns=ds.column_names); assert d.column_names == ['n']",
    "map whole batch": "d = ds.map(lambda b: {'n': [len(b['text'])] * len(b['text'])}, batched=True, batch_size=None); d[0]",
    "map more rows": "d = ds.map(lambda b: {'t': [c for t in b['prompt'] for c in t.split()]}, batched=True, remove_columns=ds.column_names); d[60]",
    "map fewer rows": "d = ds.map(lambda b: {'t': [' '.join(b['prompt'])]}, batched=True, batch_size=10, remove_columns=ds.column_names); d[0]",
    "map with numbers": "names = [str(i) for i in range(len(ds))]\nd = ds.map(lambda r, i: {'name': names[i]}, with_indices=True); d[0]",
    "map in processes": "d = ds.map(lambda r: {'n': len(r['prompt'])}, num_proc=4); d[0]",
    "map with arguments": "def f(r, suffix):\n    return {'t': r['prompt'] + suffix}\nd = ds.map(f, fn_kwargs={'suffix': '?'}, desc='x', load_from_cache_file=False); assert d[0]['t'] == 'prompt 0?'",
    "map of columns": "d = ds.map(lambda a, b: {'t': a + str(b)}, input_columns=['prompt', 'label']); d[0]",
    "map of a method": "class F:\n    def __call__(self, r):\n        return {'t': r['prompt']}\n    def m(self, r):\n        return {'u': r['prompt']}\nd = ds.map(F()).map(F().m); d[0]",
    "map cached": "d = ds.map(lambda r: {'t': 1}, cache_file_name='./mapped.arrow'); d[0]",
    "map with features": "d = ds.map(lambda r: {'t': 1}, features=Features({**ds.features, 't': Value('int32')})); assert d.features['t'] == Value('int32')",
    "filter": "d = ds.filter(lambda r: r['label'] == 1); assert len(d) and all(d['label'])",
    "filter rare": "d = ds.filter(lambda r: r['id'] == 59); assert len(d)",
    "filter batched": "d = ds.filter(lambda b: [t is not None for t in b['completion']], batched=True, num_proc=4); d[0]",
    "filter by columns": "d = ds.filter(lambda t: len(t) > 0, input_columns='text'); d[0]",
    "filter then split": "d = ds.filter(lambda r: r['id'] > 50).train_test_split(test_size=0.2); d['test'][0]",
    "filter twice": "d = ds.filter(lambda r: r['good']).filter(lambda r: r['label']); d[0]",
    "rename": "d = ds.rename_column('text', 'input').rename_columns({'prompt': 'p'}); d[55]['p']",
    "remove": "d = ds.remove_columns(['text', 'prompt']).select_columns(['id']); d[55]",
    "cast": "d = ds.cast_column('label', ClassLabel(names=['bad', 'good'])); assert d.features['label'].int2str(d[0]['label']) == 'bad'",
    "cast bool": "d = ds.cast_column('label', Value('bool')); d[55]['label']",
    "add a column": "d = ds.add_column('n', list(range(len(ds)))); d[55]",
    "add a column of all": "n = 60 if 'DATA' == 'small' else 600\nd = ds.add_column('n', [0] * n); d[55]",
    "add a row": "d = ds.add_item(ds[0]); d[0]",
    "classes": "names = sorted(ds.unique('lang')); assert names == ['de', 'en', 'fr']",
    "encoded": "d = ds.class_encode_column('lang'); assert d.features['lang'].num_classes == 3",
    "to pandas": "df = ds.to_pandas(); df['n'] = df['text'].str.len(); d = Dataset.from_pandas(df); d[0]",
    "groups": "g = ds.to_pandas().groupby('lang').size(); assert len(g) == 3",
    "to lists": "ds.to_list()[50 if 'DATA' == 'small' else 10]; ds.to_dict()['text']",
    "numbers": "print(ds, ds.num_rows, ds.shape, ds.column_names, ds.features, ds.info.splits); assert ds.num_rows == len(ds)",
    "formats": "d = ds.with_format('torch', columns=['id', 'label']); d[55]['id']; ds.set_format('numpy'); ds[0]; ds.reset_format()",
    "transform": "d = ds.with_transform(lambda b: {'n': [len(t) for t in b['text']]}); assert d[8]['n'] >= 0; d[55]",
    "iterate": "n = 0\nfor r in ds:\n    n += 1\nassert n == len(ds)",
    "iterate batches": "assert sum(len(b['id']) for b in ds.iter(batch_size=7)) == len(ds)",
    "loop over numbers": "rows = [ds[i]['text'] for i in range(len(ds))]; [ds[i]['id'] for i in range(60)]",
    "longest": "longest = max(len(t) for t in ds['text']); assert longest >= len('question 59 ' * 6)",
    "one after another": "d = concatenate_datasets([ds, ds.shuffle(seed=1)]); assert len(d) == 2 * len(ds); d[70]",
    "side by side": "d = concatenate_datasets([ds.select_columns('id'), ds.map(lambda r: {'n': 1}, remove_columns=ds.column_names)], axis=1); d[0]",
    "interleaved": "d = interleave_datasets([ds, ds], probabilities=[0.5, 0.5], seed=1, stopping_strategy='all_exhausted'); d[0]",
    "dict": "d = DatasetDict({'train': ds, 'test': ds.select(range(10))}).map(lambda r: {'n': 1}).filter(lambda r: r['label'] == 0).remove_columns('text').shuffle(seed=1)\nd['train'][0]; d.num_rows",
    "repeat": "d = ds.repeat(2); assert len(d) == 2 * len(ds)",
    "flatten": "d = ds.flatten_indices().flatten(); d[0]",
    "to stream": "d = ds.to_iterable_dataset(num_shards=4).shuffle(buffer_size=1000).skip(5); next(iter(d))",
    "batches of torch": "from torch.utils.data import DataLoader\nb = next(iter(DataLoader(ds.with_format('torch', columns=['id']), batch_size=8, shuffle=True))); assert len(b['id']) == 8",
    "random split": "from torch.utils.data import random_split\na, b = random_split(ds, [0.9, 0.1]); b[0]",
    "written": "ds.to_json('OUT_DATA.jsonl'); ds.to_csv('OUT_DATA.csv'); ds.to_parquet('OUT_DATA.parquet')\nd = load_dataset('parquet', data_files='OUT_DATA.parquet', split='train'); d[0]",
    "pickled": "import copy, pickle\nd = pickle.loads(pickle.dumps(ds)); d[55]; copy.deepcopy(ds)[55]",
    "pairs": "d = [(a, b) for a, b in zip(ds['prompt'], ds['completion'])]; assert len(d) == len(ds)",
    "steps": "steps = len(ds) // 8 * 3; warmup = int(steps * 0.1); assert steps > 0",
    "hashes": "import hashlib\nseen = {hashlib.md5(t.encode()).hexdigest() for t in ds['prompt']}; assert len(seen) == len(ds)",
    "by condition": "keep = [i for i, t in enumerate(ds['completion']) if t]; d = ds.select(keep); d[0]",
    "door": "d = few(ds); assert len(d) == 16 or not twin; d[0]",
}
