"""What is known of packages is so in this environment, and rules on dependencies, tracking, Hub and data say what the libraries do."""

import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from packaging.requirements import InvalidRequirement, Requirement

from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest, packages
from holdfast.catalog.environment.packages import installed, load_packages, providers
from holdfast.core.check.finding import Case, Finding, Rule, Severity, Skip
from holdfast.core.environment.requirement import ProjectRequirements, RequirementProblem, parse_requirement
from holdfast.core.environment.versions import normalized
from holdfast.engine.check.rule_runner import run_rules, severity_of
from holdfast.engine.resolve import resolve
from holdfast.rules import all_rules
from tests.helpers.hub import loopback_hub
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

RULES = {rule.code: rule for rule in all_rules()}
HEADER = '# /// script\n# dependencies = ["trl==1.16.0", "transformers==5.23.0"{}]\n# ///\n'
TRAINED = """from trl import SFTConfig, SFTTrainer

args = SFTConfig(output_dir="out", report_to="none")
trainer = SFTTrainer(model="Qwen/Qwen2.5-0.5B", args=args, train_dataset=rows)
"""


def results(code: str, script: str, versions: Mapping[str, str] | None = None) -> list[Finding | Skip]:
    """What one rule says of a script, at the newest versions unless others are named."""
    facts = {"api": Api({**newest(), **(versions or {})})}
    return [each for document in read_script(script, "train.py") for each in run_rules([RULES[code]], document, facts)]


def findings(code: str, script: str, versions: Mapping[str, str] | None = None) -> list[Finding]:
    return [each for each in results(code, script, versions) if isinstance(each, Finding)]


def here() -> Iterable[str]:
    """Packages of the catalog that are installed in this environment."""
    present = {normalized(each.metadata["Name"]) for each in metadata.distributions()}
    return sorted(present & set(load_packages()))


def needed(name: str) -> set[str]:
    """What an installed package needs for itself, in this environment."""
    parsed = map(Requirement, metadata.requires(name) or ())
    return {normalized(each.name) for each in parsed if each.marker is None or each.marker.evaluate({"extra": ""})}


def needed_in_all(name: str) -> set[str]:
    found: set[str] = set()
    todo = {name}
    while todo:
        one = todo.pop()
        found.add(one)
        todo |= needed(one) - found
    return found


# Packages


@pytest.mark.parametrize("name", here())
def test_imports_are_what_is_installed(name: str) -> None:
    """Each name that a package is said to let import, it does."""
    provided = {
        top for top, names in metadata.packages_distributions().items() if name in {normalized(each) for each in names}
    }

    assert set(load_packages()[name].imports) <= provided


@pytest.mark.parametrize("name", [name for name in here() if name.replace("-", "_") in packages()])
def test_brings_what_is_installed_with_it(name: str) -> None:
    """What an installed package needs, of the packages in the catalog, is said to come along with it."""
    versions = {
        each: metadata.version(each.replace("_", "-")) for each in packages() if each.replace("_", "-") in here()
    }
    brought = installed([name], versions)

    assert brought is not None
    assert brought >= needed_in_all(name) & set(load_packages())


def test_catalog_is_closed() -> None:
    """Whatever a package brings along is in the catalog itself, and import names are names."""
    known = load_packages()

    assert {each for package in known.values() for each in package.brings} <= set(known)
    assert all(name == normalized(name) for name in known)
    assert all(module.isidentifier() for package in known.values() for module in package.imports)
    assert {each.replace("_", "-") for each in packages()} <= set(known)


def test_extras_count() -> None:
    """An extra brings what its release says, and what an unknown package brings is not guessed."""
    versions = {"trl": "1.16.0"}

    assert "peft" in (installed(["trl[peft]"], versions) or ())
    assert "peft" not in (installed(["trl"], versions) or ())
    assert installed(["trl", "a-package-of-mine"], versions) is None
    assert installed(["trl @ git+https://example.org/trl"], versions) is None


def test_release_decides_what_comes_along() -> None:
    """`requests` came along with datasets until 5.1 did without."""
    later = {"transformers": "5.23.0", "huggingface_hub": "2.4.0"}

    assert "requests" in (installed(["datasets"], later | {"datasets": "5.0.0"}) or ())
    assert "requests" not in (installed(["datasets"], later | {"datasets": "5.2.0"}) or ())


