"""Which class an exception is of by where in a library it is raised and what it says, where no signature knows the line.

Only of messages that are known from the libraries' releases, word by word: no user's code says them. What is said of a function was
held against every text of the signatures that is raised there (tests/engine/diagnose/test_messages_raised.py).
"""

import re
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class RaisedClass:
    """What says which class.

    Attributes:
        name: The class.
        says: Searched in the message's template; empty for any.
        at: Searched in `trl.trainer.sft_trainer:SFTTrainer.__init__`; empty for any place.
        kind: Names of exceptions; empty for any.
    """

    name: str
    says: str = ""
    at: str = ""
    kind: str = ""

    def holds(self, kind: str, template: str, place: str) -> bool:
        """True if a message is of the class."""
        return all(
            not expression or re.search(expression, text)
            for expression, text in ((self.kind, kind), (self.says, template), (self.at, place))
        )


VERSION: Final = (
    r"(?i)(?:requires?|need|minimum|least|only (?:available|supported)|upgrade|update|old|incompatible|install)\b.*"
    r"(?:>=?|\bversions?\b|or (?:higher|later|newer|above)|from source|too old|upgrade|latest)"
    r"|(?:version|release) .*(?:or (?:higher|later|newer|above)|too old|please (?:upgrade|update)|is required|not (?:supported|compatible))"
    r"|please (?:upgrade|update)\b.*version|consider upgrading"
)
INSTALL: Final = (
    r"(?i)pip install|please install|install `[\w\-\[\]]+`|install [\w\-\[\]]+ (?:to|with)\b|(?:is|are|was|were) not installed"
    r"|needs? to (?:be installed|install)|to be installed|(?:is|are) required (?:to|for|when)|need to have \w+ library installed"
    r"|(?:library|package|module) (?:is|was) not found|was not found on your system|(?:requires|install) the `?[\w\-]+`? (?:extra|library|package)"
)
OF_PACKAGES: Final = r"ImportError|ModuleNotFoundError|PackageNotFoundError|ValueError|RuntimeError|OSError|EnvironmentError|AssertionError"
REFUSES: Final = r"ValueError|TypeError|NotImplementedError|AssertionError|RuntimeError|KeyError"

