"""Which methods can train on which columns.

Covered: everything that columns and their types decide, for models of texts. Not covered: what a row alone decides, such
as an empty list of messages among full ones; and of models that take images no more than that they do.

Source: trl 1.16, each trainer's `_prepare_dataset` and collator, and `_calculate_rewards` of grpo and rloo; tried side by
side in `tests/catalog/test_methods_true.py`, and `accuracy_reward` with math-verify by hand.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from holdfast.catalog.formats.forms import NAMES, Form, Forms, forms_of
from holdfast.catalog.formats.settings import DEFAULTS, ColumnSettings
from holdfast.catalog.formats.unread import unread_columns
from holdfast.catalog.formats.words import IMAGES, ROLES
from holdfast.catalog.trl_rewards import MATHEMATICAL, TRL_REWARDS
from holdfast.core.job.methods import Method
from holdfast.core.rows.columns import ListOf, Struct, Type
from holdfast.core.rows.shape import Readiness, Shape

# TRL asks one of these columns, whichever comes first in a set, whether the row is a conversation.
ASKED: Final = ("prompt", "chosen", "rejected", "completion", "messages")
CHAT: Final[frozenset[Form]] = frozenset(("chat", "silent"))
ALIKE: Final[tuple[Form, ...]] = ("text", "chat")
# The trainer gives a reward function these itself.
TAKEN: Final = ("prompts", "completions")
PAIR: Final = ("prompt", "chosen", "rejected", "tools")
OVERWRITTEN: Final = ("trainer_state", "log_extra", "log_metric")


def judge(
    method: Method | str, columns: Mapping[str, Type | None], shape: Shape, settings: ColumnSettings = DEFAULTS
) -> Readiness:
    """Return the readiness of a dataset for a method, without a mapping.

    Args:
        method: The method.
        columns: Type of each column; None if it is not known, and nothing is held against it.
        shape: What `recognise` said of them.
        settings: What the job says that matters here.

    >>> from holdfast.core.rows.columns import STRING
    >>> judge("dpo", {"prompt": STRING, "chosen": STRING}, Shape()).because
    'no `rejected`'
    """
    forms = forms_of(columns)
    because = FAULTS[Method(method)](forms, settings) or _untemplated(Method(method), forms, settings)
    if because:
        return Readiness(ready=False, because=because)
    caveats = (
        *_caveats(Method(method), forms, shape, settings),
        *_textless(read_columns(method, columns, settings), columns),
    )
    return Readiness(ready=True, caveat="; ".join(caveats))


def read_columns(method: Method | str, columns: Mapping[str, Type | None], settings: ColumnSettings) -> tuple[str, ...]:
    """Return the columns of the data that the method's trainer reads, in the order in which it does.

    >>> read_columns("sft", {"messages": None, "text": None, "source": None}, DEFAULTS)
    ('messages',)
    """
    forms = forms_of(columns)
    return tuple(name for name in _reads(Method(method), forms, settings) if name in forms)


def _reads(method: Method, forms: Forms, settings: ColumnSettings) -> Sequence[str]:
    match method:
        case Method.SFT:
            return (*_sft_reads(forms, settings), "tools")
        case Method.KTO if not {"chosen", "rejected"} <= forms.keys():
            return ("prompt", "completion", "label", "tools")
        case Method.REWARD:
            return _reward_reads(forms)
        case Method.DPO | Method.KTO:
            return PAIR
        case Method.GRPO | Method.RLOO:
            return ("prompt", *["solution"] * _needs_solution(settings))


def _needs_solution(settings: ColumnSettings) -> bool:
    """True if one of the rewards compares answers with the column `solution`."""
    return any(name in MATHEMATICAL for name in settings.rewards)


def _sft_reads(forms: Forms, settings: ColumnSettings) -> Sequence[str]:
    if "input_ids" in forms:
        return ("input_ids", "labels")
    if "prompt" in forms:
        return ("prompt", "completion")
    if forms.get("conversations") in ("shared", "unknown"):
        return ("conversations",)
    if forms.get("messages") in (*CHAT, "unknown"):
        return ("messages",)
    return (settings.text_field,)


def _sft(forms: Forms, settings: ColumnSettings) -> str:
    if fault := _pictures(forms, settings):
        return fault
    if "input_ids" in forms:
        return _wrong(forms, "input_ids", ("tokens",))
    if settings.assistant_only_loss and not _some_chat(forms):
        return "`assistant_only_loss` needs messages, and there are none before the data is prepared"
    forms = _with_shared_as_messages(forms)
    return _sft_of_prompts(forms) if "prompt" in forms else _sft_of_whole(forms, settings.text_field)


def _with_shared_as_messages(forms: Forms) -> Forms:
    """Return the forms with `conversations` of `from` and `value` as the messages that sft makes of them."""
    if forms.get("conversations") != "shared":
        return forms
    rest = {name: "chat" if form == "shared" else form for name, form in forms.items() if name != "conversations"}
    return {**rest, "messages": "chat"}


def _sft_of_prompts(forms: Forms) -> str:
    if "completion" not in forms:
        return "no `completion`: with a `prompt`, every row is read as prompt and completion, whatever else is there"
    return _unlike(forms, ("prompt", "completion"))


def _sft_of_whole(forms: Forms, text: str) -> str:
    if forms.get("messages") in CHAT:
        return _silent(forms, ("messages",)) or _strays(forms, ("messages",), text)
    if "unknown" in (forms.get("messages"), forms.get("conversations")):
        return ""
    if text not in forms:
        return _unread(forms, text)
    return _wrong(forms, text, ("text",)) or _taken_for_messages(forms, text)


def _taken_for_messages(forms: Forms, text: str) -> str:
    """Return that TRL takes the row for a conversation, and then looks for its messages."""
    chats = [name for name in ASKED if forms.get(name) in CHAT and name != text]
    if not chats:
        return ""
    return f"{_list(chats)} {_verb(chats, 'hold')} messages, so that `messages` is looked for, not `{text}`"


def _unread(forms: Forms, text: str) -> str:
    """Return why sft reads none of the columns; of messages, what their notation is."""
    if forms.get("conversations") == "chat":
        return "`conversations` holds messages by role and content, which are read under the name `messages` alone"
    for name in ("messages", "conversations"):
        if name in forms:
            return f"`{name}` is {NAMES[forms[name]]}, where a list of messages is looked for"
    return f"no `messages`, no `{text}`, and no `prompt` with `completion`"


def _dpo(forms: Forms, settings: ColumnSettings) -> str:
    return (
        _pictures(forms, settings)
        or _missing(forms, "chosen", "rejected")
        or _unlike(forms, ("prompt", "chosen", "rejected"))
    )


def _reward(forms: Forms, settings: ColumnSettings) -> str:
    del settings
    if ids := _ids_of_pair(forms):
        return _first_wrong(forms, ids, ("tokens",))
    fault = _missing(forms, "chosen", "rejected") or _unlike(forms, ("prompt", "chosen", "rejected"))
    return fault or (_wrong(forms, "margin", ("number", "flag")) if "margin" in forms else "")


def _reward_reads(forms: Forms) -> Sequence[str]:
    return (*(_ids_of_pair(forms) or PAIR), "margin")


def _ids_of_pair(forms: Forms) -> tuple[str, str] | None:
    for ids in (("chosen_ids", "rejected_ids"), ("chosen_input_ids", "rejected_input_ids")):
        if set(ids) <= forms.keys():
            return ids
    return None


def _kto(forms: Forms, settings: ColumnSettings) -> str:
    if fault := _pictures(forms, settings):
        return fault
    if {"chosen", "rejected"} <= forms.keys():
        return _unlike(forms, ("prompt", "chosen", "rejected"))
    if not {"prompt", "completion", "label"} & forms.keys():
        return "no `prompt`, `completion` and `label`, and no `chosen` and `rejected`"
    return (
        _missing(forms, "prompt", "completion", "label")
        or _unlike(forms, ("prompt", "completion"))
        or _wrong(forms, "label", ("flag", "number"))
    )


def _generating(forms: Forms, settings: ColumnSettings) -> str:
    for name in TAKEN:
        if name in forms:
            return f"`{name}` is what the trainer itself gives reward functions, and a column of that name collides with it"
    return (
        _pictures(forms, settings)
        or _missing(forms, "prompt")
        or _wrong(forms, "prompt", ALIKE)
        or _silent(forms, ("prompt",))
        or _illustrated(forms)
        or _rewarded(forms, settings)
    )


def _illustrated(forms: Forms) -> str:
    seen = [name for name in IMAGES if name in forms]
    return (
        f"`prompt` is text, and with {_list(seen)} it has to be messages" if seen and forms["prompt"] == "text" else ""
    )


def _rewarded(forms: Forms, settings: ColumnSettings) -> str:
    for reward in settings.rewards:
        if reward in MATHEMATICAL and "solution" not in forms:
            return f"no `solution`, which {reward} needs"
        if reward in TRL_REWARDS and forms["prompt"] == "text":
            return f"`prompt` is text, and {reward} reads completions as messages, which they are where prompts are"
    return ""


def _pictures(forms: Forms, settings: ColumnSettings) -> str:
    """Return why images are in the way of a model of texts; trainers know them by their name alone."""
    seen = [name for name in IMAGES if name in forms]
    if seen and settings.vision is False:
        return f"a column named {_list(seen)} makes it a set of images, and the model takes texts alone"
    return ""


def _some_chat(forms: Forms) -> bool:
    return any(forms.get(name) in (*CHAT, "unknown") for name in ASKED)


def holds_no_messages(columns: Mapping[str, Type | None]) -> bool:
    """True if TRL surely takes rows with such columns for no conversations.

    >>> from holdfast.core.rows.columns import STRING
    >>> holds_no_messages({"question": STRING}), holds_no_messages({"messages": None})
    (True, False)
    """
    return not _some_chat(forms_of(columns))


def _missing(forms: Forms, *names: str) -> str:
    absent = [name for name in names if name not in forms]
    return f"no {_list(absent)}" if absent else ""


def _wrong(forms: Forms, name: str, wanted: Sequence[Form]) -> str:
    form = forms[name]
    if form == "unknown" or form in wanted:
        return ""
    return f"`{name}` is {NAMES[form]}, and has to be {' or '.join(NAMES[each] for each in wanted)}"


def _first_wrong(forms: Forms, names: Sequence[str], wanted: Sequence[Form]) -> str:
    return next((fault for name in names if (fault := _wrong(forms, name, wanted))), "")


def _silent(forms: Forms, names: Sequence[str]) -> str:
    lacking = _of_form(forms, names, "silent")
    return f"the messages of {_list(lacking)} have no `content`" if lacking else ""


def _of_form(forms: Forms, names: Sequence[str], form: Form) -> list[str]:
    return [name for name in names if forms.get(name) == form]


def _unlike(forms: Forms, names: Sequence[str]) -> str:
    """Return why columns that are put together cannot be: all have to be texts, or all lists of messages."""
    there = [name for name in names if name in forms]
    return _silent(forms, there) or _first_wrong(forms, there, ALIKE) or _mixed(forms, there)


def _mixed(forms: Forms, names: Sequence[str]) -> str:
    """Return that some columns are texts, and others messages or taken for texts."""
    texts, chats = _of_form(forms, names, "text"), _of_form(forms, names, "chat")
    if texts and chats:
        are = "is text" if len(texts) == 1 else "are texts"
        return f"{_list(texts)} {are} and {_list(chats)} {_verb(chats, 'hold')} messages; they have to be alike"
    return _strays(forms, names) if chats and len(chats) == len(names) else ""


def _strays(forms: Forms, read: Sequence[str], otherwise: str = "") -> str:
    """Return why messages that are read may be taken for texts: TRL looks at a column that is not read instead of them."""
    others = [name for name in ASKED if name in forms and name not in read and forms[name] not in (*CHAT, "unknown")]
    if not others or otherwise in forms:
        return ""
    # `is_conversational` takes the first of a set of names, which Python orders anew in each process.
    it = "it" if len(others) == 1 else "them"
    return f"{_list(others)} {_verb(others, 'hold')} no messages, and by chance TRL asks {it} whether {_list(read)} {'does' if len(read) == 1 else 'do'}"


def _caveats(method: Method, forms: Forms, shape: Shape, settings: ColumnSettings) -> Iterable[str]:
    """Yield the problems that training would not report: data that it drops or misreads."""
    read = [name for name in _reads(method, forms, settings) if name in (*ASKED, "conversations") and name in forms]
    yield from _promptless(method, forms, shape)
    yield from _unshown(method, forms, shape, settings)
    yield from _endless(method, forms, read)
    yield from _unlearned(method, forms, read, settings)
    yield from _unspoken(forms, read, shape)
    if method.generates:
        yield from _unrewarded(forms, settings)


def _promptless(method: Method, forms: Forms, shape: Shape) -> Iterable[str]:
    """Yield that a pair of answers has no prompt."""
    paired = method in (Method.DPO, Method.REWARD, Method.KTO) and {"chosen", "rejected"} <= forms.keys()
    if paired and "prompt" not in forms and not shape.implicit_prompt:
        yield "`chosen` and `rejected` begin differently, so that there is no prompt"


def _unshown(method: Method, forms: Forms, shape: Shape, settings: ColumnSettings) -> Iterable[str]:
    """Yield that words which belong to the prompt are in no column that is read."""
    read = [name for name in _reads(method, forms, settings) if name in forms]
    if unread := unread_columns(method, read, forms, shape):
        yield f"the model is not shown {_list(unread)}"


def _endless(method: Method, forms: Forms, read: Sequence[str]) -> Iterable[str]:
    """Yield that texts may get no token that ends them."""
    if not method.generates and _of_form(forms, read, "text"):
        others = [name for name in ASKED if forms.get(name) in CHAT]
        if others:
            yield f"{_list(others)} {_verb(others, 'hold')} messages, and by chance no text gets a token that ends it"


def _unlearned(method: Method, forms: Forms, read: Sequence[str], settings: ColumnSettings) -> Iterable[str]:
    """Yield what the rows say and sft does not learn."""
    if method is not Method.SFT:
        return
    if forms.get("label") == "flag" and {"completion", "messages", "conversations"} & {*read}:
        yield "`label` is not read, and answers that it calls bad are learned as well"
    if {"parent_id", "role"} <= forms.keys() and settings.text_field in forms:
        yield "each row is one message of a tree, by `parent_id`: conversations have to be joined from several rows"


def _unrewarded(forms: Forms, settings: ColumnSettings) -> Iterable[str]:
    """Yield the columns that reward functions do not get."""
    if forms.get("solution") == "number" and _needs_solution(settings):
        yield "`solution` is a number, and TRL's reward reads texts alone: of a number it makes no reward"
    lost = [name for name in OVERWRITTEN if name in forms]
    if lost:
        yield f"reward functions get the trainer's own {_list(lost)}, not the column"


def _unspoken(forms: Forms, read: Sequence[str], shape: Shape) -> Iterable[str]:
    """Yield the parts of a row that the chat template does not get."""
    odd = [name for name in shape.roles if name not in ROLES]
    if odd and any(forms[name] in ("chat", "shared") for name in read):
        roles = f"role{'s' * (len(odd) > 1)} {_list(odd)}"
        yield f"the chat template gets the {roles} unchanged, and may leave such messages out"
    written = [name for name in read if name in shape.transcripts]
    if written:
        yield f"{_list(written)} {_verb(written, 'hold')} conversations, which are learned as plain text, without the chat template"


def _textless(read: Sequence[str], columns: Mapping[str, Type | None]) -> Iterable[str]:
    """Yield which messages have contents of parts without `text`, of which templates write nothing, or the parts themselves."""
    for name in read:
        match columns[name]:
            case ListOf(Struct({"content": ListOf(Struct(fields))})) if "text" not in fields:
                yield f"in `{name}`, contents are lists of parts without `text`, which is what chat templates write out"
            case _:
                pass


def _untemplated(method: Method, forms: Forms, settings: ColumnSettings) -> str:
    chats = [name for name in _reads(method, forms, settings) if forms.get(name) in ("chat", "shared")]
    if settings.chat_template is not False or not chats:
        return ""
    return f"{_list(chats)} {_verb(chats, 'hold')} messages, and the model has no chat template to write them with"


def _verb(names: Sequence[str], plural: str) -> str:
    return plural + "s" if len(names) == 1 else plural


def _list(names: Sequence[str]) -> str:
    """Spell names of columns.

    >>> _list(["prompt", "chosen", "rejected"])
    '`prompt`, `chosen` and `rejected`'
    """
    spelled = [f"`{name}`" for name in names]
    return " and ".join([", ".join(spelled[:-1]), spelled[-1]] if len(spelled) > 1 else spelled)


FAULTS: Final[Mapping[Method, Callable[[Forms, ColumnSettings], str]]] = {
    Method.SFT: _sft,
    Method.DPO: _dpo,
    Method.GRPO: _generating,
    Method.REWARD: _reward,
    Method.KTO: _kto,
    Method.RLOO: _generating,
}
