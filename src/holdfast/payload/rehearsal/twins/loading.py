"""Loading: the real code reads the configuration and looks for weights; in place of reading them it draws random ones."""

import inspect
import json
import logging
import sys
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from ..events import EventWriter
from ..libraries import safetensors, torch, transformers
from ..part_request import PartRequest
from ..wrapping import wrap
from . import heads
from .building import Builder, NotDownloadedError, is_twin
from .paths import PATH, given, in_place_of, with_given, without_place, written_at
from .weights import bytes_of, is_cached, is_cut, report_misfits, size_of, type_of

NOT_RECORDED = ("token", "use_auth_token", "config", "adapter_kwargs", "_from_auto", PATH)
PLACING = ("device_map", "max_memory", "offload_folder", "offload_buffers", "offload_state_dict")
SAFE = "model.safetensors"
FILES = ("checkpoint_files", "resolved_archive_file")
"""Names that the files of weights have had as an argument."""
MATRIX = 2  # dimensions
LARGE_FILE = 2**26  # bytes
ABSURD = 1e4
"""No weight is drawn that large; what is, or is no number, was never drawn."""


class Loader:
    """Loads twins.

    Attributes:
        active: Whether a twin is being loaded.
        quantizer: What would keep the weights of the twin that is being loaded in few bits.
    """

    def __init__(self, part_request: PartRequest, events: EventWriter, builder: Builder) -> None:
        self._part_request, self._events, self._builder = part_request, events, builder
        self.active = False
        self.quantizer: Any = None
        self._path = ""
        self._resizes = False  # whether weights of another shape are to be left out
        self._bytes: int | None = None  # of weights; None: nobody can say

    def watch(self, module: Any) -> None:
        """Take the place of `from_pretrained` and of the steps in it that touch weights."""
        wrap(module.PreTrainedModel, "from_pretrained", self._load)
        wrap(module.PreTrainedModel, "_load_pretrained_model", self._draw)
        wrap(module.PreTrainedModel, "_finalize_model_loading", self._finish)
        wrap(module.PreTrainedModel, "_move_missing_keys_from_meta_to_device", self._move)
        wrap(module.PreTrainedModel, "get_init_context", self._surround)
        wrap(module.PreTrainedModel, "load_state_dict", self._take_weights)
        wrap(module, "_get_resolved_checkpoint_files", self._find)
        wrap(module, "load_state_dict", self._read)
        wrap(module, "safe_open", self._look_into)
        for name in ("init_empty_weights", "no_init_weights"):
            wrap(module, name, self._make_whole)
        wrap(module, "log_state_dict_report", self._report)

    def look_at_gguf(self, path: str, names: list[str], where: dict[str, Any]) -> None:
        """Leave a GGUF file on the Hub alone that is large: its configuration is nowhere else than in it.

        Raises:
            NotDownloadedError: It would have to be downloaded.
        """
        if any(is_cached(path, name, where) for name in names):
            return
        if sum(size_of(path, name, where) or 0 for name in names) > LARGE_FILE:
            self._events.not_rehearsed("a model of a GGUF file", "the whole file would be downloaded; the job shows it")
            because = f"no small twin of the model type GGUF: {path} would be downloaded as a whole"
            self._events.out_of_reach(because)
            raise NotDownloadedError(because)

    def weigh(self, sizes: list[int | None]) -> None:
        """Take down the bytes of files of weights on the Hub; 0 if it is not known."""
        if sizes and all(sizes):
            self._bytes = (self._bytes or 0) + sum(size or 0 for size in sizes)

    @contextmanager
    def pretending(self, path: Any) -> Iterator[None]:
        """Load no weights, but draw random ones, the same for the same name."""
        before = (self.active, self._path, self._bytes, self.quantizer, self._builder.loading)
        self.active, self._path, self._bytes, self.quantizer, self._builder.loading = True, str(path), None, None, True
        try:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(zlib.crc32(self._path.encode()))
                yield
        finally:
            self.active, self._path, self._bytes, self.quantizer, self._builder.loading = before

    def _load(self, original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
        path = given(args, kwargs, 0, PATH)
        with self._events.loading("model"):
            if path is None or self.active:  # weights that the script gives, or a part of a model that is being loaded
                return original(cls, *args, **kwargs)
            there = in_place_of(path, self._part_request)
            if there is not path:
                args, kwargs = with_given(args, without_place(kwargs), 0, PATH, there)
            placed = self._placed(kwargs)
            if written_at(there, self._part_request):
                with self._builder.left_alone():
                    return original(cls, *args, **placed)
            with self.pretending(there):
                self._resizes = bool(kwargs.get("ignore_mismatched_sizes"))
                loaded = original(cls, *args, **placed)
                model = loaded[0] if isinstance(loaded, tuple) else loaded
                if self.quantizer is not None:
                    _look_quantized(model, self.quantizer)
                heads.note(model)
                self._report_fact(cls, there, model, kwargs)
            return loaded

    def _placed(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Return the keyword arguments without the placement of weights, once the real code has validated it."""
        if self._part_request.gpu != "assumed":
            return kwargs
        if kwargs.get("device_map") is not None:
            getattr(transformers.modeling_utils, "check_and_set_device_map", str)(kwargs["device_map"])
            several = isinstance(kwargs["device_map"], str | dict) and kwargs["device_map"] not in ("cuda", "cpu")
            if several and kwargs["device_map"] not in ({"": 0}, {"": "cuda"}, {"": "cuda:0"}):
                self._events.not_rehearsed(
                    "device_map", "the twin lies on the processor; a machine with the job's GPUs shows it"
                )
        return {name: value for name, value in kwargs.items() if name not in PLACING}

    def _find(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        path = given(args, kwargs, 0, PATH)
        if not self.active:
            return original(*args, **kwargs)
        if is_cut(str(path)):
            return [str(Path(path, SAFE))], None
        files, metadata = original(*args, **kwargs)
        if files and Path(path).is_dir():
            self._bytes = bytes_of(files)
        return files, metadata

    def _read(self, original: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
        """Read the type of a file's numbers, which is all that is asked of weights before a model is made."""
        if not self.active:
            return original(file, *args, **kwargs)
        if Path(file).is_file() and not str(file).endswith(".safetensors"):
            return original(file, *args, **{**kwargs, "map_location": "meta"})
        return {"weight": torch.empty(0, dtype=getattr(torch, type_of(file)))}

    def _look_into(self, original: Any, file: Any, *args: Any, **kwargs: Any) -> Any:
        """Open a file of weights; one that is only said to be there was written by torch."""
        if not self.active or Path(file).is_file():
            return original(file, *args, **kwargs)
        return nullcontext(SimpleNamespace(metadata=lambda: {"format": "pt"}, keys=list))

    def _make_whole(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        """Have a twin be made with all its numbers, where transformers before 5 would leave them to the weights."""
        return nullcontext() if self.active else original(*args, **kwargs)

    def _draw(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.active:
            return original(*args, **kwargs)
        bound = inspect.signature(original).bind(*args, **kwargs)
        files = _take_files(bound.arguments)
        _open_all(files)
        if self.quantizer is None and not self._resizes:
            report_misfits(files, self._builder.shapes, self._events)
        with _quiet():
            loaded = original(*bound.args, **bound.kwargs)
        if not hasattr(loaded[0], "parameters"):
            return loaded
        model, _missing, *others = loaded  # before transformers 5: `_finalize_model_loading` does the same after
        _settle(model)
        return model, [], *others

    def _surround(self, original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
        """Make a twin where it stays: what a module's own code draws, no weights will overwrite."""
        around = original(cls, *args, **kwargs)
        if not self.active:
            return around
        drawing_once = getattr(sys.modules.get("transformers.initialization"), "no_init_weights", None)
        kept = [each for each in around if not (isinstance(each, torch.device) and each.type == "meta")]
        return [*kept, drawing_once()] if drawing_once else kept

    def _move(self, original: Any, model: Any, *args: Any, **kwargs: Any) -> Any:
        return None if self.active else original(model, *args, **kwargs)

    def _finish(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.active:
            return original(*args, **kwargs)
        with _quiet():
            loaded = original(*args, **kwargs)
        _settle(given(args, kwargs, 0, "model"))
        loaded.missing_keys = set()  # all of them are, which is no news of the script's model
        return loaded

    def _report(self, original: Any, *args: Any, **kwargs: Any) -> Any:
        return None if self.active else original(*args, **kwargs)

    def _take_weights(self, original: Any, model: Any, weights: Any, *args: Any, **kwargs: Any) -> Any:
        """Let a twin pass weights of the original by, whose names without numbers are its own."""
        try:
            return original(model, weights, *args, **kwargs)
        except RuntimeError:
            if not is_twin(model) or not isinstance(weights, dict) or not _same_names(model, weights):
                raise
            self._events.not_rehearsed(
                "weights that the script reads itself", "they do not fit a small twin; the job shows it"
            )
            return torch.nn.modules.module._IncompatibleKeys([], [])

    def _report_fact(self, cls: Any, path: Any, model: Any, kwargs: dict[str, Any]) -> None:
        name, parameters = self._builder.last
        is_last, method = name == type(model).__name__, getattr(model, "quantization_method", None)
        self._events.fact(
            "model",
            path=str(path),
            kind="folder" if Path(path).is_dir() else "hub",
            asked=cls.__name__,
            architecture=type(model).__name__,
            model_type=model.config.model_type,
            parameters=parameters if is_last else None,
            linear=_linear(self._builder.shapes) if is_last else None,
            twin_parameters=sum(each.numel() for each in model.parameters()),
            weights_bytes=self._bytes,
            dtype=str(model.dtype).removeprefix("torch."),
            quantized=str(method) if method else None,
            kwargs=_recorded(kwargs),
        )


def _take_files(arguments: dict[str, Any]) -> list[Any]:
    """Return the files that weights would be read from, and leave none among the arguments."""
    named = next(name for name in FILES if name in arguments)
    files = arguments[named] or []
    nothing: dict[str, Any] = {"state_dict": {}, "loaded_keys": [], "sharded_metadata": None, named: None}
    arguments.update({name: value for name, value in nothing.items() if name in arguments})
    return [files] if isinstance(files, str) else files


def _recorded(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that are recorded of a model that is loaded."""
    given = {name: value for name, value in kwargs.items() if value is not None}
    return {name: _plain(value) for name, value in given.items() if name not in NOT_RECORDED}


@contextmanager
def _quiet() -> Iterator[None]:
    """Let transformers say nothing of weights that are missing, and draw no bar for reading none."""
    logger = logging.getLogger("transformers.modeling_utils")
    bars = transformers.utils.logging.is_progress_bar_enabled()
    logger.disabled = True  # its level says more: below that of warnings it looks at plans that nobody made
    transformers.utils.logging.disable_progress_bar()
    try:
        yield
    finally:
        logger.disabled = False
        if bars:
            transformers.utils.logging.enable_progress_bar()


def _settle(model: Any) -> None:
    """Give numbers to parameters that a model's code left as the memory was, since weights would overwrite them."""
    with torch.no_grad():
        for each in model.parameters():
            if each.is_floating_point() and not bool(each.abs().max() < ABSURD if each.numel() else True):
                each.normal_(std=0.02)


def _open_all(files: list[str]) -> None:
    """Read the heads of files of weights that lie here. Raises what the real reading would of a broken file."""
    for file in files:
        if file.endswith(".safetensors") and Path(file).is_file():
            with safetensors.safe_open(file, framework="pt"):
                pass


def _look_quantized(model: Any, quantizer: Any) -> None:
    """Give a dense twin what trainers and PEFT look at to tell that weights are in few bits."""
    config = quantizer.quantization_config
    model.hf_quantizer, model.is_quantized, model.quantization_method = quantizer, True, config.quant_method
    model.config.quantization_config = config
    for bits in ("4bit", "8bit"):
        if getattr(config, f"load_in_{bits}", False):
            setattr(model, f"is_loaded_in_{bits}", True)


def _same_names(model: Any, weights: dict[str, Any]) -> bool:
    """True if the model has all the names of some weights, numbers of layers aside, and they all of the model's."""
    return _bare(weights) == _bare(model.state_dict())


def _bare(names: Any) -> set[str]:
    return {".".join(part for part in name.split(".") if not part.isdigit()) for name in names}


def _linear(shapes: Mapping[str, tuple[int, ...]]) -> dict[str, int]:
    """Return the sum of inputs and outputs of matrices, by the name of the module that has them."""
    sums: Counter[str] = Counter()
    for name, shape in shapes.items():
        if name.endswith(".weight") and len(shape) == MATRIX:
            sums[name.split(".")[-2]] += sum(shape)
    return dict(sums)


def _plain(value: Any) -> Any:
    """Return an argument as JSON can hold it."""
    if hasattr(value, "to_dict"):
        return _plain(value.to_dict())
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError):
        return str(value)
