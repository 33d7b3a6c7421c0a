"""The `Modelfile` with which Ollama takes a GGUF file. Its templates are those of Go, and not of Jinja."""

from collections.abc import Iterator

from holdfast.core.export import ChatParts, ReferenceAnswer


def render_modelfile(file: str, original: ReferenceAnswer) -> str:
    """Return the file.

    Args:
        file: The name of the GGUF file beside it.
        original: What the original gave.
    """
    return "\n".join([f"FROM ./{file}", *_template(original), *_parameters(original)]) + "\n"


def has_template(original: ReferenceAnswer) -> bool:
    """Whether the chat template can be written for Ollama."""
    return original.chat is not None and not any('"""' in text or "{{" in text for text in _texts(original.chat))


def _texts(chat: ChatParts) -> Iterator[str]:
    yield from (chat.begin, chat.opening)
    for around in chat.roles.values():
        yield from around


def _template(original: ReferenceAnswer) -> Iterator[str]:
    if original.chat is None or not has_template(original):
        return
    begin = original.chat.begin.removeprefix(original.begins)  # Ollama adds it itself
    roles = [
        f'{{{{ {"if" if not number else "else if"} eq .Role "{role}" }}}}{before}{{{{ .Content }}}}{after}'
        for number, (role, (before, after)) in enumerate(original.chat.roles.items())
    ]
    body = f"{begin}{{{{ range .Messages }}}}{''.join(roles)}{{{{ end }}}}{{{{ end }}}}{original.chat.opening}"
    yield f'TEMPLATE """{body}"""'


def _parameters(original: ReferenceAnswer) -> Iterator[str]:
    for stop in original.stops:
        yield f'PARAMETER stop "{stop}"'
    for name, value in original.sampling.items():
        yield f"PARAMETER {name} {value:g}"
