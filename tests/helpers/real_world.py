"""Public models and datasets by their names, on the loopback Hub: what scripts that others wrote ask for.

    with loopback_hub() as hub:
        fill(hub)

Models have the sizes of the released ones, a small tokenizer whose numbers fit, with the special tokens, the template and the lack of
a pad token that the released one has, and a file of weights with one tensor in it: whoever reads it finds that the rest is missing.
Datasets have the columns, splits and configurations of the released ones, with made rows. From knowledge of the public files.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final

from tests.helpers.architectures import ALL
from tests.helpers.hub import LoopbackHub
from tests.helpers.hub.weights import weights
from tests.helpers.real_rows import DATASETS, Splits
from tests.helpers.real_typed import BEANS, METRICS, TYPED, files_of_typed, metric_of

LLAMA: Final = ("<unk>", "<s>", "</s>")
CHATML: Final = ("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<think>", "</think>")
LLAMA3: Final = (
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|start_header_id|>",
    "<|end_header_id|>",
    "<|eot_id|>",
    "<|finetune_right_pad_id|>",
)
GEMMA: Final = ("<pad>", "<eos>", "<bos>", "<unk>", "<start_of_turn>", "<end_of_turn>")
T5: Final = ("<pad>", "</s>", "<unk>", "<extra_id_0>", "<extra_id_1>")
BERT: Final = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA: Final = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
GPT2: Final = ("<|endoftext|>",)
OPT: Final = ("<s>", "<pad>", "</s>", "<unk>")
TEMPLATES: Final = {
    CHATML: (
        "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    LLAMA3: (
        "{{ bos_token }}{% for message in messages %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>\n\n"
        "{{ message['content'] | trim }}<|eot_id|>{% endfor %}"
        "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
    ),
    GEMMA: (
        "{{ bos_token }}{% for message in messages %}{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}"
        "<start_of_turn>{{ role }}\n{{ message['content'] | trim }}<end_of_turn>\n{% endfor %}"
        "{% if add_generation_prompt %}<start_of_turn>model\n{% endif %}"
    ),
    LLAMA: (
        "{% for message in messages %}{% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + message['content'] + ' [/INST]' }}"
        "{% else %}{{ message['content'] + eos_token }}{% endif %}{% endfor %}"
    ),
}
"""How the chat models of a family write a conversation."""
TYPES: Final = {
    "BertForMaskedLM": "bert",
    "BloomForCausalLM": "bloom",
    "DistilBertForMaskedLM": "distilbert",
    "GPT2LMHeadModel": "gpt2",
    "GPTBigCodeForCausalLM": "gpt_bigcode",
    "GPTNeoXForCausalLM": "gpt_neox",
    "Gemma3ForCausalLM": "gemma3_text",
    "GemmaForCausalLM": "gemma",
    "GitForCausalLM": "git",
    "GraniteForCausalLM": "granite",
    "LlamaForCausalLM": "llama",
    "MT5ForConditionalGeneration": "mt5",
    "MistralForCausalLM": "mistral",
    "ModernBertForMaskedLM": "modernbert",
    "OPTForCausalLM": "opt",
    "BartForConditionalGeneration": "bart",
    "Cohere2ForCausalLM": "cohere2",
    "Gemma2ForCausalLM": "gemma2",
    "MixtralForCausalLM": "mixtral",
    "Phi3ForCausalLM": "phi3",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen2ForSequenceClassification": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
    "Qwen3_5ForConditionalGeneration": "qwen3_5",
    "SmolLM3ForCausalLM": "smollm3",
    "RobertaForMaskedLM": "roberta",
    "ViTForImageClassification": "vit",
    "T5ForConditionalGeneration": "t5",
}
"""`model_type` of each class."""
BEGIN: Final = {
    "BartForConditionalGeneration": "</s>",
    "MT5ForConditionalGeneration": "<pad>",
    "T5ForConditionalGeneration": "<pad>",
}
"""What decoders begin with."""


@dataclass(frozen=True, slots=True)
class Model:
    """A released model.

    Attributes:
        sizes: Its entry of `tests/helpers/architectures.py`, or its class.
        special: Its special tokens.
        chat: Whether its tokenizer has a template for conversations.
        ends: Its special tokens by what they are for: `eos_token`.
        scores: Whether it gives a score to a text.
        labels: Names of the classes that it tells apart.
        images: What its processor of images says of itself.
    """

    sizes: str
    special: tuple[str, ...]
    ends: Mapping[str, str]
    chat: bool = True
    scores: bool = False
    labels: tuple[str, ...] = ()
    images: Mapping[str, object] = field(default_factory=dict[str, object])


QWEN: Final = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
QWEN_BASE: Final = {"eos_token": "<|endoftext|>", "pad_token": "<|endoftext|>"}
SMOL: Final = {"bos_token": "<|im_start|>", "eos_token": "<|im_end|>", "pad_token": "<|im_end|>"}
OLD_LLAMA: Final = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"}
NEW_LLAMA: Final = {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"}
NEW_LLAMA_BASE: Final = {"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"}
OF_GEMMA: Final = {"bos_token": "<bos>", "eos_token": "<eos>", "pad_token": "<pad>", "unk_token": "<unk>"}
OF_GPT2: Final = {"bos_token": "<|endoftext|>", "eos_token": "<|endoftext|>", "unk_token": "<|endoftext|>"}
OF_BLOOM: Final = {"bos_token": "<s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
OF_OPT: Final = {"bos_token": "</s>", "eos_token": "</s>", "pad_token": "<pad>", "unk_token": "</s>"}
OF_T5: Final = {"eos_token": "</s>", "pad_token": "<pad>", "unk_token": "<unk>"}
OF_BERT: Final = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}
OF_ROBERTA: Final = {**OF_BLOOM, "cls_token": "<s>", "sep_token": "</s>", "mask_token": "<mask>"}
MODELS: Final[dict[str, Model]] = {
    **dict.fromkeys(
        (
            "Qwen/Qwen2.5-0.5B-Instruct",
            "Qwen/Qwen2-0.5B-Instruct",
            "Qwen/Qwen2.5-3B-Instruct",
            "Qwen/Qwen2.5-1.5B-Instruct",
            "Qwen/Qwen2-1.5B-Instruct",
            "trl-lib/qwen1.5-1.8b-sft",
        ),
        Model("qwen2.5-0.5b", CHATML, QWEN),
    ),
    **dict.fromkeys(("Qwen/Qwen2.5-0.5B", "Qwen/Qwen2-0.5B"), Model("qwen2.5-0.5b", CHATML, QWEN_BASE)),
    **dict.fromkeys(
        (
            "Qwen/Qwen2-7B-Instruct",
            "Qwen/Qwen2.5-7B-Instruct",
        ),
        Model("qwen2.5-7b", CHATML, QWEN),
    ),
    **dict.fromkeys(("Qwen/Qwen3-0.6B", "Qwen/Qwen3-1.7B", "Qwen/Qwen3-8B"), Model("qwen3-0.6b", CHATML, QWEN)),
    "trl-lib/Qwen2-0.5B-Reward": Model("qwen2.5-reward", CHATML, QWEN),
    **dict.fromkeys(
        (
            "HuggingFaceTB/SmolLM2-135M",
            "HuggingFaceTB/SmolLM-135M",
            "HuggingFaceTB/SmolLM-360M",
            "HuggingFaceTB/SmolLM2-360M",
        ),
        Model("smollm2-135m", CHATML, OF_GPT2, chat=False),
    ),
    **dict.fromkeys(
        ("HuggingFaceTB/SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM-135M-Instruct"),
        Model("smollm2-135m", CHATML, SMOL),
    ),
    **dict.fromkeys(
        ("HuggingFaceTB/SmolLM3-3B", "HuggingFaceTB/SmolLM3-3B-Base"), Model("smollm3-3b", CHATML, QWEN_BASE)
    ),
    **dict.fromkeys(
        ("huggyllama/llama-7b", "meta-llama/Llama-2-7b-hf", "NousResearch/Llama-2-7b-hf"),
        Model("llama-2-7b", LLAMA, OLD_LLAMA, chat=False),
    ),
    **dict.fromkeys(
        ("NousResearch/Llama-2-7b-chat-hf", "NousResearch/llama-2-7b-chat-hf"), Model("llama-2-7b", LLAMA, OLD_LLAMA)
    ),
    **dict.fromkeys(
        (
            "meta-llama/Meta-Llama-3-8B",
            "meta-llama/Meta-Llama-3.1-8B",
            "meta-llama/Llama-3.1-8B",
            "meta-llama/Llama-3.2-3B",
        ),
        Model("llama-3.2-1b", LLAMA3, NEW_LLAMA_BASE, chat=False),
    ),
    **dict.fromkeys(
        (
            "meta-llama/Meta-Llama-3-8B-Instruct",
            "meta-llama/Llama-3.1-8B-Instruct",
            "meta-llama/Llama-3.2-3B-Instruct",
            "meta-llama/Llama-3.2-1B-Instruct",
        ),
        Model("llama-3.2-1b", LLAMA3, NEW_LLAMA),
    ),
    **dict.fromkeys(
        (
            "mistralai/Mistral-7B-Instruct-v0.3",
            "mistralai/Mistral-7B-Instruct-v0.2",
            "cognitivecomputations/dolphin-2.1-mistral-7b",
        ),
        Model("mistral-7b-v0.3", LLAMA, OLD_LLAMA),
    ),
    "meta-llama/Llama-3.2-1B": Model("llama-3.2-1b", LLAMA3, NEW_LLAMA_BASE, chat=False),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": Model("mixtral-8x7b", LLAMA, OLD_LLAMA),
    "loubnabnl/smollm2-360M-sft": Model("smollm2-135m", CHATML, SMOL),
    "Qwen/Qwen3.5-2B": Model("qwen3.5-9b", CHATML, QWEN),
    "CohereLabs/tiny-aya-global": Model("cohere2-command-r7b", CHATML, QWEN),
    "mistralai/Mistral-7B-v0.1": Model("mistral-7b-v0.3", LLAMA, OLD_LLAMA, chat=False),
    **dict.fromkeys(("google/gemma-7b", "google/gemma-2b"), Model("gemma-2b", GEMMA, OF_GEMMA, chat=False)),
    **dict.fromkeys(("google/gemma-1.1-7b-it", "google/gemma-2b-it"), Model("gemma-2b", GEMMA, OF_GEMMA)),
    **dict.fromkeys(
        ("google/gemma-3-1b-it", "google/gemma-3-270m-it", "google/functiongemma-270m-it"),
        Model("gemma-3-1b", GEMMA, OF_GEMMA),
    ),
    "google/gemma-3-12b-it": Model("gemma-3-1b", GEMMA, OF_GEMMA),
    "sergiopaniego/Qwen2-0.5B-GRPO": Model("qwen2.5-0.5b", CHATML, QWEN),
    "allenai/OLMo-2-0425-1B-SFT": Model("qwen2.5-0.5b", CHATML, QWEN),
    "google/gemma-3-4b-it": Model("gemma-3-1b", GEMMA, OF_GEMMA),
    "bigscience/bloom-1b1": Model("bloom-560m", OPT, OF_BLOOM, chat=False),
    "jrahn/RookWorld-LM-124M": Model("gpt2", GPT2, OF_GPT2, chat=False),
    "mistralai/Mistral-7B-v0.3": Model("mistral-7b-v0.3", LLAMA, OLD_LLAMA, chat=False),
    "speakleash/Bielik-11B-v3.0-Instruct": Model("mistral-7b-v0.3", CHATML, QWEN),
    "loubnabnl/smollm2-1.7B-sft": Model("smollm2-135m", CHATML, SMOL),
    "open-r1/Qwen2.5-Math-7B-RoPE-300k": Model("qwen2.5-7b", CHATML, QWEN_BASE),
    "google/gemma-3-1b-pt": Model("gemma-3-1b", GEMMA, OF_GEMMA, chat=False),
    "google/gemma-2-2b-it": Model("gemma-2-2b", GEMMA, OF_GEMMA),
    "google/gemma-2-2b": Model("gemma-2-2b", GEMMA, OF_GEMMA, chat=False),
    "microsoft/Phi-3-mini-4k-instruct": Model("phi-4-mini", CHATML, QWEN),
    "ibm-granite/granite-4.0-micro": Model("granite-3.3-2b", CHATML, QWEN),
    "bigscience/bloomz-560m": Model("bloom-560m", OPT, OF_BLOOM, chat=False),
    "bigscience/bloom-1b7": Model("bloom-560m", OPT, OF_BLOOM, chat=False),
    "bigcode/starcoderbase-1b": Model("starcoder", GPT2, OF_GPT2, chat=False),
    **dict.fromkeys(
        (
            "EleutherAI/pythia-1b-deduped",
            "cleanrl/EleutherAI_pythia-1b-deduped__sft__tldr",
            "trl-lib/pythia-1b-deduped-tldr-sft",
        ),
        Model("pythia-1b", GPT2, OF_GPT2, chat=False),
    ),
    **dict.fromkeys(
        ("cleanrl/EleutherAI_pythia-1b-deduped__reward__tldr", "trl-lib/pythia-1b-deduped-tldr-rm"),
        Model("pythia-1b", GPT2, {**OF_GPT2, "pad_token": "<|endoftext|>"}, chat=False, scores=True),
    ),
    **dict.fromkeys(
        ("openai-community/gpt2", "sshleifer/tiny-gpt2", "distilbert/distilgpt2", "sgugger/gpt2-like-tokenizer"),
        Model("gpt2", GPT2, OF_GPT2, chat=False),
    ),
    "facebook/opt-350m": Model("opt-350m", OPT, OF_OPT, chat=False),
    **dict.fromkeys(
        ("facebook/opt-125m", "facebook/opt-1.3b", "facebook/opt-6.7b"),
        Model("opt-1.3b", OPT, OF_OPT, chat=False),
    ),
    **dict.fromkeys(("google-t5/t5-base", "google-t5/t5-small"), Model("t5-base", T5, OF_T5, chat=False)),
    **dict.fromkeys(("google/flan-t5-large", "google/flan-t5-xl"), Model("flan-t5-xl", T5, OF_T5, chat=False)),
    **dict.fromkeys(("bigscience/mt0-small", "bigscience/mt0-large"), Model("mt5-small", T5, OF_T5, chat=False)),
    "facebook/bart-base": Model("bart-large", ROBERTA, OF_ROBERTA, chat=False),
    "google-bert/bert-base-uncased": Model("BertForMaskedLM", BERT, OF_BERT, chat=False),
    "prajjwal1/bert-tiny": Model("BertForMaskedLM", BERT, OF_BERT, chat=False),
    "sgugger/bert-like-tokenizer": Model("BertForMaskedLM", BERT, OF_BERT, chat=False),
    "google-bert/bert-base-cased": Model("BertForMaskedLM", BERT, OF_BERT, chat=False),
    "distilbert/distilbert-base-uncased": Model("DistilBertForMaskedLM", BERT, OF_BERT, chat=False),
    **dict.fromkeys(
        ("FacebookAI/roberta-large", "FacebookAI/roberta-base", "distilbert/distilroberta-base"),
        Model("RobertaForMaskedLM", ROBERTA, OF_ROBERTA, chat=False),
    ),
    "merve/beans-vit-224": Model(
        "ViTForImageClassification",
        BERT,
        OF_BERT,
        chat=False,
        labels=BEANS,
        images={"image_processor_type": "ViTImageProcessor"},
    ),
    "microsoft/git-base": Model(
        "GitForCausalLM",
        BERT,
        OF_BERT,
        chat=False,
        images={"image_processor_type": "CLIPImageProcessor", "processor_class": "GitProcessor"},
    ),
    "answerdotai/ModernBERT-base": Model("ModernBertForMaskedLM", BERT, OF_BERT, chat=False),
}
ADAPTERS: Final[dict[str, dict[str, object]]] = {
    "smangrul/roberta-large-peft-lora": {
        "peft_type": "LORA",
        "task_type": "SEQ_CLS",
        "base_model_name_or_path": "roberta-large",
        "r": 8,
        "lora_alpha": 16,
        "target_modules": ["query", "value"],
    },
    "smangrul/roberta-large-peft-p-tuning": {
        "peft_type": "P_TUNING",
        "task_type": "SEQ_CLS",
        "base_model_name_or_path": "roberta-large",
        "num_virtual_tokens": 20,
        "encoder_hidden_size": 128,
        "token_dim": 1024,
        "num_attention_heads": 16,
        "num_layers": 24,
        "num_transformer_submodules": 1,
    },
    "ybelkada/flan-t5-large-financial-phrasebank-lora": {
        "peft_type": "LORA",
        "task_type": "SEQ_2_SEQ_LM",
        "base_model_name_or_path": "google/flan-t5-large",
        "r": 16,
        "lora_alpha": 32,
        "target_modules": ["q", "v"],
    },
}
"""What released adapters say of themselves."""
MOVED: Final = {
    "distilgpt2": "distilbert/distilgpt2",
    "distilroberta-base": "distilbert/distilroberta-base",
    "gpt2": "openai-community/gpt2",
    "roberta-base": "FacebookAI/roberta-base",
    "roberta-large": "FacebookAI/roberta-large",
    "t5-base": "google-t5/t5-base",
    "t5-small": "google-t5/t5-small",
    "bert-base-uncased": "google-bert/bert-base-uncased",
    "bert-base-cased": "google-bert/bert-base-cased",
    "distilbert-base-uncased": "distilbert/distilbert-base-uncased",
}
"""Names of the Hub's first years."""
MOVED_DATASETS: Final = {
    "beans": "AI-Lab-Makerere/beans",
    "billsum": "FiscalNote/billsum",
    "conll2003": "eriktks/conll2003",
    "eli5_category": "eli5_category/eli5_category",
    "glue": "nyu-mll/glue",
    "gsm8k": "openai/gsm8k",
    "imdb": "stanfordnlp/imdb",
    "opus_books": "Helsinki-NLP/opus_books",
    "rotten_tomatoes": "cornell-movie-review-data/rotten_tomatoes",
    "squad": "rajpurkar/squad",
    "super_glue": "aps/super_glue",
    "swag": "allenai/swag",
    "wikitext": "Salesforce/wikitext",
    "wmt16": "wmt/wmt16",
    "wnut_17": "leondz/wnut_17",
    "yelp_review_full": "Yelp/yelp_review_full",
}


