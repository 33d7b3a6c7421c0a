"""Words that the configs of adapters take as any text, and that peft compares later.

Source: `LoraLayer.update_layer`, `BaseTuner._mark_only_adapters_as_trainable` and `PeftConfigMixin.__post_init__` of peft 0.21.2, and the
annotations of earlier releases in the history. Tried with peft 0.21.2 and a tiny Llama: a start of another name raises ValueError when the
adapter is put on the model, a bias of another name NotImplementedError; a task of another name raises ValueError at once.
"""

import re
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from holdfast.catalog.api import Api
from holdfast.catalog.api.since import since
from holdfast.core.job.calls import Call

STARTS: Final[Mapping[str, str]] = {
    "gaussian": "",
    "loftq": "",
    "pissa": "0.11.0",
    "pissa_niter_4": "0.11.0",
    "olora": "0.12.0",
    "eva": "0.14.0",
    "corda": "0.15.0",
    "orthogonal": "0.16.0",
    "lora_ga": "0.19.0",
    "mica": "0.20.0",
}
"""Values of LoRA's `init_lora_weights`, and the release of peft that they came with."""
STARTS_LIKE: Final = re.compile(r"|(?i:gaussian|olora|mica)|loftq|eva|orthogonal|lora_ga|pissa(_niter_\s*\d+)?|corda.*")
"""How each of them may be spelled; an empty one stands for none."""
TASKS: Final = ("CAUSAL_LM", "SEQ_CLS", "SEQ_2_SEQ_LM", "TOKEN_CLS", "QUESTION_ANS", "FEATURE_EXTRACTION")
TASK_CHECKED: Final = "0.14.0"
"""The first release of peft whose configs raise for another task, by the messages of its releases."""
BIASES: Final[Mapping[str, tuple[str, ...]]] = {
    name: ("none", "all", f"{kind}_only")
    for name, kind in {"VeraConfig": "vera", "BOFTConfig": "boft", "OFTConfig": "oft", "HRAConfig": "hra"}.items()
}


class Words(NamedTuple):
    """The words that an argument takes.

    Attributes:
        names: The words.
        spelled: How each may be spelled.
    """

    names: tuple[str, ...]
    spelled: re.Pattern[str]


def adapter_words(api: Api, call: Call, name: str) -> Words | None:
    """Return the words that an argument of an adapter's config takes; None for another, or where the release is not known."""
    words = WORDS_OF.get(name)
    if words is None or call.package != "peft" or since(api, "peft", "0.7.0") is None:
        return None
    return words(api, call)


def _start_words(api: Api, call: Call) -> Words | None:
    if call.name != "LoraConfig":
        return None
    known = tuple(start for start, first in STARTS.items() if not first or since(api, "peft", first))
    newer = "|".join(re.escape(start) for start in STARTS if start not in known)
    return Words(known, re.compile(f"(?!(?:{newer})$)(?:{STARTS_LIKE.pattern})") if newer else STARTS_LIKE)


def _task_words(api: Api, _: Call) -> Words | None:
    return Words(TASKS, re.compile("|".join(TASKS))) if since(api, "peft", TASK_CHECKED) else None


def _bias_words(_: Api, call: Call) -> Words | None:
    return Words(BIASES[call.name], re.compile("none|all|.*_only")) if call.name in BIASES else None


WORDS_OF: Final[Mapping[str, Callable[[Api, Call], Words | None]]] = {
    "init_lora_weights": _start_words,
    "task_type": _task_words,
    "bias": _bias_words,
}
