"""How an extra of holdfast is installed beside the holdfast that runs: from the registry, a clone, or a repository.

Source: PEP 610, `direct_url.json`, which pip and uv write beside a package that did not come from a registry.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from shlex import quote
from typing import Any
from urllib.parse import unquote, urlsplit

PACKAGE = "holdfast"


def install_command(extra: str) -> str:
    """Return the command that installs an extra of holdfast."""
    return render_command(extra, _direct_url(), Path.cwd())


def render_command(extra: str, direct_url: Mapping[str, Any], here: Path) -> str:
    """Return the command that installs an extra.

    Args:
        extra: The extra.
        direct_url: Where holdfast was installed from; empty of one from a registry.
        here: The current folder.

    >>> clone = {"url": "file:///home/me/holdfast", "dir_info": {"editable": True}}
    >>> render_command("gguf", clone, Path("/home/me/holdfast")), render_command("gguf", clone, Path("/srv"))
    ("pip install -e '.[gguf]'", "pip install -e '/home/me/holdfast[gguf]'")
    >>> render_command("gguf", {}, Path("/srv"))
    "pip install 'holdfast[gguf]'"
    """
    url = str(direct_url.get("url", ""))
    if (info := direct_url.get("vcs_info")) is not None:
        system = info.get("vcs", "git")
        return f"pip install {quote(f'{PACKAGE}[{extra}] @ {system}+{url}')}"
    if not url.startswith("file:") or direct_url.get("archive_info") is not None:
        return f"pip install '{PACKAGE}[{extra}]'"
    folder = Path(unquote(urlsplit(url).path))
    named = "." if folder == here else str(folder)
    editable = "-e " if (direct_url.get("dir_info") or {}).get("editable") else ""
    return f"pip install {editable}{quote(f'{named}[{extra}]')}"


def _direct_url() -> Mapping[str, Any]:
    """Return what the installer wrote about where holdfast came from; empty if it came from a registry."""
    with suppress(PackageNotFoundError, ValueError):
        found = json.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}")
        return found if isinstance(found, dict) else {}
    return {}
