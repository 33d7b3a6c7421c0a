"""The chat templates that TRL trains with in place of a model's own, where only the assistant's turns are learned.

TRL keeps a table of known templates and their doubles. It is asked itself, never copied; it needs torch.
"""

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from holdfast.adapters.environment.extras import install_command
from holdfast.catalog.models.chat_templates import marks_assistant
from holdfast.core.errors import SourceError


def has_markers(template: Any) -> bool:
    """Whether a chat template marks the assistant's turns.

    >>> has_markers("{%- generation %}{{ message.content }}{% endgeneration %}"), has_markers(None)
    (True, False)
    """
    text = template.get("default") if isinstance(template, Mapping) else template
    return isinstance(text, str) and marks_assistant(text)


def training_template(tokenizer: Any) -> str | None:
    """Return the template that TRL takes for a tokenizer whose own marks nothing; None where TRL refuses it.

    Raises:
        SourceError: TRL is not installed, or not whole, and nobody else knows.
    """
    if tokenizer.chat_template is None:
        return None
    try:
        known = import_module("trl.chat_template_utils")
    except (ImportError, RuntimeError) as error:
        what = "the chat template marks no assistant turns, and TRL, which knows which one it would take, is not here"
        raise SourceError(what, where="train.assistant_only_loss", fix=install_command("train")) from error
    try:
        template: str | None = known.get_training_chat_template(tokenizer)
    except ValueError:
        return None
    return template
