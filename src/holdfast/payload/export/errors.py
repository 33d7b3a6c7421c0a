"""What an export cannot do, with the kind by which the parent knows what to say about it."""


class ExportError(Exception):
    """An export cannot go on.

    Attributes:
        kind: What is wrong, in a word.
    """

    def __init__(self, kind: str, what: str) -> None:
        super().__init__(what)
        self.kind = kind
