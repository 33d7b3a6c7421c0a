"""Loading a base model's tokenizer as a training script does, with the chat template that the job names.

Source: `SFTTrainer` and `RewardTrainer` of TRL 1.16, `clone_chat_template` in its `chat_template_utils`, and the
scripts that `holdfast render` writes.
"""

import contextlib
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

from holdfast.adapters.environment.extras import install_command
from holdfast.adapters.foreign_files import expanded, read_foreign, read_foreign_text
from holdfast.adapters.hub.reach import why_unreachable
from holdfast.adapters.tokens.encoding import LoadedTokenizer
from holdfast.adapters.tokens.training_templates import has_markers, training_template
from holdfast.catalog.builtin import BUILTIN, MODELS
from holdfast.catalog.builtin.stdlib_docstrings import entries
from holdfast.catalog.builtin.tiny_chat import make_tokenizer
from holdfast.catalog.models.chat_templates import ENDINGS
from holdfast.catalog.models.positions import positions_of
from holdfast.catalog.models.vision import is_vision
from holdfast.core.errors import HoldfastError, SourceError, UsageError
from holdfast.core.job.document import ABSENT, Document, Unknown
from holdfast.core.job.methods import Method
from holdfast.core.outcome import Raised, outcome_of
from holdfast.core.text.json_text import parse_json

