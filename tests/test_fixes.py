"""A fix is true: what it gives is right for the libraries, whatever the layout of the text, and wherever it stands."""

import ast
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.adapters.readers.command_line import command_document, read_commands
from holdfast.adapters.readers.command_line.edits import place_edits as place_command_edits
from holdfast.adapters.readers.job_file import JobFileReader
from holdfast.adapters.readers.notebook import read_notebook
from holdfast.adapters.readers.notebook_edits import apply_notebook_edits
from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.script.edits import can_place, place_edits
from holdfast.catalog.api import Api, packages, released
from holdfast.cli.main import run_command
from holdfast.core.calls import Call
from holdfast.core.document import Document
from holdfast.core.errors import UsageError
from holdfast.core.finding import Case, Finding, Rule, Severity
from holdfast.core.job import parse_job
from holdfast.core.text import TextEdit, apply_text_edits
from holdfast.engine.check import run_rules, severity_of
from holdfast.engine.fix import mend
from holdfast.engine.render import referred_files, render_script
from holdfast.rules import all_rules
from tests.tiny import quiet_environment

ROUNDS = 20
Read = Callable[[str], tuple[Document, ...]]


@dataclass(frozen=True)
class Example:
    """A bad example of a rule."""

    name: str
    rule: Rule
    case: Case


EXAMPLES = [
    Example(f"{rule.code}-bad{index}", rule, case) for rule in all_rules() for index, case in enumerate(rule.bad)
]
FIXED = [each for each in EXAMPLES if each.case.fixed is not None]
SCRIPTS = [each for each in EXAMPLES if each.case.kind == "script"]
by_name = pytest.mark.parametrize("each", FIXED, ids=lambda each: each.name)


def read(case: Case, text: str) -> tuple[Document, ...]:
    """What the reader of an example makes of a text."""
    if case.kind == "job":
        return (JobFileReader().read(text, "job.yaml"),)
    if case.kind == "script":
        return read_script(text, "train.py")
    found = (command_document(line, text, "run.sh") for line in read_commands(text, "run.sh"))
    return tuple(document for document in found if document)


def place(document: Document, edits: Iterable[Any]) -> tuple[TextEdit, ...]:
    """What the writer of a document makes of edits."""
    writers = {"job": JobFileReader().place_edits, "script": place_edits, "command": place_command_edits}
    return writers[document.kind](document, edits)


@cache
def api_at(*versions: tuple[str, str]) -> Api:
    return Api({package: released(package)[-1] for package in packages()} | dict(versions))


def ask(rules: Iterable[Rule], documents: Iterable[Document], case: Case) -> list[Finding]:
    facts = {"api": api_at(*case.versions.items()), **case.facts}
    results = (result for document in documents for result in run_rules(rules, document, facts))
    found = (result for result in results if isinstance(result, Finding))
    return list({(str(each.rule), each.key, each.place): each for each in found}.values())


def errors(findings: Iterable[Finding]) -> set[str]:
    return {str(each.rule) for each in findings if severity_of(each) is Severity.ERROR}


def mended(
    text: str,
    case: Case,
    reading: Read,
    apply: Callable[[str, Iterable[TextEdit]], str] = apply_text_edits,
    rules: Iterable[Rule] = (),
) -> str:
    """A text with every fix in it, as `--fix --unsafe-fixes` makes them."""
    for _ in range(ROUNDS):
        findings = ask(rules or all_rules(), reading(text), case)
        made = mend(findings, place, unsafe=True)
        if not made.edits:
            return text
        text = apply(text, made.edits)
    raise AssertionError(f"fixes without end:\n{text}")


@by_name
def test_a_fix_mends_and_breaks_nothing(each: Example) -> None:
    """What it gives has no finding of its rule, and no error of any rule that was not there before."""
    before = ask(all_rules(), read(each.case, each.case.source), each.case)
    after = ask(all_rules(), read(each.case, each.case.fixed or ""), each.case)

    assert errors(after) <= errors(before)
    assert not ask([each.rule], read(each.case, each.case.fixed or ""), each.case)


@by_name
def test_all_fixes_together_come_to_an_end(each: Example) -> None:
    """Those of all rules, made in rounds, are made at last, and then there is none left to make."""
    result = mended(each.case.source, each.case, lambda text: read(each.case, text))

    assert mended(result, each.case, lambda text: read(each.case, text)) == result
    if each.case.kind == "script":
        ast.parse(result)


