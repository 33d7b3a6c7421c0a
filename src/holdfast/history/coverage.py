"""Which parts of each package the history tells of in detail: what training scripts import from and call."""

import re
from collections.abc import Mapping
from typing import Final

PACKAGES: Final = (
    "trl",
    "transformers",
    "peft",
    "accelerate",
    "datasets",
    "huggingface_hub",
    "trackio",
    "bitsandbytes",
)

TRANSFORMERS_MODULES: Final = (
    r"activations|audio_utils|cache_utils|configuration_utils|data(\.data_collator|\.datasets(\.\w+)?|\.processors|\.metrics)?"
    r"|debug_utils|deepspeed|dynamic_module_utils|feature_extraction_utils|generation(\.\w+)?|hf_argparser|hyperparameter_search"
    r"|image_processing_utils|image_utils|integrations(\.(integration_utils|deepspeed|peft|bitsandbytes|accelerate))?|loss(\.loss_utils)?|masking_utils|modelcard"
    r"|modeling_attn_mask_utils|modeling_flash_attention_utils|modeling_outputs|modeling_rope_utils|modeling_utils"
    r"|models\.auto(\.\w+)?|models\.(llama|mistral|mixtral|qwen2|qwen3|gemma|gemma2|gemma3|phi3)(\.(modeling|configuration|tokenization)_\w+)?"
    r"|optimization|pipelines(\.base)?|processing_utils|pytorch_utils|quantizers(\.auto)?|time_series_utils|tokenization_utils"
    r"|tokenization_utils_base|tokenization_utils_fast|tokenization_utils_tokenizers|tokenization_utils_sentencepiece"
    r"|tokenization_python|trainer|trainer_callback|trainer_jit_checkpoint|trainer_optimizer|trainer_pt_utils"
    r"|trainer_seq2seq|trainer_utils|training_args|training_args_seq2seq|utils(\.(?!dummy_)\w+)?|video_utils|video_processing_utils"
)

LISTED: Final[Mapping[str, re.Pattern[str] | None]] = {
    "trl": None,
    "peft": None,
    "accelerate": None,
    "trackio": re.compile(r"trackio(\.\w+)?"),
    "bitsandbytes": re.compile(r"bitsandbytes(\.(nn|optim|functional|utils|research))?(\.\w+)?"),
    "datasets": re.compile(
        r"datasets(\.(load|arrow_dataset|iterable_dataset|combine|dataset_dict|features|features\.features|splits|builder"
        r"|utils|utils\.logging|exceptions|config|distributed|download|formatting|info|table|fingerprint|arrow_writer"
        r"|inspect|search|filesystems|metric|tasks|naming|streaming|data_files|iterable_dataset))?"
    ),
    "huggingface_hub": re.compile(
        r"huggingface_hub(\.(utils|utils\.\w+|hf_api|file_download|_snapshot_download|_login|_jobs_api|constants|errors|hub_mixin"
        r"|repocard|repocard_data|repository|hf_file_system|_commit_api|community|inference|inference\._client|fastai_utils"
        r"|keras_mixin|_commit_scheduler|_space_api|_inference_endpoints|serialization|lfs|_webhooks_server))?"
    ),
    "transformers": re.compile(rf"transformers(\.({TRANSFORMERS_MODULES}))?"),
}
"""Modules whose names are listed; None if all are."""

DESCRIBED: Final[Mapping[str, re.Pattern[str]]] = {
    "trl": re.compile(
        r"trl\.(.*\.)?[A-Z]\w*"
        r"|trl\.((core|data_utils|chat_template_utils|import_utils|mergekit_utils|env_utils|skills|models|rewards|extras"
        r"|environment|trainer\.utils|scripts\.utils|commands\.cli_utils|experimental\.\w+\.utils)\.)(.*\.)?\w+"
    ),
    "peft": re.compile(
        r"peft\.(config|peft_model|mapping|mapping_func|auto|mixed_model|helpers|optimizers|utils)\..*"
        r"|peft\.tuners\.(tuners_utils|lora\.(config|eva|corda|loraga|arrow|conversion)|\w+\.config|\w+\.utils)\..*"
    ),
    "accelerate": re.compile(
        r"accelerate\.(accelerator|big_modeling|checkpointing|data_loader|hooks|inference|launchers|local_sgd|logging"
        r"|optimizer|parallelism_config|scheduler|state|tracking|utils\.(dataclasses|random|other|modeling|memory"
        r"|operations|environment|fsdp_utils|imports))\..*"
    ),
    "datasets": re.compile(
        r"datasets\.(load|arrow_dataset|iterable_dataset|combine|dataset_dict|features\.\w+|splits|builder|info|inspect"
        r"|distributed|utils\.(logging|tqdm|info_utils|file_utils)|fingerprint|download\.download_(config|manager)"
        r"|metric)\..*"
    ),
    "huggingface_hub": re.compile(
        r"huggingface_hub\.(hf_api|file_download|_snapshot_download|_login|_commit_api|hub_mixin|repository|repocard"
        r"|hf_file_system|_commit_scheduler|_space_api|_jobs_api|_inference_endpoints|_tensorboard_logger"
        r"|inference\._client|utils\.(tqdm|logging|_token|_auth|_hf_folder|_cache_manager|_headers|_runtime))\..*"
    ),
    "trackio": re.compile(
        r"trackio\.[a-z]\w*|trackio\.deploy\.sync|trackio\.(alerts|api|artifact|file_storage|gpu|histogram|imports|markdown|media(\.\w+)?"
        r"|reports?|run|table|traces?|typehints|video_writer)\.[A-Z]\w*"
    ),
    "bitsandbytes": re.compile(r"bitsandbytes\.(nn|optim|utils|functional)(\..*)?"),
    "transformers": re.compile(
        r"transformers\.(trainer|trainer_seq2seq|training_args|training_args_seq2seq|trainer_callback|trainer_utils"
        r"|trainer_pt_utils|trainer_optimizer|data\.data_collator|data\.datasets\.\w+|hf_argparser|optimization"
        r"|generation\.(configuration_utils|streamers|stopping_criteria|utils|logits_process|watermarking)|pipelines"
        r"|pipelines\.base|modeling_utils|configuration_utils|tokenization_utils_base|tokenization_utils"
        r"|tokenization_utils_fast|tokenization_utils_tokenizers|tokenization_utils_sentencepiece|tokenization_python"
        r"|processing_utils|integrations\.(integration_utils|peft|bitsandbytes|deepspeed)|cache_utils"
        r"|utils\.(quantization_config|hub|logging|peft_utils|notebook|generic)|models\.auto\.\w+"
        r"|feature_extraction_utils|image_processing_utils|image_processing_base|debug_utils)\.\w+"
    ),
}
"""Homes of the classes and functions that are described, if they are public."""


