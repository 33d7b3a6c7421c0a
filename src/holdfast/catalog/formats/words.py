"""Names of columns and roles that mean something to trainers, or to people who make data for them."""

from typing import Final

ANSWERS: Final = ("completion", "chosen", "rejected")
"""Columns with what the model is to say."""
CONVERSATIONS: Final = ("messages", "conversations")
"""Columns with whole conversations."""
IMAGES: Final = ("image", "images")
ROLES: Final = ("system", "user", "assistant", "tool", "developer")
"""Roles that chat templates write. `developer` is gpt-oss's word for a system turn."""
CALLS: Final = ("tool_calls", "function_call")
THOUGHTS: Final = ("reasoning_content", "thinking", "reasoning", "thought")
"""Fields of messages. A message that has one of these or of `CALLS` may have no content."""
LANGUAGES: Final = (
    ("frage", "antwort"), ("pregunta", "respuesta"), ("pergunta", "resposta"), ("question", "réponse"), ("question", "reponse"),
    ("domanda", "risposta"), ("vraag", "antwoord"), ("pytanie", "odpowiedź"), ("soru", "cevap"), ("вопрос", "ответ"),
    ("问题", "答案"), ("问题", "回答"), ("問題", "答案"), ("問題", "回答"), ("質問", "回答"), ("질문", "답변"), ("سؤال", "جواب"),
)  # fmt: skip
"""What tables of questions and answers call their columns, by language."""
REQUESTS: Final = (
    "prompt",
    "instruction",
    "question",
    "query",
    "problem",
    "input",
    "inputs",
    "user",
    "human",
    "history",
    *dict.fromkeys(question for question, _ in LANGUAGES if question != "question"),
)
CONTEXTS: Final = ("context", "input", "passage")
SYSTEMS: Final = ("system", "system_prompt", "system_message")


def plain_name(column: str) -> str:
    """Return the name of a column in small letters, without the spaces around it that tables often have.

    >>> plain_name("Question ")
    'question'
    """
    return column.strip().lower()
