"""Rules about arguments and imports: what they say, since when, and where they keep quiet.

Their own examples are asked in `test_rules.py`; here is what examples cannot show.
"""

import inspect
import re
import tomllib
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.readers.command_line import read_commands
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest, released
from holdfast.catalog.calls.arguments import ArgumentChange, names_of, refused_arguments
from holdfast.catalog.calls.import_failures import import_failures
from holdfast.catalog.calls.moving import config_of, trainer_of
from holdfast.catalog.calls.renames import Renamed, renamed, replaced
from holdfast.core.check.finding import Finding, Fix, Rule
from holdfast.core.job.document import Remove, Rename
from holdfast.engine.check.rule_runner import run_rules
from holdfast.rules import all_rules

RULES = [rule for rule in all_rules() if rule.code.startswith(("ARG", "IMP"))]
RENAMES = tomllib.loads(files("holdfast.catalog.tables").joinpath("renames.toml").read_text(encoding="utf-8"))
LIBRARIES = ("trl", "transformers", "peft", "accelerate", "datasets", "huggingface_hub")


def api(**versions: str) -> Api:
    return Api(versions or newest())


def ask(script: str, at: Api | None = None, rules: list[Rule] = RULES) -> list[Finding]:
    at = at or api()
    results = [each for job in read_script(script, "train.py") for each in run_rules(rules, job, {"api": at})]
    return [each for each in results if isinstance(each, Finding)]


def codes(script: str, at: Api | None = None) -> list[str]:
    return [finding.rule.code for finding in ask(script, at) if finding.rule]


def test_message_says_what_since_when_and_what_instead() -> None:
    """With the exact versions, and the package that took it away, which is not always the config's."""
    (old,) = ask("from trl import SFTConfig\nSFTConfig('out', max_seq_length=512)\n")
    (ratio,) = ask("from trl import SFTConfig\nSFTConfig('out', warmup_ratio=0.1)\n")
    (gone,) = ask("from trl import setup_chat_format\n")

    assert old.message == (
        "`SFTConfig` of trl 1.16.0 takes no `max_seq_length`: renamed to `max_length` in trl 0.16.0, removed in 0.20.0"
    )
    assert "transformers 5.23.0 takes no `warmup_ratio`: renamed to `warmup_steps`" in ratio.message
    assert "removed in transformers 5.15.0" in ratio.message
    assert "removed in 0.26.0 (last release with it: 0.25.1)" in gone.message


@pytest.mark.parametrize(
    "quiet",
    [
        "try:\n    SFTConfig('out', max_seq_length=1)\nexcept TypeError:\n    pass\n",
        "try:\n    SFTConfig('out', max_seq_length=1)\nexcept Exception:\n    pass\n",
        "import inspect\nif 'max_seq_length' in inspect.signature(SFTConfig).parameters:\n    SFTConfig('out', max_seq_length=1)\n",
        "import trl\nif trl.__version__ < '0.20':\n    SFTConfig('out', max_seq_length=1)\n",
        "from somewhere import SFTConfig\nSFTConfig('out', max_seq_length=1)\n",
        "class SFTConfig:\n    def __init__(self, *rest, **more): ...\nSFTConfig('out', max_seq_length=1)\n",
        "import unsloth\nSFTConfig('out', max_seq_length=1)\n",
        "import functools\nfunctools.partial(SFTConfig, max_length=1)\n",
        "SFTConfig('out', **settings())\n",
    ],
)
def test_quiet_where_the_program_takes_care_or_cannot_be_known(quiet: str) -> None:
    """Guards, other classes of the same name, patched libraries, and what may hold anything. `IMP109` says that nothing was judged."""
    assert set(codes(f"from trl import SFTConfig\n{quiet}")) <= {"IMP109"}


def test_packages_without_a_version_are_not_judged() -> None:
    """No version, no claim; nor for an exact version that the history does not have."""
    script = "from trl import SFTConfig, PPOTrainer\nfrom transformers import AdamW\nSFTConfig('o', max_seq_length=1)\n"

    assert codes(script, Api({})) == []
    assert codes(script, api(trl="99.0.0", transformers="99.0.0")) == []


