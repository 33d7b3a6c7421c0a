"""Write which chat templates the installed trl fixes for training, for `holdfast.catalog.models.chat_templates`.

    .venv/bin/python tools/training_templates.py 2026-11-22

Asks `trl.chat_template_utils.get_training_chat_template` about every template that trl brings; loads no model.
"""

import sys
from hashlib import sha256
from pathlib import Path

import trl
from jinja2 import TemplateError
from trl.chat_template_utils import get_training_chat_template, has_generation_markers

TABLE = Path(__file__).parent.parent / "src" / "holdfast" / "catalog" / "tables" / "chat_templates.toml"
HEAD = """# Chat templates without generation markers that trl gives some for training, by the SHA-256 of their UTF-8 text.
# Written by tools/training_templates.py on {date}.

trl = "{trl}"

[fixed]
"""


class Asking:
    """A tokenizer that has a template, and calls no tools with it."""

    def __init__(self, chat_template: str) -> None:
        self.chat_template = chat_template

    def apply_chat_template(self, *_: object, **__: object) -> str:
        """Render nothing."""
        raise TemplateError


def is_mended(template: str) -> bool:
    """True if trl puts another template in the place of this one."""
    try:
        return get_training_chat_template(Asking(template)) is not None
    except ValueError:
        return False


if __name__ == "__main__":
    files = sorted(Path(trl.__file__).with_name("chat_templates").glob("*.jinja"))
    texts = {file.stem: file.read_text(encoding="utf-8") for file in files}
    fixed = {name: text for name, text in texts.items() if not has_generation_markers(text) and is_mended(text)}
    rows = (f'{name} = "{sha256(text.encode()).hexdigest()}"' for name, text in fixed.items())
    TABLE.write_text(HEAD.format(date=sys.argv[1], trl=trl.__version__) + "\n".join(rows) + "\n", encoding="utf-8")