CLONING = (Method.SFT, Method.REWARD)
"""Methods whose trainers take another model's chat template together with its tokens."""
ABSENT_REPOSITORY = "RepositoryNotFoundError"
"""The error of `huggingface_hub` that transformers raises its own from where the Hub has no such repository."""
QUIET = {"TRANSFORMERS_NO_ADVISORY_WARNINGS": "1", "TOKENIZERS_PARALLELISM": "true"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenizerRequest:
    """The tokenizer that a job trains with.

    Attributes:
        path: Folder, Hub id or `builtin:` name of the model.
        revision: Branch, tag or commit at the Hub.
        trust_remote_code: Whether the job lets a repository's code run.
        template: File, or folder or Hub id of the model, whose chat template is taken; None for the tokenizer's own.
        clones: Whether that model's added tokens are taken as well.
        eos_token: The token that ends a text, in place of the tokenizer's own.
        marks: Whether the assistant's turns are to be marked.
        folder: Folder that relative paths start from.
        offline: Whether the Hub is left alone: what was downloaded before is all that there is of it.
        unreached: Why it cannot be reached, if that is the reason.
    """

    path: str
    revision: str | None = None
    trust_remote_code: bool = False
    template: str | None = None
    clones: bool = False
    eos_token: str | None = None
    marks: bool = False
    folder: Path = Path()
    offline: bool = False
    unreached: str = ""


def want_tokenizer(job: Document, *, folder: Path = Path(), offline: bool) -> TokenizerRequest:
    """Return the tokenizer that a job file trains with.

    Raises:
        SourceError: The job hides what decides it.
    """
    method, template = str(job.get("method")), _stated(job, "model.chat_template")
    cloned = _stated(job, "train.chat_template_path")
    clones = method in CLONING and not str(template or cloned).endswith(ENDINGS)
    return TokenizerRequest(
        path=str(_stated(job, "model.path")),
        revision=_stated(job, "model.revision"),
        trust_remote_code=bool(_stated(job, "model.trust_remote_code") or _stated(job, "train.trust_remote_code")),
        template=template or cloned,
        clones=clones and (template or cloned) is not None,
        eos_token=_stated(job, "train.eos_token"),
        marks=bool(_stated(job, "train.assistant_only_loss")),
        folder=folder,
        offline=offline,
    )


def load_tokenizer(wanted: TokenizerRequest) -> LoadedTokenizer:
    """Return a tokenizer with its chat template.

    Covered: what `AutoTokenizer` loads. Not covered: processors of models that take images or audio.

    Raises:
        UsageError: The `data` extra is not installed, or the Hub has no such model.
        SourceError: There is no such tokenizer, it cannot be read, or it is not known which template it would train with.
    """
    with _hushed():
        transformers = _transformers()
        wanted = _within_reach(wanted)
        tokenizer, config, generation = _parts(transformers, wanted)
        if is_vision(config) or "audio_config" in config:
            fix = "rehearse the job, which makes them for real"
            raise SourceError(f"a processor makes the tokens of {wanted.path}, no tokenizer", where="model", fix=fix)
        _end_with(tokenizer, wanted)
        grown = wanted.template is not None and _take_template(transformers, tokenizer, wanted)
        marks, template = _marking(tokenizer, wanted)
        return LoadedTokenizer(
            tokenizer,
            stops=_stops(config, generation),
            embedding=None if grown else _text_config(config).get("vocab_size"),
            positions=positions_of(config),
            template=template,
            marks=marks,
        )


def _parts(transformers: Any, wanted: TokenizerRequest) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the tokenizer of a model, its config, and its settings for generation."""
    if wanted.path.startswith(BUILTIN):
        tokenizer = _builtin(wanted.path)
        return tokenizer, {"vocab_size": len(tokenizer)}, {}
    tokenizer = _loaded(transformers, wanted.path, wanted)
    return tokenizer, _config(wanted, "config.json"), _config(wanted, "generation_config.json")


def _marking(tokenizer: Any, wanted: TokenizerRequest) -> tuple[bool, str | None]:
    """Return whether the assistant's turns are marked, and the template that does it if the tokenizer's own does not."""
    if not wanted.marks:
        return False, None
    if has_markers(tokenizer.chat_template):
        return True, None
    template = training_template(tokenizer)
    return template is not None, template


def _stops(config: Mapping[str, Any], generation: Mapping[str, Any]) -> Sequence[int]:
    """Return the ids of the tokens that end an answer."""
    stops = generation.get("eos_token_id", _text_config(config).get("eos_token_id"))
    return [stops] if isinstance(stops, int) else stops or ()


def _within_reach(wanted: TokenizerRequest) -> TokenizerRequest:
    """Return the request; one to a Hub that cannot be reached is answered from what was downloaded before, at once."""
    names = [name for name in (wanted.path, wanted.template) if name and not name.startswith(BUILTIN)]
    if wanted.offline or all((wanted.folder / expanded(name)).exists() for name in names):
        return wanted
    endpoint = str(import_module("huggingface_hub.constants").ENDPOINT)
    because = why_unreachable(endpoint)
    return replace(wanted, offline=True, unreached=because) if because else wanted


def _stated(job: Document, key: str) -> Any:
    value = job.get(key, None)
    if isinstance(value, Unknown):
        raise SourceError(value.because, where=key, fix="say it in the job file")
    return None if value is ABSENT else value


def _transformers() -> Any:
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        transformers = import_module("transformers")
    except ImportError as error:
        raise UsageError(
            "tokens need transformers, which is not installed", where="tokens", fix=install_command("data")
        ) from error
    transformers.utils.logging.set_verbosity_error()
    return transformers


def _loaded(transformers: Any, path: str, wanted: TokenizerRequest) -> Any:
    folder = wanted.folder / expanded(path)
    name = str(folder) if folder.is_dir() else path
    if not folder.is_dir() and _names_folder(path):
        raise SourceError(f"no such folder: {path}", where="model", fix="correct the path")
    options = _options(wanted) if path == wanted.path else {"local_files_only": wanted.offline}
    load = transformers.AutoTokenizer.from_pretrained
    loaded = outcome_of(lambda: load(name, trust_remote_code=wanted.trust_remote_code, **options))
    if isinstance(loaded, Raised):  # whatever a repository's files make it raise, the trainer raises too
        raise _loading_error(loaded.error, path, wanted) from loaded.error
    return loaded


def _names_folder(path: str) -> bool:
    """True if a name cannot be one of the Hub."""
    return path.startswith((".", "/", "~")) or path.count("/") > 1


def _loading_error(error: Exception, path: str, wanted: TokenizerRequest) -> HoldfastError:
    """Return the error that a tokenizer cannot be loaded, with the fix for its cause."""
    if type(error.__cause__).__name__ == ABSENT_REPOSITORY:
        fix = "correct its name; for a private one log in, or set HF_TOKEN"
        return UsageError(f"the Hub has no model {path} that you may see", where="model", fix=fix)
    if wanted.offline and not (wanted.folder / expanded(path)).is_dir():
        reach = f"the Hub cannot be reached ({wanted.unreached})" if wanted.unreached else "the Hub is not contacted"
        what = f"the tokenizer of {path} was not downloaded before, and {reach}"
        fix = "try again later, or name a folder" if wanted.unreached else "leave out --offline"
        return SourceError(what, where="model", fix=fix)
    what = f"the tokenizer of {path} cannot be loaded: {type(error).__name__}: {_first_line(error)}"
    return SourceError(what, where="model", fix="see what it says; a gated model needs a token")


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), "").strip()


def _builtin(path: str) -> Any:
    if path not in MODELS:
        raise SourceError(f"no model {path!r}", where="model", fix=f"use one of {', '.join(MODELS)}")
    return make_tokenizer([text for entry in entries() for text in entry])


def _config(wanted: TokenizerRequest, name: str) -> dict[str, Any]:
    """Return one of the model's JSON files; nothing if it has none."""
    hub = import_module("transformers.utils")
    folder = wanted.folder / expanded(wanted.path)
    try:
        found = folder / name if folder.is_dir() else hub.cached_file(wanted.path, name, **_options(wanted))
        read = parse_json(read_foreign_text(Path(found)))
    except (OSError, ValueError):
        return {}
    return read if isinstance(read, dict) else {}


def _options(wanted: TokenizerRequest) -> dict[str, Any]:
    """Return the options for transformers to find the model's files."""
    return {"local_files_only": wanted.offline} | ({"revision": wanted.revision} if wanted.revision else {})


def _text_config(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the language model's part of a config, which may be one part of several."""
    part = config.get("text_config")
    return part if isinstance(part, Mapping) else config


def _end_with(tokenizer: Any, wanted: TokenizerRequest) -> None:
    """Give the tokenizer the token that the job says ends a text."""
    if wanted.eos_token is None:
        return
    if wanted.eos_token not in tokenizer.get_vocab():
        fix = "name a token of the tokenizer"
        raise SourceError(f"the tokenizer has no token {wanted.eos_token!r}", where="train.eos_token", fix=fix)
    tokenizer.eos_token = wanted.eos_token


def _take_template(transformers: Any, tokenizer: Any, wanted: TokenizerRequest) -> bool:
    """Give the tokenizer the chat template that the job names, and tell whether the model's embedding grows with it."""
    template = str(wanted.template)
    if template.endswith(ENDINGS):
        try:
            tokenizer.chat_template = read_foreign(wanted.folder / template).decode()
        except (OSError, UnicodeDecodeError) as error:
            raise SourceError(f"no chat template in {template}", where="model.chat_template", fix="see why") from error
        return False
    source = _loaded(transformers, template, wanted)
    if not wanted.clones:
        tokenizer.chat_template = source.chat_template
        return False
    tokenizer.chat_template = source.get_chat_template()
    added = source.added_tokens_decoder.values()
    tokenizer.add_tokens([token for token in added if token.content not in tokenizer.get_vocab()])
    tokenizer.eos_token = source.eos_token
    return True


@contextlib.contextmanager
def _hushed() -> Any:
    """Keep what libraries print while they load from standard output and standard error."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        yield
