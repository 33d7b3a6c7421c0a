"""Taking secrets out of text before it is kept or shown.

By shape, as the providers issue them, and by value, as the environment names them. Covered: whole secrets. Not covered: one that is cut in two,
or encoded.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Final

SHAPES: Final = re.compile(
    r"(?<![A-Za-z0-9_])(?P<kind>"
    r"hf_(?=[A-Za-z0-9]{30})|api_org_(?=[A-Za-z0-9]{30})"  # Hugging Face
    r"|gh[pousr]_(?=[A-Za-z0-9]{30})|github_pat_(?=\w{30})|glpat-(?=[\w-]{20})"
    r"|sk-(?=[\w-]{20})(?=[\w-]*\d)(?=[\w-]*[A-Z])"  # OpenAI, Anthropic
    r"|AKIA(?=[0-9A-Z]{16})|AIza(?=[\w-]{35})|xox[abprs]-(?=[\w-]{10})|wandb_v1_(?=\w{30})"
    r"|eyJ(?=[\w-]{10,}\.eyJ[\w-]{10,}\.))"  # JSON web tokens
    r"[\w.-]*[\w-]"
)
NAMES: Final = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|CREDENTIALS?)(?:$|_)|_KEY$", re.IGNORECASE
)
SHORTEST: Final = 8
"""Characters of a value that is taken for a secret; what is shorter, or a plain word, stands elsewhere too."""
HIDDEN: Final = "[redacted]"


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Return a text without secrets.

    >>> redact("401 for hf_" + "a1" * 17 + ", log in"), redact("wandb: hunter2hunter2", ["hunter2hunter2"])
    ('401 for hf_[redacted], log in', 'wandb: [redacted]')
    """
    for secret in secrets:
        for spelled in {secret, json.dumps(secret)[1:-1]}:
            text = text.replace(spelled, HIDDEN)
    return SHAPES.sub(lambda found: f"{found['kind']}{HIDDEN}", text)


def secrets_of(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables whose names say that they are secret, longest first; a path is none, nor a plain word.

    >>> secrets_of({"WANDB_API_KEY": "0123456789", "TOKENIZERS_PARALLELISM": "disabled", "HF_TOKEN_PATH": "/root/token"})
    ('0123456789',)
    """
    named = {value for name, value in variables.items() if NAMES.search(name) and "/" not in value}
    secrets = (value for value in named if len(value) >= SHORTEST and not value.isalpha())
    return tuple(sorted(secrets, key=len, reverse=True))