@given(
    name=st.from_regex(r"[a-z][a-z0-9]{0,6}([-_.][a-z0-9]{1,5})?", fullmatch=True),
    extras=st.lists(st.sampled_from(["peft", "vllm", "Some_Extra"]), max_size=2, unique=True),
    bounds=st.sampled_from(["", "==1.0", " >= 1.2, <2", "~=3.1", "===1.0", " @ https://example.org/a.whl"]),
    marker=st.sampled_from(["", " ; python_version < '3.13'"]),
)
def test_reads_requirements_as_packaging_does(name: str, extras: list[str], bounds: str, marker: str) -> None:
    """Name, extras and address of a requirement are those that `packaging` reads."""
    text = f"{name}[{','.join(extras)}]{bounds}{marker}"
    expected, parsed = Requirement(text), parse_requirement(text)

    assert not isinstance(parsed, RequirementProblem)
    assert parsed.name == normalized(expected.name)
    assert parsed.extras == {normalized(extra) for extra in expected.extras}
    assert parsed.url == (expected.url or "")
    assert bool(parsed.marker) == bool(expected.marker)
    assert bool(parsed.pin) == any(each.operator in ("==", "===") for each in expected.specifier)


@given(st.text(alphabet="atrl-_.[]=<>!~;@ /:'\"#\n0", max_size=20))
@example("0_")
@example("0@;\n")
def test_survives_what_is_no_requirement(text: str) -> None:
    """Any text is read, and what `packaging` takes for a requirement by name has a name here too."""
    parsed = parse_requirement(text)
    try:
        expected = Requirement(text)
    except InvalidRequirement:
        return

    assert not isinstance(parsed, RequirementProblem)
    assert parsed.name == normalized(expected.name)


def test_providers() -> None:
    """The package that comes first is the one to name, and a module of one's own has none."""
    assert providers("cv2")[0] == "opencv-python"
    assert providers("sklearn.metrics") == ("scikit-learn",)
    assert providers("rewards") == ()


# What rules leave alone


@pytest.mark.parametrize(
    ("code", "script"),
    [
        ("DEP104", HEADER.format("") + "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import wandb\n"),
        ("DEP104", HEADER.format("") + "try:\n    import wandb\nexcept Exception:\n    wandb = None\n"),
        ("DEP104", HEADER.format("") + "def use():\n    import os, json, __future__\n"),
        ("DEP106", HEADER.format("") + TRAINED.replace('"none"', "choose()")),
        ("DEP110", '# /// script\n# dependencies = ["torch==99.99", "trl==nonsense"]\n# ///\n'),
        (
            "DEP114",
            HEADER.format("") + "import subprocess\nsubprocess.run(command)\nsubprocess.run(['git', 'clone'])\n",
        ),
        ("TRK101", TRAINED.replace('"none"', '"trackio"') + "import trackio\ntrackio.finish()\n"),
        ("TRK106", TRAINED.replace('"none"', "choose()")),
        ("HUB101", TRAINED + "trainer.push_to_hub('a message: with spaces')\n"),
        ("HUB103", "token = 'hf_" + "x" * 34 + "'\n"),
        (
            "HUB104",
            TRAINED.replace("report_to", "push_to_hub=True, save_strategy=choose(), report_to") + "trainer.train()\n",
        ),
        ("HUB106", "from huggingface_hub import run_job\nrun_job(image='a', command=['b'], secrets=load())\n"),
        ("HUB108", "from mine import AutoTokenizer\nAutoTokenizer.from_pretrained('a', use_auth_token=True)\n"),
        ("MOD104", TRAINED.replace('model="Qwen/Qwen2.5-0.5B"', "model=build()")),
        ("MOD105", TRAINED.replace("report_to", "model_init_kwargs=choose(), report_to")),
        (
            "DAT103",
            "from datasets import load_dataset\n" + TRAINED.replace("=rows", "=load_dataset('a', split=choose())"),
        ),
        ("DAT103", "from datasets import load_dataset\n" + TRAINED.replace("=rows", "=load_dataset('a', **more())")),
        ("DAT104", "from datasets import load_dataset\nload_dataset('a', split=f'train[:{count()}]')\n"),
        ("DAT105", "from datasets import load_dataset\nload_dataset('a', streaming=choose()).select([1])\n"),
        ("REP101", "from datasets import load_dataset\nload_dataset('a').shuffle(seed=choose())\n"),
        ("REP103", "from transformers import AutoModel\nAutoModel.from_pretrained(choose(), trust_remote_code=True)\n"),
    ],
)
def test_leaves_alone_what_it_cannot_know(code: str, script: str) -> None:
    """What is computed, guarded, or somebody else's of the same name gets no finding."""
    assert findings(code, script) == []