def windows(text: str) -> str:
    return text.replace("\n", "\r\n")


def as_it_is(text: str) -> str:
    return text


def indented(text: str) -> str:
    return "if True:\n" + "".join(f"\t{line}" if line.strip() else line for line in text.splitlines(keepends=True))


def one_cell(text: str) -> str:
    lines = ("# größer\n" + text).splitlines(keepends=True)
    cell: dict[str, Any] = {
        "cell_type": "code",
        "metadata": {},
        "source": lines,
        "outputs": [],
        "execution_count": None,
    }
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1) + "\n"


def behind_umlauts(text: str) -> str:
    return "".join(
        f"ü = 'größer'; {line}" if line.startswith(("from ", "import ")) else line
        for line in text.splitlines(keepends=True)
    )


LAYOUTS: dict[str, Callable[[str], str]] = {"windows": windows, "indented": indented, "umlauts": behind_umlauts}


@pytest.mark.parametrize("layout", [*LAYOUTS, "notebook"])
@pytest.mark.parametrize("each", [each for each in FIXED if each.case.kind == "script"], ids=lambda each: each.name)
def test_a_fix_is_the_same_in_any_layout(each: Example, layout: str) -> None:
    """With lines ended as on Windows, indented by tabs, behind other letters, in a notebook: only the fix's own part changes."""
    source, fixed = each.case.source, each.case.fixed or ""
    headed = "# /// script" in source
    parted = fixed.count("import ") > source.count("import ") or fixed.count("\n") < source.count("\n")
    if (headed and layout in ("indented", "notebook")) or (parted and layout == "umlauts"):
        pytest.skip("a header begins its lines, and a line of its own is not shared")
    if layout == "notebook":
        result = mended(one_cell(source), each.case, read_cells, apply_notebook_edits, [each.rule])
        assert result == one_cell(fixed)
    else:
        write = LAYOUTS[layout]
        assert mended(write(source), each.case, lambda text: read(each.case, text), rules=[each.rule]) == write(fixed)


def read_cells(text: str) -> tuple[Document, ...]:
    return read_notebook(text, "train.ipynb")


@settings(deadline=None)
@given(st.sampled_from(SCRIPTS), st.data())
def test_any_of_the_fixes_leave_a_program(each: Example, data: st.DataObject) -> None:
    """Whichever of the fixes of all rules are made, the script is Python, and its comments are not code."""
    findings = [found for found in findings_of(each) if found.fix]
    chosen = data.draw(st.lists(st.sampled_from(findings), unique_by=id)) if findings else []
    write = data.draw(st.sampled_from([as_it_is, windows]))
    if write is windows:
        findings = ask(all_rules(), read(each.case, windows(each.case.source)), each.case)
        chosen = [found for found in findings if found.fix and found.key in {other.key for other in chosen}]
    made = mend(chosen, place, unsafe=True)

    ast.parse(apply_text_edits(write(each.case.source), made.edits))


@cache
def _findings_of(number: int) -> tuple[Finding, ...]:
    case = SCRIPTS[number].case
    return tuple(ask(all_rules(), read(case, case.source), case))


def findings_of(each: Example) -> tuple[Finding, ...]:
    return _findings_of(SCRIPTS.index(each))


@pytest.mark.parametrize("each", SCRIPTS, ids=lambda each: each.name)
def test_what_can_be_made_is_known_before_it_is_made(each: Example) -> None:
    """To tell whether a fix can be made, it need not be made; the answer is the same."""
    for finding in findings_of(each):
        if finding.fix and finding.document:
            assert can_place(finding.document, finding.fix.edits) == makes(finding.document, finding)


def makes(document: Document, finding: Finding) -> bool:
    try:
        place_edits(document, finding.fix.edits if finding.fix else ())
    except UsageError:
        return False
    return True


# ---- with the real libraries

