"""Telling people what happens to a run that they do not look at."""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from holdfast.adapters.secrets import redacted
from holdfast.adapters.webhook import KEY, Webhook, resolve_address
from holdfast.core.errors import UsageError
from holdfast.core.run.event import Event
from holdfast.core.run.plan import Plan
from holdfast.core.run.run_state import RunState
from holdfast.engine.run.notices import notices_of

LOG: Final = logging.getLogger("holdfast")
SECRET_HOSTS: Final = ("hooks.slack.com", "discord.com", "webhook.office.com")
"""Services whose addresses let anybody write who knows them."""
Tell = Callable[[RunState, Sequence[Event]], None]


def check_webhook(given: str, environment: Mapping[str, str]) -> None:
    """Find out before a run starts whether its messages can be sent, and whether its address may be kept.

    Raises:
        UsageError: The address is none, or is a secret that stands in the job itself.
    """
    if not given:
        return
    address = resolve_address(given, environment)
    if given == address and (redacted(given) != given or any(host in given for host in SECRET_HOSTS)):
        fix = "`export HOLDFAST_WEBHOOK=…`, and `webhook: $HOLDFAST_WEBHOOK` in the job"
        raise UsageError("the address is a secret, and what a run keeps holds none", where=KEY, fix=fix)


@contextmanager
def telling(plan: Plan, environment: Mapping[str, str]) -> Iterator[Tell]:
    """Send a run's new events while it is supervised; earlier ones were sent when they happened."""
    webhook, before = _open(plan, environment), True

    def tell(state: RunState, events: Sequence[Event]) -> None:
        nonlocal before
        if webhook and not before:
            for notice in notices_of(events, state):
                webhook.tell(notice)
        before = False

    try:
        yield tell
    finally:
        if webhook:
            webhook.close()


def _open(plan: Plan, environment: Mapping[str, str]) -> Webhook | None:
    if not plan.webhook:
        return None
    try:
        return Webhook(resolve_address(plan.webhook, environment), plan.webhook_format)
    except UsageError as error:  # the run matters more than its messages
        LOG.warning("%s: %s", KEY, error.what)
        return None
