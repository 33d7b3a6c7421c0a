"""Comments that let findings pass, as they are found to be of use or not."""

from dataclasses import dataclass

from holdfast.core.text.places import Place, TextEdit


@dataclass(frozen=True, slots=True, kw_only=True)
class UnusedIgnore:
    """A comment that lets nothing pass, or some of whose codes do not.

    Attributes:
        place: Where the comment stands.
        text: The comment.
        unknown: Codes in it with which no rule's code begins.
        unused: Codes in it of rules that find nothing there.
        meant: Codes that stand behind it, where it names none in brackets: it lets everything pass.
        remedy: What the fix does, in the imperative.
        edits: What takes out of the text what is of no use.
    """

    place: Place
    text: str
    unknown: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    meant: tuple[str, ...] = ()
    remedy: str = "remove the comment"
    edits: tuple[TextEdit, ...] = ()
