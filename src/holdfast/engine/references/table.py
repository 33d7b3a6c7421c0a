"""Which argument of which call names what: the table that mentions are read by.

Source: the signatures of datasets 5.2, transformers 5.23, peft 0.21, trl 1.16, trackio 0.43 and huggingface_hub 2.4, read and
run; `tests/engine/references/test_references.py` compares each entry with the installed ones.
"""

from dataclasses import dataclass
from typing import Final

from holdfast.core.check.hub import RepoKind
from holdfast.core.check.reference import ReferenceRole


@dataclass(frozen=True, slots=True, kw_only=True)
class Naming:
    """How a call names a thing.

    Attributes:
        role: What it is to the job.
        name: The parameter that names it.
        positions: The parameters that may be given by position, in order.
        kind: What it would be on the Hub, where no parameter says so.
        kind_by: The parameter that does.
        revision: The parameter with its revision.
        config: The parameter with the configuration of a dataset.
        split: The parameter with its splits.
        files: Parameters with names or patterns of files.
        folder: The parameter with a folder that the files are in.
        fixed: Files that are requested whatever is given.
    """

    role: ReferenceRole
    name: str
    positions: tuple[str, ...] = ()
    kind: RepoKind = "model"
    kind_by: str = ""
    revision: str = "revision"
    config: str = ""
    split: str = ""
    files: tuple[str, ...] = ()
    folder: str = ""
    fixed: tuple[str, ...] = ()


def _repository(*positions: str, role: ReferenceRole = "file", files: str = "") -> Naming:
    """A call of huggingface_hub's that reads a repository or writes to it."""
    return Naming(
        role=role,
        name="repo_id",
        positions=positions,
        kind_by="repo_type",
        files=(files,) if files else (),
        folder="subfolder",
    )


_LOADED: Final = ("path", "name", "data_dir", "data_files")
_SPLIT_NAMES: Final = Naming(
    role="dataset", name="path", positions=("path", "config_name"), kind="dataset", config="config_name"
)
_WRITTEN: Final = _repository(role="target")
_MADE: Final = _repository("repo_id", role="target")

FUNCTIONS: Final[dict[str, Naming]] = {
    "datasets.load_dataset": Naming(
        role="dataset",
        name="path",
        positions=(*_LOADED, "split"),
        kind="dataset",
        config="name",
        split="split",
        files=("data_files",),
        folder="data_dir",
    ),
    "datasets.load_dataset_builder": Naming(
        role="dataset",
        name="path",
        positions=_LOADED,
        kind="dataset",
        config="name",
        files=("data_files",),
        folder="data_dir",
    ),
    "datasets.get_dataset_config_names": Naming(
        role="file", name="path", positions=("path", "revision"), kind="dataset"
    ),
    "datasets.get_dataset_infos": Naming(role="file", name="path", positions=("path",), kind="dataset"),
    "datasets.get_dataset_split_names": _SPLIT_NAMES,
    "datasets.get_dataset_config_info": _SPLIT_NAMES,
    "transformers.pipeline": Naming(role="model", name="model", positions=("task", "model")),
    "trackio.init": Naming(
        role="space", name="space_id", positions=("project", "name", "group", "space_id"), kind="space"
    ),
    "huggingface_hub.hf_hub_download": _repository("repo_id", "filename", files="filename"),
    "huggingface_hub.snapshot_download": _repository("repo_id", files="allow_patterns"),
    "huggingface_hub.list_repo_files": _repository("repo_id"),
    "huggingface_hub.list_repo_tree": _repository("repo_id"),
    "huggingface_hub.repo_info": _repository("repo_id"),
    "huggingface_hub.model_info": Naming(role="file", name="repo_id", positions=("repo_id",)),
    "huggingface_hub.dataset_info": Naming(role="file", name="repo_id", positions=("repo_id",), kind="dataset"),
    "huggingface_hub.space_info": Naming(role="file", name="repo_id", positions=("repo_id",), kind="space"),
    "huggingface_hub.create_repo": _MADE,
    "huggingface_hub.upload_file": _WRITTEN,
    "huggingface_hub.upload_folder": _WRITTEN,
    "huggingface_hub.upload_large_folder": _MADE,
    "huggingface_hub.create_commit": _MADE,
    "huggingface_hub.create_branch": _MADE,
    "huggingface_hub.create_tag": _MADE,
    "huggingface_hub.run_uv_job": Naming(role="link", name="script", positions=("script",)),
    "huggingface_hub.create_scheduled_uv_job": Naming(role="link", name="script", positions=("script",)),
}
"""Functions by their path; a method of `HfApi` counts as the function of its name."""

