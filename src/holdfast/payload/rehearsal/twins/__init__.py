"""Models become twins: the script's loading gives the same class and modules, few and narrow layers, random weights.

* `building`  a model that is made is made small            * `loading`   loading reads the configuration and no weights
* `weights`   which files of weights there are              * `adapters`  adapters of PEFT
* `kernels`   attention that needs a GPU                    * `quantizing`  weights in few bits
* `paths`     which of the script's models are its own work, or a known one
* `heads`     heads that no file holds

Covered: transformers' `from_pretrained` and `from_config` of all classes, models that the script makes of a configuration,
`pipeline`, TRL's own loading, PEFT's, pre-quantized repositories. A folder that the rehearsal itself wrote is loaded as it is.
Not covered: weights that the script reads without transformers or PEFT; Unsloth, sentence-transformers.
"""

import re
from typing import Any

from ..events import EventWriter
from ..part_request import PartRequest
from ..wrapping import when_imported
from . import adapters, kernels, paths, quantizing, weights
from .building import Builder
from .loading import Loader

ELSEWHERE = {
    "unsloth": "it loads models of its own, on a GPU; the job shows it",
    "sentence_transformers": "its models are loaded as they are, with their weights",
    "mlx_lm": "it runs on Apple's machines alone",
}


def install(part_request: PartRequest, events: EventWriter) -> None:
    """Have models that the script loads or makes be twins."""
    builder = Builder(part_request, events)
    loader = Loader(part_request, events, builder)
    _report_elsewhere(part_request, events)
    paths.install(part_request)

    def in_models(module: Any) -> None:
        builder.watch(module)
        loader.watch(module)
        kernels.watch(module, part_request, events)
        quantizing.watch(module, part_request, events, loader)

    when_imported("transformers.modeling_utils", in_models)
    when_imported("transformers.utils.hub", lambda module: weights.watch(module, loader))
    when_imported("huggingface_hub", lambda module: weights.watch_snapshots(module, part_request, events))
    when_imported("transformers.integrations.peft", lambda module: adapters.watch_mixin(module, part_request, loader))
    when_imported("peft.peft_model", lambda module: adapters.watch(module, part_request, events))


def _report_elsewhere(part_request: PartRequest, events: EventWriter) -> None:
    for name, because in ELSEWHERE.items():
        if re.search(rf"^\s*(from|import)\s+{name}\b", part_request.source, re.MULTILINE):
            events.not_rehearsed(f"models of {name}", because)
