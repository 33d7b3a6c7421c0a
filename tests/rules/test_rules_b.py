"""Rules about jobs, processes, precision, checkpoints and rewards: what their examples do not show, and that they are true."""

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.script import read_script
from holdfast.catalog.api import Api, newest
from holdfast.catalog.hub.flavors import flavors_made, gone_flavors, load_flavors
from holdfast.catalog.hub.gpus import GB, load_gpus
from holdfast.catalog.hub.jobs import timeout_s
from holdfast.core.check.finding import Case, Finding, Rule, Skip
from holdfast.core.job.document import Document
from holdfast.engine.check.rule_runner import run_rules
from holdfast.rules import all_rules
from tests.helpers.forked import fork
from tests.helpers.tiny import quiet_environment, tiny_model  # noqa: F401 - the fixture `tiny`

AREAS = re.compile(r"JOB1(0[4-9]|1\d)|DST1\d\d|PRC10[3-9]|RSM1\d\d|RWD1\d\d")
MINE = {rule.code: rule for rule in all_rules() if AREAS.fullmatch(rule.code)}
API = Api(newest())


def ask(code: str, document: Document, api: Api = API) -> list[Finding | Skip]:
    return list(run_rules([MINE[code]], document, {"api": api, "files": {}}))


def keys(code: str, text: str, api: Api = API) -> list[str]:
    found = (ask(code, document, api) for document in read_script(text, "train.py"))
    return [result.key for results in found for result in results if isinstance(result, Finding)]


def on_the_hub(**where: Any) -> Document:
    """What a command line says that begins with `hf jobs uv run`."""
    return Document(path="run.sh", kind="command", values={"where": {"backend": "hf-jobs", **where}})


class TestFlavors:
    """The table of flavors."""

    def test_every_gpu_is_in_the_table(self) -> None:
        """A flavor has as many GPUs as its name says, and the table of GPUs knows them."""
        for flavor in load_flavors().values():
            count = re.search(r"x(\d)$", flavor.name)
            assert len(flavor.gpus) == (int(count[1]) if count else not flavor.name.startswith("cpu-")), flavor.name
            assert all(gpu in load_gpus().values() for gpu in flavor.gpus)

    def test_gone_ones_are_gone(self) -> None:
        """No name is both offered and gone, and what stands in its place is offered."""
        assert not load_flavors().keys() & gone_flavors().keys()
        assert all(not gone.instead or gone.instead in load_flavors() for gone in gone_flavors().values())

    def test_sizes_are_those_of_gpus(self) -> None:
        """A GPU has between 16 and 200 GB, and only the T4 is too old for bfloat16."""
        assert all(16 * GB <= gpu.memory_bytes <= 200 * GB for gpu in load_gpus().values())
        assert [name for name, gpu in load_gpus().items() if not gpu.bf16] == ["t4"]

    @pytest.mark.train
    def test_names_are_those_of_the_client(self) -> None:
        """The flavors are the ones that the installed huggingface_hub lists, the gone ones are not."""
        listed = json.loads(
            python("import json, huggingface_hub as h; print(json.dumps([f.value for f in h.JobHardware]))")
        )
        assert set(listed) == load_flavors().keys()
        assert flavors_made().year >= 2026


class TestTimeouts:
    """How long a job may take, as the client reads it."""

    @given(
        st.one_of(st.text(), st.from_regex(r"-?\d{0,4}(\.\d)?[smhdwM]?", fullmatch=True), st.integers(), st.floats())
    )
    def test_any_is_read_or_refused(self, timeout: str | float) -> None:
        """A timeout is whole seconds, or ValueError; nothing else can come out of it."""
        with suppress(ValueError):
            assert isinstance(timeout_s(timeout), int)

    @pytest.mark.train
    def test_is_read_as_the_client_does(self) -> None:
        """The installed client makes the same of each timeout, or refuses it likewise."""
        texts = ["90m", "1.5h", "0.5d", "30", "0h", "-1h", "30min", "2 hours", "1h30m", "4H", "1e3", "2w", "s", "nanh"]
        ours = [_or_refused(text) for text in texts]
        assert json.loads(python(CLIENT, json.dumps(texts))) == ours
        assert None in ours


