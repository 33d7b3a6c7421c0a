"""What the rules of `check` say of a rehearsed job, now that nothing about it is unknown: its rows, and its model's files.

A script that computes its dataset or its model's name cannot be read; once it runs, what it gave its trainer is there to see.
They are asked as of a job file that names the same rows and the same model.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from msgspec import to_builtins

from holdfast.app.check.verb import check
from holdfast.core.errors import HoldfastError
from holdfast.core.finding import Severity
from holdfast.core.methods import Method
from holdfast.core.rehearsal import Objection, PartResult, StageName
from holdfast.signatures import prevented_by

OF_ROWS: Final = ("max_length", "assistant_only_loss", "completion_only_loss", "eos_token", "pad_token", "packing")
"""Settings that decide what becomes of rows."""
OF_STEPS: Final = (
    "per_device_train_batch_size",
    "gradient_accumulation_steps",
    "dataloader_drop_last",
    "num_generations",
    "generation_batch_size",  # and not `steps_per_generation`, which says the same: trl takes one of them
    "num_iterations",
)
"""Settings that decide how many rows a step takes."""
OF_MODEL: Final = "MOD"
OF_ENVIRONMENT: Final = "DEP"
NO_HEADER: Final = "DEP102"
"""The rule about what was meant as a header and is read by nobody: a warning, since the script may run all the same."""
TOKENS: Final = range(231, 245)
"""Numbers of the rules about rows as tokens."""
MAY: Final = frozenset(
    (
        "DAT209",
        "DAT210",
        "DAT212",
        "DAT213",
        "DAT214",
        "DAT217",
        "DAT219",
        "DAT220",
        "DAT222",
        "DAT223",
        "DAT226",
        "DAT228",
    )
)
"""Rules about what may be meant so even where every row has it: roles that the template takes, an evaluation on the training rows."""
TOLD: Final = "tokens.json"
"""A file of how long the rows are, in tokens."""
LEAK: Final = "DAT220"
"""The rule about rows of the evaluation among those that are trained on."""
EVERY_ROW: Final = Objection(
    code=LEAK,
    message="every row that is evaluated on is trained on too, so the evaluation says nothing of other rows",
    stage="data",
    fails=False,
)
"""What is said of a trainer whose rows no rule finds it in."""
TRAINED, EVALUATED = "train.jsonl", "test.jsonl"
"""Files of the rows that a trainer was given, as `payload/rehearsal/trainers/observed.py` names them."""
TEMPLATE: Final = "given.jinja"
"""A file of the chat template that the script gave its tokenizer."""
ROWS: Final = 500
"""Rows that are tokenized."""


def prepare() -> Any:
    """Import what looks at rows, and return it: that takes a while in which the script's libraries can be imported, too."""
    from holdfast.app.inspect import verb as inspecting

    return inspecting


def observe(whole: PartResult, folder: Path) -> tuple[Objection, ...]:
    """Return what the rules object to about what the script gave its first trainer.

    Args:
        whole: The part that went the whole path.
        folder: Its folder, where the rows were written down.
    """
    job = observed_job(whole, folder)
    leaks = bool(whole.first("trained")) and evaluates_on_trained(whole, folder / "rows")
    found: tuple[Objection, ...] = ()
    if job is not None:
        path = folder / "observed.yaml"
        path.write_text(json.dumps(job), encoding="utf-8")
        found = (*_row_objections(path), *_check_objections(path, OF_MODEL, "model"))
    known = any(each.code == LEAK for each in found)
    return (*found, EVERY_ROW) if leaks and not known else found


def read_tokens(folder: Path) -> Mapping[str, Any] | None:
    """Return how long the rows are in tokens, as `inspect` answers it; None where nobody could count them."""
    path = folder / TOLD
    told: Mapping[str, Any] | None = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None
    return told


def observed_job(whole: PartResult, folder: Path) -> dict[str, Any] | None:
    """Return the job file of what was seen; None where no trainer of a known method was made with rows and a model."""
    training, model = whole.first("training"), whole.first("model")
    method = next((m for m in Method for kind in training.get("trainer", ()) if kind == f"{_trainer(m)}Trainer"), None)
    rows = folder / "rows"
    if method is None or not (rows / TRAINED).is_file() or not model.get("path"):
        return None
    arguments = training["arguments"]
    settings = {name: arguments[name] for name in (*OF_ROWS, *OF_STEPS) if name in training["chosen"]}
    dataset = {"path": str(rows), "split": "train"}
    dataset |= {"eval_split": "test"} if (rows / EVALUATED).is_file() else {}
    named = {"path": model["path"], **_own_template(training.get("template"), folder)}
    return {"method": method.value, "model": named, "dataset": dataset, "train": settings}


def _own_template(template: str | None, folder: Path) -> dict[str, str]:
    """Return what names the chat template that the script gave its tokenizer; nothing where it gave none."""
    if template is None:
        return {}
    path = folder / TEMPLATE
    path.write_text(template, encoding="utf-8")
    return {"chat_template": str(path)}


def _trainer(method: Method) -> str:
    return method.config.removeprefix("trl.").removesuffix("Config")


def find_environment_fault(path: str) -> tuple[str, str] | None:
    """Return the class of what is wrong with a script's own list of packages, and what shows it; None where nothing is.

    An environment that has more than the list would not show it.
    """
    if not path.endswith(".py") or not Path(path).is_file():
        return None
    found = _check_objections(Path(path), OF_ENVIRONMENT, "import")
    told = ((each.code, each.message) for each in found if each.fails or each.code == NO_HEADER)
    named = (
        (("pep723-header-invalid",) if code == NO_HEADER else prevented_by(code), message) for code, message in told
    )
    return next(((names[0], message) for names, message in named if names), None)


def _row_objections(path: Path) -> Iterator[Objection]:
    try:
        found = prepare().inspect(str(path), rows=ROWS, offline=True)
    except (HoldfastError, ExceptionGroup):
        return  # the rehearsal itself says what is wrong with it
    told = to_builtins(found.tokens) if found.tokens else None
    path.with_name(TOLD).write_text(json.dumps(told), encoding="utf-8")
    for each in found.problems:
        stage: StageName = "tokenize" if int(each.code[3:]) in TOKENS else "data"
        every = (each.count or 0) >= found.dataset.rows and each.code not in MAY
        fails = each.severity is Severity.ERROR or every
        yield Objection(code=each.code, message=each.message, stage=stage, fails=fails)


def evaluates_on_trained(whole: PartResult, rows: Path) -> bool:
    """True if every row of an evaluation is one that is trained on, as far as rows were kept.

    Args:
        whole: The part that went the whole path.
        rows: The folder of the rows that its trainer was given.
    """
    if whole.first("same_rows"):
        return True
    kept = [
        path.read_text(encoding="utf-8").splitlines() for path in (rows / TRAINED, rows / EVALUATED) if path.is_file()
    ]
    return len(kept) > 1 and bool(kept[1]) and set(kept[1]) <= set(kept[0])


def _check_objections(path: Path, only: str, stage: StageName) -> Iterator[Objection]:
    """Yield what rules of `check` say of a file, offline."""
    try:
        told = check([str(path)], select=only, offline=True)
    except (HoldfastError, ExceptionGroup):
        return
    for each in told.findings:
        fails = each.severity is Severity.ERROR
        yield Objection(code=each.code, message=each.message, stage=stage, fails=fails)
