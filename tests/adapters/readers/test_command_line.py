"""Command lines are read as a shell and the launchers would read them."""

import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.adapters.readers.command_line import CommandLine, read_commands
from holdfast.adapters.readers.command_line.slurm import read_directives
from holdfast.adapters.readers.command_line.trl import command_document
from holdfast.adapters.readers.command_line.words import split_commands
from holdfast.adapters.readers.script import read_script
from holdfast.adapters.readers.settings import read_settings
from holdfast.adapters.rehearsal import programs
from holdfast.adapters.targets import read_target
from holdfast.adapters.targets.commands import read_line, recipes
from holdfast.core.environment.requirement import ProjectRequirements
from holdfast.core.errors import HoldfastError, UsageError
from holdfast.core.job.document import ABSENT, Document, Rename, Unknown
from holdfast.core.text.places import Place
from holdfast.engine.check.launched import with_launched
from holdfast.engine.resolve.cached import resolve_cached


def only(text: str) -> CommandLine:
    (line,) = read_commands(text, "run.sh")
    return line


def words(text: str) -> list[list[str]]:
    return [[word.text for word in command] for command in split_commands(text, "run.sh")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a b # c", [["a", "b"]]),
        ("a#b 'c # d'", [["a#b", "c # d"]]),
        ("a \\\n  b\nc", [["a", "b"], ["c"]]),
        ("a && b || c; d | e &", [["a"], ["b"], ["c"], ["d"], ["e"]]),
        ("a > out 2>&1 < in b", [["a", "b"]]),
        ("cat <<EOF\ntrl sft\nEOF\nb", [["cat"], ["b"]]),
        ("""a "b 'c' \\"d\\"" e'f'"g" """, [["a", "b 'c' \"d\"", "efg"]]),
        ("N=2\nM=$N\na $N ${M} '$N'", [["a", "2", "2", "$N"]]),
        ('export N=2 M=3\na "$N-$M"', [["a", "2-3"]]),
        ("N=$(nproc)\na $N", [["a", "$N"]]),
        ("N=1 a", [["N=1", "a"]]),
        ("""O="-x 1  -y"\na $O "$O" z$O""", [["a", "-x", "1", "-y", "-x 1  -y", "z-x", "1", "-y"]]),
        ("""O=" -x "\na b${O}c $E""", [["a", "b", "-x", "c", "$E"]]),
        ("E=\na $E b", [["a", "b"]]),
        ("O='1 2'\nP=$O\nQ=$O a $P", [["Q=1 2", "a", "1", "2"]]),
        ("L='accelerate launch'\n$L a.py", [["accelerate", "launch", "a.py"]]),
        ("(a; b)", [["a"], ["b"]]),
        ("", []),
    ],
)
def test_words_are_those_of_a_shell(text: str, expected: list[list[str]]) -> None:
    """Quotes, escapes, comments, redirections, here-documents and plain variables are as in any shell."""
    assert words(text) == expected


@pytest.mark.parametrize("options", ["--max_seq_length 512", "--bf16 true --max_seq_length 512"])
def test_an_option_out_of_a_variable_is_not_edited_where_it_is_used(tmp_path: Path, options: str) -> None:
    """Its text is the variable's, which other commands may use too."""
    path = tmp_path / "run.sh"
    path.write_text(f'OPTIONS="{options}"\ntrl sft --output_dir o $OPTIONS\n')
    target = read_target(str(path), [])

    assert target.document.get("train.max_seq_length") == 512
    with pytest.raises(UsageError):
        target.place_edits(target.document, [Rename("train.max_seq_length", "max_length")])


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), min_size=1))
def test_quoted_words_come_back(given_words: list[str]) -> None:
    """Whatever `shlex` quotes is read as the words it was: spaces, quotes, `; echo`, line breaks and all."""
    line = shlex.join(["run", *given_words])
    assert words(line) == [["run", *given_words]]


@given(st.text())
def test_any_text_is_read(text: str) -> None:
    """No text raises."""
    read_commands(text, "run.sh")