RULES: Final = (
    # what stands in the words, wherever it is said
    RaisedClass("", says=r"doesn't support bf16/gpu"),  # the GPU is too old, or there is none
    RaisedClass("", at=r":check_imports$"),  # a tokenizer's package, or a model's
    RaisedClass("", says=r"Repo id must"),  # a name of the Hub, or a path that is not there
    RaisedClass(
        "", says=r"^WandbCallback requires wandb"
    ),  # it is not there, or what once switched it off does not any more
    RaisedClass("grpo-reward-function-error", says=r"^Could not load reward function"),
    RaisedClass("bf16-unsupported-gpu", says=r"bf16 mixed precision requires"),
    RaisedClass("zero3-device-map-conflict", says=r"Zero-3 is not compatible with .*device_map"),
    RaisedClass("gated-repo-no-access", says=r"is a gated (?:dataset|repository)|If the dataset is private or gated"),
    RaisedClass("more-ranks-than-gpus", says=r"^The requested device for vllm"),
    RaisedClass("framework-version-incompatible", says=r"^You need optimum >"),
    RaisedClass("save-eval-strategy-mismatch", says=r"^--load_best_model_at_end requires"),
    RaisedClass(
        "grpo-batch-generations-divisibility",
        says=r"divisible by (?:the number of generations|num_generations|the global batch)",
    ),
    RaisedClass("corrupt-model-file", says=r"without having git-lfs installed"),
    RaisedClass("special-token-not-in-vocab", says=r"is not found in the vocabulary of the given"),
    RaisedClass("iterable-dataset-needs-max-steps", says=r"does not implement __len__, max_steps has to be specified"),
    RaisedClass(
        "device-map-auto-in-training",
        says=r"can't train a model that has been loaded (?:with `device_map='auto'`|in \S+ precision on a different device)",
    ),
    RaisedClass("eval-strategy-without-eval-dataset", says=r"didn't pass an `eval_dataset`"),
    RaisedClass("", says=r"^FlashAttention.* has been toggled on"),  # for one of several reasons
    RaisedClass("train-dataset-wrong-type", says=r"`train_dataset` must be a `Dataset`"),
    RaisedClass("bnb-requires-newer-or-gpu", says=r"(?:bnb|bitsandbytes) optimizer but"),
    RaisedClass("framework-version-incompatible", at=r"transformers\.utils\.versions:"),
    RaisedClass("missing-module", says=r"requires \w+ to be installed"),
    RaisedClass(
        "bnb-requires-newer-or-gpu",
        says=r"(?i)bitsandbytes",
        kind=r"ImportError",
        at=r"quantiz|integrations\.bitsandbytes",
    ),
    RaisedClass(
        "tokenizer-backend-dependency-missing",
        says=r"(?i)sentencepiece|tiktoken|protobuf|tokenizers library",
        kind=r"ImportError|ValueError",
    ),
    RaisedClass("framework-version-incompatible", says=VERSION, kind=r"ImportError|RuntimeError|PackageNotFoundError"),
    RaisedClass("missing-module", says=INSTALL, kind=OF_PACKAGES),
    RaisedClass(
        "dataset-missing-column",
        says=r"not in the dataset\. Current columns|Unexpected (?:input keys in examples|key in batch)|Invalid keys in the example"
        r"|don't correspond to columns in the dataset|`?dataset_text_field`? or `?formatting_func",
    ),
    RaisedClass(
        "dataset-bad-row-values",
        says=r"should be an str but got|must be strings - got|must be a list of strings - got|(?:missing or|both are) None in"
        r"|Prompt input ids and (?:answer|attention)",
    ),
    RaisedClass("dataset-bad-row-values", at=r":_validate_tool_calls$"),
    RaisedClass("dataset-map-worker-died", says=r"Failed to retrieve (?:the )?results? from (?:map|prepare_split)"),
    RaisedClass(
        "dataset-schema-inconsistent", says=r"should have the same features|Features of the new split don't match"
    ),
    RaisedClass("dataset-empty", says=r"Tried to read an empty table|enough samples to at least yield one packed"),
    RaisedClass(
        "train-dataset-wrong-type",
        says=r"Iterable datasets are not yet supported|not supported with IterableDataset|with_transform\(\)",
    ),
    RaisedClass(
        "train-dataset-wrong-type",
        says=r"Expected to load a `Dataset(?:Dict)?`|Values in `DatasetDict` should be of type|dataset should not be None",
    ),
    RaisedClass(
        "pad-token-missing",
        says=r"does not have a pad(?:ding)? token|\bpad_token_id has to be defined",
        kind=r"ValueError|AssertionError",
    ),
    RaisedClass("eval-strategy-without-eval-dataset", says=r"must have an evaluation dataset to use"),
    RaisedClass("hub-repo-id-invalid", at=r"^huggingface_hub\.utils\._validators:"),
    RaisedClass("hub-no-write-permission", says=r"Token is valid but is 'read-only'"),
    RaisedClass("hub-token-invalid", says=r"must use your personal (?:account|access) token"),
    RaisedClass("bnb-native-lib-missing", at=r"^bitsandbytes\.(?:cextension|cuda_setup)"),
    RaisedClass(
        "no-gpu-visible",
        says=r"with no GPU available|No GPU (?:or .{0,20})?found|CUDA is required but not available|No available GPU device|can only be used on CUDA"
        r"|`fp16` but it is not supported on cpu",
    ),
    RaisedClass("model-not-found", says=r"is not a local folder or a valid repository name"),
    RaisedClass("no-network-on-node", says=r"We couldn't connect to '"),
    RaisedClass(
        "model-files-missing", says=r"adapter model file not found in|which is necessary to load this pretrained model"
    ),
    RaisedClass(
        "trust-remote-code-missing",
        says=r"custom code .*must be executed to correctly load|requires `trust_remote_code=True`",
    ),
    RaisedClass(
        "lora-target-modules-not-found",
        says=r"[Tt]arget modules? .*not found|No modules were targeted|[Pp]lease specify `target_(?:modules|parameters)`",
    ),
    RaisedClass("disk-full-dataset-cache", says=r"^Not enough disk space\. Needed"),
    RaisedClass("dataset-not-found", kind=r"DatasetNotFoundError", at=r"^datasets\.load:"),
    RaisedClass("dataset-split-unknown", says=r"^(?:Unknown|Bad) split"),
    RaisedClass(
        "dataset-split-unknown",
        at=r"^datasets\.arrow_reader:(?:ReadInstruction|_RelativeInstruction|_str_to_read_instruction)",
    ),
    # what a function does nothing else than refuse
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r":\w*(?:Config|Arguments|Plugin|Kwargs\w*)\.(?:__post_init__|_?validate\w*|__setattr__|__init__)$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^trl\.(?:experimental\.)?\S+:\w+Trainer\.(?:__init__|_prepare_peft_model)$",
    ),
    RaisedClass(
        "invalid-config-value",
        says=r"^Invalid `(?:torch_)?dtype` passed|[Ii]nvalid packing strategy|Invalid `on_seq_length",
        kind=r"ValueError",
    ),
    RaisedClass(
        "invalid-config-value",
        says=r"^(?:Unknown|Invalid|Unsupported|invalid) .{0,60}(?:importance|aggregation|scale_rewards|loss|truncation|optimizer|scheduler)",
        kind=r"ValueError|NotImplementedError",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^trl\.scripts\.\S+:(?:main|get_dataset|TrlParser\.\w+|HfArgumentParser\.\w+|string_to_bool)$",
    ),
    RaisedClass("invalid-config-value", kind=REFUSES, at=r"^transformers\.hf_argparser:"),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^accelerate\.accelerator:Accelerator\.(?:__init__|prepare\w*|_prepare_\w+)$",
    ),
    RaisedClass("invalid-config-value", kind=REFUSES, at=r"^accelerate\.state:\w+\.__init__$"),
    RaisedClass("invalid-config-value", kind=REFUSES, at=r"^accelerate\.utils\.dataclasses:"),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^peft\.\S+:\w*(?:Config|Model|Layer)\.(?:__post_init__|_check_new_adapter_config|_prepare_adapter_config|update_layer)$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=r"ValueError|TypeError|NotImplementedError",
        at=r"^bitsandbytes\.optim\.\w+:\w+\.__init__$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^transformers\.trainer\w*:\w*Trainer\.(?:__init__|get_optimizer_cls_and_kwargs|_validate_args|call_model_init)$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^transformers\.(?:utils\.quantization_config|training_args\w*|optimization):",
    ),
    RaisedClass("invalid-config-value", kind=REFUSES, at=r"^transformers\.trainer_optimizer:"),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^transformers\.trainer:Trainer\.(?:create_accelerator_and_postprocess|_build_accelerator_args|_hp_search_setup|hyperparameter_search)$",
    ),
    RaisedClass(
        "invalid-config-value", kind=r"ValueError", at=r"^transformers\.data\.data_collator:\w+\.__post_init__$"
    ),
    RaisedClass(
        "invalid-config-value",
        kind=r"ValueError|NotImplementedError",
        says=r"does not support (?:Flash ?Attention|an attention implementation|gradient checkpointing|activation checkpointing)"
        r"|not compatible with gradient checkpointing|^Specified `(?:attn|experts)_implementation=",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        says=r"device_map|torch_dtype|`?dtype`? |quantization_config|load_in_[48]bit|low_cpu_mem_usage|tp_plan",
        at=r"^transformers\.(?:modeling_utils:PreTrainedModel\.from_pretrained|modeling_utils:_get_(?:torch_)?dtype|integrations\.accelerate:check_and_set_device_map)$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=r"ValueError",
        at=r"^transformers\.generation\.configuration_utils:GenerationConfig\.(?:validate|save_pretrained)$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=r"ValueError",
        at=r"^transformers\.integrations\.deepspeed:(?:HfTrainerDeepSpeedConfig\.\w+|deepspeed_optim_sched|deepspeed_init)$",
    ),
    RaisedClass(
        "invalid-config-value",
        says=r"is not supported, only .* are supported",
        at=r"get_reporting_integration_callbacks$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^peft\.tuners\.lora\.layer:(?:LoraLayer\.\w+_init|LoraLayer\.reset_lora_parameters|\w+\.update_layer|(?:ParamWrapper|MultiheadAttention|_ConvNd)\.__init__)$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^peft\.(?:mapping|mapping_func|utils\.other):(?:inject_adapter_in_model|get_peft_model|_prepare_prompt_learning_config|set_additional_trainable_modules)$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^peft\.tuners\.\S+:(?:\w+\.)?_mark_only_adapters_as_trainable$",
    ),
    RaisedClass(
        "invalid-config-value", kind=REFUSES, at=r"^peft\.peft_model:PeftModel\.(?:_setup_prompt_encoder|add_adapter)$"
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        says=r"round multiple of the number of processes|`even_batches=False`|`split_batches|`dispatch_batches=True` requires",
        at=r"^accelerate\.data_loader:",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=REFUSES,
        at=r"^accelerate\.(?:utils\.launch:(?!_get_mpirun)\w+|commands\.launch:_validate_launch_command|tracking:filter_trackers)$",
    ),
    RaisedClass(
        "invalid-config-value",
        kind=r"ValueError",
        says=r"specify the number of (?:GPUs|devices)|node_rank must be less|Unknown mixed_precision",
        at=r"^accelerate\.launchers:",
    ),
)
"""The first that holds decides."""


def class_of(kind: str, template: str, place: str) -> str:
    """Return the class of a message; empty if nothing is known.

    Args:
        kind: The exception's name.
        template: What it says, `¤` for what is computed.
        place: `trl.trainer.sft_trainer:SFTTrainer.__init__`.

    >>> class_of("ValueError", "`beta` must be positive, got ¤", "trl.trainer.dpo_config:DPOConfig.__post_init__")
    'invalid-config-value'
    """
    return next((rule.name for rule in RULES if rule.holds(kind, template, place)), "")
