"""Weights in few bits: the real code checks what is asked and says how; the twin stays dense, and looks as it should."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ..events import EventWriter
from ..libraries import transformers
from ..packages import is_installed
from ..part_request import PartRequest
from ..wrapping import wrap

PLAIN = {"bitsandbytes": "bitsandbytes", "torchao": "torchao", "hqq": "hqq", "compressed-tensors": "compressed_tensors"}
"""Packages by method that install on any machine: where one is missing, the job would miss it too."""
WHERE = "the weights of a twin are random, and stay dense; the job shows it"


def watch(module: Any, part_request: PartRequest, events: EventWriter, loader: Any) -> None:
    """Keep twins, and models that the rehearsal wrote, dense."""
    quantizers = Quantizers(events, loader, lenient=part_request.gpu == "assumed")
    if hasattr(module, "get_hf_quantizer"):
        wrap(module, "get_hf_quantizer", quantizers.find)
    else:  # before transformers 4.57
        wrap(module.AutoHfQuantizer, "from_config", quantizers.make)


class Quantizers:
    """Takes note of what would keep weights in few bits, and keeps it from doing so.

    Attributes:
        lenient: Whether what this machine lacks, a GPU, is not the job's fault.
    """

    def __init__(self, events: EventWriter, loader: Any, *, lenient: bool) -> None:
        self._events, self._loader, self.lenient = events, loader, lenient

    def find(self, original: Any, config: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of the function that finds out whether a model is loaded by a quantizer."""
        if kwargs.get("gguf_file"):
            return original(config, *args, **kwargs)
        with _wrapped(self._make_real):
            quantizer, config, *others = original(config, *args, **kwargs)
        if quantizer is None:
            return quantizer, config, *others
        self._note(quantizer)
        vars(config).pop("quantization_config", None)
        return None, config, *others[:-1], None  # the last says where weights are to lie

    def make(self, original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the place of what makes a quantizer, where loading asks for it by itself."""
        quantizer = self._make_real(original, cls, *args, **kwargs)
        self._note(quantizer)
        return _dense(quantizer)

    def _make_real(self, original: Any, cls: Any, *args: Any, **kwargs: Any) -> Any:
        """Return the real quantizer, which checks its packages and, unless lenient, the machine."""
        quantizer = original(cls, *args, **kwargs)
        quantizer._asked_dense = bool(getattr(quantizer.quantization_config, "dequantize", False))
        if self.lenient:
            _spare_machine(quantizer)
        return quantizer

    def _note(self, quantizer: Any) -> None:
        method = _method(quantizer)
        self._events.not_rehearsed(f"weights in few bits ({method})", WHERE)
        self._events.fact("quantization", method=method, **_options(quantizer))
        if self._loader.active and _stays(quantizer):
            self._loader.quantizer = quantizer


def _dense(real: Any) -> Any:
    """Return a quantizer that asks of a job what another does, and leaves a model's weights alone."""

    def leave(_: Any, model: Any, *_args: Any, **_kwargs: Any) -> None:
        vars(model.config).pop("quantization_config", None)

    idle = dict.fromkeys(("_process_model_before_weight_loading", "_process_model_after_weight_loading"), leave)
    yes = property(lambda _: True)
    names = {**idle, "preprocess_model": leave, "postprocess_model": leave, "is_serializable": yes, "is_trainable": yes}
    dense = type("Dense", (transformers.quantizers.base.HfQuantizer,), names)(
        real.quantization_config, pre_quantized=False
    )
    dense.validate_environment, dense.update_torch_dtype = real.validate_environment, real.update_torch_dtype
    return dense


@contextmanager
def _wrapped(make: Any) -> Iterator[None]:
    """Have quantizers made by another function for a while."""
    auto = transformers.quantizers.auto.AutoHfQuantizer
    kept = vars(auto)["from_config"]
    wrap(auto, "from_config", make)
    try:
        yield
    finally:
        auto.from_config = kept


def _spare_machine(quantizer: Any) -> None:
    """Have a quantizer check its packages, and not mind that this machine has no GPU."""
    real = quantizer.validate_environment

    def validate(*args: Any, **kwargs: Any) -> None:
        try:
            real(*args, **kwargs)
        except ImportError:
            if not _may_miss(quantizer):
                raise
        except (RuntimeError, ValueError, AssertionError):  # of the machine, which is not the job's
            pass

    quantizer.validate_environment = validate
    quantizer.update_device_map = _same


def _same(device_map: Any) -> Any:
    return device_map


def _method(quantizer: Any) -> str:
    """Return the name of a method, which some configurations hold as a text."""
    method = quantizer.quantization_config.quant_method
    return str(getattr(method, "value", method))


def _may_miss(quantizer: Any) -> bool:
    """True if a package that is missing here may be there for the job: those that are built against CUDA."""
    method = _method(quantizer)
    package = PLAIN.get(method)
    return package is None or is_installed(package)


def _stays(quantizer: Any) -> bool:
    """True if weights would stay in few bits on the job's GPU."""
    if quantizer._asked_dense:
        return False
    method = _method(quantizer)
    # Without these, transformers itself takes the weights of gpt-oss out of their four bits.
    return method != "mxfp4" or all(is_installed(name) for name in ("kernels", "triton"))


def _options(quantizer: Any) -> dict[str, Any]:
    settings = {"pre_quantized": bool(quantizer.pre_quantized)}
    for name in ("load_in_4bit", "load_in_8bit", "bits", "dequantize"):
        if (value := getattr(quantizer.quantization_config, name, None)) is not None:
            settings[name] = value
    return settings