_MODEL: Final = "pretrained_model_name_or_path"


def _loading(role: ReferenceRole, *fixed: str) -> Naming:
    return Naming(role=role, name=_MODEL, positions=(_MODEL,), files=("gguf_file",), folder="subfolder", fixed=fixed)


_ON_MODEL: Final = Naming(role="adapter", name="model_id", positions=("model", "model_id"), folder="subfolder")

LOADERS: Final[tuple[tuple[str, Naming], ...]] = (
    ("PeftModel", _ON_MODEL),
    ("PeftConfig", _loading("file", "adapter_config.json")),
    ("LoraConfig", _loading("file", "adapter_config.json")),
    ("GenerationConfig", _loading("file", "generation_config.json")),
    ("Config", _loading("file", "config.json")),
    ("Tokenizer", _loading("tokenizer")),
    ("TokenizerFast", _loading("tokenizer")),
    ("Processor", _loading("tokenizer")),
    ("FeatureExtractor", _loading("tokenizer")),
    ("ImageProcessorFast", _loading("tokenizer")),
)
"""What `from_pretrained` of a class loads, by the end of the class's name, the first that fits; any other loads a model."""

AUTO_PEFT: Final = _loading("adapter")
UNSLOTH: Final = Naming(role="model", name="model_name", positions=("model_name",))
OTHER_MODEL: Final = _loading("model")

METHODS: Final[dict[str, Naming]] = {
    "transformers.load_adapter": Naming(
        role="adapter", name="peft_model_id", positions=("peft_model_id",), revision=""
    ),
    "peft.load_adapter": Naming(role="adapter", name="model_id", positions=("model_id",)),
    "push_to_hub": Naming(role="target", name="repo_id", positions=("repo_id",)),
    "push_to_hub_merged": Naming(role="target", name="repo_id", positions=("repo_id",)),
    "push_to_hub_gguf": Naming(role="target", name="repo_id", positions=("repo_id",)),
}
"""Methods of what was made, by their name, after the package where the parameters differ."""

TRAINER: Final[dict[str, ReferenceRole]] = {
    "model": "model",
    "ref_model": "model",
    "reward_funcs": "model",
    "reward_model": "model",
    "teacher_model": "model",
}
"""Arguments of a trainer that may be a name, or a list of names."""
TRAINER_POSITIONS: Final = ("model",)
"""The second argument differs from trainer to trainer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceField:
    """A field of a config class or a command that names a thing.

    Attributes:
        role: What it is to the job.
        kind: What it would be on the Hub.
        revision: The field beside it with the revision.
        config: The field beside it with the configuration of a dataset.
    """

    role: ReferenceRole
    kind: RepoKind = "model"
    revision: str = ""
    config: str = ""


SETTINGS: Final[dict[str, ReferenceField]] = {
    "model_name_or_path": ReferenceField(role="model", revision="model_revision"),
    "teacher_model_name_or_path": ReferenceField(role="model", revision="teacher_model_revision"),
    "reward_model_name_or_path": ReferenceField(role="model"),
    "chat_template_path": ReferenceField(role="tokenizer"),
    "dataset_name": ReferenceField(role="dataset", kind="dataset", config="dataset_config"),
    "trackio_space_id": ReferenceField(role="space", kind="space"),
    "log_completions_hub_repo": ReferenceField(role="target", kind="dataset"),
}
"""Fields of the classes of transformers and TRL that configure, and of TRL's commands, which are made of them."""

BUILDERS: Final = frozenset(
    {
        "arrow",
        "audiofolder",
        "conll",
        "csv",
        "eval",
        "fasta",
        "fastq",
        "genbank",
        "generator",
        "harbor",
        "hdf5",
        "iceberg",
    }
    | {
        "imagefolder",
        "json",
        "lance",
        "meshfolder",
        "mmcif",
        "niftifolder",
        "pandas",
        "parquet",
        "pdb",
        "pdffolder",
        "spark",
    }
    | {"sql", "text", "tsfile", "videofolder", "vortex", "webdataset", "xml", "cache"}
)
"""What `load_dataset` reads files with: no datasets."""
