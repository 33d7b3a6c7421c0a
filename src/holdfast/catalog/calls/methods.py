"""In which releases the classes of the libraries have their methods."""

from holdfast.catalog.api import Api, load_history
from holdfast.core.job.api import Span


def method_spans(api: Api, path: str, name: str) -> tuple[Span, ...]:
    """Return in which releases a class, or one of its bases at these versions, has a method of that name.

    Nothing where a base is not known: it might have any.

    Args:
        api: The versions at hand.
        path: The class.
        name: The method.
    """
    found: list[Span] = []
    for home in api.ancestors(path):
        history = load_history(home.partition(".")[0])
        entry = history.entry(f"c {home}") if history else None
        if history is None or entry is None:
            return ()
        method = entry.get("m", {}).get(name)
        found += history.spans(history.releases(method["r"])) if method else ()
    return tuple(found)
