"""From a job to its training script: self-contained, commented, and the same text each time."""

import json
from collections.abc import Iterator, Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined

from holdfast.catalog.trl_rewards import MODULE, TRL_REWARDS
from holdfast.core.errors import UsageError
from holdfast.core.job.methods import Method
from holdfast.core.job_file.job import Job
from holdfast.core.text.redact import named_secrets
from holdfast.engine.script.carried_files import carried_files, data_files, referred_files
from holdfast.engine.script.outline import outline_loading, outline_reading, outline_training
from holdfast.engine.script.python_source import render_block, render_imports, render_literal
from holdfast.engine.script.requirements import list_data_requirements, list_requirements, render_header

__all__ = ["referred_files", "render_script"]

TITLES: Mapping[Method, str] = {
    Method.SFT: "Supervised fine-tuning",
    Method.DPO: "Direct preference optimization",
    Method.GRPO: "Group relative policy optimization",
    Method.REWARD: "Reward modelling",
    Method.KTO: "Kahneman-Tversky optimization",
    Method.RLOO: "REINFORCE leave-one-out",
}

STANDARD_MODULES = (
    "argparse contextlib csv fcntl hashlib importlib.metadata inspect itertools json linecache logging math os platform random re shutil "
    "subprocess sys tempfile time "
    "traceback types"
)
STANDARD: dict[str, tuple[str, ...]] = {**dict.fromkeys(STANDARD_MODULES.split(), ()), "pathlib": ("Path",)}
"""What a script may import of the standard library: modules, or names out of them."""

LIBRARIES: dict[str, tuple[str, ...]] = {
    "numpy": (),
    "torch": (),
    "trackio": (),
    "mlflow": (),
    "wandb": (),
    "accelerate.utils": ("broadcast_object_list", "gather_object"),
    "datasets": (
        *("Audio", "Dataset", "Features", "Image", "LargeList", "List", "Value"),
        *("concatenate_datasets", "interleave_datasets", "load_dataset", "load_dataset_builder"),
    ),
    "datasets.table": ("embed_table_storage",),
    "huggingface_hub": ("HfApi",),
    "peft": ("LoraConfig",),
    "transformers": (
        "AutoTokenizer",
        "BitsAndBytesConfig",
        "EarlyStoppingCallback",
        "GenerationConfig",
        "TrainerCallback",
        "set_seed",
    ),
    "trl": tuple(f"{method.stem}{part}" for method in Method for part in ("Config", "Trainer")),
    "trl.data_utils": ("prepare_multimodal_messages",),
    MODULE: TRL_REWARDS,
}
"""What a script may import of the packages that it installs."""


def render_script(job: Job, *, name: str, sources: Mapping[str, str], is_trial: bool = False) -> str:
    """Return the training script of a job.

    Args:
        job: What to train.
        name: The job's name.
        sources: The text of each of `referred_files(job)`; it travels inside the script.
        is_trial: Whether it takes settings that replace its own: it is a script of a study's trials.

    Raises:
        UsageError: The job asks for what cannot be rendered.
    """
    data, training = outline_reading(job), outline_training(job)
    outline = {"job": job, "name": name, "data": data, "model": outline_loading(job), "training": training}
    outline["is_trial"] = is_trial
    outline["secrets"] = list(dict.fromkeys(_secrets(job)))
    files = carried_files(job, sources)
    body = TEMPLATES.get_template("body.jinja").render(outline, files=files)
    preamble = TEMPLATES.get_template("preamble.jinja").render(outline)
    return TEMPLATES.get_template("script.py.jinja").render(
        outline,
        header=render_header(job.environment.python, list_requirements(job)),
        title=TITLES[job.method],
        standard=render_imports(STANDARD, preamble + body),
        preamble=preamble,
        libraries=render_imports(LIBRARIES, body),
        body=body,
    )


def render_rows_script(job: Job, *, name: str, sources: Mapping[str, str]) -> str:
    """Return the script that writes the rows of a job's training as files.

    Args:
        job: What to train.
        name: The job's name.
        sources: The text of each of `referred_files(job)`.

    Raises:
        UsageError: The job's data cannot be read by a script, or is a stream, which has no end.
    """
    if job.dataset.streaming:
        fix = "write `streaming: false`, and `rows` if there are too many"
        raise UsageError("the rows of a stream are not kept: it has no end", where="dataset.streaming", fix=fix)
    data = outline_reading(job)
    outline = {"job": job, "name": name, "data": data}
    body = TEMPLATES.get_template("rows_body.jinja").render(
        outline, files=data_files(job, sources), model={"template_file": None}
    )
    preamble = TEMPLATES.get_template("rows_preamble.jinja").render(outline)
    return TEMPLATES.get_template("rows.py.jinja").render(
        outline,
        header=render_header(job.environment.python, list_data_requirements(job)),
        standard=render_imports(STANDARD, preamble + body),
        preamble=preamble,
        libraries=render_imports(LIBRARIES, body),
        body=body,
    )


def _secrets(job: Job) -> Iterator[str]:
    """Yield the secrets that stand in the script; those among a job's variables do not."""
    if token := job.train.get("hub_token"):
        yield token
    yield from named_secrets(job.model_dump(exclude={"environment"}))


def _quoted(text: str) -> str:
    """Return a text as it may stand inside a docstring."""
    return json.dumps(text, ensure_ascii=not text.isprintable())[1:-1]


# The output is Python, not HTML: values are made harmless by the filters, not by escaping.
TEMPLATES = Environment(  # noqa: S701 - it makes Python, not HTML
    loader=PackageLoader("holdfast.engine"),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
TEMPLATES.filters |= {"py": render_literal, "block": render_block, "quoted": _quoted}
