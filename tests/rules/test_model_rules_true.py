"""What the rules about models say is what the libraries do: real trainers refuse the models they object to, and train the others.

Each case is a folder that is carried to a trainer's first step by `tests/helpers/model_lab.py`, all in one process, and is told of by
`adapters.local.models` to the rules, as `holdfast check` does with a job file.
"""

import json
import shutil
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.local.models import LocalModels
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.catalog.calls.train_arguments import stack_api
from holdfast.core.check.facts import Dataset
from holdfast.core.check.finding import Finding, Severity, Skip
from holdfast.core.errors import SourceError
from holdfast.core.job.document import Set
from holdfast.core.rows.columns import STRING, ListOf, Struct
from holdfast.core.text.places import Place
from holdfast.engine.check.rule_runner import run_rules, severity_of
from holdfast.rules import all_rules
from tests.helpers.children import ask_each, refusals
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

RULES = [rule for rule in all_rules() if rule.code.startswith("MOD") and rule.code >= "MOD102"]
ASK, SAY = {"role": "user", "content": "1 plus 1 equals?"}, {"role": "assistant", "content": "2"}
MESSAGES = ListOf(Struct({"role": STRING, "content": STRING}))
CHATS: dict[str, dict[str, Any]] = {
    "sft": {"messages": [ASK, SAY]},
    "dpo": {"prompt": [ASK], "chosen": [SAY], "rejected": [{**SAY, "content": "3"}]},
    "kto": {"prompt": [ASK], "completion": [SAY], "label": True},
    "reward": {"chosen": [ASK, SAY], "rejected": [ASK, {**SAY, "content": "3"}]},
    "grpo": {"prompt": [ASK]},
    "rloo": {"prompt": [ASK]},
}
TEXTS: dict[str, dict[str, Any]] = {
    "sft": {"text": "1 plus 1 equals 2"},
    "dpo": {"prompt": "1 plus 1", "chosen": " equals 2", "rejected": " equals 3"},
    "kto": {"prompt": "1 plus 1", "completion": " equals 2", "label": True},
    "reward": {"chosen": "1 plus 1 equals 2", "rejected": "1 plus 1 equals 3"},
    "grpo": {"prompt": "1 plus 1"},
    "rloo": {"prompt": "1 plus 1"},
}
TRAINED = ("sft", "dpo", "kto", "grpo", "rloo")
OWN = {"AutoConfig": "configuration_own.OwnConfig", "AutoModelForCausalLM": "modeling_own.OwnForCausalLM"}
CODE = {
    "configuration_own.py": "from transformers import Qwen2Config\nclass OwnConfig(Qwen2Config):\n    model_type = 'own'\n",
    "modeling_own.py": (
        "from transformers import Qwen2ForCausalLM\nfrom .configuration_own import OwnConfig\n"
        "class OwnForCausalLM(Qwen2ForCausalLM):\n    config_class = OwnConfig\n"
    ),
}
POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"
V4 = {
    "tokenizer_class": "PreTrainedTokenizerFast",
    "eos_token": "<|im_end|>",
    "pad_token": "<PAD>",
    "added_tokens_decoder": {"2": {"content": "<|im_end|>"}, "395": {"content": "<PAD>"}},
}


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A model, what it is trained with, and the rule that objects to it.

    Attributes:
        name: Of its folder.
        code: The rule; empty where none objects.
        base: The model that it is a copy of.
    """

    name: str
    code: str = ""
    base: str = "tiny"
    method: str = "sft"
    chat: bool = False
    long: bool = False
    until: str = "trainer"
    train: dict[str, Any] = field(default_factory=dict[str, Any])
    peft: dict[str, Any] | None = None
    loaded: bool = False
    config: dict[str, Any] = field(default_factory=dict[str, Any])
    tokenizer: dict[str, Any] = field(default_factory=dict[str, Any])
    drop: list[str] = field(default_factory=list[str])
    files: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def rows(self) -> list[dict[str, Any]]:
        """Sixteen rows, of different lengths."""
        row: dict[str, Any] = (CHATS if self.chat else TEXTS)[self.method]
        rows = [{**row, "label": bool(index % 2)} if "label" in row else dict(row) for index in range(16)]
        for index, each in enumerate(rows):
            if isinstance(each.get("text"), str):
                each["text"] += " plus 1" * (60 if self.long else index % 3)
        return rows

    @property
    def dataset(self) -> Dataset:
        """What is known of them."""
        types = {name: MESSAGES if isinstance(value, list) else STRING for name, value in self.rows[0].items()}
        return Dataset(columns=tuple(types), types=types)


def lora(**settings: Any) -> dict[str, Any]:
    return settings


TRIALS = [
    Trial(name="good", until="train"),
    Trial(name="good-chat", chat=True, until="train"),
    Trial(name="good-adapter", peft=lora(target_modules=["q_proj"]), until="train"),
    *(Trial(name=f"good-{method}", method=method) for method in TRAINED[1:]),
    Trial(name="no-config", code="MOD102", drop=["config.json"]),
    Trial(name="no-weights", code="MOD102", drop=["model.safetensors"], files={"model.gguf": "GGUF"}),
    Trial(name="no-tokenizer", code="MOD102", drop=["tokenizer.json", "chat_template.jinja"]),
    Trial(name="adapter-alone", code="MOD102", base="adapter"),
    Trial(name="adapter-reward", base="adapter", method="reward"),
    Trial(name="new-type", code="MOD110", config={"model_type": "brand_new"}),
    Trial(name="no-type", code="MOD110", config={"model_type": None}),
    Trial(name="own-code", code="MOD111", config={"model_type": "own", "architectures": ["Own"], "auto_map": OWN}, files=CODE),
    Trial(
        name="own-code-trusted",
        config={"model_type": "own", "architectures": ["Own"], "auto_map": OWN},
        files=CODE,
        train={"trust_remote_code": True},
    ),
    Trial(name="known-type-with-code", config={"auto_map": OWN}),
    Trial(name="shard-gone", code="MOD116", base="sharded", drop=["model-*"]),
    Trial(name="sharded-whole", base="sharded"),
    Trial(name="pointer", code="MOD117", files={"model.safetensors": POINTER}),
    Trial(name="broken-config", code="MOD117", files={"config.json": "{"}),
    Trial(name="broken-tokenizer-config", code="MOD117", files={"tokenizer_config.json": ""}),
    Trial(name="broken-generation-config", files={"generation_config.json": "{"}),
    *(
        Trial(name=f"no-template-{method}", code="MOD121", method=method, chat=True, drop=["chat_template.jinja"], until="train")
        for method in CHATS
    ),
    Trial(name="no-template-no-chat", drop=["chat_template.jinja"]),
    Trial(name="unmarked", code="MOD122", chat=True, train={"assistant_only_loss": True}),
    Trial(
        name="marked",
        chat=True,
        train={"assistant_only_loss": True},
        files={
            "chat_template.jinja": "{% for m in messages %}<|im_start|>{{ m.role }}\n"
            "{% generation %}{{ m.content }}<|im_end|>{% endgeneration %}\n{% endfor %}"
        },
    ),
    Trial(name="no-such-module", code="MOD123", peft=lora(target_modules=["c_attn"])),
    Trial(name="head-adapted", code="MOD135", peft=lora(target_modules=["q_proj", "lm_head"])),
    Trial(name="foreign-end", code="MOD137", train={"eos_token": "<|eot_id|>"}),
    Trial(name="foreign-padding", code="MOD137", method="dpo", train={"pad_token": "<nothing>"}),
    Trial(name="own-end", train={"eos_token": "<|im_end|>"}),
    Trial(name="one-word", code="MOD133", peft=lora(target_modules="q_proj")),
    Trial(name="expression", peft=lora(target_modules=r".*\.q_proj")),
    Trial(name="no-expression", code="MOD123", peft=lora(target_modules="*.q_proj")),
    Trial(name="full-name", peft=lora(target_modules=["model.layers.0.self_attn.q_proj"])),
    Trial(name="layers-beyond", code="MOD123", peft=lora(target_modules=["q_proj"], layers_to_transform=[7])),
    Trial(name="some-layers-beyond", peft=lora(target_modules=["q_proj"], layers_to_transform=[0, 7])),
    Trial(name="other-pattern", code="MOD123", peft=lora(target_modules=["q_proj"], layers_to_transform=[0], layers_pattern="h")),
    Trial(name="all-left-out", code="MOD123", peft=lora(target_modules=["q_proj"], exclude_modules=".*q_proj")),
    Trial(name="all-saved", code="MOD123", peft=lora(target_modules=["q_proj"], modules_to_save=["q_proj"])),
    Trial(name="gpt2-target", base="gpt2", peft=lora(target_modules=["c_attn"], fan_in_fan_out=True)),
    Trial(name="no-default", code="MOD124", base="olmo2", peft=lora(r=4)),
    Trial(name="default", peft=lora(r=4)),
    Trial(name="long-gpt2", code="MOD125", base="gpt2", long=True, until="train"),
    Trial(name="cut-gpt2", base="gpt2", long=True, train={"max_length": 64}, until="train"),
    Trial(name="pad-beyond", code="MOD126", drop=["tokenizer_config.json"], files={"tokenizer_config.json": json.dumps(V4)}, until="train"),
    Trial(name="pad-named", drop=["tokenizer_config.json"], files={"tokenizer_config.json": json.dumps(V4)}, train={"pad_token": "<|im_end|>"}, until="train"),
    *(Trial(name=f"body-{method}", code="MOD128", method=method, config={"architectures": ["Qwen2Model"]}) for method in TRAINED),
    Trial(name="classifier", code="MOD128", config={"architectures": ["Qwen2ForSequenceClassification"]}),
    Trial(name="classifier-reward", method="reward", config={"architectures": ["Qwen2ForSequenceClassification"]}),
    Trial(name="uncounted", code="MOD134", base="granitemoe", until="train"),
    Trial(name="unrouted", base="granitemoe", train={"router_aux_loss_coef": 0.0}, until="train"),
    Trial(name="counted", base="mixtral", until="train"),
    Trial(name="half-fused", code="MOD140", base="mixtral", peft=lora(target_modules=["q_proj", "w1", "w2"])),
    Trial(name="whole-fused", base="mixtral", peft=lora(target_modules=["q_proj", "w1", "w2", "w3"]), until="train"),
    Trial(name="unfused", base="mixtral", peft=lora(target_modules=["q_proj", "w2"]), until="train"),
    Trial(name="t5", code="MOD128", base="t5", until="train"),
    Trial(name="nameless", code="MOD129", config={"architectures": None}),
    Trial(name="nameless-reward", method="reward", config={"architectures": None}),
    Trial(name="misnamed", code="MOD129", config={"architectures": ["MyQwenForCausalLM"]}),
    Trial(name="unscored", code="MOD130", base="granite", method="reward"),
    Trial(name="granite", base="granite"),
]  # fmt: skip


@pytest.fixture(scope="module", name="carried")
def carry_all(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str | None]]:
    """The models' folder, and what refused each of them, or None."""
    folder = tmp_path_factory.mktemp("models")
    shutil.copytree(tiny, folder / "tiny")
    cases = [{**asdict(trial), "rows": trial.rows, "folder": str(folder)} for trial in TRIALS]
    return folder, refusals(ask_each("model_lab", cases))


