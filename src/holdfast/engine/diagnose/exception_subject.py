"""The subject of an exception that neither a signature nor the libraries' releases know word by word.

A library that refuses something says so in a sentence. The class is guessed from the exception's kind, the place where it was raised, and the
subject of the sentence; its score is low. Of what the user's own code raises, only sentences count that name a cause outside of it, such as a
package that is too old. Packages that know of nothing but numbers, files and connections are left out.
"""

import re
from collections.abc import Iterable
from typing import Final

from holdfast.catalog.api import released
from holdfast.core.diagnose.log import Frame, Traceback
from holdfast.engine.diagnose.owners import calling_frames, is_users
from holdfast.engine.diagnose.raised_classes import INSTALL, VERSION, RaisedClass
from holdfast.engine.diagnose.reading import joined_error
from holdfast.engine.diagnose.renaming import spans_of

SENSED: Final = 0.55
"""Score of a class that is known only by what a sentence is about."""
KNOWN: Final = 0.8
"""And of one where the libraries' releases say what is lacking."""
STATED: Final = 0.66
"""And of one that the user's own code states: a script that was taken from elsewhere checks what it needs."""
REFUSES: Final = (
    r"^(?:Value|NotImplemented|Assertion|Type|Runtime|Key|Attribute|Config\w*|Usage|Instantiation|Validation"
    r"|FileNotFound|OS|Import)?(?:Error|Exception)$"
)
ABSENT: Final = r"(?:(?:is|are|was|were|be|been) (?:not found|missing|absent)|not (?:be )?found|(?:does|do)(?: not|n't) exist|no such)"
UNFIT: Final = (
    r"(?i)\b(?:must|should|has to|have to|needs? to|required? to) (?:not )?(?:be|have|specify|set|provide|pass|contain|divide|equal|match)\b"
    r"|\b(?:not|n't)(?: be)?(?: yet| currently)? (?:support\w*|compatible|allowed|permitted|accept\w*|valid|enabled|available for)\b"
    r"|\b(?:incompatible|unsupported|invalid|mutually exclusive|conflicts? with|not a valid)\b|\bunknown (?!identifier)"
    r"|\bonly (?:supports?|accepts?|available|supported|be used|be set|works?|compatible|one of|allowed)\b|\bonly .{1,60} can (?:be )?use"
    r"|\bcan(?:not|'t| not| only) (?:both )?(?:be |use |set |specify |enable |initialize |combine |resize )"
    r"|\bplease (?:set|specify|provide|pass|use|choose|select|disable|enable|explicitly|make sure|ensure|check|increase|decrease|reduce|remove)\b"
    r"|\b(?:got|found|received|but) (?:\w+[ =]?)?['\"`\d]|\bexpect(?:ed|s)? (?:one of|an?|to be|input)\b|\bdivisible by\b"
    r"|\b(?:needs?|requires?|expects?) [`'\"]?[\w.]+ ?=|\bchoose (?:one )?(?:from|between)\b|\bis required\b|\bchange `\w+` to\b"
)
DATA: Final = r"(?:^|[./_])(?:data|dataset|prompt|prompter|collator|template|message|preprocess|processor|transform|converter|formatter)s?(?:$|[./_:])"
LOW: Final = (
    r"^(?:torch(?:vision|audio)?|triton|numpy|pandas|pyarrow|PIL|scipy|sklearn|jax|jaxlib|tensorflow|keras|xformers|flash_attn\w*|bitsandbytes|nvidia|cupy"
    r"|ray|vllm(?!\.(?:config|engine\.arg_utils|entrypoints\.openai\.cli_args)\b)|sglang|urllib3?|requests|httpx|httpcore|aiohttp|anyio|asyncio|ssl|socket|http|json|os|subprocess|multiprocess\w*|concurrent|importlib"
    r"|pickle|shutil|tempfile|pathlib|codecs|threading|queue|dill|fsspec|s3fs|filelock|huggingface_hub|hf_xet|wandb|mlflow|grpc|google|botocore|boto3"
    r"|jinja2|pydantic\w*|pip|setuptools|uv)[.:]"
)
"""Packages that know of numbers, files and connections, and not of the settings of a training."""
STEP: Final = (
    r":(?:_?forward\w*|backward|__call__|__getitem__|__next__|__iter__|__len__|step|\w*collate\w*|_?compute_\w+|generate\w*|\w*_generate|tokenize\w*"
    r"|encode\w*|\w*_step|apply)$"
)
"""Functions that see rows and tensors, and no settings."""
NAMED: Final = r"(?<!\w)--?[a-z][\w-]+|[`'\"][a-z]\w*[`'\"]|\b[a-z]+_[a-z_]+\b"
"""How sentences name settings."""

