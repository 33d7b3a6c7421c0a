"""Prints what the libraries of the environment that runs this take, as they say themselves: one JSON object.

Run by the Python of that environment; nothing but the libraries and the standard library is needed.
"""

import dataclasses
import functools
import importlib
import importlib.metadata
import inspect
import json
import logging
import sys
import types
import warnings

PACKAGES = ("trl", "transformers", "peft", "accelerate", "datasets", "huggingface_hub", "trackio")
NAMES = {
    "transformers": [
        "TrainingArguments",
        "Seq2SeqTrainingArguments",
        "Trainer",
        "Seq2SeqTrainer",
        "BitsAndBytesConfig",
        "GPTQConfig",
        "AwqConfig",
        "HqqConfig",
        "GenerationConfig",
        "HfArgumentParser",
        "EarlyStoppingCallback",
        "DataCollatorWithPadding",
        "DataCollatorForLanguageModeling",
        "DataCollatorForSeq2Seq",
        "DataCollatorForTokenClassification",
        "default_data_collator",
        "set_seed",
        "TrainerCallback",
        "TrainerControl",
        "TrainerState",
        "EvalPrediction",
        "get_scheduler",
        "get_linear_schedule_with_warmup",
        "get_cosine_schedule_with_warmup",
        "PreTrainedTokenizerBase",
        "Adafactor",
        "PrinterCallback",
        "ProgressCallback",
        "TextStreamer",
        "TextIteratorStreamer",
    ],
    "accelerate": [
        "Accelerator",
        "DeepSpeedPlugin",
        "FullyShardedDataParallelPlugin",
        "PartialState",
        "notebook_launcher",
        "init_empty_weights",
    ],
    "datasets": [
        "load_dataset",
        "load_dataset_builder",
        "load_from_disk",
        "concatenate_datasets",
        "interleave_datasets",
        "Dataset",
        "IterableDataset",
        "Features",
        "get_dataset_config_names",
        "get_dataset_split_names",
        "disable_caching",
    ],
    "huggingface_hub": [
        "HfApi",
        "login",
        "snapshot_download",
        "hf_hub_download",
        "create_repo",
        "upload_folder",
        "upload_file",
        "run_job",
        "run_uv_job",
        "whoami",
        "notebook_login",
        "create_branch",
        "list_models",
    ],
    "trackio": ["init", "log", "finish", "show", "sync", "Table", "Run"],
}
"""Where not everything public is asked for."""
METHODS = {
    "transformers.Trainer": [
        "train",
        "evaluate",
        "predict",
        "save_model",
        "push_to_hub",
        "add_callback",
        "log",
        "compute_loss",
    ],
    "trl.SFTTrainer": ["train", "evaluate", "save_model", "push_to_hub"],
    "datasets.Dataset": [
        "map",
        "filter",
        "select",
        "shuffle",
        "train_test_split",
        "push_to_hub",
        "to_pandas",
        "from_list",
        "from_dict",
        "cast_column",
    ],
    "datasets.IterableDataset": ["map", "filter", "take", "skip", "shuffle"],
    "huggingface_hub.HfApi": [
        "upload_file",
        "upload_folder",
        "create_repo",
        "run_job",
        "run_uv_job",
        "list_models",
        "delete_file",
    ],
    "peft.PeftModel": ["from_pretrained", "save_pretrained", "load_adapter", "set_adapter"],
    "accelerate.Accelerator": ["prepare", "backward", "gather", "save_state", "unwrap_model"],
}


def main() -> None:
    """Print the signature of every public class and function."""
    warnings.simplefilter("ignore")
    logging.disable()
    said = {"versions": {}, "signatures": {}, "missing": {}}  # type: dict[str, dict[str, object]]
    for package in PACKAGES:
        try:
            module = importlib.import_module(package)
        except Exception as error:  # noqa: BLE001 - whatever an old library raises
            said["missing"][package] = repr(error)
            continue
        said["versions"][package] = importlib.metadata.version(package)
        for name in NAMES.get(package) or public(module):
            ask(said, module, name)
    for path, methods in METHODS.items():
        package, name = path.split(".")
        owner = getattr(sys.modules.get(package), name, None)
        for method in filter(functools.partial(hasattr, owner), methods):
            found = getattr(owner, method)
            said["signatures"][f"{path}.{method}"] = signature(found, bound=not inspect.ismethod(found))
    print(json.dumps(said))  # noqa: T201 - that is what it is for


def ask(said: dict[str, dict[str, object]], module: types.ModuleType, name: str) -> None:
    """Note what one name of a package takes, or why that cannot be told."""
    path = f"{module.__name__}.{name}"
    try:
        found = getattr(module, name)
        if inspect.isclass(found) or inspect.isfunction(found) or inspect.ismethod(found):
            said["signatures"][path] = signature(found)
    except Exception as error:  # noqa: BLE001 - whatever an old library raises
        said["missing"][path] = repr(error)[:200]


def public(module: object) -> list[str]:
    """Name what a package offers."""
    names = getattr(module, "__all__", None) or dir(module)
    return sorted({name for name in names if not name.startswith("_")})


def signature(found: object, *, bound: bool = False) -> dict[str, object]:
    """Return names in positional order, how many are positional, which are required, and whether there are more."""
    if inspect.isclass(found):
        init = found.__init__
        parameters = list(inspect.signature(init).parameters.values())[1:]
        if init is object.__init__ or not inspect.isfunction(init):
            parameters = []
    else:
        parameters = list(inspect.signature(found).parameters.values())[int(bound) :]  # type: ignore[arg-type]  # a found callable
    named = [each for each in parameters if each.kind not in (each.VAR_KEYWORD, each.VAR_POSITIONAL)]
    return {
        "kind": "class" if inspect.isclass(found) else "function",
        "dataclass": inspect.isclass(found) and dataclasses.is_dataclass(found),
        "names": [each.name for each in named],
        "positional": sum(each.kind is not each.KEYWORD_ONLY for each in named),
        "required": sorted(each.name for each in named if each.default is each.empty),
        "defaults": {
            each.name: repr(getattr(each.default, "value", each.default))
            for each in named
            if isinstance(getattr(each.default, "value", each.default), bool | int | float | str | type(None))
            and each.default is not each.empty
        },
        "keywords": any(each.kind is each.VAR_KEYWORD for each in parameters),
        "more": any(each.kind is each.VAR_POSITIONAL for each in parameters),
    }


if __name__ == "__main__":
    main()