@pytest.mark.parametrize(
    ("text", "launchers", "said", "program"),
    [
        ("python train.py --a 1", (), {}, "train.py"),
        ("/usr/bin/python3.12 -u train.py", (), {}, "train.py"),
        ("python -m trl.scripts.sft --a 1", (), {}, "trl.scripts.sft"),
        ("torchrun --nproc_per_node=4 --nnodes 2 train.py", ("torchrun",), {"where.processes": 4, "where.nodes": 2}, "train.py"),
        ("python -m torch.distributed.run --standalone --nproc-per-node 2 -m pkg.train", ("python -m torch.distributed.run",), {"where.processes": 2, "where.nodes": 1}, "pkg.train"),
        ("accelerate launch --multi_gpu --num_processes 8 --config_file z.yaml train.py", ("accelerate launch",), {"where.distributed_type": "MULTI_GPU", "where.world_size": 8, "where.accelerate_config": "z.yaml"}, "train.py"),
        ("CUDA_VISIBLE_DEVICES=0,1 deepspeed --num_gpus 2 train.py", ("deepspeed",), {"environment.variables.CUDA_VISIBLE_DEVICES": "0,1", "where.processes": 2}, "train.py"),
        ("uv run --with trl==0.19.1 --with peft --python 3.12 train.py", ("uv run",), {"environment.requirements": ["trl==0.19.1", "peft"], "environment.python": "3.12"}, "train.py"),
        ("hf jobs uv run --flavor a10g-large -s HF_TOKEN -d --timeout 2h train.py --x", ("hf jobs uv run",), {"where.backend": "hf-jobs", "where.hardware": "a10g-large", "environment.secrets": ["HF_TOKEN"], "where.timeout": "2h"}, "train.py"),
        ("hf jobs run --flavor t4-small pytorch/pytorch python train.py", ("hf jobs run",), {"where.backend": "hf-jobs", "where.hardware": "t4-small", "where.options.image": "pytorch/pytorch"}, "train.py"),
        ("nohup poetry run accelerate launch train.py &", ("nohup", "poetry run", "accelerate launch"), {}, "train.py"),
        ("torchrun --nproc_per_node $GPUS train.py", ("torchrun",), {"where.processes": Unknown("a variable of the shell"), "where.nodes": 1}, "train.py"),
    ],
)  # fmt: skip
def test_launchers_are_taken_off(text: str, launchers: tuple[str, ...], said: dict[str, Any], program: str) -> None:
    """What is left is the program; what the launchers say is kept."""
    line = only(text)

    assert (line.launch.by, line.launch.values) == (launchers, said)
    assert line.program
    assert line.program.name.text == program


def test_other_commands_are_left_alone() -> None:
    """What runs no Python is none of our business."""
    assert read_commands("mkdir -p out && nvidia-smi\nif [ -f x ]; then echo; fi\npip install trl", "run.sh") == []


def test_a_command_of_trl_is_a_call() -> None:
    """Its options are the arguments of one parser; numbers with a sign are values; a place is where it is written."""
    line = only("trl sft --learning_rate=2e-5 --dataset-name a/b --x -1 --tags a b --packing --y $Z")
    document = command_document(line, "", "run.sh")

    assert document
    (call,) = document.calls
    assert (call.path, call.via) == ("trl sft", "parser")
    assert call.arguments == {
        "learning_rate": "2e-5",
        "dataset_name": "a/b",
        "x": "-1",
        "tags": ["a", "b"],
        "packing": True,
        "y": Unknown("a variable of the shell"),
    }
    assert document.get("dataset.path") == "a/b"
    assert document.key_places["train", "learning_rate"] == Place("run.sh", 1, 9, 1, 24)
    assert document.places["train", "learning_rate"] == Place("run.sh", 1, 25, 1, 29)


