"""What a chat template writes around messages is found for templates that depend on roles alone, and for no other."""

from typing import Any

import pytest
from jinja2 import Environment

from holdfast.payload.export.chat import parts_of_chat

CHATML = (
    "{{ bos }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
INST = (
    "{{ bos }}{% for m in messages %}{% if m.role == 'user' %}[INST] {{ m.content }} [/INST]{% elif m.role == 'system' %}"
    "{{ raise() }}{% else %} {{ m.content }}</s>{% endif %}{% endfor %}"
)
DEFAULT = "{% if messages[0].role != 'system' %}<|im_start|>system\nYou are Qwen.<|im_end|>\n{% endif %}" + CHATML
STRIPS = CHATML.replace("m.content", "m.content | trim")
FORGETS = "{% for m in messages[-1:] %}{{ m.content }}{% endfor %}"


class Rendering:
    """A tokenizer, as far as templates need one."""

    def __init__(self, template: str) -> None:
        self.chat_template = template

    def apply_chat_template(
        self, messages: list[dict[str, str]], *, tokenize: bool, add_generation_prompt: bool
    ) -> str:
        assert not tokenize
        given: dict[str, Any] = {"messages": messages, "add_generation_prompt": add_generation_prompt, "bos": "<s>"}
        return Environment(autoescape=False).from_string(self.chat_template).render(given)  # noqa: S701 - no page


@pytest.mark.parametrize(
    ("template", "begin", "user", "opening"),
    [
        (CHATML, "<s>", ("<|im_start|>user\n", "<|im_end|>\n"), "<|im_start|>assistant\n"),
        (
            DEFAULT,
            "<|im_start|>system\nYou are Qwen.<|im_end|>\n<s>",
            ("<|im_start|>user\n", "<|im_end|>\n"),
            "<|im_start|>assistant\n",
        ),
    ],
)
def test_templates_that_depend_on_roles(template: str, begin: str, user: tuple[str, str], opening: str) -> None:
    parts = parts_of_chat(Rendering(template))

    if template == DEFAULT:
        assert parts is None  # its system message takes the place of another
        return
    assert parts is not None
    assert (parts["begin"], parts["roles"]["user"], parts["opening"]) == (begin, user, opening)
    assert parts["roles"].keys() == {"user", "assistant", "system"}


def test_a_template_without_a_system_message() -> None:
    """It refuses one, and the others are known all the same."""
    parts = parts_of_chat(Rendering(INST))

    assert parts is not None
    assert parts["roles"] == {"user": ("[INST] ", " [/INST]"), "assistant": (" ", "</s>")}


@pytest.mark.parametrize("template", [FORGETS, ""])
def test_other_templates(template: str) -> None:
    """One that forgets earlier turns, and none."""
    assert parts_of_chat(Rendering(template)) is None
