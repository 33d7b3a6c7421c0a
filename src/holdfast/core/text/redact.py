"""Secrets in text: finding them by shape, as providers issue them, and by value, where a name says that it is one.

Covered: whole secrets. Not covered: one that is cut in two or encoded; one that only looks random, because hashes, commits and run
names do too.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import zip_longest
from typing import Any, Final, NamedTuple

Hide = Callable[[str, str], str]
"""Gives what stands in place of a secret; the second argument is the beginning of it that may be shown."""

HIDDEN: Final = "[redacted]"
SHORTEST: Final = 8
"""Characters of a value that is taken for a secret; what is shorter, or a plain word, stands elsewhere too."""
RANDOM: Final = 16
"""Characters of a value that is taken for random."""
CHANGES: Final = 3
"""How often letters and digits meet in it, at least: more often than in `Qwen2.5-0.5B-Instruct`."""


def _is_any(_value: str) -> bool:
    return True


def _is_no_word(value: str) -> bool:
    return not value.isalpha()


def is_random(value: str) -> bool:
    """True if a text is no name that a person would choose.

    >>> is_random("0123456789abcdef0123ff"), is_random("Qwen2.5-0.5B-Instruct"), is_random("customer_identifier_2")
    (True, False, False)
    """
    changes = len(re.findall(r"[A-Za-z](?=\d)|\d(?=[A-Za-z])", value))
    return len(value) >= RANDOM and changes >= CHANGES and " " not in value


class SecretShape(NamedTuple):
    """How a secret looks in text.

    Attributes:
        pattern: Finds it; `secret` is what is hidden, of which `kind` may be shown.
        accepts: Whether a value that stands there is a secret.
    """

    pattern: re.Pattern[str]
    accepts: Callable[[str], bool] = _is_any


SHAPES: Final = (
    SecretShape(
        re.compile(
            r"(?:(?<![A-Za-z0-9])|(?<=%[0-9A-Fa-f]{2}))(?P<secret>(?P<kind>"
            r"hf_(?=[A-Za-z0-9]{30})|api_org_(?=[A-Za-z0-9]{30})"  # Hugging Face
            r"|gh[pousr]_(?=[A-Za-z0-9]{30})|github_pat_(?=\w{30})|glpat-(?=[\w-]{20})"
            r"|(?<!-)sk-(?=[\w-]{20})(?=[\w-]*\d)(?=[\w-]*[A-Z])"  # OpenAI, Anthropic
            r"|A[KS]IA(?=[0-9A-Z]{16})|AIza(?=[\w-]{35})|xox[abprs]-(?=[\w-]{10})|wandb_v1_(?=\w{30})"
            r"|gsk_(?=[A-Za-z0-9]{40})|r8_(?=[A-Za-z0-9]{30})|nvapi-(?=[\w-]{40})|npm_(?=[A-Za-z0-9]{36})"
            r"|eyJ(?=[\w-]{10,}\.eyJ[\w-]{10,}\.))"  # JSON web tokens
            r"[\w.-]*[\w-])"
        )
    ),
    SecretShape(re.compile(r"-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----(?P<secret>[^-]{40,})")),
    SecretShape(
        re.compile(r"://[^\s/:@'\"<>]{0,100}:(?P<secret>(?![$%*{<\[])[^\s/@'\"<>]{4,})(?=@)"),  # of an address
        _is_no_word,
    ),
    SecretShape(
        re.compile(
            r"[?&](?i:X-(?:Amz|Goog)-(?:Signature|Security-Token)|sig(?:nature)?"
            r"|(?:access_|auth_|api_|private_)?(?:token|key)|apikey|password|secret)=(?P<secret>(?![$%*{<\[])[^\s&;#'\"<>]{8,})"
        )  # in the query of an address
    ),
    SecretShape(
        re.compile(r"(?i:\bauthorization\W{1,5}(?:bearer|basic|token)\s+)(?P<secret>(?=[^\s\d]*\d)[\w.~+/=-]{12,})")
    ),
    SecretShape(
        re.compile(
            r"(?i:API_?KEY|PASSWORD|PASSWD|SECRET(?:_?ACCESS)?_?KEY|_SECRET|(?:HF|HUB|AUTH|ACCESS|API|GITHUB|WANDB)_TOKEN)"
            r"[\"']?\]?\s{0,3}[=:]\s{0,3}[\"']?(?P<secret>[\w+/=-]{16,})(?![\w.(\[])"
        ),
        is_random,
    ),
    SecretShape(
        re.compile(r"\blogin\([^)\n]{0,40}?[\"'](?P<secret>[\w-]{20,})(?=[\"'])"), is_random
    ),  # W&B's look like commits
)
NAMES: Final = re.compile(
    r"(?:^|_)(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|(?:API|ACCESS|PRIVATE|SECRET)_?KEY|CREDENTIALS?)(?:$|_)"
    r"|^TOKEN$|(?:^|_)(?:HF|HUB|HUGGING_?FACE|AUTH|ACCESS|API|REFRESH|BEARER|BOT|DEPLOY|GIT\w{0,3}|GH|WANDB)_TOKEN(?:$|_)",
    re.IGNORECASE,
)
"""Names of secrets, whatever their value looks like."""
AMBIGUOUS: Final = re.compile(r"(?:^|_)TOKEN(?:$|_)|_KEY$", re.IGNORECASE)
"""Names of secrets and of other things, such as `EOS_TOKEN` and `SORT_KEY`."""
ABOUT: Final = re.compile(r"_(?:PATH|FILE|DIR|FOLDER|NAME|TYPE|URL|URI|REGION|VERSION|LENGTH|SIZE|ENV)$", re.IGNORECASE)
"""Ends of names that say something about a secret."""
ELSEWHERE: Final = re.compile(r"/|~|\.{1,2}/|https?://|\$[A-Za-z_{(]|<holdfast-secret:")
"""Beginnings of values that say where a secret is."""


def _hidden(_secret: str, kind: str) -> str:
    return f"{kind}{HIDDEN}"


def redact(text: str, secrets: Iterable[str] = (), hide: Hide = _hidden) -> str:
    """Return a text without secrets.

    Args:
        text: The text.
        secrets: Values that are secret whatever they look like; as they are, and as JSON spells them.
        hide: Gives what stands in their place.

    >>> redact("401 for hf_" + "a1" * 17 + ", log in"), redact("wandb: hunter2hunter2", ["hunter2hunter2"])
    ('401 for hf_[redacted], log in', 'wandb: [redacted]')
    """
    if values := _values(tuple(secrets)):
        text = values.sub(lambda found: hide(found[0], ""), text)
    for shape in SHAPES:
        text = shape.pattern.sub(partial(_replaced, shape, hide), text)
    return text


def redact_parts(value: Any, secrets: Iterable[str], hide: Hide = _hidden) -> Any:
    """Return a value of lists, mappings and texts without secrets; what is no text stays as it is."""
    if isinstance(value, str):
        return redact(value, secrets, hide)
    if isinstance(value, Mapping):
        return {redact(str(name), (), hide): redact_parts(part, secrets, hide) for name, part in value.items()}
    return [redact_parts(part, secrets, hide) for part in value] if isinstance(value, (list, tuple)) else value


@lru_cache(maxsize=8)
def _values(secrets: tuple[str, ...]) -> re.Pattern[str] | None:
    spelled = {spelling for each in secrets for spelling in (each, json.dumps(each)[1:-1])}
    return re.compile("|".join(map(re.escape, sorted(spelled, key=len, reverse=True)))) if spelled else None


def _replaced(shape: SecretShape, hide: Hide, match: re.Match[str]) -> str:
    secret, before = match["secret"], match[0][: match.start("secret") - match.start()]
    return before + hide(secret, match.groupdict().get("kind") or "") if shape.accepts(secret) else match[0]


def is_secret(name: str, value: str) -> bool:
    """True if a setting's name says that its value is secret, and the value does not say otherwise.

    >>> is_secret("WANDB_API_KEY", "0123456789"), is_secret("eos_token", "<|im_end|>"), is_secret("HF_TOKEN_PATH", "/root/token")
    (True, False, False)
    """
    if len(value) < SHORTEST or value.isalpha() or ELSEWHERE.match(value) or ABOUT.search(name):
        return False
    return bool(NAMES.search(name)) or (bool(AMBIGUOUS.search(name)) and is_random(value))


def secrets_of(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of variables that are secret, longest first.

    >>> secrets_of({"WANDB_API_KEY": "0123456789", "TOKENIZERS_PARALLELISM": "disabled", "HF_TOKEN_PATH": "/root/token"})
    ('0123456789',)
    """
    return tuple(sorted({value for name, value in variables.items() if is_secret(name, value)}, key=len, reverse=True))