def test_a_subclass_takes_what_it_adds_and_what_its_base_takes() -> None:
    """Fields of the program's own class are its own; those of the library's are judged."""
    script = """
from dataclasses import dataclass
from trl import SFTConfig

@dataclass
class Mine(SFTConfig):
    max_seq_length: int = 1

Mine("out", max_seq_length=2, packing=True)
Mine("out", evaluation_strategy="no")
"""

    assert codes(script) == ["ARG101"]


def test_one_argument_has_one_fault() -> None:
    """Whatever became of it, one rule says so."""
    script = """
from transformers import TrainingArguments
from trl import DPOConfig, DPOTrainer, GRPOConfig, SFTConfig, SFTTrainer

SFTConfig("o", max_seq_length=1, no_cuda=True, max_prompt_length=1, tokenizer=None, lenght=1, beta=0.1)
DPOConfig("o", max_prompt_length=1, rpo_alpha=1.0, padding_value=0)
SFTTrainer("m", max_seq_length=1, packing=True, tokenizer=None, beta=1, colour="red")
TrainingArguments("o", overwrite_output_dir=True, evaluation_strategy="no", use_mps_device=True)
"""
    found = ask(script)

    assert len({(finding.place, finding.key) for finding in found}) == len(found) == 17


def test_a_misspelt_reward_is_no_missing_one() -> None:
    """One cause is reported once."""
    script = "from trl import GRPOTrainer\nGRPOTrainer(model='Qwen/Qwen2.5-0.5B', reward_func=len, train_dataset=rows)"
    every = list(all_rules())

    found = {finding.rule.code for finding in ask(script, rules=every) if finding.rule}
    assert "ARG106" in found
    assert "RWD101" not in found


@pytest.mark.parametrize("name", ["dtype", "attn_implementation", "device_map"])
def test_what_a_model_is_loaded_with_belongs_into_its_own_argument(name: str) -> None:
    """Configs of TRL take it for the model that they are given by name."""
    (found,) = ask(f"from trl import DPOConfig\nDPOConfig('out', {name}='auto')")

    assert f'write `model_init_kwargs={{"{name}": …}}`' in found.message


def test_a_switch_that_is_off_is_taken_out() -> None:
    """The fix says what it does."""
    script = "from transformers import TrainingArguments\nTrainingArguments('out', group_by_length={})"
    titles = [finding.fix.title for value in (True, False) for finding in ask(script.format(value)) if finding.fix]

    assert titles == ["write `train_sampling_strategy`", "remove `group_by_length`"]


@pytest.mark.parametrize("row", RENAMES["argument"], ids=lambda row: f"{row['of'][0]}.{row['old']}")
def test_curated_arguments_existed(row: dict[str, Any]) -> None:
    """Each old name was taken by some release of one of its classes, unless it is a name that never was right."""
    entry = entry_of(row)
    paths = [path for name in entry.of for path in every_path(name)]
    spans = [span for path in paths for span in api().parameter_spans(path, entry.old)]
    never = "TypeError" in entry.source or any("." in name for name in entry.of)

    assert never or spans or entry.old == "resume_from_checkpoint"
    assert entry.new or entry.note
    assert len(entry.source) > 10
    if entry.new and not never:
        assert any(api().parameter_spans(path, entry.new) for path in paths), entry.new


FILLED = ("trl.SFTScriptArguments", "trl.DPOScriptArguments")
"""Classes that are filled from a command line, not called: their attributes are checked where they are read."""


def entry_of(row: dict[str, Any]) -> Renamed:
    told: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in row.items()}
    return Renamed(**told)


def every_path(name: str) -> list[str]:
    """Return the paths that a name in `of` may stand for."""
    if name == "*Trainer":
        return [f"trl.{word}Trainer" for word in ("SFT", "DPO", "KTO", "ORPO", "CPO", "Reward")] + [
            "transformers.Trainer"
        ]
    return [f"{library}.{name}" for library in LIBRARIES]


