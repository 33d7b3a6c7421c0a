"""What the calls of a program name."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from holdfast.catalog.hub.repositories import is_repository, may_be_repository
from holdfast.core.check.hub import RepoKind
from holdfast.core.check.reference import Reference, ReferenceRole
from holdfast.core.job.calls import Call
from holdfast.core.job.document import Document, Unknown
from holdfast.core.text.addresses import WEB
from holdfast.engine.references.given import ArgumentLookup
from holdfast.engine.references.names import split_of, texts_in
from holdfast.engine.references.table import (
    AUTO_PEFT,
    BUILDERS,
    FUNCTIONS,
    LOADERS,
    METHODS,
    OTHER_MODEL,
    SETTINGS,
    TRAINER,
    TRAINER_POSITIONS,
    UNSLOTH,
    Naming,
    ReferenceField,
)
from holdfast.engine.references.tokens import hands_token

KINDS: Final[Mapping[Any, RepoKind]] = {None: "model", "model": "model", "dataset": "dataset", "space": "space"}
LOADS: Final = ("transformers", "peft", "trl", "unsloth")
PUSHES: Final = ("transformers", "peft", "trl", "unsloth", "datasets", "huggingface_hub")
CONFIGURES: Final = ("Config", "Arguments")
FOLDERS: Final = frozenset[ReferenceRole]({"model", "adapter", "tokenizer"})
"""What may lie in a folder of this machine, whatever the folder is called."""
YES: Final = frozenset({"true", "t", "yes", "y", "1"})


def call_references(document: Document) -> Iterator[Reference]:
    """Yield the references in a program's calls, in their order; rather too many, such as folders, than too few."""
    pushing = pushes(document)
    for call in document.calls:
        if call.via == "partial" or call.guard.because:
            continue
        naming = naming_of(call)
        if naming is not None:
            yield from _named(ArgumentLookup(document, call, naming.positions), naming)
        elif call.name.endswith("Trainer"):
            yield from _trainer_references(ArgumentLookup(document, call, TRAINER_POSITIONS))
        elif is_config(call):
            yield from _settings_references(ArgumentLookup(document, call), pushing=pushing)


def is_config(call: Call) -> bool:
    """True if a call is of a class that configures training, or of a command that is made of such classes."""
    return call.path.startswith("trl ") or (call.package in LOADS and call.name.endswith(CONFIGURES))


def pushes(document: Document) -> bool:
    """True if a trainer surely pushes to the Hub: by its config, or by a call."""
    for call in document.calls:
        if is_config(call) and is_true(call.arguments.get("push_to_hub")):
            return True
        if call.path.endswith("Trainer.push_to_hub"):
            return True
    return False


def is_true(value: Any) -> bool:
    """True if a setting is surely on, as Python has it or as a command line does."""
    return value is True or (isinstance(value, str) and value.lower() in YES)


def naming_of(call: Call) -> Naming | None:
    """Return the naming that a call uses; None if it names nothing."""
    path = call.path.replace(".HfApi.", ".")
    if path in FUNCTIONS:
        return FUNCTIONS[path]
    owner, _, method = call.path.rpartition(".")
    if method == "from_pretrained" and call.package in LOADS and "(" not in owner:
        return _loader(owner.rpartition(".")[2], call.package)
    if call.package not in PUSHES or "." not in owner or owner.endswith("Trainer"):
        return None
    return METHODS.get(f"{call.package}.{method}") or METHODS.get(method)


def _loader(name: str, package: str) -> Naming:
    if package == "unsloth":
        return UNSLOTH
    if name.startswith("AutoPeft"):
        return AUTO_PEFT
    if package == "peft" and name.startswith("PeftModel"):
        name = "PeftModel"
    return next((naming for ending, naming in LOADERS if name.endswith(ending)), OTHER_MODEL)