ABOUT: Final = (
    RaisedClass(
        "framework-version-incompatible", says=r"(?i)\binstall\b.{0,60}(?:\bgit\+|\bfrom source\b)", kind=REFUSES
    ),
    RaisedClass(
        "framework-version-incompatible",
        says=r"(?i)\b(?:requires?|needs?) (?:`?[\w-]+`? )?(?:version )?v?\d+\.\d+[\d.]*(?:\+| or )|\b(?:unsupported|incompatible) .{0,40}\bversions?\b"
        r"|\bplease (?:up|down)grade\b|[<>=]=? ?v?\d[\w.]* (?:is|are) (?:required|needed)\b|\bbut (?:found|got|you have) (?:version )?v?\d+\.\d",
        kind=REFUSES,
    ),
    RaisedClass("framework-version-incompatible", says=VERSION, kind=r"ImportError|RuntimeError|NotImplementedError"),
    RaisedClass("missing-module", says=INSTALL, kind=r"ImportError"),
    RaisedClass("missing-module", says=r"(?i)\bpip install\b|\bnot installed\b|\bplease install\b", kind=REFUSES),
    RaisedClass(
        "chat-template-missing",
        says=r"(?i)\b(?:no|without|missing|lacks?|not have|n't have) (?:an? )?`?chat[_ ]template|chat[_ ]template`? (?:is|was) (?:not set|None|missing|empty)",
        kind=REFUSES,
    ),
    RaisedClass(
        "chat-roles-not-alternating",
        says=r"(?i)\btemplate\w* (?:does|do)(?: not|n't) support [`'\"]?(?:the )?system|\bsystem (?:role|prompt|message)s? (?:is|are) not|must alternate"
        r"|\balternat\w+ .{0,30}\broles?\b|\b(?:un)?expected (?:role )?[`'\"]?(?:user|assistant|human|gpt|system)\b",
        kind=REFUSES,
    ),
    RaisedClass(
        "chat-roles-unknown",
        says=r"(?i)\b(?:unknown|unexpected|invalid|unsupported|unrecognized) (?:\w+ )?roles?\b|\brole .{0,40}not (?:supported|recognized|in)\b",
        kind=REFUSES,
    ),
    RaisedClass(
        "pad-token-missing",
        says=rf"(?i)\bpad(?:ding)?[_ ]token\b.{{0,60}}(?:{ABSENT}|not set|None|set|add|required)",
        kind=REFUSES,
    ),
    RaisedClass(
        "special-token-not-in-vocab",
        says=rf"(?i)\b(?:special|eos|bos|unk|mask|image|stop)[_ ]tokens?\b.{{0,60}}{ABSENT}|\bnot in (?:the )?(?:tokenizer'?s? )?vocab",
        kind=REFUSES,
    ),
    RaisedClass(
        "dataset-not-found",
        says=rf"(?i)\b(?:dataset|(?:training|train|data|eval\w*) (?:file|folder|directory|path|set)s?)\b.{{0,80}}{ABSENT}|^undefined dataset"
        r"|^data(?:set)? (?:path|file|dir\w*) must (?:be|point|exist)\b",
        kind=REFUSES,
    ),
    RaisedClass(
        "dataset-empty",
        says=r"(?i)\bno (?:\w+ )?(?:samples|examples|rows|records|conversations) (?:left|found|remain)|\b(?:data(?:set)?|split) .{0,30}\b(?:is|was) empty",
        kind=REFUSES,
    ),
    RaisedClass(
        "lora-target-modules-not-found",
        says=rf"(?i)\b(?:target )?modules? .{{0,60}}{ABSENT}|\bno modules? (?:were )?(?:found|matched)",
        kind=r"^(?:Value|Runtime)Error$",
    ),
    RaisedClass(
        "architecture-not-recognized",
        says=r"(?i)\b(?:model|architecture)(?:[ _]type)?:? \S{1,60} (?:is |are )?(?:not|n't) (?:yet )?(?:supported|recognized|implemented)"
        r"|\b(?:unsupported|unknown|unrecognized) (?:model|architecture)\b",
        kind=REFUSES,
    ),
    RaisedClass(
        "checkpoint-not-found",
        says=rf"(?i)\bcheckpoints?\b.{{0,60}}(?:{ABSENT}).{{0,60}}(?:resum|output)|\bresum\w+ .{{0,60}}(?:{ABSENT})|\bno checkpoints? (?:was |were )?found",
        kind=REFUSES,
    ),
    RaisedClass(
        "model-files-missing",
        says=rf"(?i)\b(?:adapter|checkpoint|weights?|tokenizer|safetensors|(?:model|config|adapter)(?:uration)?(?: file| directory| folder| path)?|lora config)\b"
        rf".{{0,60}}{ABSENT}",
        kind=REFUSES,
    ),
    RaisedClass(
        "dataset-not-found", says=rf"(?i)\b(?:file|path|folder|directory)\b.{{0,80}}{ABSENT}", kind=REFUSES, at=DATA
    ),
)
"""What a sentence is about, whoever says it. The first that holds decides."""
OUTSIDE: Final = frozenset({"framework-version-incompatible", "missing-module"})
"""Classes of the environment, which the user's own code may check and does not cause."""
STUMBLES: Final = (
    RaisedClass("invalid-config-value", says=r"^'(?:Posix|Windows)Path' object has no", kind=r"^AttributeError$"),
    RaisedClass(
        "train-dataset-wrong-type", says=r"^'(?:Iterable)?DatasetDict' object has no", kind=r"^AttributeError$"
    ),
    RaisedClass(
        "framework-version-incompatible",
        says=r"^'(?!NoneType|DataFrame|Tensor|\w*Namespace|\w*Path'|\w*Dataset'|DictConfig|DotDict)[A-Z]\w+' object has no attribute|^(?:module|type object) '[\w.]+' has no attribute",
        kind=r"^AttributeError$",
    ),
    RaisedClass(
        "framework-version-incompatible",
        says=r"^(?!(?:[\w.]*\.)?(?:on_\w+\(\)|__init__\(\) missing)).*\(\) (?:got an unexpected keyword argument|takes (?:from )?\d+ .*positional|missing \d+ required|got multiple values)",
        kind=r"^TypeError$",
    ),
    RaisedClass("framework-version-incompatible", kind=r"^(?:Name|UnboundLocal|Syntax|Indentation)Error$"),
    RaisedClass(
        "dataset-bad-row-values",
        says=r"^'(?:NoneType|list|str|dict|int|float)' object|^string ind\w+ must be|^list index out of range|^(?:can only|unsupported operand|argument of type)"
        r"|not iterable|not subscriptable",
        kind=r"^(?:AttributeError|TypeError|IndexError)$",
        at=DATA,
    ),
)
"""What Python itself says where one library meets another, or rows, that it was not written for."""
IMPORT: Final = re.compile(r"(?:from [\w.]+ import|import) \w")
IMPORTING: Final = RaisedClass(
    "framework-version-incompatible", kind=r"^(?:Attribute|Type|Name|Key|Index|UnboundLocal)Error$"
)
"""What Python stumbles over in a library that is only being imported: those that are installed do not fit."""
SETTING_READ: Final = re.compile(r"\b(?:args|config)\.[a-z]\w+")
WRONG_TYPE: Final = RaisedClass(
    "invalid-config-value",
    says=r"not '?(?:str|float|NoneType|tuple|list|dict)\b|between instances of|unsupported operand|cannot be interpreted|converted to an index",
    kind=r"^TypeError$",
)
"""What Python says of a setting that is of another type than the line which reads it takes."""
SETTINGS: Final = RaisedClass("invalid-config-value", says=UNFIT, kind=REFUSES)
ROWS: Final = RaisedClass("dataset-bad-row-values", says=UNFIT, kind=REFUSES, at=DATA)
INTERNAL: Final = RaisedClass(
    "framework-version-incompatible",
    says=r"^'(?!\w*(?:NoneType|DataFrame|DatasetDict|NameSpace|Namespace|My|Custom|Path)|Tensor')(?:[A-Z]+[a-z\d]+){2,}\w*' object has no attribute"
    r"|^(?!\w*(?:My|Custom|Callback|Dataset|Collator|Net)\w*\.)(?:[A-Z]+[a-z\d]+){2,}\w*\.(?!__init__|forward\()\w+\(\) (?:got an unexpected keyword argument|takes (?:from )?\d+ .*positional|got multiple values)",
)
"""What Python says of a class that is named as libraries name theirs, where no frame is left that shows whose it is."""
HAS_NO: Final = re.compile(r"^'(?P<owner>\w+)' object has no attribute '(?P<name>[a-z]\w*)'")