SETTING: Final = re.compile(
    r"""(?:^|[{,\[])[ \t-]*["']?(?P<name>\w+)["']?[ \t]*:[ \t]*["']?(?P<value>[^\s"',}#]+)""", re.MULTILINE
)
"""A setting on a line of YAML or JSON."""


def secrets_in_yaml(text: str) -> Iterator[str]:
    """Yield the secrets among the settings of a text of YAML or JSON that need not be whole."""
    settings = (found.group("name", "value") for found in SETTING.finditer(text))
    return (value for name, value in settings if is_secret(name, value))


def named_secrets(value: Any, name: str = "") -> Iterator[str]:
    """Yield the secrets among settings, by their names, however deep they stand."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from named_secrets(part, str(key))
    elif isinstance(value, list):
        for part in value:
            yield from named_secrets(part, name)
    elif isinstance(value, str) and is_secret(name, value):
        yield value


def argument_secrets(words: Sequence[str]) -> Iterator[str]:
    """Yield the secrets among the arguments of a script, by the names of their options.

    >>> list(argument_secrets(["--password", "hunter2hunter2", "--api-key=a1b2c3d4", "--seed", "42"]))
    ['hunter2hunter2', 'a1b2c3d4']
    """
    for word, following in zip_longest(words, words[1:], fillvalue=""):
        option, is_given, value = word.partition("=")
        value = value if is_given else following
        if (
            option.startswith("-")
            and not value.startswith("-")
            and is_secret(option.strip("-").replace("-", "_"), value)
        ):
            yield value
