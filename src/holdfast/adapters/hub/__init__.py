"""The Hub, as the token at hand sees it: `HubClient` has the shape of `ports.Hub`.

    client.py    the questions, each of which is one method of `ports.Hub`
    answers.py   what was answered before; every question in a thread of its own, none waited for longer than it may take
    wire.py      one request: huggingface_hub's own session, with limits of time and size around it
    settings.py  what the environment says: the address, the token, how long to wait, whether to ask at all
    offline.py   in place of a Hub that may not be contacted

    repos.py, nearest.py      repositories, and the names of others that resemble one that is not there
    accounts.py, targets.py   whose token it is, and where it may write
    datasets.py, cards.py, viewer.py   splits and columns, from the card, the names of the files, the viewer
    models.py, weights.py     configurations, chat templates, parameters, names of tensors
    checkpoints.py            checkpoints that transformers pushed
    links.py, repo_trees.py   addresses of scripts; the files of a repository, with digests
    prices.py                 what Hugging Face Jobs cost

Each answer is bounded: a Hub that hangs is given up, one that cannot be reached is found out once. No token is ever in a message.

Source: huggingface_hub 2.4, whose session, token, constants and error codes are used; the requests are those that it makes.
Covered: models, datasets, Spaces; gated, private, renamed and absent ones; revisions; tokens that read, write, or are fine-grained;
mirrors (`HF_ENDPOINT`) and proxies. Not covered: buckets and Xet storage, resource groups of organizations, Hubs that need a login of
their own.
"""

import os
from typing import TYPE_CHECKING

from holdfast.adapters.hub.offline import OfflineHub
from holdfast.adapters.hub.settings import why_offline

if TYPE_CHECKING:
    from holdfast.ports import Hub  # for the type alone: its own take longer to import than a script to check


def open_hub(unasked: str = "", *, anew: bool = False) -> "Hub":
    """Return the Hub that the environment names, or what stands in its place where it may not be contacted.

    Args:
        unasked: Why it may not, if the environment does not forbid it.
        anew: Whether it is asked what this process has heard of it already, too.

    Raises:
        UsageError: One of the environment's variables cannot be read.
    """
    if not unasked and (variable := why_offline(os.environ)):
        unasked = f"the Hub was not contacted: {variable} is set"
    if unasked:
        return OfflineHub(unasked)
    # What asks takes as long to import as a script to check.
    from holdfast.adapters.hub.client import HubClient

    return HubClient.of(os.environ, anew=anew)