FILES = {
    "recipe.yaml": "model_name_or_path: a/b\nlearning_rate: 2e-5\npacking: on\neval_strategy: 'no'\nnum_processes: 4\nenv: {A: 1}\n",
    "z.yaml": "distributed_type: DEEPSPEED\nnum_processes: 6\ndeepspeed_config: {zero_stage: 3}\nmixed_precision: 'no'\n",
    "one.yaml": "distributed_type: NO\nnum_processes: 8\n",
}


@pytest.mark.parametrize(
    ("text", "method", "processes"),
    [
        ("python -m trl.scripts.sft --learning_rate 1e-5 --num_processes 8", "sft", None),
        ("accelerate launch --num_processes 2 -m trl.scripts.dpo --learning_rate 1e-5", "dpo", 2),
        ("accelerate launch --num_processes 2 trl/scripts/grpo.py --learning_rate 1e-5", "grpo", 2),
        ("accelerate launch --num_processes 2 /opt/lib/trl/scripts/kto.py --learning_rate 1e-5", "kto", 2),
    ],
)
def test_a_script_of_trl_is_the_command_that_starts_it(text: str, method: str, processes: int | None) -> None:
    """It takes the same flags; how many processes there are only the launcher says."""
    document = command_document(only(text), text, "run.sh")

    assert document
    assert (document.calls[0].path, document.get("method")) == (f"trl {method}", method)
    assert document.get("train.learning_rate") == 1e-5
    assert document.get("where.world_size", None) == processes


@pytest.mark.parametrize(
    "text", ["python -m trl.scripts.env", "python -m trl.scripts.sft.more", "python my/scripts/sft.py", "python trl.py"]
)
def test_other_scripts_are_no_command_of_trl(text: str) -> None:
    """A name that only resembles one is a program of somebody's own."""
    assert command_document(only(text), text, "run.sh") is None


def files(name: str) -> Document | None:
    return read_settings(FILES[name], name) if name in FILES else None


def command(text: str) -> Document:
    document = command_document(only(text), text, "run.sh", files)
    assert document
    return document


def test_a_recipe_gives_a_command_its_defaults() -> None:
    """What `--config` names is read as PyYAML reads it, the command line counts before it, and nothing else is open."""
    document = command("trl sft --learning_rate 1e-4 --config recipe.yaml")
    (call,) = document.calls

    assert call.arguments == {
        "model_name_or_path": "a/b",
        "learning_rate": "1e-4",
        "packing": True,
        "eval_strategy": "no",
        "num_processes": 4,
    }
    assert (call.open, call.defaults) == (
        False,
        frozenset({"model_name_or_path", "packing", "eval_strategy", "num_processes"}),
    )
    assert document.key_places["train", "packing"] == Place("recipe.yaml", 3, 1, 3, 8)
    assert document.key_places["train", "learning_rate"].path == "run.sh"
    assert (document.get("where.world_size"), document.get("train.learning_rate")) == (4, 1e-4)


@pytest.mark.parametrize("text", ["trl sft --config other.yaml", 'trl sft "$@"', "trl sft --config $RECIPE"])
def test_a_command_that_cannot_be_seen_whole_is_open(text: str) -> None:
    """A recipe that is not at hand, or the shell's own arguments, may give anything."""
    assert command(text).calls[0].open


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--accelerate_config zero3", {"world_size": 8, "nodes": 1, "distributed_type": "DEEPSPEED", "mixed_precision": "bf16", "deepspeed": {"zero_stage": 3}}),
        ("--accelerate_config zero3 --num_processes 2", {"world_size": 2, "distributed_type": "DEEPSPEED"}),
        ("--accelerate_config z.yaml", {"world_size": 6, "deepspeed": {"zero_stage": 3}, "mixed_precision": "no"}),
        ("--config_file z.yaml --num_processes 1", {"world_size": 1, "distributed_type": "DEEPSPEED"}),
        ("--accelerate_config one.yaml", {"world_size": 1}),
        ("--accelerate_config single_gpu", {"world_size": 1, "distributed_type": "NO"}),
        ("--accelerate_config nothing", {}),
    ],
)  # fmt: skip
def test_accelerates_settings_say_how_many_processes_there_are(options: str, said: dict[str, Any]) -> None:
    """In TRL's own files, by their names, or in one that is at hand; options count before them."""
    document = command(f"trl sft --model_name_or_path x {options}")
    assert {name: document.get(f"where.{name}") for name in said} == said
    if not said:
        assert document.get("where.world_size") is ABSENT