@pytest.mark.parametrize("row", RENAMES["name"], ids=lambda row: row["old"])
def test_curated_names_existed_and_are_gone(row: dict[str, Any]) -> None:
    """Each old name could be imported once, and cannot now; each new one of a known package can, or has a fate itself."""
    module, _, name = row["old"].rpartition(".")
    at = api()

    assert at.name_spans(module, name)
    assert not at.has_name(module, name)
    if row.get("new"):
        module, _, name = row["new"].rpartition(".")
        assert at.has_name(module, name) is not False or replaced("name", row["new"])


@pytest.mark.parametrize("row", [each for each in RENAMES["name"] if "same" in each], ids=lambda row: row["old"])
def test_a_new_name_takes_the_arguments_that_calls_keep(row: dict[str, Any]) -> None:
    """What the last release with the old name takes, the new one takes too, but for what `keeps` leaves out."""
    module, _, name = row["old"].rpartition(".")
    last = api().name_spans(module, name)[-1].last or ""
    before = Api({**newest(), module.partition(".")[0]: last}).signature(row["old"])
    taken = new_parameters(row["new"])
    if before is None or taken is None or row["old"] in FILLED:
        return
    kept = row.get("keeps", list(before.parameters))
    assert set(kept) <= set(before.parameters)
    assert set(kept) <= set(taken)
    if "keeps" in row:
        assert set(before.parameters) & set(taken) == set(kept)
        assert taken[: len(kept)] == kept, "what is given by position means the same"


def new_parameters(path: str) -> list[str] | None:
    """Return what a class or function takes, as the history or the installed package tells; None where neither does."""
    known = api().signature(path)
    if known is not None:
        return list(known.parameters)
    module, _, name = path.rpartition(".")
    if not path.startswith("torch."):
        return None  # of a library's own that is gone, too
    return list(inspect.signature(getattr(pytest.importorskip(module), name)).parameters)


@pytest.mark.parametrize("row", RENAMES["argument"], ids=lambda row: f"{row['of'][0]}.{row['old']}")
def test_safe_renames_are_of_arguments_that_are_gone_or_go(row: dict[str, Any]) -> None:
    """An entry that says nothing of its value is no safe fix."""
    entry = renamed(row["of"], row["old"])

    assert entry is not None
    assert entry.keeps(7) == bool(row.get("same")) or "below" in row


def test_import_failures_name_releases() -> None:
    """Every release that an entry names exists."""
    for failure in import_failures():
        assert set(failure.trl) <= set(released("trl"))
        for package, version in failure.others.items():
            assert version in released(package) or package in ("huggingface_hub", "datasets")


def test_trainers_and_configs_find_each_other() -> None:
    """By the libraries' way of naming them."""
    for path in ("trl.SFTTrainer", "trl.experimental.orpo.ORPOTrainer", "transformers.Seq2SeqTrainer"):
        assert trainer_of(config_of(path)) == path
        assert api().signature(config_of(path))


def test_names_of_a_class_are_those_of_its_bases_too() -> None:
    """So that what became of a base's argument is found under the class that is called."""
    assert {"SFTConfig", "TrainingArguments"} <= set(names_of(api(), "trl.SFTConfig"))
    assert "Trainer.train" in names_of(api(), "trl.SFTTrainer.train")


def test_a_pair_of_versions_that_cannot_be_imported_is_told_once() -> None:
    """For the releases that were run; with the package whose absence is the reason at hand, nothing fails."""
    script = "from trl import DPOTrainer\n"
    header = '# /// script\n# dependencies = ["trl==0.24.0", "mergekit"]\n# ///\n'
    at = api(trl="0.24.0", transformers="5.8.0")

    assert codes(script, at) == ["IMP106"]
    assert codes(header + script, at) == []
    assert codes(script, api(trl="0.24.0", transformers="5.2.0")) == []
    assert codes(script.replace("trl", "trl.trainer.dpo_trainer"), at) == ["IMP106"]


