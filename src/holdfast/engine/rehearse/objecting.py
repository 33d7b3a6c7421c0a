"""Findings of rules in what a script gave its trainer, as failures, and as the causes of failures that were raised."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from holdfast.core.rehearse.rehearsal import Failure, Objection, PartResult
from holdfast.engine.rehearse.naming import CODE, general_advice, is_raised_in_library, name_cause, signature_of
from holdfast.signatures import prevented_by

OF_ROWS: Final = ("data", "tokenize")
"""Stages in which libraries take rows apart."""
BAD_ROWS: Final = "dataset-bad-row-values"
"""What the rules about rows prevent."""
REPAIR: Final = "Drop or repair these rows before training; `holdfast explain {}` says what is wrong with them."


def with_objection(failure: Failure, whole: PartResult, objections: Sequence[Objection]) -> Failure:
    """Return a failure with what a rule says of the rows: their column and numbers, which the exception does not tell.

    What a library raises while it takes such rows apart is one of bad rows, also where no class knows the message.
    """
    objection = next((each for each in objections if each.fails and BAD_ROWS in prevented_by(each.code)), None)
    name = failure.cause.signature.name
    is_guessed = name == CODE and failure.stage in OF_ROWS and is_raised_in_library(whole)
    if objection is None or not (name == BAD_ROWS or is_guessed):
        return failure
    cause = name_cause(BAD_ROWS, "", {}) if is_guessed else failure.cause
    message = f"{objection.message}. {cause.cause}"
    return replace(failure, cause=replace(cause, cause=message, fix=REPAIR.format(objection.code)))


def objected(objections: Sequence[Objection], failures: Sequence[Failure]) -> Iterator[Failure]:
    """Yield the rules' objections as failures, where no failure of the same class is known already."""
    known = {failure.cause.signature.name for failure in failures}
    for each in objections:
        names = tuple(prevented_by(each.code))
        if each.fails and names and known.isdisjoint(names):
            name = names[0]
            known.add(name)
            yield Failure(
                stage=each.stage,
                cause=name_cause(name, each.message, {"rule": each.code}, fix=_advice_of(name, each.code)),
                rule=each.code,
                blame="model" if each.stage == "model" else "data",
                blamed=f"{each.code} says so of what the script gave its trainer",
            )


def _advice_of(name: str, code: str) -> str:
    """Return the advice on a rule's objection: its class's general one, else the rule's own page."""
    return "" if general_advice(signature_of(name)) else REPAIR.format(code)


def warns(objection: Objection) -> bool:
    """True if an objection fails nothing: it may be meant so, or no class of failure says what it comes to."""
    return not objection.fails or not prevented_by(objection.code)