def test_one_process_in_the_file_and_several_in_an_option_leave_it_open() -> None:
    """Which of the two counts depends on more than they say."""
    document = command("trl sft --accelerate_config one.yaml --num_processes 2")
    assert isinstance(document.get("where.world_size"), Unknown)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("srun -N2 -n 8 --exclusive python train.py", "train.py"),
        ("timeout 2h python train.py", "train.py"),
        ("sudo -E python train.py", "train.py"),
        ("if ! python train.py; then echo; fi", "train.py"),
        ("bash -c 'cd x && torchrun --nproc_per_node 2 train.py'", "train.py"),
        ("hf jobs run --flavor t4-small me/img bash -c 'pip install trl && python train.py'", "train.py"),
        ("uvx --from trl==1.0.0 trl sft --a 1", "trl"),
        ("conda run -n env --no-capture-output python train.py", "train.py"),
        ("python -m accelerate.commands.launch --num_processes 2 train.py", "train.py"),
        ("uv run --exclude-newer 2025-01-01 --no-progress train.py", "train.py"),
    ],
)
def test_what_stands_before_a_program_is_passed_over(text: str, expected: str) -> None:
    """Wrappers, a shell's own words, and shells that are given commands as text."""
    line = only(text)
    assert line.program
    assert line.program.name.text == expected


def test_requirements_that_launchers_add_are_told_apart() -> None:
    """A comma parts two; within one, it stands before an operator or within brackets."""
    line = only("uv run --with 'trl[peft,vllm]>=0.12,<1,datasets' --with peft train.py")
    assert line.launch.values["environment.requirements"] == ["trl[peft,vllm]>=0.12,<1", "datasets", "peft"]


def test_a_batch_scripts_directives_say_where_it_runs() -> None:
    """Machines, GPUs and the time limit are Slurm's, whatever form they have."""
    text = "#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --gres gpu:a100:4 # four\n#SBATCH -t 1-00:30\n#SBATCH -N3\n"
    launch = read_directives(text, "job.sbatch")

    assert launch
    assert launch.values == {
        "where.backend": "slurm",
        "where.nodes": 3,
        "where.gpus_per_node": 4,
        "where.timeout": f"{24 * 3600 + 30 * 60}s",
    }
    assert launch.places["where", "gpus_per_node"] == Place("job.sbatch", 3, 16, 3, 26)
    assert read_directives("python train.py", "run.sh") is None


