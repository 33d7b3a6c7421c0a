"""Chat templates and special tokens: how a turn ends, and which tokens are the assistant's.

Source: `chat_templates.toml`, written by `tools/training_templates.py` out of the installed trl; `trl.chat_template_utils`, 1.16.
"""

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from holdfast.catalog.api import Api
from holdfast.catalog.tables import load_table

ENDINGS: Final = (".jinja", ".jinja2", ".j2")
"""Of files with templates."""
MARKER: Final = re.compile(r"\{%-?\s*generation\s*-?%\}")
"""What a template has around that which the assistant says, as trl looks for it."""
ENDS: Final = ("<|im_end|>", "<|eot_id|>", "<|eot|>", "<end_of_turn>", "<turn|>", "<|end|>", "<|END_OF_TURN_TOKEN|>")
"""Tokens that end a turn and nothing else, of ChatML, Llama, Gemma, Phi and Command."""
NUMBER: Final = re.compile(r"[0-9]{1,9}")


def marks_assistant(template: str) -> bool:
    """True if a template says itself which tokens are the assistant's.

    >>> marks_assistant("{%- generation -%}{{ message.content }}{% endgeneration %}"), marks_assistant("{{ generation }}")
    (True, False)
    """
    return MARKER.search(template) is not None


def is_mended(api: Api, template: str) -> bool | None:
    """True if trl trains with a template of its own in place of this one; None for a trl that was not asked."""
    table = load_table("chat_templates")
    if api.versions.get("trl") != table["trl"]:
        return None
    hashlib = import_module("hashlib")  # which takes longer to import than most scripts need it
    return hashlib.sha256(template.encode()).hexdigest() in table["fixed"].values()


def ends_of_turn(template: str) -> tuple[str, ...]:
    """Return the tokens by which a template may end a turn, of those that mean nothing else.

    >>> ends_of_turn("{{ '<|im_start|>' + message.role }}{{ message.content + '<|im_end|>' }}")
    ('<|im_end|>',)
    """
    return tuple(end for end in ENDS if end in template)


def token_text(token: Any) -> str | None:
    """Return a token as a tokenizer's config spells it, which may be a mapping with more about it.

    >>> token_text({"content": "</s>", "special": True}), token_text("</s>"), token_text(None)
    ('</s>', '</s>', None)
    """
    found = token.get("content") if isinstance(token, Mapping) else token
    return found if isinstance(found, str) else None


def token_number(tokenizer: Mapping[str, Any], token: str) -> int | None:
    """Return the number of a token, out of `tokenizer_config.json`; None if that does not tell.

    >>> token_number({"added_tokens_decoder": {"2": {"content": "</s>"}}}, "</s>")
    2
    """
    added = tokenizer.get("added_tokens_decoder")
    entries = added.items() if isinstance(added, Mapping) else ()
    return next(
        (int(each) for each, about in entries if token_text(about) == token and NUMBER.fullmatch(str(each))), None
    )