CLIENT = """
import json, sys
from huggingface_hub._jobs_api import _create_job_spec
def sent(timeout):
    try:
        return _create_job_spec(image="x", command=["y"], env=None, secrets=None, flavor=None, timeout=timeout)["timeoutSeconds"]
    except ValueError:
        return None
print(json.dumps([sent(timeout) for timeout in json.loads(sys.argv[1])]))
"""


def _or_refused(text: str) -> int | None:
    try:
        return timeout_s(text)
    except ValueError:
        return None


def python(program: str, *arguments: str) -> str:
    done = fork(["-c", program, *arguments], Path.cwd(), quiet_environment())
    assert done.exit_code == 0, done.stderr
    return done.stdout


class TestCommandLines:
    """What is started with `hf jobs`."""

    def test_gpu_without_timeout(self) -> None:
        """`hf jobs uv run --flavor a10g-large` without a timeout is objected to; with one, or on a CPU, it is not."""
        assert [each.key for each in findings("JOB104", on_the_hub(hardware="a10g-large"))] == ["where.backend"]
        assert not findings("JOB104", on_the_hub(hardware="a10g-large", timeout="2h"))
        assert not findings("JOB104", on_the_hub(hardware="cpu-basic"))

    def test_unknown_flavor(self) -> None:
        """A flavor that is gone is objected to where the command names it."""
        assert [each.key for each in findings("JOB107", on_the_hub(hardware="h100", timeout="2h"))] == [
            "where.hardware"
        ]

    @pytest.mark.parametrize(("timeout", "code"), [("30min", "JOB105"), (30, "JOB106"), ("1h30m", "JOB105")])
    def test_odd_timeout(self, timeout: object, code: str) -> None:
        """A timeout that the client cannot read, or that is too short, is objected to."""
        document = on_the_hub(hardware="a10g-large", timeout=timeout)
        assert [each.key for each in findings(code, document)] == ["where.timeout"]

    def test_processes_are_counted(self) -> None:
        """Four processes on two GPUs are one too many for each of them; a script of a command line is judged likewise."""
        document = on_the_hub(hardware="a10g-largex2", timeout="2h", processes=4)
        assert [each.key for each in findings("DST109", document)] == ["where.processes"]
        assert not findings("DST109", on_the_hub(hardware="a10g-largex2", timeout="2h", world_size=2))

    def test_old_gpu(self) -> None:
        """On a T4 bfloat16 is slow and tf32 an error; on an L4 both are well."""
        settings = {"train": {"bf16": True, "tf32": True}}
        for hardware, expected in {"t4-small": ["train.tf32", "train.bf16"], "l4x1": []}.items():
            where = {"where": {"backend": "hf-jobs", "hardware": hardware, "timeout": "2h"}}
            document = Document(path="run.sh", kind="command", values={**where, **settings})
            assert sorted(each.key for each in findings("PRC108", document)) == sorted(expected)

    def test_job_files_are_judged_by_their_own_rules(self) -> None:
        """What a job file says of its backend is no call of the client."""
        job = Document(path="job.yaml", kind="job", values={"where": {"backend": "hf-jobs", "hardware": "a10g-large"}})
        assert not findings("JOB104", job)


def findings(code: str, document: Document) -> list[Finding]:
    return [result for result in ask(code, document) if isinstance(result, Finding)]


def scripts(kind: str) -> Iterator[Any]:
    for rule in MINE.values():
        for index, case in enumerate(getattr(rule, kind)):
            if case.kind == "script":
                yield pytest.param(rule, case, id=f"{rule.code}-{kind}{index}")


@pytest.mark.parametrize(("rule", "case"), list(scripts("bad")))
def test_says_nothing_where_nothing_can_be_known(rule: Rule, case: Case) -> None:
    """In a branch on a library's version, which may never be reached, no rule objects to anything."""
    lines = ["import transformers", *case.script.strip().splitlines()]
    body = "\n".join(["import transformers", 'if transformers.__version__ < "4":', *(f"    {line}" for line in lines)])
    assert keys(rule.code, body + "\n", Api({**newest(), **case.versions})) == []