TRAIN = """\
from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser

script, args, model = TrlParser((ScriptArguments, SFTConfig, ModelConfig)).parse_args_and_config()
SFTTrainer(model.model_name_or_path, args=args)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a script and a recipe, which is the current one."""
    (tmp_path / "train.py").write_text(TRAIN, encoding="utf-8")
    (tmp_path / "recipe.yaml").write_text("torch_dtype: bfloat16\nmax_length: 8\nlora_r: 4\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_script_is_read_with_the_command_line_that_starts_it(folder: Path) -> None:
    """Each dataclass gets its own arguments, from the options and from the recipe, with their places."""
    path = folder / "run.sh"
    path.write_text("torchrun --nproc_per_node 2 train.py --config recipe.yaml --seed 1\n", encoding="utf-8")
    (document,) = read_target(str(path)).documents
    arguments = {call.label: dict(call.arguments) for call in document.calls if call.via == "parser"}

    assert arguments == {
        "ScriptArguments": {},
        "SFTConfig": {"max_length": 8, "seed": "1"},
        "ModelConfig": {"torch_dtype": "bfloat16", "lora_r": 4},
    }
    assert not any(call.open for call in document.calls if call.via == "parser")
    assert document.place("train.max_length") == Place("recipe.yaml", 2, 1, 2, 11)
    assert (document.get("where.processes"), document.get("train.seed")) == (2, 1)


def test_a_value_that_the_shell_computes_hides_itself_alone(folder: Path) -> None:
    """Where it stands after an option; elsewhere it may be options of any kind."""
    path = folder / "run.sh"
    path.write_text("python train.py --seed $SEED --max_length 8\npython train.py --seed 1 $MORE\n", encoding="utf-8")
    one, other = read_target(str(path)).documents

    assert (one.get("train.seed"), one.get("train.max_length")) == (Unknown("a variable of the shell"), 8)
    assert not any(call.open for call in one.calls if call.via == "parser")
    assert all(call.open for call in other.calls if call.via == "parser")


def test_what_the_script_installs_before_it_starts_the_program_counts(folder: Path) -> None:
    """So does what uv is told to add; each command has its own versions."""
    path = folder / "run.sh"
    path.write_text(
        "pip install -q trl==0.19.1\npython train.py\nuv run --with trl==0.20.0 train.py\n", encoding="utf-8"
    )
    versions = [
        resolve_cached(with_launched(ProjectRequirements(), document)).newest["trl"]
        for document in read_target(str(path)).documents
    ]
    assert versions == ["0.19.1", "0.20.0"]


@pytest.mark.parametrize(
    "text",
    ["python ../none_of_these.py; cd src && python pkg/run.py", "python src/pkg/run.py", "cd src\npython -m pkg.run"],
)
def test_a_script_is_looked_for_where_the_commands_go(folder: Path, text: str) -> None:
    """From here, from the folder of the shell script and those above it, and from where `cd` leads."""
    (folder / "scripts").mkdir()
    (folder / "src" / "pkg").mkdir(parents=True)
    (folder / "src" / "pkg" / "run.py").write_text(TRAIN, encoding="utf-8")
    path = folder / "scripts" / "run.sh"
    path.write_text(text, encoding="utf-8")
    document, *not_found = read_target(str(path)).documents

    assert Path(document.path).resolve() == folder / "src" / "pkg" / "run.py"
    assert len(not_found) == text.count("none_of_these")


@pytest.mark.parametrize("text", ["python train.py\npython gone.py --x 1", "torchrun gone.py; python train.py"])
def test_a_script_that_is_not_found_beside_others_is_no_pass(folder: Path, text: str) -> None:
    """Nothing is known of what it trains; alone it is an error."""
    path = folder / "run.sh"
    path.write_text(text, encoding="utf-8")
    document = read_target(str(path)).documents[-1]

    line = 1 + text.partition("gone.py")[0].count("\n")
    assert document.values["model"] == Unknown(f"line {line} runs `gone.py`, which is not found")
    path.write_text("python gone.py", encoding="utf-8")
    with pytest.raises(UsageError, match=r"no such file: gone\.py"):
        read_target(str(path))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cd x\npython train.py\ncd ..\npython train.py", ["x/train.py", "train.py"]),
        ("cd x/y; python train.py; cd -; python train.py; cd -; python train.py", ["x/y/train.py", "train.py", "x/y/train.py"]),
        ("(cd x; python train.py)\npython train.py", ["x/train.py", "train.py"]),
        ("(cd x; (cd y; python train.py); python train.py) &\npython train.py", ["x/y/train.py", "x/train.py", "train.py"]),
        ("pushd x; pushd y; python train.py; popd; python train.py; popd; python train.py", ["x/y/train.py", "x/train.py", "train.py"]),
        ("cd x; bash -c 'cd y && python train.py'; python train.py", ["x/y/train.py", "x/train.py"]),
        ("bash -c '(cd x); python train.py'", ["train.py"]),
        ("cd x/../x/y && cd ../.. && python train.py", ["train.py"]),
        ('cd x; cd "$HERE"; python train.py', ["train.py"]),
        ("cd x && python only.py; cd .. && python train.py", ["train.py"]),
        ("cd /no/such/folder/there; python train.py", ["train.py"]),
        ("git clone https://github.com/me/project; cd project; python train.py", ["train.py"]),
        ("f() { python train.py; }\ncd x; python train.py", ["train.py", "x/train.py"]),
    ],
)  # fmt: skip
def test_each_command_runs_the_script_of_the_folder_that_it_is_in(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: list[str]
) -> None:
    """`cd` up, down and back, `pushd` and `popd` count, and a subshell leaves the folder as it was."""
    folder = folder / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    (folder / "x" / "y").mkdir(parents=True)
    for each in ("x/y/train.py", "x/train.py", "train.py", "only.py"):
        (folder / each).write_text(TRAIN, encoding="utf-8")
    (folder / "run.sh").write_text(text, encoding="utf-8")

    assert [str(document.path) for document in read_target("run.sh").documents][: len(expected)] == expected


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ("python gone.py --seed 1", "no such file: gone.py"),
        ("torchrun --nproc_per_node 2 gone.py", "no such file: gone.py"),
        ("python https://example.org/train.py", "command line runs no training that is known here"),
        ("bash -c 'cd nowhere && python train.py'", "no such file: nowhere/train.py"),
        ("bash -c 'cd nowhere && python -m http.server'", "command line runs no training that is known here"),
    ],
)
def test_a_script_that_is_not_there_is_named(folder: Path, words: str, what: str) -> None:
    """A command that runs nothing which is there does not run one that lies elsewhere."""
    with pytest.raises(UsageError) as caught:
        read_line(shlex.split(words))
    assert caught.value.what == what
    assert folder.exists()


