"""Faults that people make, each in a job that is otherwise good: where a rehearsal is to find it, and what it is."""

from tests.helpers.rehearsal_jobs import ANSWER, CHAT, Job, job, plain
from tests.helpers.rehearsal_late_faults import ENDS, HUB, OTHERS, STEPS

TOKENIZER = 'tokenizer = AutoTokenizer.from_pretrained("work/tiny")\n'
ADDED = (
    TOKENIZER
    + 'tokenizer.add_tokens([f"<tool_{i}>" for i in range(300)])\nmodel = AutoModelForCausalLM.from_pretrained("work/tiny")'
)
WEIGHED_BY_ITSELF = """
class Weighed(Trainer):
    batches = 0
    def compute_loss(self, *args, **kwargs):
        self.batches += 1
        return super().compute_loss(*args, **kwargs) * self.batches
"""
NAMES: tuple[Job, ...] = (
    job("length-by-its-old-name", "SFT", "import/trl-config-arg-renamed", settings="max_seq_length=512"),
    job(
        "tokenizer-by-way-of-a-class-of-its-own",
        "SFT",
        "import/trl-config-arg-renamed",
        top="class Own(SFTTrainer):\n    def __init__(self, **kwargs):\n        super().__init__(tokenizer=None, **kwargs)",
        kind="Own",
    ),
    job("beta-given-to-the-trainer", "DPO", "import/trl-config-arg-renamed", given="beta=0.1"),
    job("max-prompt-length-of-dpo", "DPO", "import/trl-config-arg-renamed", settings="max_prompt_length=128"),
    job("tokenizer-given-to-kto", "KTO", "import/trl-config-arg-renamed", top=TOKENIZER, given="tokenizer=tokenizer"),
    job("evaluation-strategy", "Reward", "import/transformers-arg-removed", settings='evaluation_strategy="steps"'),
    job("overwrite-output-dir", "GRPO", "import/transformers-arg-removed", settings="overwrite_output_dir=True"),
    job(
        "completion-collator-is-gone",
        "SFT",
        "import/import-api-removed",
        top="from trl import DataCollatorForCompletionOnlyLM",
    ),
    job("adamw-is-gone", "RLOO", "import/import-api-removed", top="from transformers import AdamW"),
    job(
        "scheduler-that-there-is-not", "SFT", "import/invalid-config-value", settings='lr_scheduler_type="cosine_decay"'
    ),
    job("strategy-misspelt", "KTO", "import/invalid-config-value", settings='eval_strategy="epochs"'),
    job("optimizer-misspelt", "DPO", "import/invalid-config-value", settings='optim="adam_w"'),
    job("lora-r-zero", "SFT", "model/invalid-config-value", given="peft_config=LoraConfig(r=0)"),
    job("loss-type-unknown", "DPO", "step/invalid-config-value", settings='loss_type="sigmoidal"'),
    job("rloo-group-of-one", "RLOO", "import/invalid-config-value", settings="num_generations=1"),
    job(
        "batch-not-of-whole-groups",
        "RLOO",
        "import/grpo-batch-generations-divisibility",
        settings="num_generations=3, per_device_train_batch_size=4",
    ),
    job(
        "prefetch-without-workers",
        "Reward",
        "import/invalid-config-value",
        settings="dataloader_prefetch_factor=2, dataloader_num_workers=0",
    ),
    job(
        "best-model-without-evaluation",
        "SFT",
        "import/save-eval-strategy-mismatch",
        settings='load_best_model_at_end=True, save_strategy="epoch"',
    ),
    plain("tokenizer-given-to-trainer", "import/transformers-arg-removed", given="tokenizer=tokenizer, "),
    plain("a-module-that-nobody-installed", "import/missing-module", top="import sentencepiece_extras"),
    job("wandb-not-installed", "SFT", "model/missing-module", settings='report_to="wandb"'),
    job(
        "deepspeed-not-installed",
        "DPO",
        "import/missing-module",
        settings='deepspeed={"zero_optimization": {"stage": 2}}',
    ),
    job("token-from-nowhere", "SFT", "import/user-code-error", top='import os\ntoken = os.environ["MY_HUB_TOKEN"]'),
    job("unbalanced-bracket", "DPO", "import/user-code-error", top="print(("),
)
"""What stops a job before it has anything."""
DATA: tuple[Job, ...] = (
    job(
        "batch-mapped-as-a-row",
        "SFT",
        "data/user-code-error",
        shape='dataset = dataset.map(lambda row: {"text": "Q: {messages}".format(**row)}, batched=True)',
    ),
    job(
        "no-such-json",
        "SFT",
        "data/dataset-not-found",
        shape='dataset = load_dataset("json", data_files="data/train.jsonl", split="train")',
    ),
    job(
        "no-such-column-to-rename",
        "SFT",
        "data/dataset-missing-column",
        shape='dataset = dataset.rename_column("conversation", "messages")',
    ),
    job(
        "no-such-column-to-remove",
        "DPO",
        "data/dataset-missing-column",
        shape='dataset = dataset.remove_columns(["id"])',
    ),
    job(
        "filter-leaves-nothing",
        "SFT",
        "data/dataset-empty",
        shape="dataset = dataset.filter(lambda row: len(row['messages']) > 9)",
    ),
    job(
        "key-error-in-mapping",
        "SFT",
        "data/dataset-missing-column",
        shape='dataset = dataset.map(lambda row: {"text": row["instruction"] + row["output"]})',
    ),
    job(
        "columns-differ-between-files",
        "SFT",
        "data/dataset-schema-inconsistent",
        shape='dataset = load_dataset("json", data_files=["rows/a.jsonl", "rows/b.jsonl"], split="train")',
        files={
            "rows/a.jsonl": '{"prompt": "a", "completion": "b"}\n' * 9,
            "rows/b.jsonl": '{"prompt": "a", "answer": "b"}\n' * 9,
        },
    ),
    job(
        "messages-and-texts-in-a-pair",
        "DPO",
        "tokenize/dataset-bad-row-values",
        row=f'{{"prompt": [{CHAT}], "chosen": "yes", "rejected": "no"}}',
    ),
    job(
        "numbers-and-texts-in-a-column",
        "SFT",
        "data/dataset-json-type-inconsistent",
        shape='dataset = load_dataset("json", data_files="rows/mixed.jsonl", split="train")',
        files={"rows/mixed.jsonl": '{"text": {"a": 1}}\n{"text": "b"}\n{"text": 3}\n' * 9},
    ),
    job(
        "split-that-there-is-not",
        "DPO",
        "data/dataset-split-unknown",
        shape='held = load_dataset("json", data_files="rows/pairs.jsonl", split="test")',
        files={"rows/pairs.jsonl": '{"prompt": "a", "chosen": "b", "rejected": "c"}\n' * 9},
    ),
    job(
        "a-loading-script",
        "SFT",
        "data/dataset-script-unsupported",
        shape='dataset = load_dataset("rows/own.py", split="train")',
        files={"rows/own.py": "import datasets\n"},
    ),
    job(
        "the-whole-dict-of-splits",
        "DPO",
        "data/train-dataset-wrong-type",
        shape="dataset = dataset.train_test_split(0.1)",
    ),
    job("rows-in-a-list", "SFT", "data/train-dataset-wrong-type", shape="dataset = list(dataset)"),
    job(
        "stream-without-max-steps",
        "SFT",
        "model/iterable-dataset-needs-max-steps",
        shape="dataset = dataset.to_iterable_dataset()",
    ),
    job(
        "no-rejected-answers",
        "Reward",
        "tokenize/dataset-missing-column",
        row=f'{{"prompt": [{CHAT}], "chosen": [{ANSWER}]}}',
    ),
    job(
        "no-labels-in-kto",
        "KTO",
        "tokenize/dataset-missing-column",
        row=f'{{"prompt": [{CHAT}], "completion": [{ANSWER}]}}',
    ),
    job(
        "questions-without-prompts", "RLOO", "step/dataset-missing-column", row='{"question": str(i), "answer": str(i)}'
    ),
    job(
        "evaluation-rows-of-another-kind",
        "DPO",
        "tokenize/dataset-missing-column",
        settings='eval_strategy="steps"',
        given='eval_dataset=dataset.remove_columns("rejected")',
    ),
    job(
        "pairs-of-the-same",
        "DPO",
        "data/preference-signal-degenerate",
        row=f'{{"prompt": [{CHAT}], "chosen": [{ANSWER}], "rejected": [{ANSWER}]}}',
    ),
    job(
        "pairs-of-the-same-scores",
        "Reward",
        "data/preference-signal-degenerate",
        row=f'{{"chosen": [{CHAT}, {ANSWER}], "rejected": [{CHAT}, {ANSWER}]}}',
    ),
    job(
        "nothing-but-good-answers",
        "KTO",
        "data/preference-signal-degenerate",
        row=f'{{"prompt": [{CHAT}], "completion": [{ANSWER}], "label": True}}',
    ),
    job(
        "answers-that-are-none",
        "SFT",
        "tokenize/dataset-bad-row-values",
        row='{"prompt": str(i), "completion": None if i == 7 else "yes"}',
    ),
    job(
        "csv-cut-in-a-quote",
        "SFT",
        "data/dataset-file-corrupt",
        shape='dataset = load_dataset("json", data_files="rows/cut.json", split="train")',
        files={"rows/cut.json": '[{"text": "a"}, {"text": "b'},
    ),
)
"""What is wrong with the rows."""
MODELS: tuple[Job, ...] = (
    job(
        "callback-of-no-class",
        "Reward",
        "model/user-code-error",
        top="class Say:\n    def on_log(self, *args, **kwargs):\n        print(args)",
        given="callbacks=[Say()]",
    ),
    job(
        "adapter-of-a-writer-on-a-judge",
        "Reward",
        "model/invalid-config-value",
        given='peft_config=LoraConfig(task_type="CAUSAL_LM")',
    ),
    job("model-by-its-path", "SFT", "model/invalid-config-value", model='__import__("pathlib").Path("work/tiny")'),
    job(
        "some-layers-of-all-linear",
        "DPO",
        "import/invalid-config-value",
        given='peft_config=LoraConfig(target_modules="all-linear", layers_to_transform=[0])',
    ),
    job(
        "four-and-eight-bits",
        "SFT",
        "import/invalid-config-value",
        before="from transformers import BitsAndBytesConfig\nbits = BitsAndBytesConfig(load_in_4bit=True, load_in_8bit=True)",
    ),
    job("rank-is-a-text", "KTO", "model/invalid-config-value", given='peft_config=LoraConfig(r="8", lora_alpha=16)'),
    job("no-such-folder", "GRPO", "model/model-path-not-local", model='"./models/qwen"'),
    job(
        "architecture-of-tomorrow",
        "SFT",
        "model/architecture-not-recognized",
        model='"new"',
        files={"new/config.json": '{"model_type": "qwen9", "architectures": ["Qwen9ForCausalLM"]}'},
    ),
    job(
        "lora-names-of-another-model",
        "SFT",
        "model/lora-target-modules-not-found",
        given='peft_config=LoraConfig(target_modules=["query_key_value"])',
    ),
    job(
        "lora-names-of-gpt2",
        "KTO",
        "model/lora-target-modules-not-found",
        given='peft_config=LoraConfig(target_modules=["c_attn"])',
    ),
    job(
        "lora-argument-that-there-is-not",
        "DPO",
        "import/third-party-arg-unknown",
        top="lora = LoraConfig(rank=8)",
        given="peft_config=lora",
    ),
    job(
        "reference-is-the-model",
        "DPO",
        "model/invalid-config-value",
        top='model = AutoModelForCausalLM.from_pretrained("work/tiny")',
        model="model",
        given="ref_model=model",
    ),
    job(
        "four-bits-without-bitsandbytes",
        "SFT",
        "model/bnb-requires-newer-or-gpu",
        top="from transformers import BitsAndBytesConfig",
        model='AutoModelForCausalLM.from_pretrained("work/tiny", quantization_config=BitsAndBytesConfig(load_in_4bit=True))',
    ),
    job(
        "attention-misspelt",
        "RLOO",
        "model/invalid-config-value",
        model='AutoModelForCausalLM.from_pretrained("work/tiny", attn_implementation="flash-attention")',
    ),
    job(
        "everything-frozen",
        "SFT",
        "model/no-trainable-parameters",
        top='model = AutoModelForCausalLM.from_pretrained("work/tiny")\nfor each in model.parameters():\n    each.requires_grad = False',
        model="model",
    ),
    job(
        "words-without-rows-in-the-embedding",
        "SFT",
        "step/token-id-out-of-embedding-range",
        top=ADDED,
        row='{"text": f"<tool_{i}> is called <tool_{i + 200}>"}',
        model="model",
        given="processing_class=tokenizer",
    ),
    job(
        "no-chat-template",
        "SFT",
        "tokenize/chat-template-missing",
        top=TOKENIZER + "tokenizer.chat_template = None",
        given="processing_class=tokenizer",
    ),
    job(
        "no-chat-template-for-prompts",
        "GRPO",
        "step/chat-template-missing",
        top=TOKENIZER + "tokenizer.chat_template = None",
        given="processing_class=tokenizer",
    ),
    job(
        "template-that-does-not-parse",
        "DPO",
        "tokenize/chat-template-invalid",
        top=TOKENIZER + 'tokenizer.chat_template = "{% for message in messages %}{{ message.content }}"',
        given="processing_class=tokenizer",
    ),
    job(
        "template-wants-turns",
        "SFT",
        "tokenize/chat-roles-not-alternating",
        row=f'{{"messages": [{CHAT}, {CHAT}, {ANSWER}]}}',
        model='"work/tiny_strict"',
    ),
    job("end-token-of-another-family", "SFT", "tokenize/special-token-not-in-vocab", settings='eos_token="<|eot_id|>"'),
    job("weights-lost", "Reward", "model/model-files-missing", model='"work/tiny_nowt"'),
    job("tokenizer-lost", "DPO", "model/model-files-missing", model='"work/tiny_notok"'),
    job("weights-cut", "GRPO", "model/corrupt-model-file", model='"work/tiny_trunc"'),
    plain("nothing-pads", "step/pad-token-missing", top="tokenizer.pad_token = None"),
    plain("no-labels", "step/labels-missing", collator="__import__('transformers').DataCollatorWithPadding(tokenizer)"),
    plain(
        "columns-that-are-dropped",
        "step/dataset-columns-dropped",
        removed="[]",
        collator='lambda rows: {"texts": [row["text"] for row in rows]}',
    ),
    plain("counts-its-steps-itself", "resume/resume-diverges", top=WEIGHED_BY_ITSELF, kind="Weighed"),
    plain(
        "all-labels-masked",
        "tokenize/completion-mask-drops-everything",
        top="class Mask(DataCollatorForLanguageModeling):\n    def __call__(self, rows, **more):\n        batch = super().__call__(rows, **more)\n        batch['labels'][:] = -100\n        return batch",
        collator="Mask(tokenizer, mlm=False)",
    ),
)
"""What is wrong with the model, its tokenizer, and what is made of rows by them."""
FAULTS = {each.name: each for each in (*NAMES, *DATA, *MODELS, *STEPS, *ENDS, *HUB, *OTHERS)}