def test_resuming_is_the_trainings_own_argument() -> None:
    """A config's `resume_from_checkpoint` is ignored, unless the program hands it on, or nobody knows whether it is set."""
    script = """
from transformers import Trainer, TrainingArguments
args = TrainingArguments("out", resume_from_checkpoint={value})
Trainer(model, args).train({given})
"""

    assert codes(script.format(value="'out/checkpoint-1'", given="")) == ["ARG111"]
    assert codes(script.format(value="'out/checkpoint-1'", given="resume_from_checkpoint=True")) == []
    assert codes(script.format(value="'out/checkpoint-1'", given="args.resume_from_checkpoint")) == []
    assert codes(script.format(value="find()", given="")) == []
    assert codes(script.format(value="None", given="")) == []


def test_every_stale_claim_about_arguments_is_found() -> None:
    """What widely copied instructions say of arguments and imports is objected to at the newest versions."""
    script = """
from datasets import load_dataset
from huggingface_hub import HfApi
from peft import LoraConfig
from transformers import AutoModelForCausalLM
import trackio
from trl import DPOConfig, GRPOConfig, SFTConfig, SFTTrainer

trackio.init(project="p", run_name="r")
args = SFTConfig("o", warmup_ratio=0.1, push_to_hub_model_id="m", push_to_hub_organization="o", push_to_hub_token="t")
SFTConfig("o", max_seq_length=1, evaluation_strategy="steps", overwrite_output_dir=True, logging_dir="l")
SFTConfig("o", save_safetensors=True, group_by_length=True, no_cuda=True, jit_mode_eval=True)
DPOConfig("o", max_prompt_length=1)
GRPOConfig("o", max_prompt_length=1)
SFTTrainer("m", args=args, tokenizer=None, resume_from_checkpoint="user/model/checkpoint-1000")
AutoModelForCausalLM.from_pretrained("m", low_cpu_mem_usage=True).save_pretrained("m", safe_serialization=True)
HfApi().upload_file("a", "b", "repo")
"""
    told = " ".join(finding.message for finding in ask(script))
    stale = re.findall(r"(\w+)=(?!.*\w+\(\"p\")", script.replace("project=", "").replace("args=", ""))

    assert {"warmup_ratio", "safe_serialization", "run_name"} <= set(stale)
    assert not [name for name in stale if f"`{name}`" not in told]
    assert "by position" in told


PARSED = """
from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser

script, args, model = TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_and_config()
SFTTrainer(model.model_name_or_path, args=args, train_dataset=script.dataset_name).train()
"""


def test_a_parser_reads_text_and_knows_its_flags() -> None:
    """Numbers are text on a command line; flags may be short and switched off; what is unknown there is refused."""
    (job,) = read_script(PARSED, "train.py", argv=["--learning_rate", "2e-5", "--eval_strat", "no", "--no_packing"])
    (bad,) = read_script(
        PARSED, "train.py", argv=["--learning_rate", "fast", "--torch_dtype", "auto", "--loss_type", "x"]
    )

    assert [each for each in run_rules(RULES, job, {"api": api()}) if isinstance(each, Finding)] == []
    found = [each for each in run_rules(RULES, bad, {"api": api()}) if isinstance(each, Finding) and each.rule]
    assert {each.rule.code for each in found if each.rule} == {"ARG101", "ARG102", "ARG110"}


@pytest.mark.parametrize(
    ("argument", "value", "new"),
    [
        ("loss_type", "kto_pair", None),  # removed from DPO; `exo_pair` is another algorithm
        ("lr_scheduler_type", "cosine_with_warmup", "cosine"),
        ("lr_scheduler_type", "cosin", "cosine"),
        ("loss_type", "sigmoied", "sigmoid"),
        ("eval_strategy", "step", "steps"),
    ],
)
def test_a_value_is_replaced_only_by_one_that_means_the_same(argument: str, value: str, new: str | None) -> None:
    found = ask(f"from trl import DPOConfig\nDPOConfig('o', {argument}={value!r})\n")
    (finding,) = [each for each in found if each.rule and each.rule.code == "ARG110"]
    assert (finding.fix.title if finding.fix else None) == (f"write `{new}`" if new else None)


