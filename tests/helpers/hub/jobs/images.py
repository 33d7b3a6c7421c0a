"""Images: which programs a job finds. Nothing is pulled; each image stands for the Python that a test names.

Source of the default names: `DEFAULT_UV_IMAGE` of `huggingface_hub/_jobs_api.py` 2.4.0, and the images in https://huggingface.co/docs/hub/jobs-popular-images.
"""

import sys
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from shlex import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Image:
    """What an image has beside the shell.

    Attributes:
        python: Path of its interpreter; None if it has no Python.
        uv: Whether it has uv. `uv run` then runs with that same interpreter, whatever a script requires.
    """

    python: str | None = sys.executable
    uv: bool = True


WITH_UV, WITHOUT_UV, BARE = Image(), Image(uv=False), Image(python=None, uv=False)
DEFAULT_IMAGES = {
    "ghcr.io/astral-sh/uv:*": WITH_UV,
    "huggingface/trl*": WITH_UV,
    "vllm/vllm-openai*": WITH_UV,
    "python:*": WITHOUT_UV,
    "pytorch/pytorch:*": WITHOUT_UV,
    "ubuntu*": BARE,
}
UV = """#!/bin/sh
# `uv run` of the loopback Hub: the options are skipped, the program runs with the image's Python.
if [ "$1" = pip ] || [ "$1" = sync ]; then exit 0; fi
if [ "$1" != run ]; then echo "uv: $1 is not there" >&2; exit 2; fi
shift
while [ $# -gt 0 ]; do
  case "$1" in
    --) shift; break ;;
    --with|--with-requirements|--with-editable|--python|-p|--index|--index-url|--default-index|--extra-index-url|--extra|--group|--env-file|--directory|--project)
      shift 2 ;;
    -|-m) break ;;
    -*) shift ;;
    *) break ;;
  esac
done
case "$1" in
  http://*|https://*)
    script=$TMPDIR/$(basename "${1%%\\?*}")
    PYTHON -c 'import sys, urllib.request as u; open(sys.argv[2], "wb").write(u.urlopen(sys.argv[1]).read())' "$1" "$script" || exit 2
    shift; exec PYTHON "$script" "$@" ;;
  *.py|-|-m) exec PYTHON "$@" ;;
  python|python3) shift; exec PYTHON "$@" ;;
  *) exec "$@" ;;
esac
"""


def find(images: dict[str, Image], name: str) -> Image | None:
    """Return an image by its name; the names in the table may be patterns. None if there is none, so that pulling it fails."""
    if name in images:
        return images[name]
    return next((image for pattern, image in images.items() if fnmatchcase(name, pattern)), None)


def install(image: Image, folder: Path) -> str:
    """Write an image's programs to a folder and return the `PATH` of a job."""
    folder.mkdir(parents=True, exist_ok=True)
    if image.python is not None:
        for script in Path(image.python).parent.iterdir():
            if not script.name.startswith(("python", "uv")):
                (folder / script.name).symlink_to(script)
        for name in ("python", "python3"):
            _program(folder / name, f'#!/bin/sh\nexec {quote(image.python)} "$@"\n')
        if image.uv:
            _program(folder / "uv", UV.replace("PYTHON", quote(image.python)))
    return f"{folder}:/usr/bin:/bin"


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)
