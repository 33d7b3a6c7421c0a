"""A model for lm-eval that only remembers what another process has answered."""

import json
from typing import Any

from lm_eval.api.model import LM

CallKey = tuple[Any, ...]


class ChangedRequestError(Exception):
    """A task asks something else each time that it is built."""


def call_of(instance: Any) -> tuple[CallKey, dict[str, Any]]:
    """Return what tells a request from the others of its task, and the request as JSON has it.

    Raises:
        TypeError: It holds more than texts and numbers.
    """
    key = (instance.doc_id, instance.idx, instance.request_type)
    call = {"type": instance.request_type, "args": list(instance.args), "repeats": instance.repeats or 1}
    json.dumps(call)
    return key, call


class RecordedModel(LM):
    """Gives the responses that were recorded, and applies the chat template."""

    chat_template_args: dict[str, Any] = {}  # noqa: RUF012 - as `HFLM` has it, whose method reads it

    def __init__(self, tokenizer: Any) -> None:
        """Take the tokenizer, for its chat template; None if none is applied."""
        super().__init__()
        self.tokenizer = tokenizer
        self._requested: dict[CallKey, str] = {}
        self._responses: dict[CallKey, list[Any]] = {}

    @classmethod
    def open(cls, tokenizer: str | None, template: str | None) -> "RecordedModel":
        """Return a model with a tokenizer of a folder or of the Hub, which gets a chat template if it has none."""
        if tokenizer is None:
            return cls(None)
        from transformers import AutoTokenizer  # seconds, which tasks without a chat template need not

        loaded: Any = AutoTokenizer.from_pretrained(tokenizer)
        if not loaded.chat_template and template:
            loaded.chat_template = template
        return cls(loaded)

    @property
    def tokenizer_name(self) -> str:
        """The name under which lm-eval would keep requests; none are kept."""
        return ""

    def remember(self, requested: dict[CallKey, str], responses: dict[int, list[list[Any]]]) -> None:
        """Take what was requested, and the responses to it: for each row, those to each of its requests in their order."""
        self._requested = requested
        waiting = {row: iter(each) for row, each in responses.items()}
        self._responses = {key: list(next(waiting[key[0]])) for key in requested}

    def apply_chat_template(self, chat_history: list[dict[str, str]], add_generation_prompt: bool = True) -> str:  # noqa: FBT001, FBT002 - as lm-eval calls it
        """Return messages as lm-eval's own model for transformers renders them."""
        from lm_eval.models.huggingface import HFLM

        render: Any = HFLM.apply_chat_template
        return str(render(self, chat_history, add_generation_prompt))

    def loglikelihood(self, requests: list[Any]) -> list[tuple[float, bool]]:
        """Return the recorded log-likelihoods."""
        return [(float(value), bool(greedy)) for value, greedy in map(self._next, requests)]

    def loglikelihood_rolling(self, requests: list[Any]) -> list[float]:
        """Return the recorded log-likelihoods of whole texts."""
        return [float(self._next(each)) for each in requests]

    def generate_until(self, requests: list[Any]) -> list[str]:
        """Return the recorded answers."""
        return [str(self._next(each)) for each in requests]

    def _next(self, request: Any) -> Any:
        key, call = call_of(request)
        if self._requested.get(key) != json.dumps(call["args"]):
            raise ChangedRequestError("the task asks something else each time: it draws its rows or examples anew")
        return self._responses[key].pop(0)
