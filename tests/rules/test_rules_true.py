"""What rules say is what the libraries do: real TRL refuses their bad examples and takes their good ones.

Every example is rendered as `holdfast render` would, with a tiny model and a few rows in the place of its own, and
carried as far as it takes to be refused. All of them in one process, since importing TRL takes seconds.
"""

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.core.check.facts import Dataset, Machine, ModelFacts
from holdfast.core.check.finding import Case, Rule
from holdfast.core.errors import UsageError
from holdfast.core.job.document import Edit, Set
from holdfast.core.job_file.job import Job, parse_job
from holdfast.core.rows.columns import ListOf, Scalar, Struct, Type
from holdfast.core.text.places import Place
from holdfast.engine.script.render import referred_files, render_script
from holdfast.rules import all_rules
from tests.helpers.children import ask, ask_each, refusals
from tests.helpers.rendered import STAGES
from tests.helpers.sampling import asked, sampled
from tests.helpers.tiny import tiny_model  # noqa: F401 - the fixture `tiny`

pytestmark = pytest.mark.train

# How far a job has to be carried to see that it is refused, or is not.
UNTIL = {
    "ARG101": "config",
    "ARG102": "train",
    "ARG103": "trainer",
    "ARG104": "config",
    "ARG105": "config",
    "ARG106": "config",
    "ARG119": "train",
    "CMB107": "train",
    "ARG107": "config",
    "ARG109": "config",
    "ARG110": "train",
    "CMB101": "config",
    "CMB102": "trainer",
    "CMB111": "train",
    "DAT101": "train",
    "EVL101": "train",
    "EVL102": "trainer",
    "MOD102": "trainer",
    "MOD103": "trainer",
    "PRC101": "trainer",
    "PRC102": "config",
    "RWD101": "trainer",
    "RWD115": "trainer",
}
# Examples that nothing refuses, which is what their rules say, or that need what is not at hand.
NOT_CARRIED = {
    "ARG102-bad2": "silent: text counts as true",
    "ARG109-bad0": "a warning",
    "ARG119-bad3": "silent: each row loses its last five tokens",
    "ARG119-bad4": "silent: each weight is NaN after a step",
    "ARG119-bad5": "silent: it trains",
    "ARG119-bad7": "training runs; `AutoPeftModelForCausalLM` refuses what it saves",
    "ARG119-bad8": "training runs; `AutoPeftModelForCausalLM` refuses what it saves",
    "ARG110-bad11": "silent: an unknown sampling strategy is the default one",
    "ARG103-bad1": "silent, and needs bitsandbytes",
    "ARG103-good0": "needs bitsandbytes",
    "RWD101-bad2": "silent: the other trainers take no notice of rewards",
    "DAT101-good9": "needs math-verify",
    "CMB101-bad1": "needs two processes",
    "CMB101-good0": "needs two processes",
    "CMB111-good1": "its column of lengths would hold texts; with numbers it trains",
    "PRC101-bad4": "silent: fp16 without a GPU is float32",
    "PRC101-good3": "needs flash attention",
    "MOD102-good1": "needs a model in several files",
    "MOD102-good2": "needs a model in another format",
    "MOD102-good6": "needs an adapter: tried in tests/rules/test_model_rules_true.py",
}
ROWS = {
    "sft": ("text",),
    "dpo": ("chosen", "rejected"),
    "reward": ("chosen", "rejected"),
    "kto": ("prompt", "completion", "label"),
    "grpo": ("prompt",),
    "rloo": ("prompt",),
}
CHAT = [{"role": "user", "content": "1 plus 1 equals?"}, {"role": "assistant", "content": "2"}]
SHARED = [{"from": "human", "value": "1 plus 1 equals?"}, {"from": "gpt", "value": "2"}]
REWARD = "def score(completions, **kwargs):\n    return [float(len(text)) for text in completions]\n"
SMALL = {"max_completion_length": 8, "per_device_eval_batch_size": 8}


@dataclass(frozen=True)
class Example:
    """One example of a rule, and whether it is to be refused."""

    name: str
    rule: Rule
    case: Case
    bad: bool