def sense_of(exception: Traceback) -> tuple[str, float]:
    """Return the class that an exception seems to be of, and its score; an empty one where nothing speaks for any."""
    error, _, message = joined_error(exception).partition(":")
    kind, message = error.rpartition(".")[2].strip(), message.strip()
    if kind == "AttributeError" and _is_from_another_release(message):
        return "framework-version-incompatible", KNOWN
    frames = calling_frames(exception.frames)
    frame = next((frame for frame in reversed(frames) if frame.file not in ("", "<string>")), None)
    if frame is None:
        return _first_class((*ABOUT, INTERNAL), kind, message) or _refused(kind, message), SENSED
    return _sense_at(frame, exception, kind, message)


def _sense_at(frame: Frame, exception: Traceback, kind: str, message: str) -> tuple[str, float]:
    """Return the class, and its score, of an exception by the frame that raised it."""
    place = _place(frame)
    if _is_importing(exception, frame):
        return _first_class((IMPORTING,), kind, message, place), SENSED
    if is_users(frame):
        return _stated(frame, kind, message, place), STATED
    if re.search(LOW, place):
        return "", 0.0
    if not _raises(frame):
        return _first_class(_stumbles(frame), kind, message, place), SENSED
    return _first_class(ABOUT, kind, message, place) or _refused(kind, message, place), SENSED