@pytest.mark.parametrize(("flag", "found"), [("--max", {"ARG106"}), ("--max_l", set()), ("--max_length", set())])
def test_a_flag_that_could_be_several_is_ambiguous(flag: str, found: set[str]) -> None:
    """The parser ends the program; the beginning of one flag alone is taken."""
    (job,) = read_script(PARSED, "train.py", argv=[flag, "4"])
    findings = [each for each in run_rules(RULES, job, {"api": api()}) if isinstance(each, Finding)]

    assert {each.rule.code for each in findings if each.rule} == found
    assert all("is ambiguous" in each.message and "`--max_length`" in each.message for each in findings)


@pytest.mark.parametrize(
    ("flag", "matches"),
    [
        ("--learning", "`--learning_rate`, `--learning-rate`"),
        ("--output", "`--output_dir`, `--output-dir`"),
        ("--learning_r", ""),
    ],
)
def test_the_beginning_of_both_spellings_of_a_flag_is_ambiguous(flag: str, matches: str) -> None:
    """Argparse refuses it, since each flag has a spelling with hyphens; from the first underscore on it is taken."""
    (job,) = read_script(PARSED, "train.py", argv=[flag, "1e-5"])
    findings = [each for each in run_rules(RULES, job, {"api": api()}) if isinstance(each, Finding)]

    assert [each.message for each in findings if f"could match {matches};" in each.message] == [
        each.message for each in findings
    ]
    assert bool(findings) == bool(matches)


HAND_MADE = """
from dataclasses import dataclass

from transformers import HfArgumentParser
from trl import ModelConfig, SFTConfig, SFTTrainer

@dataclass
class Arguments:
    layers: int = 3

mine, args, model = HfArgumentParser((Arguments, SFTConfig, ModelConfig)).parse_args_into_dataclasses()
SFTTrainer("acme/base", args=args).train()
"""


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--layrs", "3"], "takes no `layrs`: did you mean `layers`?"),
        (["--model_name_or_pth", "acme/base"], "did you mean `model_name_or_path`?"),
        (["--config", "recipe.yaml"], "takes no `config`"),
        (["--layers", "3"], ""),
    ],
)
def test_a_parser_takes_the_flags_of_all_its_dataclasses_and_no_other(argv: list[str], message: str) -> None:
    """Those of the program count too; only TrlParser's `parse_args_and_config` takes `--config`."""
    (job,) = read_script(HAND_MADE, "train.py", argv=argv)
    found = [each for each in run_rules(RULES, job, {"api": api()}) if isinstance(each, Finding)]

    assert [each.rule.code for each in found if each.rule] == (["ARG106"] if message else [])
    assert all(message in each.message for each in found)


def test_a_command_is_judged_by_its_dataclasses() -> None:
    """Each flag by the dataclass that has it, or had it; what none knows may be a flag of the launcher."""
    named = "trl sft --model_name_or_path acme/base --dataset_name acme/chats"
    text = f"{named} --max_seq_length 512 --torch_dtype auto --num_processes 2 --eval_strat no --warmup_ratio 0.1\n"
    (line,) = read_commands(text, "train.sh")
    job = command_document(line, text, "train.sh")
    assert job is not None
    found = [each for each in run_rules(RULES, job, {"api": api()}) if isinstance(each, Finding)]
    old = list(run_rules(RULES, job, {"api": api(trl="0.15.2", transformers="4.49.0")}))

    assert [each.key for each in found] == ["train.max_seq_length", "train.warmup_ratio", "train.torch_dtype"]
    assert all(each.fix and each.fix.safe for each in found)
    assert not [each for each in old if isinstance(each, Finding)]


NAMES = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=20).filter(str.isidentifier)


@settings(max_examples=40, deadline=None)
@given(
    NAMES, st.sampled_from(["trl.SFTConfig", "trl.SFTTrainer", "peft.LoraConfig", "transformers.BitsAndBytesConfig"])
)
def test_any_name_is_taken_or_has_one_fate(name: str, path: str) -> None:
    """A name that the signature takes is left alone; any other is refused once."""
    module, _, thing = path.rpartition(".")
    (job,) = read_script(f"from {module} import {thing}\n{thing}({name}_=1)\n", "train.py")
    signature = api().signature(path)
    found = [each for became in ArgumentChange for each in refused_arguments(job, api(), became)]

    assert signature is not None
    assert len(found) == (f"{name}_" not in signature.parameters)


