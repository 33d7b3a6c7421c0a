"""What the Hub would refuse, found before anything is sent: the account, its token, hardware, image, bucket.

Covered: what can be read. Not covered: credit, which the Hub tells only when a job is submitted (402), and a bucket that is full.
What the Hub does not answer is no obstacle: the submission waits for it.
"""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from holdfast.adapters.backends.hf_jobs.hub import JobsHub
from holdfast.adapters.backends.hf_jobs.settings import JobSettings
from holdfast.catalog.hub.flavors import gone_flavors, load_flavors
from holdfast.core.check.hub import Account
from holdfast.core.errors import BackendError, UnreachableError, UsageError

IMAGE: Final = re.compile(
    r"(?:(?:[A-Za-z0-9][A-Za-z0-9.-]*(?::\d+)?|\[[0-9a-fA-F:]+\](?::\d+)?)/)?"
    r"[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*"
    r"(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9+._-]*:[0-9a-fA-F]{32,})?"
)
"""The name of an image. Source: the reference grammar of github.com/distribution/reference."""
SPACES: Final = ("https://huggingface.co/spaces/", "https://hf.co/spaces/", "huggingface.co/spaces/", "hf.co/spaces/")
"""How an image begins that huggingface_hub 2.4 takes for a Space."""
READING_ROLES: Final = ("read",)
TOKEN_KEY: Final = "HF_TOKEN, or the saved login"  # noqa: S105 - where it is looked for
TOKENS: Final = "https://huggingface.co/settings/tokens"
SHOWN: Final = 8
"""How many flavors a message names at most."""


def find_obstacles(hub: JobsHub, settings: JobSettings) -> Iterator[UsageError]:
    """Yield each reason for which a job of these settings would be refused."""
    yield from image_obstacles(settings.image)
    yield from _flavor_obstacles(hub, settings.flavor)
    try:
        account = hub.who()
    except BackendError as error:
        yield UsageError(error.what, where=error.where, fix=error.fix)
        return
    except UnreachableError:
        return
    namespace = settings.namespace or account.name
    found = [*account_obstacles(account, namespace)]
    yield from found
    if not found:
        yield from _bucket_obstacles(hub, settings.bucket_in(namespace))


def account_obstacles(account: Account, namespace: str) -> Iterator[UsageError]:
    """Yield why a token could start no job in a namespace.

    >>> [each.what for each in account_obstacles(Account(token="valid", name="ada", role="read"), "ada")]
    ['the token may only read, and a job needs one that may write']
    """
    if account.role == "read":
        what = "the token may only read, and a job needs one that may write"
        yield UsageError(what, where=TOKEN_KEY, fix=f"make one that may write under {TOKENS}, then `hf auth login`")
        return
    if namespace != account.name and namespace not in account.organizations:
        known = ", ".join([account.name, *account.organizations])
        what = f"{account.name} does not belong to {namespace!r}, whose account the job would run on"
        yield UsageError(what, where="where.options.namespace", fix=f"name one of {known}, or leave it out")
    elif account.organizations.get(namespace) in READING_ROLES:
        what = f"{account.name} may only read in {namespace}"
        yield UsageError(what, where="where.options.namespace", fix="ask an administrator for the role `write`")
    elif account.role == "fineGrained":
        rights = account.scopes.get(namespace, frozenset()) | account.scopes.get("global", frozenset())
        for right, use in (("job.write", "start jobs"), ("repo.write", "write to the bucket of the run")):
            if right not in rights:
                what = f"the token may not {use} of {namespace}: it lacks `{right}`"
                yield UsageError(what, where=TOKEN_KEY, fix=f"add it to the token under {TOKENS}")


def image_obstacles(image: str | None) -> Iterator[UsageError]:
    """Yield why no image can have this name.

    >>> [*image_obstacles("ghcr.io/astral-sh/uv:python3.12-bookworm")], len([*image_obstacles("Py Torch")])
    ([], 1)
    """
    if image and not IMAGE.fullmatch(image) and not image.startswith(SPACES):
        what = f"no container image can be called {image!r}"
        fix = "write `pytorch/pytorch:2.6.0-cuda12.4-cudnn9-devel`: small letters, and a tag after the colon"
        yield UsageError(what, where="where.options.image", fix=fix)


def _flavor_obstacles(hub: JobsHub, flavor: str) -> Iterator[UsageError]:
    try:
        offered = hub.flavors()
    except (BackendError, UnreachableError):
        offered = ()
    names = tuple(offered) or tuple(load_flavors())
    if flavor in names:
        return
    gone = gone_flavors().get(flavor)
    near = [gone.instead] if gone and gone.instead in names else get_close_matches(flavor, names, n=1)
    meant = f"did you mean `{near[0]}`? " if near else ""
    gpus = [name for name in names if not name.startswith("cpu")][:SHOWN]
    fix = f"{meant}there are {', '.join(gpus)}, …; `hf jobs hardware` lists all with their prices"
    yield UsageError(f"Hugging Face Jobs have no hardware {flavor!r}", where="where.hardware", fix=fix)


def _bucket_obstacles(hub: JobsHub, bucket: str) -> Iterator[UsageError]:
    try:
        is_private = hub.bucket_is_private(bucket)
    except (BackendError, UnreachableError):
        return
    if is_private is False:
        what = f"the bucket {bucket} is public: everybody could read scripts, logs and checkpoints of the run"
        fix = "make it private on its page, or name another one in `where.options.bucket`"
        yield UsageError(what, where="where.options.bucket", fix=fix)