def examples() -> list[Example]:
    return [
        Example(name, rule, case, bad=kind == "bad")
        for rule in all_rules()
        for kind in ("bad", "good")
        for index, case in enumerate(getattr(rule, kind))
        if case.kind == "job"
        and rule.code in UNTIL
        and (name := f"{rule.code}-{kind}{index}") not in NOT_CARRIED
        and runs_here(case)
    ]


def runs_here(case: Case) -> bool:
    """Whether this machine is like the example's, as far as that has GPUs."""
    machine = case.facts.get("machine")
    return not isinstance(machine, Machine) or not machine.gpus


def row(columns: tuple[str, ...], index: int, types: Mapping[str, Type]) -> dict[str, Any]:
    values: dict[str, Any] = {"messages": CHAT, "conversations": SHARED, "label": bool(index % 2)}
    values |= {column: value_of(kind, column, index) for column, kind in types.items()}
    return {column: values.get(column, f"{column} {index} of a few words") for column in columns}


def value_of(kind: Type, column: str, index: int) -> Any:
    """A value of a type that an example names; of messages, those that the column would hold."""
    match kind:
        case ListOf(Struct(fields)):
            turns = {"prompt": CHAT[:1], "chosen": CHAT[1:], "rejected": CHAT[1:]}.get(column, CHAT)
            return turns if "role" in fields else SHARED
        case Scalar("string"):
            return f"{column} {index} of a few words"
        case _:
            return index % 2


def make_data(folder: Path, case: Case, job: Job) -> None:
    """Write the rows of an example: the columns that its facts name, else those that its method likes."""
    told = case.facts.get("dataset")
    types = told.types if isinstance(told, Dataset) else {}
    train = told.columns if isinstance(told, Dataset) and told.columns else ROWS[job.method]
    evaluation = told.eval_columns if isinstance(told, Dataset) and told.eval_columns else train
    for split, columns in {"train": train, "test": evaluation}.items():
        lines = (json.dumps(row(columns, index, types)) for index in range(16))
        (folder / "data" / f"{split}.jsonl").write_text("\n".join(lines))
    (folder / "rewards.py").write_text(REWARD)


def make_model(folder: Path, case: Case, tiny: Path) -> Path:
    """Return the tiny model's folder, or one with the files that the example's facts name."""
    told = case.facts.get("model")
    if not isinstance(told, ModelFacts):
        return tiny
    if told.files is not None:
        (folder / "model").mkdir()
        for name in told.files:
            source = tiny / name
            shutil.copy(source if source.exists() else tiny / "generation_config.json", folder / "model" / name)
    return folder / "model"


def substituted(each: Example, model: Path) -> Job:
    """Return the example's job with a small model and data, and a reward that needs nothing."""
    document = JobFileReader().read(each.case.job, "job.yaml")
    edits: list[Edit] = [Set("model.path", str(model)), Set("dataset.path", "./data"), Set("samples.prompts", 0)]
    method, train = document.get("method"), document.get("train", {})
    if method in ("grpo", "rloo"):
        edits += [Set(f"train.{key}", value) for key, value in SMALL.items() if key not in train]
        if each.rule.code != "RWD101" and not (each.rule.code == "DAT101" and document.get("rewards", None)):
            edits.append(Set("rewards", ["rewards.py:score"] * len(document.get("rewards", None) or (1,))))
    if "max_steps" not in train and not document.get("dataset.streaming", default=False):
        edits.append(Set("train.max_steps", 1))
    return parse_job(document.with_values(edits, Place("test")))


def carry(each: Example, folder: Path, tiny: Path) -> dict[str, str] | UsageError:
    """Return an example's script with what it needs around it, or why the renderer refuses it."""
    (folder / "data").mkdir(parents=True)
    job = substituted(each, make_model(folder, each.case, tiny))
    make_data(folder, each.case, job)
    try:
        script = render_script(job, name="job", sources=dict.fromkeys(referred_files(job), REWARD))
    except UsageError as refused:
        return refused
    return {"name": each.name, "script": script, "folder": str(folder), "until": UNTIL[each.rule.code]}


EXAMPLES = {each.name: each for each in examples()}


