"""What a plan says about its job on the Hub: hardware, time, and the options of this backend."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from holdfast.core.errors import UsageError
from holdfast.core.run.backends import SAVE_S
from holdfast.core.run.plan import Plan
from holdfast.core.text.numbers import is_count

RUN_FOLDER: Final = "holdfast"
"""The name of the folder at which a job sees its run."""
VOLUME: Final = re.compile(r"hf://[^:\s]+/[^:\s]+:(/[^:]+?)/?(?::(?:ro|rw))?")
LAST_PORT: Final = 65_535
NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,94}[A-Za-z0-9])?")
"""What the Hub takes for the name of an account or of a bucket."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSettings:
    """The settings of a job.

    Attributes:
        flavor: Its hardware.
        timeout_s: After how many seconds of running the Hub ends it. Never left out: the Hub's own limit is 30 minutes.
        image: Its container image; None for that of uv, which installs what the script's header declares.
        namespace: The account that pays; None for that of the token.
        bucket: The bucket of its run, with or without a namespace; None for `holdfast`.
        resource_group: The resource group of an organization; None for none.
        volumes: What else is mounted: `hf://datasets/me/rows:/data`, as `hf jobs run -v` takes it.
        ports: Ports of the job that the Hub makes reachable for its account.
    """

    flavor: str
    timeout_s: int
    image: str | None = None
    namespace: str | None = None
    bucket: str | None = None
    resource_group: str | None = None
    volumes: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()

    @classmethod
    def of(cls, plan: Plan) -> Self:
        """Return the settings of a plan.

        Raises:
            UsageError: One that is needed is missing, or one is not as the Hub takes it.
        """
        if not plan.hardware:
            fix = "name a flavor: `hardware: a10g-large`; `hf jobs hardware` lists them with their prices"
            raise UsageError("the job names no hardware", where="where.hardware", fix=fix)
        if plan.timeout_s is None:
            fix = (
                "name the longest time that the run may take: `--set where.timeout=4h`, or `timeout: 4h` under `where:`"
            )
            raise UsageError("the job has no timeout", where="where.timeout", fix=fix)
        namespace, bucket = (_text(plan.options, name) for name in ("namespace", "bucket"))
        for option, name in (("namespace", namespace), ("bucket", bucket)):
            _require_name(option, name)
        return cls(
            flavor=plan.hardware,
            timeout_s=math.ceil(plan.timeout_s + SAVE_S),
            image=_text(plan.options, "image"),
            namespace=namespace,
            bucket=bucket,
            resource_group=_text(plan.options, "resource_group"),
            volumes=volumes_of(plan.options),
            ports=ports_of(plan.options),
        )

    def bucket_in(self, namespace: str) -> str:
        """Return the full name of the bucket for a job of an account.

        >>> JobSettings(flavor="t4-small", timeout_s=60).bucket_in("me")
        'me/holdfast'
        """
        name = self.bucket or "holdfast"
        return name if "/" in name else f"{namespace}/{name}"


def volumes_of(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the volumes among the options.

    Raises:
        UsageError: One is not as the Hub takes it, or would hide the run's folder.

    >>> volumes_of({"volumes": ["hf://datasets/me/rows:/data:ro"]})
    ('hf://datasets/me/rows:/data:ro',)
    """
    given = options.get("volumes", [])
    volumes = given if isinstance(given, list | tuple) else [given]
    for each in volumes:
        found = VOLUME.fullmatch(each) if isinstance(each, str) else None
        if found is None or found[1].strip("/") in ("", RUN_FOLDER):
            fix = f"write `hf://datasets/me/rows:/data`, with any folder but `/` and `/{RUN_FOLDER}`"
            raise UsageError(f"{each!r} is not a volume that can be mounted", where="where.options.volumes", fix=fix)
    return tuple(map(str, volumes))


def ports_of(options: Mapping[str, object]) -> tuple[int, ...]:
    """Return the ports among the options.

    Raises:
        UsageError: One is no port.

    >>> ports_of({"ports": [6006, 8000]}), ports_of({"ports": 6006}), ports_of({})
    ((6006, 8000), (6006,), ())
    """
    given = options.get("ports", [])
    ports = given if isinstance(given, list | tuple) else [given]
    for each in ports:
        if not is_count(each) or each > LAST_PORT:
            fix = f"write the numbers of ports, 1 to {LAST_PORT}: `ports: [6006]`"
            raise UsageError(f"{each!r} is not a port", where="where.options.ports", fix=fix)
    return tuple(ports)


def mount_paths(options: Mapping[str, object]) -> tuple[str, ...]:
    """Return the folders that a job has beside its disk.

    >>> mount_paths({"volumes": ["hf://datasets/me/rows:/data:ro"]})
    ('/data',)
    """
    return tuple(found[1] for each in volumes_of(options) if (found := VOLUME.fullmatch(each)))


def _text(options: Mapping[str, object], name: str) -> str | None:
    value = options.get(name)
    if value is None or (isinstance(value, str) and value):
        return value
    what = f"`{name}` is {value!r}, not a name"
    raise UsageError(what, where=f"where.options.{name}", fix="give it as text, or leave it out")


def _require_name(option: str, name: str | None) -> None:
    """Refuse a name that the Hub would refuse.

    Raises:
        UsageError: It is one.
    """
    parts = name.split("/") if name else []
    if len(parts) > (2 if option == "bucket" else 1) or not all(NAME.fullmatch(part) for part in parts):
        fix = "use letters, digits, `-`, `_` and `.`, at most 96, beginning and ending with a letter or digit"
        raise UsageError(f"the Hub has no {option} {name!r}", where=f"where.options.{option}", fix=fix)
