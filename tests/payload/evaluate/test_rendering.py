"""Texts as the model reads them, with the tools that a row has."""

from typing import Any

from holdfast.payload.evaluate.rendering import encode_answered, encode_prompt


class Letters:
    """A tokenizer of which each letter is a token, with a chat template that writes tools first."""

    eos_token, eos_token_id = "", None

    def __call__(self, text: str, *, add_special_tokens: bool) -> dict[str, list[int]]:
        del add_special_tokens
        return {"input_ids": [ord(letter) for letter in text]}

    def apply_chat_template(
        self, messages: list[dict[str, str]], *, tools: Any = None, tokenize: bool, add_generation_prompt: bool = False
    ) -> str:
        assert not tokenize
        written = "".join(f"<{each['role']}>{each['content']}" for each in messages)
        return f"[{' '.join(tools or ())}]{written}{'<assistant>' if add_generation_prompt else ''}"


def text(ids: list[int]) -> str:
    return "".join(map(chr, ids))


def test_tools_stand_in_the_prompt_and_not_in_the_answer() -> None:
    chat = [{"role": "user", "content": "1 plus 1"}]

    prompt = text(encode_prompt(Letters(), chat, ["add"]))
    before, answer = map(text, encode_answered(Letters(), chat, "2", ["add"]))

    assert prompt == before == "[add]<user>1 plus 1<assistant>"
    assert answer == "2"
    assert text(encode_prompt(Letters(), chat)) == "[]<user>1 plus 1<assistant>"


def test_texts_have_no_tools() -> None:
    """No template writes them."""
    assert text(encode_prompt(Letters(), "1 plus 1", ["add"])) == "1 plus 1"