OWN_ERRORS = {"ARG101", "ARG105", "ARG106", "ARG107", "ARG110", "IMP101", "IMP102", "IMP103", "IMP105"}
"""Rules whose bad examples the newest libraries refuse by what is asked here; others say what comes later."""
PROGRAM = """
import importlib.metadata, inspect, json, sys, warnings
warnings.simplefilter("ignore")
def named(path):
    module, _, rest = path.partition(".")
    found = importlib.import_module(module)
    for name in rest.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            if not inspect.ismodule(found):
                return lambda *_, **__: None  # something that an object has
            module = f"{found.__name__}.{name}"
            found = importlib.import_module(module)
    return found
def refusal(example):
    try:
        for module, name in example["imports"]:
            found = importlib.import_module(module)
            if name and not hasattr(found, name):
                raise ImportError(f"{module} has no {name}")
        for call in example["calls"]:
            what = named(call["path"])
            if call["plain"]:
                if "use_cpu" in inspect.signature(what).parameters:
                    call["arguments"].setdefault("use_cpu", True)
                what(*call["positional"], **call["arguments"])
            else:
                itself = [None] * (inspect.isfunction(what) and "." in what.__qualname__)
                inspect.signature(what).bind_partial(*itself, *call["positional"], **call["arguments"])
    except importlib.metadata.PackageNotFoundError:
        return None  # such as DeepSpeed, which is not at hand
    except Exception as error:
        return f"{type(error).__name__}: {error}"
print(json.dumps([refusal(example) for example in json.load(sys.stdin)]))
"""
REWARD = "def score(completions, **kwargs):\n    return [float(len(text)) for text in completions]\n"
LIBRARIES = ("trl", "transformers", "peft", "datasets", "huggingface_hub", "torch")


def fixed_program(each: Example) -> tuple[Document, ...]:
    """The program that a fix gives; of a job file, the one that is rendered."""
    text = each.case.fixed or ""
    if each.case.kind == "script":
        return read(each.case, text)
    job = parse_job(read(each.case, text)[0])
    return read_script(render_script(job, name="job", sources=dict.fromkeys(referred_files(job), REWARD)), "train.py")


def told(documents: Iterable[Document]) -> dict[str, Any]:
    """What a program imports and calls of the libraries, as JSON."""
    (document, *_) = documents
    imports = [(each.module, each.name) for each in document.imports if each.module.partition(".")[0] in LIBRARIES]
    return {"imports": imports, "calls": [_call(call) for call in document.calls if _can_be_called(call)]}


def _can_be_called(call: Call) -> bool:
    return call.package in LIBRARIES and "()" not in call.path and not call.open and call.via in ("call", "file")


def _call(call: Call) -> dict[str, Any]:
    config = call.name.endswith(("Config", "TrainingArguments"))
    values = [*call.positional, *call.arguments.values()]
    plain = config and all(map(_is_plain, values))
    needed = {"output_dir": "out"} if plain and call.via == "file" and call.key == "train" else {}
    return {
        "path": call.path,
        "plain": plain,
        "positional": [_plain(value) for value in call.positional],
        "arguments": needed | {name: _plain(value) for name, value in call.arguments.items()},
    }


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:  # a class, what another call made, or nobody knows what
        return False
    return True


def _plain(value: Any) -> Any:
    return value if _is_plain(value) else None


def newest(each: Example) -> bool:
    versions = each.case.versions.items()
    return each.case.kind != "command" and all(released(package)[-1] == version for package, version in versions)


@pytest.fixture(scope="module", name="refusals")
def ask_libraries() -> dict[str, tuple[str | None, str | None]]:
    """Why the libraries refuse each example, and what its fix made of it."""
    asked = [each for each in FIXED if newest(each)]
    programs = [told(program) for each in asked for program in (read(each.case, each.case.source), fixed_program(each))]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(programs),
        capture_output=True,
        text=True,
        check=False,
        env=quiet_environment(),
    )
    assert done.returncode == 0, done.stderr
    answers = json.loads(done.stdout.splitlines()[-1])
    return {each.name: (answers[2 * at], answers[2 * at + 1]) for at, each in enumerate(asked)}


@pytest.mark.train
@pytest.mark.parametrize("each", [each for each in FIXED if newest(each)], ids=lambda each: each.name)
def test_the_library_takes_what_a_fix_gives(
    each: Example, refusals: Mapping[str, tuple[str | None, str | None]]
) -> None:
    """The fixed example's imports are there, its configs are built, and its other calls fit; the bad one's do not."""
    before, after = refusals[each.name]

    assert after is None
    if each.rule.code in OWN_ERRORS and severity_of(findings_before(each)) is Severity.ERROR:
        assert before is not None