def test_unknown_package_is_a_skip() -> None:
    """Where nobody knows what a dependency brings along, that an import is missing is not claimed, and not denied."""
    (skip,) = results("DEP104", HEADER.format(', "a-package-of-mine"') + "import wandb\n")

    assert isinstance(skip, Skip)
    assert skip.missing == ("environment.requirements",)


def test_names_the_line_of_the_import() -> None:
    """The finding stands where the import is, once for each package."""
    found = findings("DEP104", HEADER.format("") + "import sklearn\nfrom sklearn import metrics\nimport bs4\n")

    assert [(each.place.line, each.message) for each in found if each.place] == [
        (4, "nothing that the header declares installs `sklearn`: add `scikit-learn`"),
        (6, "nothing that the header declares installs `bs4`: add `beautifulsoup4`"),
    ]


def test_an_import_that_may_not_be_reached_is_a_warning() -> None:
    """Only an import that every run comes to is an error."""
    severities = [
        severity_of(each)
        for script in ("import wandb\n", "def log():\n    import wandb\n", "if choose():\n    import wandb\n")
        for each in findings("DEP104", HEADER.format("") + script)
    ]

    assert severities == [Severity.ERROR, Severity.WARNING, Severity.WARNING]


# What tools and libraries do


def examples(code: str) -> list[tuple[Case, bool]]:
    rule: Rule = RULES[code]
    return [(case, True) for case in rule.bad if case.script] + [(case, False) for case in rule.good if case.script]


@pytest.mark.parametrize(("case", "bad"), examples("DEP101"))
def test_uv_refuses_malformed_headers(case: Case, bad: bool, tmp_path: Path) -> None:
    """Of every example header, uv says that it cannot be read, or reads it."""
    script = tmp_path / "train.py"
    script.write_text(case.script)
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        pytest.skip("no uv beside this Python")
    command = [str(uv), "run", "--offline", "--no-project", "--no-python-downloads", "--no-cache", str(script)]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr

    assert bool(re.search(r"TOML parse error|opening tag|multiple PEP 723", said)) == bad, said


def ask(program: str, question: Any, **variables: str) -> Any:
    """Answer a question by a program in a process of its own, which prints the answer as its last line."""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        input=json.dumps(question),
        capture_output=True,
        text=True,
        check=False,
        env=quiet_environment(**variables),
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.train
def test_splits() -> None:
    """The splits that DAT104 takes are those that datasets takes."""
    program = """
import json, sys
from datasets import ReadInstruction
def takes(split):
    try:
        ReadInstruction.from_spec(split)
    except ValueError:
        return False
    return True
print(json.dumps([takes(split) for split in json.load(sys.stdin)]))
"""
    splits = [match[1] for case, _ in examples("DAT104") if (match := re.search(r'split="(.*?)"', case.script))]
    splits += ["", "a b", "train[5:", "train[:50%](closest)", "train+", "train[-10%:]", "a.b[1:2] + c", "train[1:2:3]"]
    script = "from datasets import load_dataset\nload_dataset('a', split={!r})\n"

    assert ask(program, splits) == [not findings("DAT104", script.format(split)) for split in splits]