def _first_class(rules: Iterable[RaisedClass], kind: str, message: str, place: str = "") -> str:
    """Return the name of the first class that an exception is of; empty if it is of none."""
    return next((rule.name for rule in rules if rule.holds(kind, message, place)), "")


def _stumbles(frame: Frame) -> tuple[RaisedClass, ...]:
    """Return the classes of what Python says of a line that does not raise on purpose."""
    return (WRONG_TYPE, *STUMBLES) if SETTING_READ.search(frame.code) else STUMBLES


def _is_importing(exception: Traceback, frame: Frame) -> bool:
    """True if an exception was raised, and not on purpose, by what the user's code only imports."""
    if _raises(frame):
        return False
    users = next((frame for frame in reversed(exception.frames) if is_users(frame)), None)
    return users is not None and users is not exception.frames[-1] and IMPORT.match(users.code.strip()) is not None


def _raises(frame: Frame) -> bool:
    """True if a line of code says itself what is wrong, and is not one that Python stumbles over."""
    code = frame.code.strip()
    return not code or re.match(r"(?:raise|assert)\b|\w*(?:raise|error|exception)\w*\(", code) is not None


def _raises_itself(frame: Frame, kind: str) -> bool:
    """True if a line of the user's own code raised on purpose; of an assertion over several lines the last one is shown."""
    return kind == "AssertionError" or re.match(r"raise\b", frame.code.strip()) is not None


def _stated(frame: Frame, kind: str, message: str, place: str) -> str:
    """Return the class of a cause outside of the user's own code that this code states; empty if it states none."""
    if not message or not _raises_itself(frame, kind):
        return ""
    about = _first_class(ABOUT, kind, message, place)
    return about if about in OUTSIDE else ""


def _refused(kind: str, message: str, place: str = "") -> str:
    """Return the class of a sentence that refuses a setting, or a row; empty if it may be about anything."""
    if ROWS.holds(kind, message, place) and not re.search(NAMED, message) and "support" not in message:
        return ROWS.name
    if not SETTINGS.holds(kind, message, place):
        return ""
    by_place = place and not re.search(STEP, place)
    return SETTINGS.name if by_place or (kind != "TypeError" and re.search(NAMED, message)) else ""


def _place(frame: Frame) -> str:
    """Return where a frame is as modules are named: `axolotl.utils.config:validate_config`."""
    file = re.split(r"(?:site|dist)-packages/|/src/|/lib/python3[\d.]*/", frame.file.replace("\\", "/"))[-1]
    return (
        f"{file.removesuffix('.py').strip('/').replace('/', '.')}:{frame.function.partition('(')[0].rpartition('.')[2]}"
    )


def _is_from_another_release(message: str) -> bool:
    """True if an object lacks an attribute that its class takes as an argument in some release, though not in all."""
    lacks = HAS_NO.match(message)
    if not lacks:
        return False
    return any(
        span.after or span.first != released(span.package)[0] for span in spans_of(lacks["owner"], lacks["name"])
    )