@pytest.mark.parametrize(("rule", "case"), list(scripts("bad")))
def test_says_nothing_of_what_is_caught(rule: Rule, case: Case) -> None:
    """What raises is no error where any exception is caught: the program goes on."""
    if ".train(" in case.script:
        pytest.skip("a `try` around the training itself only reports what went wrong")
    indented = "\n".join(f"    {line}" for line in case.script.strip().splitlines())
    text = f"try:\n{indented}\nexcept Exception:\n    print('without')\n"
    results = [
        result
        for document in read_script(text, "train.py")
        for result in ask(rule.code, document, Api({**newest(), **case.versions}))
        if isinstance(result, Finding)
    ]
    errors = [each for each in results if (each.severity or rule.severity).value == "error"]
    assert not errors or rule.code in GOES_ON


# They do not raise, or not where they stand: the job that is sent ends in an error, or trains nothing.
GOES_ON = {"JOB107", "JOB108", "JOB109", "JOB110", "PRC106", "PRC108"}

REWARDED = """
from trl import GRPOConfig, GRPOTrainer

def reward({parameters}):
    return [0.0]

trainer = GRPOTrainer("Qwen/Qwen2.5-0.5B", reward_funcs=[reward], args=GRPOConfig(output_dir="out"), train_dataset=rows)
"""


@pytest.mark.parametrize(
    ("version", "parameters", "refused"),
    [
        ("0.17.0", "prompts, completions", False),
        ("0.18.0", "prompts, completions", True),
        ("0.19.1", "prompts, completions, completion_ids", False),
        ("0.20.0", "prompts, completions, completion_ids", True),
        ("0.29.0", "prompts, completions, completion_ids, trainer_state", False),
        ("1.0.0", "prompts, completions, completion_ids, trainer_state", True),
        ("1.16.0", "prompts, completions, completion_ids, trainer_state, log_extra, log_metric", False),
        ("1.16.0", "completions, **kwargs", False),
        ("1.16.0", "completion, **kwargs", True),
        ("1.16.0", "prompt, completions, **kwargs", True),
    ],
)
def test_reward_is_called_with_what_its_release_passes(version: str, parameters: str, *, refused: bool) -> None:
    """Each release passes some keywords more; a function is objected to from the first one that it does not take."""
    text = REWARDED.replace("{parameters}", parameters)
    assert keys("RWD102", text, Api({**newest(), "trl": version})) == ["trainer.reward_funcs"] * refused


def test_nothing_is_claimed_of_an_unknown_release() -> None:
    """Where nobody knows which TRL it will be, no reward is objected to."""
    assert keys("RWD102", REWARDED.replace("{parameters}", "prompts"), Api({"trl": "99.0"})) == []


@pytest.mark.parametrize("value", ["os.environ['TIMEOUT']", "settings.timeout", "input()", "compute()"])
def test_hidden_timeout_is_not_judged(value: str) -> None:
    """What is computed at run time may be anything."""
    text = f'import os\nfrom huggingface_hub import run_uv_job\nrun_uv_job("t.py", flavor="l4x1", timeout={value})\n'
    assert [keys(code, text) for code in ("JOB104", "JOB105", "JOB106")] == [[], [], []]


@pytest.mark.parametrize(("code", "version"), [("JOB112", {"huggingface_hub": "1.23.0"}), ("RWD101", {"trl": "1.7.1"})])
def test_leaves_to_others_what_older_versions_refuse(code: str, version: dict[str, str]) -> None:
    """An argument that a release lacks, or needs, is what the rules about arguments object to."""
    case = next(case for case in MINE[code].bad if case.script)
    assert keys(code, case.script)
    assert not keys(code, case.script, Api({**newest(), **version}))


# --- that the rules are true ------------------------------------------------------------------------------------------