TRIES = """
import json, os, sys, tempfile
os.chdir(tempfile.mkdtemp())
from datasets import Dataset, DatasetDict
from transformers import AutoModel, AutoTokenizer
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
from trl import SFTConfig, SFTTrainer
tiny = json.load(sys.stdin)
rows = Dataset.from_dict({"text": ["1 plus 1 equals 2."] * 8})
tokenizer = AutoTokenizer.from_pretrained(tiny)
def sft(model=tiny, data=rows, **settings):
    args = SFTConfig("out", use_cpu=True, bf16=False, max_steps=1, save_strategy="no", **settings)
    return SFTTrainer(model, args=args, train_dataset=data, processing_class=tokenizer)
def finish():
    import trackio
    sft(report_to="trackio").train()
    trackio.finish()
tries = {
    "a name that is none": lambda: sft(report_to="wand"),
    "no tracker by False": lambda: sft(report_to=False),
    "no tracker by None": lambda: sft(report_to=None),
    "finish": finish,
    "a dictionary of splits": lambda: sft(data=DatasetDict(train=rows)),
    "no head": lambda: sft(AutoModel.from_pretrained(tiny)).train(),
    "4 bits in the config": lambda: sft(model_init_kwargs={"load_in_4bit": True}),
    "flash attention in the config": lambda: sft(model_init_kwargs={"use_flash_attention_2": True}),
    "the old token in the config": lambda: sft(model_init_kwargs={"use_auth_token": True}),
    "good: all": lambda: sft().train(),
    "good: the old token of a tokenizer": lambda: AutoTokenizer.from_pretrained(tiny, use_auth_token=True),
}
def refused(do):
    try:
        do()
    except Exception as error:
        return type(error).__name__
answer = {name: refused(do) for name, do in tries.items()}
print("\\n" + json.dumps([answer, sorted(INTEGRATION_TO_CALLBACK)]))
"""


@pytest.mark.long
@pytest.mark.train
def test_libraries_refuse_what_rules_call_errors(tiny: Path, tmp_path: Path) -> None:
    """Real TRL, transformers and trackio raise what the rules' pages say, and know the trackers that TRK106 knows."""
    answer, trackers = ask(TRIES, str(tiny), TRACKIO_DIR=str(tmp_path))

    assert answer == {
        "a name that is none": "ValueError",
        "no tracker by False": "ValueError",
        "no tracker by None": "ValueError",
        "finish": "RuntimeError",
        "a dictionary of splits": "TypeError",
        "no head": "AttributeError",
        "4 bits in the config": "TypeError",
        "flash attention in the config": "TypeError",
        "the old token in the config": "TypeError",
        "good: all": None,
        "good: the old token of a tokenizer": None,
    }
    script = TRAINED.replace('"none"', "{!r}")
    assert [name for name in trackers if findings("TRK106", script.format(name))] == []
    (fault,) = findings("TRK106", script.format("no such tracker"))
    assert re.findall(r"[a-z_]+", fault.message.partition("one of ")[2]) == trackers


PUSHING = """
import json, os, sys, tempfile
os.chdir(tempfile.mkdtemp())
from datasets import Dataset
from trl import SFTConfig, SFTTrainer
tiny, settings = json.load(sys.stdin)
rows = Dataset.from_dict({"text": ["1 plus 1 equals 2."] * 8})
args = SFTConfig("out", use_cpu=True, bf16=False, max_steps=1, push_to_hub=True, hub_model_id="me/model", **settings)
SFTTrainer(tiny, args=args, train_dataset=rows).train()
print("\\ntrue")
"""


@pytest.mark.train
@pytest.mark.long
@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, {"model.safetensors"}),
        ({"save_strategy": "no"}, set()),
        ({"hub_strategy": "end"}, set()),
        ({"hub_strategy": "checkpoint"}, {"model.safetensors", "last-checkpoint/optimizer.pt"}),
    ],
)
def test_what_is_pushed(settings: dict[str, str], expected: set[str], tiny: Path) -> None:
    """What a Hub on loopback has after training without a final push is what HUB104 and HUB105 say."""
    with loopback_hub() as hub:
        ask(PUSHING, [str(tiny), settings], **hub.variables)
        pushed = set(hub.model("me/model").files)

    assert pushed & {"model.safetensors", "last-checkpoint/optimizer.pt"} == expected


def test_conflict_of_a_real_resolution() -> None:
    """What the resolver calls a conflict is said at the first requirement that is part of it."""
    script = '# /// script\n# dependencies = [\n#   "torch",\n#   "trl==1.16.0",\n#   "datasets==3.0.0",\n# ]\n# ///\n'
    (document,) = read_script(script, "train.py")
    texts = document.get("environment.requirements")
    asked = [
        parse_requirement(text, document.place(f"environment.requirements.{index}")) for index, text in enumerate(texts)
    ]
    declared = ProjectRequirements(
        kind="header", requirements=tuple(each for each in asked if not isinstance(each, RequirementProblem))
    )
    (found,) = run_rules([RULES["DEP109"]], document, {"resolution": resolve(declared)})

    assert isinstance(found, Finding)
    assert found.place
    assert found.place.line == 4
    assert "`trl==1.16.0` and `datasets==3.0.0`" in found.message
