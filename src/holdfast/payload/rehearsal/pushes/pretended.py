"""Somebody's login, where a notebook asks its user for one: its token is made up, and no request takes it along.

What is read is then read as by somebody who is not logged in; what is written is answered here, and that it was not asked
about is reported.
"""

import os
from typing import Any

from ..events import EventWriter
from ..libraries import hub
from ..wrapping import when_imported, wrap

TOKEN = f"hf_{'Pretended' * 4}"
USER = b'{"type": "user", "name": "you", "orgs": [], "auth": {"accessToken": {"displayName": "you", "role": "write"}}}'
ASKING = ("notebook_login", "interpreter_login")
"""What asks for a token, of `huggingface_hub`."""


def install(events: EventWriter) -> None:
    """Have logins that ask the user of a notebook be answered."""

    def answered(_original: Any, *_: Any, **__: Any) -> None:
        if not known_token():
            os.environ["HF_TOKEN"] = TOKEN
            events.not_rehearsed("the login that the notebook asks for", "there is no login during a rehearsal")

    def in_login(module: Any) -> None:
        for name in ASKING:
            wrap(module, name, answered)

    when_imported("huggingface_hub._login", in_login)


def known_token() -> str:
    """Return the token that is at hand; empty if none is."""
    return hub.get_token() or ""


def secret() -> str:
    """Return the secret that a notebook's host keeps for its user under any name: the token that is available, or a made-up one."""
    return known_token() or TOKEN
