"""Every signature on its own texts, beside all others."""

import re
from functools import cache

import pytest

from holdfast.core.check.finding import Rule
from holdfast.core.diagnose.diagnosis import HEALTHY, Signature
from holdfast.core.diagnose.words import words_of
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.engine.diagnose.subjects import HEADS, METHODS
from holdfast.engine.diagnose.values import SENTENCE, fill, names_in
from holdfast.rules import all_rules
from holdfast.signatures import all_signatures
from tests.helpers.diagnose_cases import EVERY_STEP

SIGNATURES = {each.name: each for each in all_signatures()}
GIVEN = frozenset(
    {
        "lost_step",
        "finite_step",
        "reached",
        "preparing",
        "error",
        "message",
        "file",
        "line",
        "function",
        "everyone",
        "timed_out",
        "code",
        "step",
        "steps",
        "first",
        "least",
        "rewarded",
        "least_when",
        "when",
        "loss",
        "rate",
        "suspect",
        "tokens",
        "reward",
        "instead",
        "newer",
        "older",
        "meant",
        "waiters",
        "absent",
        "run",
        "unsaved",
        "users",
        "within",
        "within_at",
        "raised",
        "method",
        "head",
        *METHODS,
        *HEADS.values(),
    }
)
"""Values that need no mark: of exceptions that nobody knows, of the user's own function, of how far training got, of what the metrics say, of libraries'
releases, of what is trained and how."""

TOGETHER = {"older": ("old",), "meant": ("old",), "reason": ("denied",), "file": ("function", "line")}
"""Values that come with others."""


@cache
def patterns() -> PatternIndex:
    return PatternIndex(all_signatures())


@cache
def rules() -> dict[str, Rule]:
    return {rule.code: rule for rule in all_rules()}


def first(text: str) -> str:
    """Return the class that is told first; where none is sure, only that nothing is wrong, or that it is not told here."""
    found = diagnose(read_log([("x.log", [text.encode()])], patterns().sought), patterns())
    name = found.causes[0].signature.name if found.causes else ""
    return name if found.verdict != "unknown" or name in (HEALTHY, "cause-not-in-log") else ""


@pytest.mark.parametrize("name", SIGNATURES)
def test_it_is_found_first_in_what_it_was_seen_in(name: str) -> None:
    assert {text: first(text) for text in SIGNATURES[name].seen} == dict.fromkeys(SIGNATURES[name].seen, name)


@pytest.mark.parametrize("name", SIGNATURES)
def test_it_is_not_found_in_near_misses(name: str) -> None:
    assert not [text for text in SIGNATURES[name].not_seen if first(text) == name]


@pytest.mark.parametrize("name", SIGNATURES)
def test_it_is_whole(name: str) -> None:
    each = SIGNATURES[name]
    assert all((each.title, each.cause, each.fix, each.page, each.source))
    assert "## What it is" in each.page
    for mark in each.patterns:
        assert words_of(mark.line)
        assert 0 < mark.weight <= 1
    assert set(each.covers) <= set(SIGNATURES)
    assert not [
        code
        for code in each.prevented_by
        if re.fullmatch(r"[A-Z]{3}1\d\d", code) and code[:3] != "RES" and code not in rules()
    ]


@pytest.mark.parametrize("name", [name for name, each in SIGNATURES.items() if each.found_by])
def test_a_rule_that_reports_a_case_is_one_of_its_class_and_asks_for_values_that_a_log_gives(name: str) -> None:
    each = SIGNATURES[name]
    assert set(each.found_by) <= set(each.prevented_by)
    asked = {word for when in each.found_by.values() for word in re.findall(r"[a-z]\w*", when)}
    assert asked - {"and", "or", "not"} <= groups(each) | GIVEN | {"new"}


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_seq_length'", ("ARG101",)),
        ("AttributeError: 'SFTConfig' object has no attribute 'max_seq_length'", ()),
        ("TypeError: SFTConfig.__init__() got an unexpected keyword argument 'max_lenght'", ("ARG106",)),
        ("".join(f"{{'loss': {loss}, 'learning_rate': 5.0}}\n" for loss in (6.2, 360.0, 1335.0, 720.0)), ("CMB106",)),
        ("".join(f"{{'loss': {loss}, 'learning_rate': 3e-3}}\n" for loss in (1.2, 9.0, 8.8, 8.7, 8.6)), ()),
        ("ValueError: No valid checkpoint found in output directory (out)", ()),
        ("IndexError: index out of range in self", ()),
        (
            "ValueError: Target modules {'c_attn'} not found in the base model. Please check the target modules.",
            ("MOD123",),
        ),
    ],
)
def test_the_rules_that_are_named_report_this_very_case(text: str, codes: tuple[str, ...]) -> None:
    assert diagnose(read_log([("x.log", [text.encode()])], patterns().sought), patterns()).causes[0].found_by == codes


