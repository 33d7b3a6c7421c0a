"""The name of this machine."""

import socket


def is_other_machine(name: str | None) -> bool:
    """Return whether a host name is that of another machine; a name without its domain is that of any.

    >>> is_other_machine(None), is_other_machine(socket.gethostname().upper()), is_other_machine("no-such-box")
    (False, False, True)
    """
    if not name:
        return False
    own, other = socket.gethostname().lower(), name.lower()
    whole = "." in own and "." in other
    return own != other if whole else own.partition(".")[0] != other.partition(".")[0]