def fix_of(script: str, code: str, at: Api | None = None) -> Fix:
    """The one fix that a rule offers."""
    (found,) = [each.fix for each in ask(script, at) if each.rule and each.rule.code == code and each.fix]
    return found


def test_none_is_not_carried_to_a_name_where_it_means_something_else() -> None:
    """`max_seq_length=None` was 1024; `max_length=None` cuts nothing."""
    script = "from trl import SFTConfig\nSFTConfig('out', max_seq_length={})\n"

    assert fix_of(script.format(512), "ARG101").safe
    assert not fix_of(script.format(None), "ARG101").safe
    assert fix_of(script.format(None), "ARG101").edits == (Remove("calls.0.max_seq_length"),)


def test_a_name_of_the_newest_releases_alone_is_not_written_without_asking() -> None:
    """A script that has it runs with no other."""
    script = "from trl import SFTConfig\nSFTConfig('out', gradient_checkpointing=True)\n"

    assert not fix_of(script, "ARG109").safe


def test_a_reference_model_is_not_taken_away_without_asking() -> None:
    """RLOO makes its own of the model, which need not be the one that is given."""
    script = "from trl import RLOOTrainer\nRLOOTrainer('m', ref_policy={}, reward_funcs=f)\n"

    assert not fix_of(script.format("reference"), "ARG105").safe
    assert fix_of(script.format(None), "ARG105").safe


@pytest.mark.parametrize(
    ("script", "new"),
    [
        ("from trl.experimental.online_dpo import OnlineDPOTrainer as T\nT('m', reward_model=f)\n", "reward_funcs"),
        ("from trl.experimental.xpo import XPOTrainer as T\nT('m', reward_model=f)\n", "reward_funcs"),
    ],
)
def test_a_reward_is_not_written_as_a_reference(script: str, new: str) -> None:
    """Two arguments of one ending play different roles."""
    at = api(**{**newest(), "trl": "1.10.0"})

    assert fix_of(script, "ARG101", at).edits == (Rename("trainer.reward_model", new),)


@pytest.mark.parametrize(
    "call",
    ["peft.LoraConfig(peft_config=x)", "trl.DPOTrainer('m', loftq_config=x)", "trl.SFTTrainer('m', test_dataset=x)"],
)
def test_no_name_of_another_role_is_proposed(call: str) -> None:
    """What shares its last word only is something else."""
    assert not any("did you mean" in each.message for each in ask(f"import peft, trl\n{call}\n"))


def test_a_fix_says_what_it_writes() -> None:
    """A config of a trainer's own has other defaults: those that are written out are in the title."""
    script = "from trl import DPOTrainer\nfrom transformers import TrainingArguments\nDPOTrainer('m', args=TrainingArguments('out'))\n"
    beta = script.replace("'m', ", "'m', beta=0.1, ")

    assert fix_of(script, "ARG116").title.startswith(
        "replace `TrainingArguments` with `DPOConfig`, and write out the defaults that differ (learning_rate=5e-05"
    )
    assert fix_of(beta, "ARG107").title.endswith("and move `beta` there")
    assert "`DPOConfig`" in fix_of(beta, "ARG107").title


def test_a_method_called_on_its_class_is_given_its_instance_too() -> None:
    """Whatever name the class was imported under."""
    script = "from transformers import Trainer as Base\n\nclass Mine(Base):\n    def save(self, out):\n        Base.save_model(self, out, True)\n"

    assert codes(script) == []


def test_a_name_that_went_by_way_of_experimental_is_told_of_to_its_end() -> None:
    """Where trl.experimental kept it, that is the last that had it."""
    (gone,) = ask("from trl import PPOTrainer\n")

    assert "removed in 0.29.0, and from `trl.experimental.ppo` in 1.13.0 (last release with it: 1.12.0)" in gone.message


def test_a_module_that_is_gone_is_told_of_once_a_statement() -> None:
    """However many names are taken from it."""
    script = "from trl.experimental.bco import BCOConfig, BCOTrainer\n\nBCOTrainer(args=BCOConfig('out'))\n"

    assert codes(script) == ["IMP102"]