@pytest.mark.parametrize(
    "words",
    [
        "trl dpo --config gone.yaml",
        "trl dpo --config=gone.yaml --seed 1",
        "python train.py --output_dir o --config gone.yaml",
        "accelerate launch --config_file gone.yaml train.py",
    ],
)
def test_a_file_of_settings_that_is_not_there_is_named(folder: Path, words: str) -> None:
    """The command raises FileNotFoundError; what a shell script names may be made before, and elsewhere nobody knows."""
    with pytest.raises(UsageError, match=r"no such file: gone.yaml"):
        read_line(shlex.split(words))
    if words.startswith("python"):
        with pytest.raises(UsageError, match=r"no such file: gone.yaml"):
            read_target("train.py", (), shlex.split(words)[2:])
    (folder / "run.sh").write_text(words, encoding="utf-8")
    assert read_target("run.sh").documents
    assert read_line(["hf", "jobs", "uv", "run", *shlex.split(words.replace("python ", ""))]).documents
    (folder / "gone.yaml").write_text("num_processes: 1\n", encoding="utf-8")
    assert read_line(shlex.split(words)).documents


def test_a_job_that_a_script_submits_is_read_too(folder: Path) -> None:
    """The script that lies beside, or the command that is written out, with what the call says of where it runs."""
    path = folder / "submit.py"
    path.write_text(
        "from huggingface_hub import run_job, run_uv_job\n"
        'run_uv_job("train.py", flavor="t4-small", dependencies=["trl==0.19.1"], script_args=["--seed", "1"])\n'
        'run_job(image="i", command=["bash", "-c", "trl sft --packing"], timeout="2h")\n'
        'run_uv_job("gone.py")\n',
        encoding="utf-8",
    )
    target = read_target(str(path))
    _, script, line = target.documents

    assert target.reads_more
    assert (script.path, script.get("where.hardware"), script.get("train.seed")) == ("train.py", "t4-small", 1)
    assert script.get("launch.requirements") == ["trl==0.19.1"]
    assert (line.calls[0].path, line.get("where.timeout")) == ("trl sft", "2h")
    with pytest.raises(UsageError, match="not edited"):
        target.place_edits(line, [Rename("train.packing", "x")])


