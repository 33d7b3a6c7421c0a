"""Texts as the model reads them: messages through the chat template, plain texts as they are."""

from typing import Any


def is_chat(prompt: Any) -> bool:
    """True of messages."""
    return isinstance(prompt, list)


def render_prompt(tokenizer: Any, prompt: Any, tools: Any = None) -> str:
    """Return the text of a prompt, up to where the answer begins. The template writes the tools that a row has."""
    if not is_chat(prompt):
        return str(prompt)
    return str(tokenizer.apply_chat_template(prompt, tools=tools, tokenize=False, add_generation_prompt=True))


def encode_prompt(tokenizer: Any, prompt: Any, tools: Any = None) -> list[int]:
    """Return the ids of a prompt; a template writes the tokens that begin a text itself."""
    ids = tokenizer(render_prompt(tokenizer, prompt, tools), add_special_tokens=not is_chat(prompt))["input_ids"]
    return _without_end(tokenizer, list(ids)) if not is_chat(prompt) else list(ids)


def encode_answered(tokenizer: Any, prompt: Any, answer: Any, tools: Any = None) -> tuple[list[int], list[int]]:
    """Return the ids of a prompt and those of the answer behind it, as one text is tokenized.

    The answer of a chat ends as the template ends it. A text that is no answer to a prompt is scored whole.
    """
    chat = is_chat(prompt) or is_chat(answer)
    before = (render_prompt(tokenizer, prompt, tools) if prompt else "") if chat else str(prompt)
    whole = _render_answered(tokenizer, prompt, answer, tools) or before if chat else f"{before}{answer}"
    if not whole.startswith(before):  # a template that writes earlier turns otherwise
        whole = f"{before}{_content(answer)}{tokenizer.eos_token or ''}"
    special = not chat
    ids = _without_end(tokenizer, list(tokenizer(whole, add_special_tokens=special)["input_ids"]), keep=chat)
    start = _without_end(tokenizer, list(tokenizer(before, add_special_tokens=special)["input_ids"]), keep=chat)
    at = len(start) if before else 0
    return ids[:at], ids[at:]


def _render_answered(tokenizer: Any, prompt: Any, answer: Any, tools: Any) -> str:
    turns = prompt if is_chat(prompt) else ([{"role": "user", "content": prompt}] if prompt else [])
    answered = answer if is_chat(answer) else [{"role": "assistant", "content": answer}]
    return str(tokenizer.apply_chat_template([*turns, *answered], tools=tools, tokenize=False))


def _content(answer: Any) -> str:
    return "\n".join(str(turn.get("content") or "") for turn in answer) if is_chat(answer) else str(answer)


def _without_end(tokenizer: Any, ids: list[int], *, keep: bool = False) -> list[int]:
    """Return ids without the end-of-text token that some tokenizers append."""
    ended = not keep and len(ids) > 1 and ids[-1] == tokenizer.eos_token_id and tokenizer.eos_token_id is not None
    return ids[:-1] if ended else ids
