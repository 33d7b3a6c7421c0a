"""The words of an argument of a submitted job, such as its command."""

from holdfast.catalog.hub.jobs import Submission


def words_given(sent: Submission, name: str) -> list[str]:
    """Return the words of an argument; none if it is not a list of texts.

    Raises:
        MissingFactError: The source hides it.
    """
    value = sent.given(name)
    return value if isinstance(value, list) and all(isinstance(word, str) for word in value) else []