def _named(given: ArgumentLookup, naming: Naming) -> Iterator[Reference]:
    name, files, kind = given.value(naming.name), _files(given, naming), _kind(given, naming)
    revision, config, split = (given.value(each) for each in (naming.revision, naming.config, naming.split))
    if isinstance(files, Unknown) or _any_hidden(kind, revision, config, split) or not _may_name(name, naming.role):
        return
    if naming.role == "target" and given.value("create_pr") not in (None, False):
        return  # a pull request may be opened by anyone
    yield Reference(
        role=_role(given, naming),
        name=name,
        key=given.key(naming.name),
        place=given.place(naming.name),
        repo_kind=kind,
        revision=_text(revision),
        config=_text(config),
        split=split_of(split),
        files=files,
        label=given.call.label,
        guard=given.call.guard,
        own_token=hands_token(given.call),
        local=is_local(name, naming.role),
    )


def _role(given: ArgumentLookup, naming: Naming) -> ReferenceRole:
    """Return the role of what a call names: a model that is in a GGUF file is a file."""
    return "file" if naming.role == "model" and naming.files and given.value("gguf_file") else naming.role


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _any_hidden(*values: Any) -> bool:
    return any(isinstance(value, Unknown) for value in values)


def _kind(given: ArgumentLookup, naming: Naming) -> Any:
    """Return the kind of repository that a name would have on the Hub; Unknown if that is not known."""
    if naming.role == "target" and given.call.package == "datasets":
        return "dataset"
    kind = given.value(naming.kind_by) if naming.kind_by else None
    if kind is None:
        return naming.kind
    return KINDS.get(kind, Unknown()) if isinstance(kind, str) else Unknown()


def _files(given: ArgumentLookup, naming: Naming) -> tuple[str, ...] | Unknown:
    """Return the files that are requested, each with its folder; Unknown if they are not known."""
    folder = given.value(naming.folder)
    found: list[str] = [*naming.fixed]
    for parameter in naming.files:
        texts = texts_in(given.value(parameter))
        if texts is None:
            return Unknown()
        found += texts
    if folder is None or folder == "":
        return tuple(found)
    if not isinstance(folder, str):
        return Unknown()
    inside = folder.strip("/")
    return tuple(f"{inside}/{name}" for name in found) or (f"{inside}/**",)


def fits(name: str, role: ReferenceRole) -> bool:
    """True if a name may be that of a thing of some role on the Hub."""
    if role == "link":
        return name.startswith(WEB)
    if role in ("target", "space"):
        return is_repository(name)
    if role == "dataset":
        return may_be_repository(name) and name not in BUILDERS
    return may_be_repository(name) or is_local(name, role)


def is_local(name: str, role: ReferenceRole) -> bool:
    """True if a name can only be that of a folder with a model, an adapter or a tokenizer."""
    return role in FOLDERS and bool(name) and not may_be_repository(name)


def _trainer_references(given: ArgumentLookup) -> Iterator[Reference]:
    """Yield the models that a trainer is given by name."""
    for argument, role in TRAINER.items():
        for key, name in _trainer_names(given, argument, role):
            revision = given.document.get("model.revision", None) if argument == "model" else None
            if not isinstance(revision, Unknown):
                yield Reference(
                    role=role,
                    name=name,
                    key=key,
                    place=given.place(argument),
                    revision=_text(revision),
                    label=argument,
                    guard=given.call.guard,
                    local=is_local(name, role),
                )


def _trainer_names(given: ArgumentLookup, argument: str, role: ReferenceRole) -> list[tuple[str, str]]:
    """Return the names that an argument of a trainer is, or lists, each with its key."""
    key, value = given.key(argument), given.value(argument)
    values = {f"{key}.{at}": name for at, name in enumerate(value)} if isinstance(value, list) else {key: value}
    # What has no owner may be the name of a function.
    needs_owner = argument == "reward_funcs"
    return [
        (at, name) for at, name in values.items() if _may_name(name, role) and not (needs_owner and "/" not in name)
    ]


def _may_name(value: Any, role: ReferenceRole) -> bool:
    return isinstance(value, str) and fits(value, role)


