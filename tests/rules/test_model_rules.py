"""Rules about models: what their examples do not show. `tests/rules/test_model_rules_true.py` shows that they are true."""

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from holdfast.adapters.readers.command_line import read_commands
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest
from holdfast.catalog.models.base_models import base_of, is_conversational, lora, rows_are_raw
from holdfast.catalog.models.chat_templates import ends_of_turn, is_mended, marks_assistant
from holdfast.catalog.models.lora_targets import Targets, ends_of, modules_of
from holdfast.catalog.models.model_types import known_since, knows, load_model_types
from holdfast.catalog.tables import load_table
from holdfast.core.check.facts import Dataset, ModelFacts
from holdfast.core.check.finding import Case, Finding, MissingFactError, Rule, Skip
from holdfast.core.check.hub import Repo
from holdfast.core.check.reference import Lookup
from holdfast.core.job.document import Document
from holdfast.core.rows.columns import STRING, ListOf, Struct, Type
from holdfast.engine.check.rule_runner import BROKEN, run_rules
from holdfast.rules import all_rules
from tests.helpers.forked import fork
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`
from tests.rules.test_rules import facts_of, read

MINE = {rule.code: rule for rule in all_rules() if re.fullmatch(r"MOD1(02|07|0[89]|[1-9]\d)", rule.code)}
API = Api(newest())
FILES = frozenset({"config.json", "model.safetensors", "tokenizer.json"})
ANY = ModelFacts(files=FILES)
HEAD = "from transformers import AutoModelForCausalLM\nfrom trl import SFTConfig, SFTTrainer\n"


def script(text: str) -> Document:
    """What is read in a script, of the first job that it trains."""
    return read_script(HEAD + text, "train.py")[0]


def command(text: str) -> Document:
    """What is read in a command."""
    (line,) = read_commands(text, "run.sh")
    found = command_document(line, text, "run.sh")
    assert found
    return found


def results(code: str, document: Document, **facts: object) -> list[Finding | Skip]:
    return list(run_rules([MINE[code]], document, {"api": API, **facts}))


def keys(code: str, document: Document, **facts: object) -> list[str]:
    return [each.key for each in results(code, document, **facts) if isinstance(each, Finding)]


class TestBase:
    """Which model it is that a job trains, and where that is written."""

    @pytest.mark.parametrize(
        ("text", "key", "loader"),
        [
            ('SFTTrainer("acme/a", train_dataset=rows)\n', "trainer.0", ""),
            ('SFTTrainer(model="acme/a", train_dataset=rows)\n', "trainer.model", ""),
            ('m = AutoModelForCausalLM.from_pretrained("acme/a")\nSFTTrainer(m)\n', "model.0", "AutoModelForCausalLM"),
            (
                'm = AutoModelForCausalLM.from_pretrained(pretrained_model_name_or_path="acme/a")\nSFTTrainer(model=m)\n',
                "model.pretrained_model_name_or_path",
                "AutoModelForCausalLM",
            ),
            ('NAME = "acme/a"\nSFTTrainer(model=NAME)\n', "trainer.model", ""),
        ],
    )
    def test_scripts(self, text: str, key: str, loader: str) -> None:
        """A name that is given to the trainer, or to what loads the model before, stands where it is written."""
        document = script(text)
        base = base_of(document, ANY)

        assert base is not None
        assert (base.name, base.key, base.class_name) == ("acme/a", key, loader)
        assert (base.place or document.place(base.key)).line is not None

    @pytest.mark.parametrize(
        "text",
        [
            "SFTTrainer(model=input(), train_dataset=rows)\n",
            "try:\n    SFTTrainer(model='acme/a')\nexcept Exception:\n    print('no')\n",
            "import trl\nif trl.__version__ < '1':\n    SFTTrainer(model='acme/a')\n",
            "AutoModelForCausalLM.from_pretrained('acme/a')\n",
            "class Mine(SFTTrainer):\n    def __init__(self, own=1, **kw):\n        super().__init__(**kw)\nMine(model=load(), own=2)\n",
        ],
    )
    def test_scripts_that_do_not_say(self, text: str) -> None:
        """What is computed, caught, or may never be reached is no base."""
        assert base_of(script(text), ANY) is None

    def test_job_files(self) -> None:
        """A short form is found at `model`, a long one at `model.path`."""
        short = JobFileReader().read("method: sft\nmodel: acme/a\ndataset: d\n", "job.yaml")
        long = JobFileReader().read("method: sft\nmodel: {path: acme/a}\ndataset: d\n", "job.yaml")

        assert [base.key for base in (base_of(short, ANY), base_of(long, ANY)) if base] == ["model", "model.path"]

    def test_commands(self) -> None:
        """A command of TRL's names it by a flag."""
        base = base_of(command("trl dpo --model_name_or_path acme/a --dataset_name d\n"), ANY)
        assert base
        assert (base.name, base.key) == ("acme/a", "train.model_name_or_path")

    def test_another_model_is_not_taken_for_it(self) -> None:
        """Where the trained model lies in a folder, and another is named, nothing is said of the first by the second."""
        text = (
            'teacher = AutoModelForCausalLM.from_pretrained("acme/teacher")\n'
            'model = AutoModelForCausalLM.from_pretrained("./out/merged")\nSFTTrainer(model=model, train_dataset=rows)\n'
        )
        teacher = ModelFacts(files=frozenset({"README.md"}), repo=Repo(name="acme/teacher"))

        assert keys("MOD102", script(text), model=teacher) == []
        assert keys("MOD102", script(text), model=replace(teacher, repo=Repo(name="./out/merged"))) == ["model.0"]

    def test_an_old_name_is_the_same_model(self) -> None:
        """`gpt2` belongs to somebody by now, and is still called so."""
        gpt2 = ModelFacts(files=frozenset({"README.md"}), repo=Repo(name="openai-community/gpt2"))
        assert keys("MOD102", script('SFTTrainer("gpt2", train_dataset=rows)\n'), model=gpt2) == ["trainer.0"]


class TestAdapters:
    """What is known of an adapter, whichever way it is asked for."""

    def test_commands(self) -> None:
        """Settings of the command line have peft's names, and one word alone is an expression."""
        one = command("trl sft --model_name_or_path m --dataset_name d --use_peft --lora_target_modules q_proj\n")
        two = command(
            "trl sft --model_name_or_path m --dataset_name d --use_peft --lora_target_modules q_proj v_proj\n"
        )
        none = command("trl sft --model_name_or_path m --dataset_name d --lora_target_modules q_proj\n")

        assert lora(one) == {"target_modules": "q_proj"}
        assert lora(two) == {"target_modules": ["q_proj", "v_proj"]}
        assert lora(none) is None

    @pytest.mark.parametrize(
        "made", ["LoraConfig(**settings)", "IA3Config(target_modules=['x'])", "make()", "LoraConfig(16, 'x')"]
    )
    def test_what_cannot_be_seen(self, made: str) -> None:
        """Nothing is said of settings that are hidden, or of an adapter of another kind."""
        text = f"from peft import IA3Config, LoraConfig\nSFTTrainer('acme/a', train_dataset=rows, peft_config={made})\n"
        facts = {"model": replace(ANY, config={"model_type": "qwen2"}), "tensors": frozenset({"a.0.b.weight"})}

        assert keys("MOD123", script(text), **facts) == []
        assert keys("MOD124", script(text), model=replace(ANY, config={"model_type": "olmo2"})) == []

    @pytest.mark.parametrize(
        ("name", "meant"),
        [("out_proj", "o_proj"), ("query", "q_proj"), ("fc2", "down_proj"), ("v_prj", "v_proj"), ("c_attn", None)],
    )
    def test_the_module_of_the_same_role_is_meant(self, name: str, meant: str | None) -> None:
        """Another architecture's name for a layer stands for this model's; letters decide only of slips of the pen."""
        text = f"from peft import LoraConfig\nSFTTrainer('acme/a', train_dataset=rows, peft_config=LoraConfig(target_modules=['k_proj', '{name}']))\n"
        modules = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
        tensors = frozenset(f"model.layers.0.part.{each}.weight" for each in modules)
        facts = {"model": replace(ANY, config={"model_type": "llama"}), "tensors": tensors}
        told = [each.message for each in results("MOD123", script(text), **facts) if isinstance(each, Finding)]

        assert len(told) == 1
        assert (f"did you mean `{meant}`?" in told[0]) == (meant is not None)
        assert ("did you mean" in told[0]) == (meant is not None)

    def test_modules_without_their_outermost_name(self) -> None:
        """A checkpoint that leaves out `transformer.` has modules that are called so all the same."""
        modules = modules_of(["h.0.attn.c_attn.weight"])

        assert any(Targets(r"transformer\.h\.\d+\.attn\.c_attn", ()).takes(module) for module in modules)
        assert any(Targets("", ("c_attn",), layers=(0,)).takes(module) for module in modules)
        assert not any(Targets("", ("c_attn",), layers=(1,)).takes(module) for module in modules)
        assert ends_of(["h.0.attn.c_attn.weight", "h.0.ln_1.weight", "wte.weight"]) == ["c_attn", "ln_1"]

    def test_frozen_adapters_that_are_woken(self) -> None:
        """What is done to an adapter after it was loaded may let it be trained: nothing is said then."""
        load = (
            "from peft import PeftModel\nbase = AutoModelForCausalLM.from_pretrained('acme/a')\n"
            "model = PeftModel.from_pretrained(base, 'acme/b')\n"
        )
        train = "SFTTrainer(model=model, train_dataset=rows)\n"

        assert keys("MOD112", script(load + train)) == ["model"]
        for between in ("model.set_adapter('default')\n", "for p in model.parameters():\n    p.requires_grad = True\n"):
            assert keys("MOD112", script(load + between + train)) == [], between
        assert keys("MOD112", script(load.replace("'acme/b')", "'acme/b', **more)") + train)) == []


class TestRows:
    """What is known of the rows that a trainer gets."""

    def test_conversations_are_lists_of_messages(self) -> None:
        """Text is none, nor is ShareGPT's form; where no type is known, nobody says."""
        messages: Type = ListOf(Struct({"role": STRING, "content": STRING, "name": STRING}))
        shared: Type = ListOf(Struct({"from": STRING, "value": STRING}))

        assert is_conversational(Dataset(types={"prompt": messages, "answer": STRING}))
        assert not is_conversational(Dataset(types={"prompt": STRING, "turns": messages}))
        assert not is_conversational(Dataset(types={"messages": shared}))
        with pytest.raises(MissingFactError):
            is_conversational(Dataset(columns=("messages",)))

    @pytest.mark.parametrize(
        ("rows", "raw"),
        [
            ("load_dataset('d', split='train')", True),
            ("load_dataset('d', split='train').shuffle(seed=1).select(range(9))", True),
            ("load_dataset('d')['train']", True),
            ("load_dataset('d', split='train').map(flat)", False),
            ("load_dataset('d', split='train').rename_column('a', 'b')", True),
            ("concatenate_datasets([load_dataset('d', split='train')])", False),
            ("make_rows()", False),
        ],
    )
    def test_rows_of_scripts(self, rows: str, *, raw: bool) -> None:
        """What makes other rows hides the columns; what calls them otherwise does not, and the facts are those of afterwards."""
        text = f"from datasets import load_dataset\nSFTTrainer('acme/a', train_dataset={rows})\n"
        assert rows_are_raw(script(text)) is raw

    @pytest.mark.parametrize(
        "more", ["dataset: {path: d, map: 'f.py:g'}", "dataset: d\ntrain: {dataset_kwargs: {a: 1}}"]
    )
    def test_rows_of_job_files(self, more: str) -> None:
        """A function that rewrites the rows hides them."""
        assert not rows_are_raw(JobFileReader().read(f"method: sft\nmodel: m\n{more}\n", "job.yaml"))

    def test_unknown_types_are_a_skip(self) -> None:
        """Whether there are conversations has to be known before a missing template is told of."""
        job = JobFileReader().read("method: sft\nmodel: m\ndataset: d\n", "job.yaml")
        (skip,) = results("MOD121", job, model=ANY, dataset=Dataset(columns=("messages",)))
        assert isinstance(skip, Skip)


class TestTables:
    """What the catalog says of types and templates."""

    def test_every_type_is_in_the_history(self) -> None:
        """The newest transformers exports the class of each type's config, and knows since when."""
        types = load_model_types()

        assert len(types) > 500
        assert [name for name, kind in types.items() if not API.has_name("transformers", kind.config)] == []
        assert known_since(API, "qwen3")

    def test_types_of_older_releases(self) -> None:
        """A type is unknown before it came, and of one that nobody knows only the newest release can be sure."""
        old = Api({**newest(), "transformers": "4.46.3"})

        assert [knows(old, name) for name in ("llama", "qwen3", "brand_new")] == [True, False, None]
        assert [knows(API, name) for name in ("llama", "qwen3", "brand_new")] == [True, True, False]

    def test_templates(self) -> None:
        """Marks are found as TRL finds them, and a template by its whole text."""
        assert marks_assistant("{%- generation %}")
        assert not marks_assistant("{% if generation %}")
        assert is_mended(API, "{{ messages }}") is False
        assert is_mended(Api({**newest(), "trl": "1.8.0"}), "{{ messages }}") is None
        assert ends_of_turn("<start_of_turn>user\n{{ m.content }}<end_of_turn>") == ("<end_of_turn>",)

    @pytest.mark.train
    @pytest.mark.long
    def test_are_those_of_the_libraries(self) -> None:
        """The tables are what the installed packages say today."""
        program = (
            "import json, tomllib, transformers, peft, trl\nfrom tools import model_types, training_templates as made\n"
            "files = sorted(made.Path(trl.__file__).with_name('chat_templates').glob('*.jinja'))\n"
            "texts = [file.read_text() for file in files]\n"
            "fixed = [made.sha256(text.encode()).hexdigest() for text in texts\n"
            "          if not made.has_generation_markers(text) and made.is_mended(text)]\n"
            "types = tomllib.loads('\\n'.join(model_types.rows()))\n"
            "print(json.dumps([types, transformers.__version__, peft.__version__, fixed, trl.__version__]))\n"
        )
        done = fork(["-c", program], Path(__file__).parents[2], quiet_environment())
        assert done.exit_code == 0, done.stderr
        types, transformers, peft, fixed, trl = json.loads(done.stdout.splitlines()[-1])
        table, templates = load_table("model_types"), load_table("chat_templates")

        assert (table["types"], table["transformers"], table["peft"]) == (types, transformers, peft)
        assert (sorted(templates["fixed"].values()), templates["trl"]) == (sorted(fixed), trl)


@pytest.mark.train
def test_frozen_adapters_learn_nothing(tiny: Path, tmp_path: Path) -> None:
    """An adapter that is loaded for use goes through a training without an error, and nothing of it is trained."""
    program = """
import json, sys
from datasets import Dataset
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import SFTConfig, SFTTrainer
tiny, folder = sys.argv[1:]
load = AutoModelForCausalLM.from_pretrained
get_peft_model(load(tiny), LoraConfig(target_modules=["q_proj"])).save_pretrained(f"{folder}/adapter")
def trained(model):
    config = SFTConfig(f"{folder}/out", use_cpu=True, bf16=False, report_to="none", max_steps=1, save_strategy="no")
    rows = Dataset.from_dict({"text": ["1 plus 1 equals 2"] * 8})
    SFTTrainer(model, args=config, train_dataset=rows, processing_class=AutoTokenizer.from_pretrained(tiny)).train()
    return sum(each.requires_grad for each in model.parameters())
adapter = f"{folder}/adapter"
models = [PeftModel.from_pretrained(load(tiny), adapter), load(adapter)]
models.append(PeftModel.from_pretrained(load(tiny), adapter, is_trainable=True))
print(json.dumps([trained(model) for model in models]))
"""
    done = fork(["-c", program, str(tiny), str(tmp_path)], tmp_path, quiet_environment())
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [0, 0, 4]


def examples() -> Iterator[Any]:
    for rule in MINE.values():
        for kind in ("bad", "good"):
            for index, case in enumerate(getattr(rule, kind)):
                yield pytest.param(rule, case, id=f"{rule.code}-{kind}{index}")


def scripts() -> Iterator[Any]:
    for rule in MINE.values():
        for index, case in enumerate(rule.bad):
            if case.kind == "script":
                yield pytest.param(rule, case, id=f"{rule.code}-bad{index}")


@pytest.mark.parametrize(("rule", "case"), list(scripts()))
def test_says_nothing_where_nothing_can_be_known(rule: Rule, case: Case) -> None:
    """In a branch on a library's version, which may never be reached, no rule objects to anything."""
    if "models" in rule.needs or case.script.startswith("# ///"):
        pytest.skip("mentions bear what stands around them; a header cannot be moved")
    body = "import transformers\nif transformers.__version__ < '4':\n" + "".join(
        f"    {line}\n" for line in case.script.strip().splitlines()
    )
    found = [each for document in read("script", body) for each in run_rules([rule], document, facts_of(case))]
    assert [each for each in found if isinstance(each, Finding)] == []


ODD: tuple[Any, ...] = (None, True, -1, 7.5, "", "x", [], [None], ["x"], {}, {"a": None}, {"x": {"content": []}}, [[1]])


@pytest.mark.parametrize(("rule", "case"), list(examples()))
def test_survives_odd_files(rule: Rule, case: Case) -> None:
    """Whatever a model's own files say, a rule answers and does not break."""
    documents, facts = read(case.kind, case.source), facts_of(case)
    text = Path(inspect.getfile(rule.check)).read_text(encoding="utf-8")
    names = [name for name in NAMES if f'"{name}"' in text]
    for odd in odd_facts(case, names):
        for document in documents:
            found = run_rules([rule], document, {**facts, **odd})
            assert not [each.because for each in found if isinstance(each, Skip) and BROKEN in each.because], odd


NAMES = (
    *("model_type", "architectures", "auto_map", "quantization_config", "vocab_size", "text_config", "n_positions"),
    *("max_position_embeddings", "rope_scaling", "rope_parameters", "eos_token", "pad_token", "added_tokens_decoder"),
    *("eos_token_id", "peft_type", "peft_version", "base_model_name_or_path"),
)


def odd_facts(case: Case, names: Iterable[str]) -> Iterator[dict[str, object]]:
    """What an example tells of models, with other values in each of their files."""
    told, seen = case.facts.get("model"), case.facts.get("models")
    for name in names:
        for value in ODD:
            if isinstance(told, ModelFacts):
                yield {"model": oddly(told, name, value)}
            elif isinstance(seen, list) and isinstance(seen[0].found, ModelFacts):
                yield {"models": [Lookup(seen[0].reference, oddly(seen[0].found, name, value))]}


def oddly(model: ModelFacts, name: str, value: Any) -> ModelFacts:
    """The model, with a value under a name of each of its files."""

    def changed(file: Mapping[str, Any] | None) -> Mapping[str, Any]:
        return {**(file or {}), name: value}

    return replace(
        model,
        config=changed(model.config),
        tokenizer=changed(model.tokenizer),
        generation=changed(model.generation),
        adapter=changed(model.adapter),
    )


def test_the_module_that_was_meant_comes_first() -> None:
    """A misspelt name is told with the one that is most like it, and that is first of all that there are."""
    rule = MINE["MOD123"]
    facts = facts_of(rule.bad[0])
    job = JobFileReader().read(rule.good[0].job.replace("v_proj", "v_prj"), "job.yaml")
    (finding,) = run_rules([rule], job, facts)

    assert isinstance(finding, Finding)
    assert finding.message.startswith(
        "`v_prj` fits no module, so less is trained than intended; did you mean `v_proj`? The model has `v_proj`, "
    )


def test_a_tokenizer_without_ids_makes_a_skip_of_an_added_token() -> None:
    """Transformers 5 writes no ids into `tokenizer_config.json`: whether the model has a row for the token is not known, and was passed."""
    rule = MINE["MOD138"]
    (case, *_), said = rule.bad, []
    model = case.facts["model"]
    assert isinstance(model, ModelFacts)
    for tokenizer in ({"eos_token": "</s>"}, model.tokenizer):
        facts = {**facts_of(case), "model": replace(model, tokenizer=tokenizer)}
        said += [type(each) for document in read("script", case.script) for each in run_rules([rule], document, facts)]

    assert said == [Skip, Finding]