def findings_before(each: Example) -> Finding:
    return next(iter(ask([each.rule], read(each.case, each.case.source), each.case)))


# ---- what users write

ARGUMENTS = """import argparse
from trl import SFTConfig, SFTTrainer

LENGTH = 2**10
parser = argparse.ArgumentParser()
parser.add_argument("--max_seq_length", type=int, default=LENGTH)
options = parser.parse_args()
args = SFTConfig("out", max_seq_length=options.max_seq_length, no_cuda=True)  # ü
trainer = SFTTrainer("m", args=args, tokenizer=t, dataset_num_proc=LENGTH, train_dataset=rows)
"""
ARGUMENTS_MENDED = """import argparse
from trl import SFTConfig, SFTTrainer

LENGTH = 2**10
parser = argparse.ArgumentParser()
parser.add_argument("--max_seq_length", type=int, default=LENGTH)
options = parser.parse_args()
args = SFTConfig("out", max_length=options.max_seq_length, use_cpu=True, dataset_num_proc=LENGTH)  # ü
trainer = SFTTrainer("m", args=args, processing_class=t, train_dataset=rows)
"""
DICTS = """from trl import DPOConfig, DPOTrainer

shared = dict(no_cuda=True, overwrite_output_dir=True)
settings = {
    "output_dir": "dpo",
    "save_safetensors": True,  # always
    **shared,
}
settings["evaluation_strategy"] = "no"
first = DPOTrainer("m", args=DPOConfig(**settings), train_dataset=rows)
"""
DICTS_MENDED = """from trl import DPOConfig, DPOTrainer

shared = dict(use_cpu=True)
settings = {
    "output_dir": "dpo",
    **shared,
}
settings["eval_strategy"] = "no"
first = DPOTrainer("m", args=DPOConfig(**settings), train_dataset=rows)
"""
SHARED = """from trl import SFTConfig, SFTTrainer

args = SFTConfig("out", max_seq_length=512)
one = SFTTrainer("m", args=args, train_dataset=rows)
two = SFTTrainer("n", args=args, tokenizer=t, train_dataset=rows)
"""
NESTED = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    "m",
    max_seq_length=512,
    args=SFTConfig("three", group_by_length=True),
    packing=True, train_dataset=rows,
    tokenizer=t)
"""
NESTED_MENDED = """from trl import SFTConfig, SFTTrainer

trainer = SFTTrainer(
    "m",
    args=SFTConfig("three", train_sampling_strategy="group_by_length", packing=True, max_length=512),
    train_dataset=rows,
    processing_class=t)
"""


@pytest.mark.parametrize(
    ("text", "result"),
    [
        (ARGUMENTS, ARGUMENTS_MENDED),
        (DICTS, DICTS_MENDED),
        (SHARED, SHARED.replace("max_seq_length", "max_length").replace("tokenizer=", "processing_class=")),
        (NESTED, NESTED_MENDED),
    ],
    ids=["argparse", "dicts", "shared", "nested"],
)
def test_what_people_write_is_mended_as_they_would(text: str, result: str) -> None:
    """Options of a command line, dicts within dicts, a config that two trainers share, calls within calls."""
    case = Case(script=text)
    ours = [rule for rule in all_rules() if rule.code.startswith("ARG")]

    assert mended(text, case, lambda text: read(case, text), rules=ours) == result


def test_a_value_of_another_file_stays() -> None:
    """What another module says is not this file's to change; nor is what more than one kind of call is given."""
    script = "from common import SETTINGS\nfrom trl import SFTConfig\nSFTConfig(**SETTINGS)\n"
    documents = read_script(script, "train.py", beside={"common": "SETTINGS = {'no_cuda': True}\n"}.get)
    findings = [found for found in ask(all_rules(), documents, Case(script=script)) if found.fix]

    assert [found.key for found in findings] == ["calls.0.no_cuda"]
    assert mend(findings, place).edits == ()