MODEL: Final = re.compile(r"transformers\.models\.(?!auto\b)")
MODEL_DEPTH: Final = 2
"""Dots in the path of the package of one model, `transformers.models.llama`."""
EXPERIMENT: Final = re.compile(r"trl\.experimental\..*Trainer$")
"""They change with each release and check mostly what stands in the data; a tenth of all that is kept, if it were."""
CHECKED: Final = re.compile(r"(Config|Arguments|Trainer|Plugin)$")


CALLED: Final = re.compile(
    r"Trainer$|Trainer(State|Control)$|^PreTrainedModel$|^PreTrainedTokenizer|^PushToHubMixin$|^_?BaseAuto"
    r"|^Auto|^PeftAdapterMixin$|^ModuleUtilsMixin$|^SpecialTokensMixin$|^TokenizersBackend$|^PythonBackend$|^ProcessorMixin$"
    r"|^Peft\w*Model|^_BaseAutoPeftModel$|^BaseTuner$|^PeftConfig|^Dataset(Dict)?$|^IterableDataset(Dict)?$|^DatasetDict|^(DatasetInfo|Indexable|ModelHub)Mixin$"
    r"|^Features$|^HfApi$|^HfFolder$|^Repository$|^(Model|Dataset)Card$|^RepoCard$"
    r"|^Accelerator$|^PartialState$|Parser$|^TrainingArguments$|^GenerationConfig$|^PretrainedConfig$"
    r"|^PreTrainedConfig$|^Run$|^Table$|^Api$|^Artifact$|Optimizer|^Params4bit$|^Linear\w*bit|^GlobalOptimManager$|Callback$|^ConstantLengthDataset$"
)
"""Classes whose methods are described."""
NO_EXTRA: Final = re.compile(
    r"dev|test|docs?\b|docs_|quality|^all$|benchmark|flax|^tf|speech|onnx|modelcreation|integrations|agents|^ja$|ruff|style"
    r"|typing|^torch-vision|natten|codecarbon|sagemaker|serving|fastai|tensorflow|^torch_no"
)
"""Extras for those who work on a package, and of frameworks that are gone."""


def is_listed(package: str, module: str) -> bool:
    """True if a module's names are listed."""
    pattern = LISTED[package]
    return pattern is None or pattern.fullmatch(module) is not None


def is_described(package: str, home: str) -> bool:
    """True if a class or a function is described.

    >>> is_described("trl", "trl.trainer.sft_config.SFTConfig"), is_described("trl", "trl.trainer.utils._hidden")
    (True, False)
    """
    return not home.rpartition(".")[2].startswith("_") and DESCRIBED[package].fullmatch(home) is not None


def is_model(package: str, module: str) -> bool:
    """True if a module holds models of one architecture, which the history does not describe.

    >>> is_model("transformers", "transformers.models.llama.modeling_llama"), is_model("trl", "trl.models.utils")
    (True, False)
    """
    return package == "transformers" and MODEL.match(module) is not None


def has_checks(home: str) -> bool:
    """True if a class is one whose combination checks are kept: not of trainers that are experiments.

    >>> has_checks("trl.trainer.sft_config.SFTConfig"), has_checks("trl.experimental.a.b.BTrainer")
    (True, False)
    """
    return CHECKED.search(home) is not None and EXPERIMENT.match(home) is None


def is_covered(package: str, module: str) -> bool:
    """True if the history has a line for a module at all: not for the parts of each of transformers' models."""
    return not is_model(package, module) or module.count(".") <= MODEL_DEPTH or is_listed(package, module)


def has_methods(name: str) -> bool:
    """True if a class is one whose methods scripts call.

    >>> has_methods("SFTTrainer"), has_methods("SFTConfig")
    (True, False)
    """
    return CALLED.search(name) is not None


def is_extra(name: str) -> bool:
    """True if an extra is one that a script's header would ask for.

    >>> is_extra("vllm"), is_extra("dev-torch")
    (True, False)
    """
    return NO_EXTRA.search(name) is None
