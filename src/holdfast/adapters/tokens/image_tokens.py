"""How many tokens images become, by the processor of a vision-language model: from their sizes alone.

Covered: processors of transformers 5 with `_get_num_multimodal_tokens`, which vLLM asks too. Not covered: others, and code of the Hub.
"""

import contextlib
import io
from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from holdfast.adapters.environment.extras import install_command
from holdfast.core.errors import SourceError

FIX: Final = "rehearse the job, which makes them for real"


def count_image_tokens(model: str, sizes: Sequence[tuple[int, int]], *, offline: bool) -> list[int]:
    """Return the number of tokens for each size, as (height, width) in pixels.

    Raises:
        SourceError: The processor cannot be loaded, or does not tell.
    """
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        processor = _load(model, offline=offline)
        if not hasattr(processor, "_get_num_multimodal_tokens"):
            what = f"the processor of {model} does not report how many tokens an image takes"
            raise SourceError(what, where="model", fix=FIX)
        try:
            return list(processor._get_num_multimodal_tokens(image_sizes=list(sizes)).num_image_tokens)  # noqa: SLF001 - see above
        except Exception as error:  # of a private function, which may raise anything
            what = f"the processor of {model} does not report how many tokens an image takes: {type(error).__name__}"
            raise SourceError(what, where="model", fix=FIX) from error


def _load(model: str, *, offline: bool) -> Any:
    try:
        transformers = import_module("transformers")
        return transformers.AutoProcessor.from_pretrained(model, local_files_only=offline)
    except ImportError as error:
        what = f"the processor of {model} needs a package: {next(iter(str(error).strip().splitlines()), '')}"
        raise SourceError(what, where="model", fix=install_command("vision")) from error
    except Exception as error:
        what = f"the processor of {model} cannot be loaded: {type(error).__name__}"
        raise SourceError(what, where="model", fix="see that its processor_config.json is there") from error
