"""In place of a Hub that may not be contacted: every question has the same answer, why not."""

from typing import NoReturn

from holdfast.core.errors import SourceError


class OfflineHub:
    """Answers nothing."""

    def __init__(self, because: str) -> None:
        """Take the reason."""
        self._because = because

    def _refuse(self, *_: object) -> NoReturn:
        raise SourceError(self._because, where="the Hub", fix="check it where the Hub can be contacted")

    account = repo = dataset = model = tensors = target = link = job_prices = repo_tree = _refuse