# What the real library says to each example, as far as a CPU and a tiny model can show it.
RAISES = {
    "DST103": "ValueError",
    "DST105": "AttributeError",
    "DST106": "ValueError",
    "JOB105": "ValueError",
    "JOB112": "ValueError",
    "PRC104": "ValueError",
    "PRC105": "AttributeError",
    "RSM102": "ValueError",
    "RSM103": "ValueError",
    "RWD101": "ValueError",
    "RWD102": "TypeError",
    "RWD104": "TypeError",
    "RWD105": "TypeError",
    "RWD106": "ValueError",
    "RWD107": "ValueError",
}
NOT_TRIED = {
    "JOB105-bad5": "sent as it is: a warning",
    "PRC105-bad2": "TRL says ValueError instead",
    "PRC105-bad3": "ValueError: a type, but no floating-point one",
    "DST103-good0": "needs several processes",
    "DST103-good1": "needs several processes",
    "DST103-good3": "needs several processes",
    "DST106-good1": "needs a GPU",
    "DST106-good2": "needs a GPU",
    "PRC104-good0": "needs flash attention",
    "PRC104-good1": "needs the Hub",
    "RWD101-good2": "needs math-verify",
    "RWD101-good3": "needs math-verify",
    "RWD101-good4": "an environment that is none",
    "RWD106-good0": "needs math-verify",
    "RWD102-good5": "needs the Hub",
    "RSM102-good0": "no checkpoint to resume from",
    "RSM102-good1": "no checkpoint to resume from",
    "RSM103-good0": "no checkpoint to resume from",
    "RSM103-good2": "no checkpoint to resume from",
    "RWD107-good2": "a model that does not exist",
}


@dataclass(frozen=True)
class Tried:
    """An example, and what it ends with: the name of an exception, or nothing."""

    name: str
    code: str
    script: str
    bad: bool


def tried() -> list[Tried]:
    return [
        Tried(name, rule.code, case.script, bad=kind == "bad")
        for rule in MINE.values()
        for kind in ("bad", "good")
        for index, case in enumerate(getattr(rule, kind))
        if rule.code in RAISES and case.script and not case.versions
        if (name := f"{rule.code}-{kind}{index}") not in NOT_TRIED
    ]


RUN = """
import json, os, sys, tempfile, warnings
warnings.simplefilter("ignore")
import datasets, huggingface_hub, huggingface_hub._jobs_api as jobs, trl
def sent(*_, image="x", command=("y",), script=None, name=None, labels=None, timeout=None, flavor=None, **__):
    jobs._create_job_spec(image=image, command=command, env=None, secrets=None, flavor=flavor, timeout=timeout, name=name, labels=labels)
huggingface_hub.run_uv_job = huggingface_hub.run_job = sent
rows = ["1 plus 1 equals 2"] * 8
COLUMNS = {"GRPO": {"prompt": rows, "answer": rows}, "Reward": {"chosen": rows, "rejected": rows}}
ended = {}
for each in json.load(sys.stdin):
    kind = next((kind for kind in COLUMNS if f"{kind}Trainer" in each["script"]), "")
    space = {"rows": datasets.Dataset.from_dict(COLUMNS.get(kind, {"text": rows}))}
    if "answer" not in each["script"] and kind == "GRPO":
        space["rows"] = space["rows"].remove_columns(["answer"])
    os.chdir(tempfile.mkdtemp())
    try:
        exec(compile(each["script"], "train.py", "exec"), space)
        if "trainer" in space and space["trainer"].state.global_step == 0:
            space["trainer"].train()
        ended[each["name"]] = ""
    except Exception as error:
        ended[each["name"]] = type(error).__name__
print("ENDED" + json.dumps(ended))
"""


def small(each: Tried, tiny: Path) -> dict[str, str]:
    """Return an example with a tiny model, a few rows, and one step on a CPU."""
    run = 'output_dir="out", use_cpu=True, bf16=False, max_steps=1, report_to="none", disable_tqdm=True'
    run += ", per_device_train_batch_size=2"
    if "GRPOConfig" in each.script:
        run += ", num_generations=2, max_completion_length=4"
    text = each.script.replace('output_dir="out"', run).replace("Qwen/Qwen2.5-0.5B", str(tiny))
    return {"name": each.name, "script": text}


@pytest.fixture(scope="module", name="ended")
def run_all(tiny: Path) -> dict[str, str]:
    """How each example ends; all of them in one process, since importing TRL takes seconds."""
    question = json.dumps([small(each, tiny) for each in tried()])
    done = fork(["-c", RUN], Path.cwd(), quiet_environment(), question)
    assert done.exit_code == 0, done.stderr
    answer: dict[str, str] = json.loads(done.stdout.partition("ENDED")[2].splitlines()[0])
    return answer


@pytest.mark.train
@pytest.mark.parametrize("each", tried(), ids=lambda each: each.name)
def test_library_does_what_the_rule_says(each: Tried, ended: dict[str, str]) -> None:
    """The real library refuses a bad example with the exception that the rule names, and takes a good one."""
    assert ended[each.name] == (RAISES[each.code] if each.bad else "")