@pytest.mark.parametrize("trial", TRIALS, ids=lambda trial: trial.name)
def test_the_library_agrees(trial: Trial, carried: tuple[Path, dict[str, str | None]]) -> None:
    """A model is refused if a rule objects to it, and is taken if none does; one rule speaks of each."""
    folder, refusals = carried
    found = objections(trial, folder / "trials" / trial.name)

    assert {each.rule.code for each in found if each.rule} == ({trial.code} if trial.code else set()), found
    assert bool(refusals[trial.name]) == bool(trial.code), refusals[trial.name] or "nothing refused it"


def objections(trial: Trial, folder: Path) -> list[Finding]:
    """What the rules about models say of a job file with this model, but what they only point out."""
    job = JobFileReader().read(f"method: {trial.method}\nmodel: m\ndataset: d\n", "job.yaml")
    edits = [Set("model", str(folder)), Set("train", dict(trial.train))]
    edits += [Set("peft", trial.peft)] if trial.peft is not None else []
    edits += [Set("model.trust_remote_code", value=True)] if trial.train.get("trust_remote_code") else []
    text = json.dumps(job.with_values(edits, Place("test")).values)  # which is YAML too
    models = LocalModels()
    facts: dict[str, object] = {"api": stack_api(), "model": models.find(str(folder)), "dataset": trial.dataset}
    try:
        facts["tensors"] = models.tensors(str(folder))
    except SourceError:
        facts["tensors"] = frozenset()
    try:
        facts["absent_tokens"] = models.absent_tokens(str(folder), [str(each) for each in trial.train.values()])
    except SourceError:
        facts["absent_tokens"] = frozenset()
    results = list(run_rules(RULES, JobFileReader().read(text, "job.yaml"), {**facts, "models": ()}))
    assert not [each for each in results if isinstance(each, Skip)], results
    return [
        each for each in results if isinstance(each, Finding) and (trial.code or severity_of(each) is Severity.ERROR)
    ]