def test_a_script_of_trl_that_lies_here_is_read_itself(folder: Path) -> None:
    """It may be a changed copy; one that does not lie here is the package's."""
    run = folder / "run.sh"
    run.write_text("torchrun trl/scripts/sft.py --seed 1\n", encoding="utf-8")

    assert read_target(str(run)).document.calls[0].path == "trl sft"

    copy = folder / "trl/scripts/sft.py"
    copy.parent.mkdir(parents=True)
    copy.write_text("from trl import SFTConfig\n\nargs = SFTConfig('out')\n", encoding="utf-8")
    assert read_target(str(run)).document.calls[0].path == "trl.SFTConfig"


def test_an_edit_of_what_a_recipe_says_is_not_made_in_the_command(folder: Path) -> None:
    """It stands in another file."""
    path = folder / "run.sh"
    path.write_text("trl sft --config recipe.yaml --seed 1\n", encoding="utf-8")
    target = read_target(str(path))

    with pytest.raises(UsageError, match="cannot change"):
        target.place_edits(target.document, [Rename("train.torch_dtype", "dtype")])
    assert target.place_edits(target.document, [Rename("train.seed", "data_seed")])


WORDS = st.lists(st.one_of(st.sampled_from(["--config", "--a", "=", "-m", "--", "uv", "run", "trl", "sft", "bash", "-c", "hf", "jobs", "torchrun", "recipe.yaml", "\0"]), st.text(max_size=8)), max_size=12)  # fmt: skip


@given(WORDS)
def test_any_command_line_is_read_or_refused(words: list[str]) -> None:
    """Nothing raises but our own errors, whatever stands on it."""
    with suppress(HoldfastError):
        read_line(words)


@given(WORDS)
def test_any_arguments_go_with_a_script(words: list[str]) -> None:
    """The script is read whatever it is given."""
    assert read_script(TRAIN, "train.py", argv=words, files=files)


@given(st.text(alphabet="#SBATCH -=:\n0123gputnN"))
def test_any_directives_are_read(text: str) -> None:
    """No batch script raises."""
    read_directives(text, "job.sbatch")


def test_a_program_is_given_what_its_shell_exports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Variables that number processes are left to who plays the one, and what only the shell knows is left out."""
    monkeypatch.chdir(tmp_path)
    Path("train.py").touch()
    Path("run.sh").write_text(
        "export PROJECT=x DAY=$(date)\nMODEL=tiny\nexport MODEL\nWORLD_SIZE=2 LR=1 torchrun train.py --model $MODEL\n"
    )
    program = programs.read_program("run.sh", (), ())
    assert program.variables == {"PROJECT": "x", "MODEL": "tiny", "LR": "1"}
    assert (program.arguments, program.launched_by) == (("--model", "tiny"), ("torchrun",))


@pytest.mark.parametrize("text", ['{"cells": [}', '{"cells": []}'])
def test_a_notebook_without_code_is_no_program(text: str, tmp_path: Path) -> None:
    """It would pass every rehearsal."""
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    with pytest.raises(UsageError, match="not a notebook with a code cell"):
        programs.read_program(str(path), (), ())


def test_a_makefiles_automatic_variables_name_the_script() -> None:
    """`$<` is the first thing that the rule above the recipe needs, `$^` all of them, `$@` its target."""
    text = (
        "PY = python\n\nout/a: train.py data.py\n\t$(PY) $< --output_dir $@\n\nb:\n\techo $$HOME\nall: b c\n\tcat $^\n"
    )

    assert [line.strip() for line in recipes(text).split("\n") if line.strip()] == [
        "python train.py --output_dir out/a",
        "echo $HOME",
        "cat b c",
    ]


def test_only_commands_that_install_or_go_elsewhere_matter_to_later_ones() -> None:
    """Of a text with thousands of trainings each would else be compared with all before it."""
    text = "pip install trl==1.0\npython a.py\ncd b\nuv add peft\ntrl sft --x 1\npython c.py\n"
    *_, last = read_commands(text, "run.sh")

    assert [" ".join(word.text for word in words) for words in last.before] == [
        "pip install trl==1.0",
        "cd b",
        "uv add peft",
    ]
