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
from holdfast.core.outcome import Raised, outcome_of

FIX: Final = "rehearse the job, which makes them for real"


def count_image_tokens(model: str, sizes: Sequence[tuple[int, int]], *, offline: bool) -> list[int]:
    """Return the number of tokens for each size, as (height, width) in pixels.

    Raises:
        SourceError: The processor cannot be loaded, or does not report it.
    """
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        count = getattr(_load(model, offline=offline), "_get_num_multimodal_tokens", None)
        what = f"the processor of {model} does not report how many tokens an image takes"
        if count is None:
            raise SourceError(what, where="model", fix=FIX)
        counted = outcome_of(lambda: list(count(image_sizes=list(sizes)).num_image_tokens))
    if isinstance(counted, Raised):  # a private function may raise anything
        raise SourceError(f"{what}: {type(counted.error).__name__}", where="model", fix=FIX) from counted.error
    return counted


def _load(model: str, *, offline: bool) -> Any:
    loaded = outcome_of(
        lambda: import_module("transformers").AutoProcessor.from_pretrained(model, local_files_only=offline)
    )
    match loaded:
        case Raised(error=ImportError() as error):
            what = f"the processor of {model} needs a package: {next(iter(str(error).strip().splitlines()), '')}"
            raise SourceError(what, where="model", fix=install_command("vision")) from error
        case Raised(error=error):  # whatever the files of a model make it raise
            what = f"the processor of {model} cannot be loaded: {type(error).__name__}"
            raise SourceError(what, where="model", fix="see that its processor_config.json is there") from error
        case processor:
            return processor