@pytest.mark.parametrize(
    ("stored", "wanted", "said"), [("8, 64", "8, 128", "this one is 128 wide"), ("8, 64", "16, 64", "another rank")]
)
def test_an_adapter_for_another_base_is_told_from_one_of_another_rank(stored: str, wanted: str, said: str) -> None:
    text = (
        f"size mismatch for base_model.model.q_proj.lora_A.default.weight: copying a param with shape torch.Size([{stored}]) "
        f"from checkpoint, the shape in current model is torch.Size([{wanted}])."
    )
    assert said in diagnose(read_log([("x.log", [text.encode()])], patterns().sought), patterns()).causes[0].cause


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ValueError: Cannot handle batch sizes > 1 if no padding token is defined.", "`model.config.pad_token_id ="),
        ("ValueError: Asking to pad but the tokenizer does not have a padding token.", "`tokenizer.pad_token = …`"),
        ("FileExistsError: [Errno 17] File exists: 'out'\n", "Move the file `out` away"),
        ("PermissionError: [Errno 13] Permission denied: 'out'", "Run as the folder's owner"),
        ("OSError: [Errno 30] Read-only file system: 'out'", "Mount it writable"),
    ],
)
def test_a_fix_is_that_of_the_case(text: str, said: str) -> None:
    frames = 'Traceback (most recent call last):\n  File "<frozen os>", line 225, in makedirs\n'
    assert (
        said in diagnose(read_log([("x.log", [(frames + text).encode()])], patterns().sought), patterns()).causes[0].fix
    )


@pytest.mark.parametrize("name", SIGNATURES)
def test_no_sentence_is_lost_with_its_neighbour(name: str) -> None:
    """A sentence is left out where the log does not give its values; it is told from the next by that one's capital."""
    sentences = [one for text in (SIGNATURES[name].cause, SIGNATURES[name].fix) for one in SENTENCE.split(text)]
    assert not [one for one in sentences if names_in(one) and re.search(r"[.!?] [a-z]\w+ ", one)]


@pytest.mark.parametrize("name", SIGNATURES)
def test_a_fix_is_whole_sentences_that_say_something_whatever_is_known(name: str) -> None:
    """Of each value alone, and of none: what is left does not end in the middle, and is not empty."""
    fix = SIGNATURES[name].fix
    values = (*names_in(fix), *asked_for(SIGNATURES[name]))
    known = [{}, *(dict.fromkeys((value, *TOGETHER.get(value, ())), "x") for value in values)]
    assert not [(given, fill(fix, given)) for given in known if not re.search(r"[.!)`]$", fill(fix, given))]


@pytest.mark.parametrize("name", [name for name, each in SIGNATURES.items() if each.patterns])
def test_every_value_that_its_words_speak_of_is_one_a_mark_gives(name: str) -> None:
    each = SIGNATURES[name]
    assert {*names_in(each.cause), *names_in(each.fix), *asked_for(each)} <= groups(each) | GIVEN


def test_no_word_stands_in_what_healthy_jobs_write_at_every_step() -> None:
    """Lines with a word are read one by one: with one of these a log of a gigabyte would take minutes."""
    asked = [
        (each.name, text)
        for each in all_signatures()
        for mark in each.patterns
        for text in (mark.line, mark.log, mark.not_log)
    ]
    words = {word: name for name, expression in asked if expression for word in words_of(expression)}
    assert {word: name for word, name in words.items() if word in EVERY_STEP} == {}


def asked_for(signature: Signature) -> set[str]:
    """Return the values that sentences need, or need to be absent, and do not show."""
    return set(re.findall(r"\{[!?](\w+)\}", signature.cause + signature.fix))


def groups(signature: Signature) -> set[str]:
    expressions = [
        part for mark in signature.patterns for part in (mark.line, mark.near, mark.frame, mark.raised_in) if part
    ]
    return {group for expression in expressions for group in re.compile(expression).groupindex}
