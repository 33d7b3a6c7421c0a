"""A merged model gives what base and adapters gave, whatever was trained: compared with plain peft, on models loaded anew."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.exported import exportable_models  # noqa: F401 - the fixture `exportable`
from tests.helpers.tiny import quiet_environment

pytestmark = pytest.mark.train
MERGE = """\
import json, sys, torch
from pathlib import Path
from peft import PeftModel
from transformers import AutoModelForCausalLM, AutoTokenizer
from holdfast.payload.export.__main__ import describe, kind_of
from holdfast.payload.export import merging
from holdfast.payload.export.merging import MergeRequest, merge
from safetensors.torch import load_file, save_file

models, out = Path(sys.argv[1]), Path(sys.argv[2])

def plain(base, adapters, vocabulary):
    model = AutoModelForCausalLM.from_pretrained(models / base, dtype=torch.float32)
    if vocabulary != model.get_input_embeddings().num_embeddings:
        model.resize_token_embeddings(vocabulary)
    if not adapters:
        return model
    adapted = PeftModel.from_pretrained(model, models / adapters[0])
    for name in adapters[1:]:
        adapted.load_adapter(models / name, adapter_name=name)
    adapted.base_model.set_adapter(["default", *adapters[1:]] if adapters[1:] else "default")
    return adapted

whole = merging.save

def save(model, tokenizer, request, folder):
    whole(model, tokenizer, request, folder)
    if folder.name == "torn":
        file = folder / "model.safetensors"
        tensors = load_file(file)
        tensors.pop("model.norm.weight")
        save_file(tensors, file, {"format": "pt"})

merging.save = save
found = {}
for name, base, adapters, dtype, shards in json.load(sys.stdin):
    tokenizer = AutoTokenizer.from_pretrained(models / (adapters or [base])[0])
    request = MergeRequest(
        path=str(models / base), revision=None, adapters=[str(models / each) for each in adapters],
        tokenizer=tokenizer.name_or_path, template=None, classifies=False, dtype=dtype, shard_size=shards, out=str(out / name),
    )
    try:
        told = merge(request)
    except Exception as error:
        found[name] = {"kind": kind_of(error), "because": describe(error)}
        continue
    saved = AutoModelForCausalLM.from_pretrained(out / name, dtype=torch.float32)
    ids = tokenizer("3 plus 4 equals 7. <a> user: <b>", return_tensors="pt")["input_ids"]
    with torch.no_grad():
        mine, theirs = saved(ids).logits, plain(base, adapters, len(tokenizer))(ids).logits
    found[name] = {
        **told,
        "apart": float((mine - theirs).abs().max()),
        "files": sorted(each.name for each in (out / name).iterdir()),
        "same_ids": AutoTokenizer.from_pretrained(out / name)("<a>b")["input_ids"] == tokenizer("<a>b")["input_ids"],
    }
print(json.dumps(found))
"""
MERGED: dict[str, tuple[str, list[str], str | None, str]] = {
    "lora": ("tiny", ["lora"], None, "5GB"),
    "sharded": ("tiny", ["lora"], None, "100KB"),
    "dora": ("tiny", ["dora"], None, "5GB"),
    "rslora": ("tiny", ["rslora"], None, "5GB"),
    "several": ("tiny", ["lora", "second"], None, "5GB"),
    "head": ("tiny", ["head"], None, "5GB"),
    "embeddings": ("untied", ["embeddings"], None, "5GB"),
    "tied-embeddings": ("tiny", ["tied-embeddings"], None, "5GB"),
    "whole-head": ("tiny", ["whole-head"], None, "5GB"),
    "grown": ("tiny", ["grown"], None, "5GB"),
    "on-half": ("half", ["on-half"], None, "5GB"),
    "idle": ("tiny", ["idle"], None, "5GB"),
    "whole": ("untied", [], None, "5GB"),
    "cast": ("tiny", [], "bfloat16", "5GB"),
}
REFUSED: dict[str, tuple[str, list[str], str, str]] = {
    "foreign": ("tiny", ["foreign"], "adapter", "4 of its tensors have no place in the base"),
    "wide": ("tiny", ["wide"], "adapter", "size mismatch"),
    "unsaved": ("tiny", ["unsaved"], "embeddings", "the adapter holds no embeddings of the others"),
    "prompt": ("tiny", ["prompt"], "unmergeable", "has no weights to merge"),
    "torn": ("tiny", ["lora"], "unsaved", "^the saved model lacks 1 weights: model.norm.weight$"),
    "quantized": ("quantized", ["on-quantized"], "quantized", "stored quantized .bitsandbytes."),
}


@pytest.fixture(scope="module", name="merged")
def merging(exportable: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One process merges them all."""
    asked = [[name, *case] for name, case in MERGED.items()]
    asked += [[name, base, adapters, None, "5GB"] for name, (base, adapters, _, _) in REFUSED.items()]
    done = subprocess.run(
        [sys.executable, "-c", MERGE, str(exportable), str(tmp_path_factory.mktemp("merged"))],
        input=json.dumps(asked), capture_output=True, text=True, check=True, env=quiet_environment(),
    )  # fmt: skip
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", MERGED)
def test_the_saved_model_gives_what_base_and_adapters_give(merged: dict[str, Any], name: str) -> None:
    """Loaded anew from the folder; in 16 bits, but for what rounding does."""
    told = merged[name]
    rounded = told["dtype"] == "bfloat16"

    assert told["apart"] < (0.2 if rounded else 1e-4), told
    assert told.get("saved_difference", 0.0) < (0.05 if rounded else 1e-4)
    assert told["same_ids"]
    assert {"config.json", "tokenizer.json", "generation_config.json", "chat_template.jinja"} <= {*told["files"]}


def test_what_is_told_of_a_merge(merged: dict[str, Any]) -> None:
    """Whether ends are tied, how many tokens were added, what the adapter does, and in which precision it was merged."""
    assert {name: merged[name]["tied"] for name in ("lora", "grown", "head", "whole-head", "whole")} == {
        "lora": True, "grown": True, "head": False, "whole-head": False, "whole": False,
    }  # fmt: skip
    assert {name for name in MERGED if merged[name].get("resized")} == {"grown"}
    assert merged["grown"]["resized"] == 2
    assert merged["idle"]["effect"] == 0.0
    assert all(merged[name]["effect"] > 0.01 for name in ("lora", "dora", "head", "several"))
    assert (merged["on-half"]["dtype"], merged["on-half"]["precision"]) == ("bfloat16", "float32")
    assert merged["whole"]["precision"] == "copied"
    assert "model-00001-of-00005.safetensors" in merged["sharded"]["files"]


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_merged_is_not(merged: dict[str, Any], name: str) -> None:
    """Another architecture, embeddings that are gone, nothing to merge, files that were not saved whole, a base of rounded weights."""
    *_, kind, because = REFUSED[name]
    told = merged[name]

    assert told.get("kind") == kind, told
    assert re.search(because, told["because"]), told["because"]