@pytest.fixture(scope="module", name="told")
def carry_all(
    request: pytest.FixtureRequest, tiny: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, str | None]:
    """What refused each example, or None."""
    base, names = tmp_path_factory.mktemp("examples"), asked(request)
    carried = {name: carry(each, base / name, tiny) for name, each in EXAMPLES.items() if name in names}
    scripts = [script for script in carried.values() if not isinstance(script, UsageError)]
    return refusals(ask_each("rendered", scripts)) | {
        name: str(script) for name, script in carried.items() if isinstance(script, UsageError)
    }


@pytest.mark.parametrize("name", sampled(EXAMPLES, 3))
def test_the_library_agrees(name: str, told: dict[str, str | None]) -> None:
    """A bad example is refused on its way to the first step, and a good one gets there."""
    refused = told[name]

    assert bool(refused) == EXAMPLES[name].bad, refused or "nothing refused it"


def test_repository_names() -> None:
    """The Hub's client takes the names that HUB101 takes, and refuses the others."""
    (rule,) = (rule for rule in all_rules() if rule.code == "HUB101")
    names = {
        JobFileReader().read(case.job, "job").get("output.push_to", None): case.at
        for case in rule.bad + rule.good
        if case.job
    }
    program = """
import json, sys
from huggingface_hub.utils import HFValidationError, validate_repo_id
def takes(name):
    try:
        validate_repo_id(name)
    except HFValidationError:
        return False
    return True
print(json.dumps([takes(name) for name in json.load(sys.stdin)]))
"""
    asked = [name for name in names if name]

    assert ask(["-c", program], asked) == [names[name] is None for name in asked]


@pytest.mark.long
def test_push_without_token() -> None:
    """With a Hub that answers 401 and no token, the trainer is not even built: what HUB102 says."""
    program = """
import http.server, json, os, sys, tempfile, threading
class Hub(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.send_response(401); self.send_header("Content-Length", "0"); self.end_headers()
    do_GET = do_HEAD = do_POST
    def log_message(self, *_): pass
hub = http.server.HTTPServer(("127.0.0.1", 0), Hub)
threading.Thread(target=hub.serve_forever, daemon=True).start()
folder = tempfile.mkdtemp()
os.environ.pop("HF_TOKEN", None)
os.environ.update(HF_ENDPOINT=f"http://127.0.0.1:{hub.server_port}", HF_HUB_OFFLINE="0", HF_HOME=folder)
import torch, transformers
from datasets import Dataset
config = transformers.TrainingArguments(folder, use_cpu=True, push_to_hub=True, hub_model_id="me/model", report_to="none")
try:
    transformers.Trainer(torch.nn.Linear(1, 1), config, train_dataset=Dataset.from_dict({"x": [1]}))
    print(json.dumps(None))
except Exception as error:
    print(json.dumps(str(error)))
"""

    assert "401" in str(ask(["-c", program], None, HF_HUB_OFFLINE="0"))


def test_quantized_weights(tiny: Path) -> None:
    """Transformers refuses what MOD101 says of bits, types and bare quantized weights; bitsandbytes is not needed."""
    program = """
import json, sys
from transformers import AutoModelForCausalLM, BitsAndBytesConfig
from transformers.trainer_utils import validate_quantization_for_training
def refuses(do, *args, **kwargs):
    try:
        do(*args, **kwargs)
    except (ValueError, AttributeError) as error:
        return type(error).__name__
model = AutoModelForCausalLM.from_pretrained(json.load(sys.stdin))
bare = refuses(validate_quantization_for_training, model)
model.is_quantized = True
print(json.dumps([
    refuses(BitsAndBytesConfig, load_in_4bit=True, load_in_8bit=True),
    refuses(BitsAndBytesConfig, load_in_4bit=True, bnb_4bit_compute_dtype="bf16"),
    refuses(BitsAndBytesConfig, load_in_4bit=True, bnb_4bit_quanttype="nf4"),
    refuses(validate_quantization_for_training, model),
    bare,
]))
"""

    assert ask(["-c", program], str(tiny)) == ["ValueError", "AttributeError", None, "ValueError", None]


