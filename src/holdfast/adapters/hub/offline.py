"""In the place of a Hub that may not be asked: every question has the same answer, why not."""

from typing import NoReturn

from holdfast.core.errors import SourceError
from holdfast.core.mention import Reference


class OfflineHub:
    """Answers nothing."""

    def __init__(self, because: str) -> None:
        """Take the reason."""
        self._because = because

    def account(self) -> NoReturn:
        """Refuse."""
        raise self._refusal()

    def repo(self, _: Reference) -> NoReturn:
        """Refuse."""
        raise self._refusal()

    def dataset(self, _: Reference) -> NoReturn:
        """Refuse."""
        raise self._refusal()

    def model(self, _: Reference) -> NoReturn:
        """Refuse."""
        raise self._refusal()

    def tensors(self, _: Reference) -> NoReturn:
        """Refuse."""
        raise self._refusal()

    def target(self, _: Reference) -> NoReturn:
        """Refuse."""
        raise self._refusal()

    def link(self, _: str) -> NoReturn:
        """Refuse."""
        raise self._refusal()

    def repo_tree(self, _: Reference) -> NoReturn:
        """Refuse."""
        raise self._refusal()

    def _refusal(self) -> SourceError:
        return SourceError(self._because, where="the Hub", fix="check it where the Hub may be asked")