def test_a_dict_that_different_calls_get_stays() -> None:
    """What is renamed for one of them would be wrong for the other."""
    script = (
        "from trl import SFTConfig\nimport wandb\nboth = {'no_cuda': True}\nSFTConfig(**both)\nwandb.init(**both)\n"
    )
    found = [each for each in ask(all_rules(), read_script(script, "train.py"), Case(script=script)) if each.fix]

    assert found
    assert mend(found, place).edits == ()


def test_two_fixes_that_want_one_argument_are_not_both_made() -> None:
    """A name that is renamed to it, and a value that is moved there: the second has to look again, and finds it taken."""
    script = SHARED.partition("two =")[0].replace("train_dataset", "max_seq_length=1024, train_dataset")
    (document, *_) = read_script(script, "train.py")
    found = [each for each in ask(all_rules(), [document], Case(script=script)) if each.key.endswith("max_seq_length")]

    assert len([each for each in found if each.fix]) == 2
    assert len(mend(found, place).fixed) == 1
    assert mended(script, Case(script=script), lambda text: read_script(text, "t.py")).count("max_length=") == 1


def test_a_value_for_two_trainers_is_not_moved_for_one() -> None:
    """The config of one is that of the other: to move an argument there is unsafe."""
    script = SHARED.replace("tokenizer=t", "packing=True").replace("max_seq_length", "max_length")
    found = next(each for each in ask(all_rules(), read_script(script, "train.py"), Case(script=script)) if each.fix)

    assert found.key == "trainer.packing"
    assert found.fix is not None
    assert not found.fix.safe


WHOLE = """# /// script
# dependencies = [
#     "trl==1.16.0",
#     "transformers==5.23.0",
# ]
# ///
from peft import LoraConfig
from trl import ORPOConfig, ORPOTrainer, SFTConfig

args = SFTConfig("out", max_seq_length=512, overwrite_output_dir=True)
"""
WHOLE_MENDED = """# /// script
# dependencies = [
#     "trl==1.16.0",
#     "transformers==5.23.0",
#     "peft",
# ]
# ///
from peft import LoraConfig
from trl import SFTConfig
from trl.experimental.orpo import ORPOConfig, ORPOTrainer

args = SFTConfig("out", max_length=512)
"""


def test_header_imports_and_arguments_are_mended_in_one_go(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A script and a notebook, by the command itself; a second time there is nothing to do."""
    script, notebook = tmp_path / "train.py", tmp_path / "train.ipynb"
    body, mended_body = (text.partition("# ///\nfrom")[2] for text in (WHOLE, WHOLE_MENDED))
    script.write_bytes(windows(WHOLE).encode())
    notebook.write_text(one_cell(f"%pip install trl==1.16.0 transformers==5.23.0\nfrom{body}"), encoding="utf-8")
    chosen = ["--select", "ARG", "--select", "IMP", "--select", "DEP104"]
    words = ["check", str(script), str(notebook), *chosen, "--fix", "--format", "json"]
    assert run_command(words) == 0
    first = json.loads(capsys.readouterr().out)
    assert run_command(words) == 0
    second = json.loads(capsys.readouterr().out)

    assert script.read_bytes() == windows(WHOLE_MENDED).encode()
    expected = one_cell(f"%pip install trl==1.16.0 transformers==5.23.0\nfrom{mended_body}")
    assert notebook.read_text(encoding="utf-8") == expected
    assert [len(target["fixed"]) for target in first["targets"]] == [5, 4]
    assert [target["fixed"] for target in second["targets"]] == [[], []]


def test_a_person_who_asks_for_no_edits_does_not_wait_for_them(tmp_path: Path) -> None:
    """As text, each fix is told without being worked out, and LibCST is not imported; as JSON, it is."""
    script = tmp_path / "train.py"
    script.write_text(WHOLE)
    program = """
import sys
from holdfast.cli.main import run_command
run_command(["check", *sys.argv[1:], "--no-cache"])
print("libcst" in sys.modules)
"""
    answers = [
        subprocess.run([sys.executable, "-c", program, str(script), *words], check=True, capture_output=True, text=True)
        for words in ([], ["--format", "github"], ["--format", "json"])
    ]

    assert [answer.stdout.splitlines()[-1] for answer in answers] == ["False", "False", "True"]
    assert "fix: import `ORPOConfig` from `trl.experimental.orpo`" in answers[0].stdout
