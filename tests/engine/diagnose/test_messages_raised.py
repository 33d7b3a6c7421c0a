"""Messages of a log that are known word by word: who raises them, in which releases, and of what class that makes them."""

import traceback
from collections.abc import Callable
from functools import cache
from importlib.metadata import version

import pytest
from datasets import Dataset
from huggingface_hub import hf_hub_url
from packaging.specifiers import SpecifierSet

from holdfast.catalog.messages import KnownMessage, MessagePlace, load_messages, packages
from holdfast.catalog.messages.templates import HOLE
from holdfast.core.diagnose.diagnosis import Diagnosis
from holdfast.core.diagnose.log import Log
from holdfast.engine.diagnose import PatternIndex, diagnose, read_log
from holdfast.engine.diagnose.raised import CAREFUL, SURE_WORDS, LibraryMessage, find_raised, versions_of
from holdfast.engine.diagnose.raised_classes import RULES, class_of
from holdfast.signatures import all_signatures

REFUSED = (
    "dataset-field-case-mismatch",
    "dataset-empty",
    "grpo-batch-generations-divisibility",
    "iterable-dataset-needs-max-steps",
    "transformers-arg-removed",
    "trl-config-arg-renamed",
)
"""Classes whose patterns see more than the place says: which column, which numbers, which argument it is about."""


@cache
def patterns() -> PatternIndex:
    return PatternIndex(all_signatures())


def read(text: str) -> Log:
    return read_log([("x.log", [text.encode()])], patterns().sought)


def diagnosed(text: str) -> Diagnosis:
    return diagnose(read(text), patterns())


def told(text: str) -> LibraryMessage:
    (found,) = (each for each in find_raised(read(text)) if each.exception)
    return found


def log_of(said: KnownMessage, place: MessagePlace) -> str:
    """Return the end of a log in which a library raises a message."""
    file = f"/opt/venv/lib/python3.11/site-packages/{place.module.replace('.', '/')}.py"
    return (
        'Traceback (most recent call last):\n  File "/home/me/train.py", line 31, in <module>\n    main()\n'
        f'  File "{file}", line 123, in {place.function.rpartition(".")[2]}\n    raise {said.kind}(\n'
        f"{said.kind}: {said.template.replace(HOLE, 'eight')}\n"
    )


@pytest.mark.parametrize(
    ("fails", "package", "function"),
    [
        (lambda: Dataset.from_dict({"a": [1]}).rename_column("b", "c"), "datasets", "Dataset.rename_column"),
        (lambda: Dataset.from_dict({"a": [1]}).shard(num_shards=2, index=7), "datasets", "Dataset.shard"),
        (lambda: hf_hub_url("a//b", "c"), "huggingface_hub", "validate_repo_id"),
    ],
)
def test_what_the_installed_libraries_raise_is_known_again(
    fails: Callable[[], object], package: str, function: str
) -> None:
    """With the function, and with releases among which the installed one is."""
    with pytest.raises(ValueError, match=r"[a-z]") as caught:
        fails()
    found = told("".join(traceback.format_exception(caught.value)))

    assert str(found).startswith(package)
    assert f"`{function}`" in str(found)
    assert SpecifierSet(versions_of([found]).get(package, "")).contains(version(package))


def dated() -> tuple[KnownMessage, MessagePlace]:
    """Return a message of trl that came after the oldest release and went before the newest."""
    known = load_messages("trl")
    newest = 1 << (len(known.versions) - 1)
    return next(
        (said, said.places[0])
        for said in known.all()
        if said.kind == "ValueError"
        and len(said.places) == 1
        and said.words > SURE_WORDS
        and not said.places[0].releases & (1 | newest)
    )


def test_a_message_tells_which_releases_can_have_written_the_log() -> None:
    """Those in which it is said there, and no others."""
    said, place = dated()
    known = load_messages("trl")
    span = SpecifierSet(diagnosed(log_of(said, place)).versions["trl"])

    inside = [at for at in range(len(known.versions)) if place.releases >> at & 1]
    allowed = [at for at, release in enumerate(known.versions) if span.contains(release)]
    assert allowed == list(range(inside[0], inside[-1] + 1))


def test_what_the_log_itself_says_of_its_versions_comes_first() -> None:
    """A list of packages is surer than any message."""
    assert diagnosed(f"trl==0.0.1\n{log_of(*dated())}").versions["trl"] == "0.0.1"


