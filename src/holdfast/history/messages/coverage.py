"""Which modules' messages are kept: of packages that write into the logs of training jobs."""

import re
from collections.abc import Mapping
from typing import Final

MODULES: Final[Mapping[str, re.Pattern[str]]] = {
    "trl": re.compile(
        r"trl(?!\.experimental\.(async_\w+|sdpo|sdft|self_distillation|iw_opd|openreward|server_distillation|tpo|dppo|papo|merge_\w+|harbor|minillm)\b"
        r"|\.models\.(sd_utils|modeling_sd_base|auxiliary_modules)|\.skills|\.commands).*"
    ),
    "peft": re.compile(
        r"peft(?!\.tuners\.(?!(lora|adalora|ia3|lycoris_utils|tuners_utils|mixed|p_tuning|prefix_tuning|prompt_tuning|multitask_prompt_tuning"
        r"|trainable_tokens|ln_tuning|xlora|loha|lokr|oft|boft|vera|randlora|c3a|miss|bone|hra|fourierft|shira)\b)\w+|\.utils\.(hotswap|incremental_pca)|\.optimizers).*"
    ),
    "accelerate": re.compile(r"accelerate\b.*"),
    "datasets": re.compile(r"datasets(?!\.(commands|packaged_modules\.(cache|spark|sql)|inspect|metric|tasks)\b).*"),
    "huggingface_hub": re.compile(
        r"huggingface_hub(?!\.(inference|commands|cli|keras_mixin|fastai_utils|_webhooks_\w+|_space_api|_inference_endpoints|_tensorboard_logger)\b).*"
    ),
    "bitsandbytes": re.compile(r"bitsandbytes(?!\.(triton|research)\b).*"),
    "transformers": re.compile(
        r"transformers\.(trainer\w*|training_args\w*|modeling_utils|modeling_(?!gguf|tf_)\w+utils|configuration_utils|core_model_loading|conversion_mapping"
        r"|masking_utils|generation\.(utils|configuration_utils)"
        r"|tokenization_(?!mistral)\w+|convert_slow_tokenizer|data\.data_collator|processing_utils|feature_extraction_utils"
        r"|image_processing_(utils|base|backends)|hf_argparser|optimization|pytorch_utils|dynamic_module_utils|safetensors_conversion|file_utils"
        r"|integrations\.(?!deepgemm|finegrained|tensor_parallel|mxfp4|fbgemm|executorch|hub_kernels|ggml|mistral|sonicmoe|liger|moe|eetq|hqq|vptq|spqr|quark|higgs|aqlm|bitnet|spinquant)\w+|deepspeed|quantizers\.(?!quantizer_(?:mxfp4|fbgemm|finegrained|spqr|vptq|aqlm|higgs|eetq|quark|bitnet|auto_round|sinq|metal|fouroversix))\w+|models\.auto\.\w+"
        r"|distributed\.\w+|utils\.(bitsandbytes|chat_template_utils|generic|hub|import_utils|kernel_config|loading_report|peft_utils|quantization_config|versions)"
        r"|models\.(llama|mistral|qwen2|gemma3)\.modeling_\w+)"
    ),
}
TESTS: Final = re.compile(r"\.bak$|\.(tests?|test_utils|testing_utils|testing|_testing)(\.|$)|_tf_|_flax_|_tf$|_flax$")


def keeps_messages(package: str, module: str) -> bool:
    """True if a module's messages are kept.

    >>> keeps_messages("transformers", "transformers.trainer"), keeps_messages("transformers", "transformers.models.bert.modeling_bert")
    (True, False)
    """
    return package in MODULES and MODULES[package].fullmatch(module) is not None and not TESTS.search(module)