def _settings_references(given: ArgumentLookup, *, pushing: bool) -> Iterator[Reference]:
    """Yield the references in a config or a command."""
    for name, setting in SETTINGS.items():
        if name in given.call.arguments and _has_effect(setting, given.call):
            yield from _set(given, name, setting)
    if pushing:
        yield from _target(given)
    if _is_trl_command(given.call):
        yield from _evaluated(given)


def _is_trl_command(call: Call) -> bool:
    """True for a command of TRL's; a script that takes its arguments may do with them what it likes."""
    return call.path.startswith("trl ") and not call.open


def _has_effect(setting: ReferenceField, call: Call) -> bool:
    """True if a setting is read; the name of a Space is, where Trackio is reported to."""
    return setting.role != "space" or _reports_to(call, "trackio")


def _reports_to(call: Call, tracker: str) -> bool:
    """True if a config surely says that metrics go to a tracker; by itself it has them go nowhere."""
    trackers = call.arguments.get("report_to")
    return any(each in (tracker, "all") for each in (trackers if isinstance(trackers, list) else [trackers]))


def _set(given: ArgumentLookup, name: str, setting: ReferenceField) -> Iterator[Reference]:
    value, revision, config = (given.value(each) for each in (name, setting.revision, setting.config))
    if not _may_name(value, setting.role) or _any_hidden(revision, config):
        return
    yield replace(
        _reference(given, name, setting),
        revision=str(revision) if revision is not None else None,
        config=str(config) if config is not None else None,
        split=_train_split(given) if setting.role == "dataset" else None,
    )


def _reference(given: ArgumentLookup, name: str, setting: ReferenceField) -> Reference:
    return Reference(
        role=setting.role,
        name=given.value(name),
        key=given.key(name),
        place=given.place(name),
        repo_kind=setting.kind,
        label=f"{given.call.name}.{name}" if " " not in given.call.path else f"--{name}",
        guard=given.call.guard,
        own_token=hands_token(given.call),
        local=is_local(given.value(name), setting.role),
    )


def _train_split(given: ArgumentLookup) -> str | None:
    """Return the split that a command of TRL's trains on."""
    if not _is_trl_command(given.call):
        return None
    split = given.value("dataset_train_split")
    return "train" if split is None else _text(split)


def _evaluated(given: ArgumentLookup) -> Iterator[Reference]:
    """Yield the split that a command of TRL's evaluates on, where it evaluates."""
    strategy, split = given.value("eval_strategy"), given.value("dataset_test_split")
    if strategy in (None, "no") or not isinstance(strategy, str) or _any_hidden(split):
        return
    key = "dataset_test_split" if split is not None else "dataset_name"
    for each in _set(given, "dataset_name", SETTINGS["dataset_name"]):
        yield replace(
            each,
            key=given.key(key),
            place=given.place(key),
            split=split if isinstance(split, str) else "test",
            label="dataset_test_split",
        )


def _target(given: ArgumentLookup) -> Iterator[Reference]:
    """Yield the repository that a trainer pushes to: as its config says, or else of the name of its output folder."""
    named = given.value("hub_model_id")
    if isinstance(named, str) and is_repository(named):
        yield _reference(given, "hub_model_id", ReferenceField(role="target"))
    elif named is None and (last := _last_of(given.call.arguments.get("output_dir"))):
        key = "push_to_hub" if "push_to_hub" in given.call.arguments else "output_dir"
        yield Reference(
            role="target",
            name=last,
            key=given.key(key),
            place=given.place(key),
            label=f"{given.call.name}.{key}",
            guard=given.call.guard,
            own_token=hands_token(given.call),
        )


def _last_of(folder: Any) -> str:
    """Return the name of a folder that a repository can have; empty if it can have none."""
    last = folder.rstrip("/").rpartition("/")[2] if isinstance(folder, str) else ""
    return last if is_repository(last) and last not in (".", "..") else ""