def test_every_example_is_accounted_for() -> None:
    """Rules with job files are carried or have a reason; no exception is kept for an example that is gone."""
    names = {f"{rule.code}-{kind}{index}" for rule in all_rules() for kind in ("bad", "good") for index in range(20)}

    assert set(NOT_CARRIED) <= names
    assert set(UNTIL.values()) <= set(STAGES)
    about_jobs = {rule.code for rule in all_rules() for case in (*rule.bad, *rule.good) if case.kind == "job"}
    assert about_jobs - set(UNTIL) == {
        *(
            "CMB106",
            "CMB108",
            "CMB109",
        ),  # nothing raises: tests/helpers/rehearsal_green_settings.py trains at such rates
        *("CMB103", "CMB104"),  # tests/rules/test_combinations.py and test_combination_scripts.py construct them
        *(
            "DEP105",
            "DEP110",
            "DEP113",
            "MOD107",
            "TRK107",
            "TRK108",
        ),  # tests/rules/test_rules_a.py tries what can be tried
        *(
            "DST103",
            "DST104",
            "DST109",
            "JOB107",
            "PRC104",
            "RSM105",
            "RWD106",
            "RWD108",
        ),  # tests/rules/test_rules_b.py likewise
        *(f"DAT{number}" for number in range(231, 242)),  # tests/engine/tokens/test_tokens_true.py tries them
        *(f"DAT{number}" for number in range(242, 247)),  # tests/helpers/rehearsal_green_rows.py trains on such rows
        *("RWD109", "RWD110", "RWD111", "RWD112"),  # tests/rules/test_rewards_true.py likewise
        "JOB119",  # tests/cli/test_cli.py asks `run`
        "JOB120",  # tests/rules/test_named_functions.py asks `render`
        *("RWD102", "RWD113"),  # tests/rules/test_rules_b.py trains with such functions, which a script gives
        "RWD117",  # tests/rules/test_function_uses.py trains with such functions
        "RWD114",  # tests/rules/test_named_functions.py calls such a function as the trainer does
        *("MOD134", "MOD140"),  # tests/rules/test_model_rules_true.py trains such models
        "DAT102",  # tests/rules/test_datasets.py compares with datasets itself
        *(
            "DAT247",
            "DAT248",
        ),  # tests/app/test_inspect_images.py reads such images; the rules' sources say what a training did with them
        "DAT249",  # nothing raises: its source says in which tokens the words were looked for
        "DAT131",  # tests/engine/script/test_sampling.py runs the rendered script on such data
        "CMB112",  # its source says what a vision-language model's trainer refused
        "RES104",  # about disks
        "RES105",  # about prices
        *(
            f"DAT{number}" for number in range(201, 229)
        ),  # about rows; tests/engine/scan/test_scan_true.py trains on what can be tried
        *("HUB109", "HUB110", "HUB111", "HUB112", "HUB113", "HUB114", "HUB115", "HUB117", "HUB118", "HUB121", "HUB123"),
        *(
            "DAT107",
            "DAT108",
            "DAT109",
            "DAT110",
            "DAT111",
            "DAT112",
            "DAT113",
            "DAT114",
            "DAT115",
            "DAT116",
            "DAT118",
            "DAT119",
        ),
        "TRK110",  # these and the two lines above: tests/rules/test_hub_rules_true.py asks the clients themselves
        "HUB101",  # below
        "HUB102",  # below
        "HUB103",  # about what is prudent, not about what a library refuses
        "JOB101",  # likewise
        "JOB102",  # the rendered script's own check
        "JOB103",  # about what holdfast itself does not do yet
        "EVL107",  # about what `holdfast evaluate` refuses: tests/app/evaluate
        "EVL108",  # about metrics that only a rendered script computes: tests/engine/script
        "MOD101",  # below
        *(
            f"RES{number}" for number in (101, 102, 103)
        ),  # estimates: docs/estimates.md; tests/app/run/test_preparing.py
        *(
            f"MOD{number}" for number in (*range(108, 112), *range(116, 132), 133, 135, 137)
        ),  # tests/rules/test_model_rules_true.py
    }