def fill(hub: LoopbackHub) -> None:
    """Give a Hub all these models and datasets."""
    for name, model in MODELS.items():
        hub.add_model(name, dict(files_of(model)))
    for name, config in ADAPTERS.items():
        hub.add_model(
            name, {"adapter_config.json": json.dumps(config), "adapter_model.safetensors": weights(one=[2, 2])}
        )
    for name, configurations in DATASETS.items():
        hub.add_dataset(name, dict(_dataset(configurations)))
    for name, typed in TYPED.items():
        hub.add_dataset(name, dict(files_of_typed(typed)))
    for name in METRICS:
        hub.add_space(f"evaluate-metric/{name}", {f"{name}.py": metric_of(name)})
    for old, new in MOVED.items():
        hub.rename("model", old, new)
    for old, new in MOVED_DATASETS.items():
        hub.rename("dataset", old, new)


def files_of(model: Model) -> Iterator[tuple[str, str | bytes]]:
    """Yield a model's files."""
    kind, fields = ALL.get(model.sizes, (model.sizes, {}))
    numbers = {f"{name}_id": model.special.index(token) for name, token in model.ends.items()}
    dtype = "float32" if model.special in (BERT, ROBERTA, T5, GPT2) else "bfloat16"
    if kind in BEGIN:
        numbers["decoder_start_token_id"] = model.special.index(BEGIN[kind])
    classes = ("LABEL_0",) if model.scores else model.labels
    named = {"num_labels": len(classes), "id2label": dict(enumerate(classes)), "label2id": _numbered(classes)}
    labels = named if classes else {}
    written = kind.replace("ForCausalLM", "ForSequenceClassification") if model.scores else kind
    if "vision_config" in fields:
        fields = {**fields, "text_config": {**fields.get("text_config", {}), **numbers}}
    config = {"architectures": [written], "model_type": TYPES[kind], "dtype": dtype, **fields, **numbers, **labels}
    longest = 512 if model.special in (BERT, ROBERTA, T5) else 2048
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": longest, **model.ends}
    yield "config.json", json.dumps(config)
    yield "generation_config.json", json.dumps(numbers)
    yield "tokenizer.json", _tokenizer(model.special)
    yield "tokenizer_config.json", json.dumps(settings)
    if model.images:
        yield "preprocessor_config.json", json.dumps({"size": {"height": 224, "width": 224}, **model.images})
    if model.chat:
        yield "chat_template.jinja", TEMPLATES[model.special]
    yield "model.safetensors", weights(one=[2, 2])


def _numbered(names: Sequence[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(names)}


@cache
def _tokenizer(special: tuple[str, ...]) -> str:
    """Return a tokenizer of bytes and a few words, with special tokens in front, as its file."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers

    pieces = Tokenizer(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=700, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    pieces.train_from_iterator(["the question is what the answer of user and assistant and system is"] * 3, trainer)
    if special == BERT:
        ends = [(each, special.index(each)) for each in ("[CLS]", "[SEP]")]
        pieces.post_processor = processors.TemplateProcessing(
            single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=ends
        )
    text: str = pieces.to_str()
    return text


def _dataset(configurations: Mapping[str, Callable[[], Splits]]) -> Iterator[tuple[str, str]]:
    """Yield a dataset's files: JSON Lines for each split of each configuration, and the card that names them."""
    lines = ["---", "configs:"]
    for name, make in configurations.items():
        lines += [f"- config_name: '{name}'", "  data_files:"]
        for split, rows in make().items():
            path = f"{'data' if name == 'default' else name}/{split}.jsonl"
            lines += [f"  - split: {split}", f"    path: {path}"]
            yield path, "".join(json.dumps(row) + "\n" for row in rows)
    yield "README.md", "\n".join([*lines, "---", ""])