def test_two_messages_leave_the_releases_that_say_both() -> None:
    """And where none does, other code said one of them: nothing is told."""
    known = load_messages("trl")
    said, place = dated()
    exception = told(log_of(said, place))
    first, last = place.releases & -place.releases, 1 << (len(known.versions) - 1)
    only_first = LibraryMessage(exception.line, said, (MessagePlace(place.module, place.function, first),), known)
    only_last = LibraryMessage(exception.line, said, (MessagePlace(place.module, place.function, last),), known)

    assert known.versions[first.bit_length() - 1] in SpecifierSet(versions_of([exception, only_first])["trl"])
    assert "trl" not in versions_of([only_first, only_last])


def test_the_same_words_raised_by_the_users_code_are_the_users() -> None:
    """Whatever is copied from a library into a script has no release."""
    said, place = dated()
    module = place.module.replace(".", "/")
    text = log_of(said, place).replace(f"/opt/venv/lib/python3.11/site-packages/{module}.py", "/home/me/losses.py")

    assert not find_raised(read(text))
    assert "It is raised by" not in diagnosed(text).causes[0].cause


def test_few_words_without_a_frame_are_nobodys() -> None:
    """Python and every library may say them."""
    assert not find_raised(read("IndexError: tuple index out of range\n"))


def test_a_warning_dates_a_log_too() -> None:
    """Also one that stands behind a logger's name."""
    known = load_messages("trl")
    newest = 1 << (len(known.versions) - 1)
    said = next(
        each
        for each in known.all()
        if each.kind == "warning"
        and each.words > SURE_WORDS
        and not each.places[0].releases & 1
        and all(place.releases & newest for place in each.places)
    )
    found = diagnosed(f"[WARNING|x.py:12] 2026-01-01 10:00:00 >> {said.template.replace(HOLE, 'eight')}\n").versions

    assert found["trl"].startswith(">")


def unmarked() -> tuple[KnownMessage, MessagePlace]:
    """Return a message that no mark knows, and whose place speaks for a class."""
    for said in load_messages("accelerate").all():
        place = said.places[0]
        name = class_of(said.kind, said.template, f"{place.module}:{place.function}")
        bare = log_of(said, place).replace("/accelerate/", "/elsewhere/")
        if name == "invalid-config-value" and diagnosed(bare).verdict == "unknown":
            return said, place
    raise AssertionError


def test_an_unknown_message_is_of_the_class_of_its_function_with_little_confidence() -> None:
    """With who raises it, and the message itself, in the answer."""
    said, place = unmarked()
    found = diagnosed(log_of(said, place))
    best = found.causes[0]

    assert found.verdict == "diagnosed"
    assert best.signature.name == "invalid-config-value"
    assert best.confidence <= 0.6
    assert "It is raised by accelerate" in best.cause
    assert f"`{place.function}`" in best.cause
    assert said.template.split(HOLE)[0].strip() in best.cause
    assert said.template.split(HOLE)[0].strip() in best.evidence[0].text


def test_an_unknown_message_that_training_went_on_after_is_no_cause() -> None:
    """The run came to its end."""
    text = log_of(*unmarked()) + "{'train_runtime': 12.5, 'train_loss': 1.2, 'epoch': 1.0}\n"

    assert diagnosed(text).verdict == "healthy"


@pytest.mark.long
def test_places_speak_for_the_classes_that_signatures_know_there() -> None:
    """On every text of every signature that ends in a message of a library."""
    wrong = [
        (signature.name, each.name, str(each))
        for signature in all_signatures()
        for text in signature.seen
        for each in find_raised(read(text))
        if each.exception and each.name not in ("", signature.name) and signature.name not in REFUSED
    ]

    assert not wrong


def test_every_class_that_a_place_speaks_for_exists_and_is_spoken_for() -> None:
    """By some message of some release; a rule that nothing holds for is a mistake."""
    said = [
        (each.kind, each.template, f"{place.module}:{place.function}")
        for package in packages()
        for each in load_messages(package).all()
        for place in each.places
    ]

    assert {rule.name for rule in RULES} - {""} <= {signature.name for signature in all_signatures()}
    assert not [rule for rule in RULES if not any(rule.holds(*each) for each in said)]


def test_the_score_of_a_careful_class_stays_below_any_marks() -> None:
    """A class that somebody wrote a mark for is surer."""
    assert CAREFUL <= 0.6
