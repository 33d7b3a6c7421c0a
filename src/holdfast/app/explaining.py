"""Explaining rules, classes of failure, and the job file."""

from collections.abc import Iterator
from functools import partial
from typing import Any

from holdfast.app.examples import objections
from holdfast.core.errors import UsageError
from holdfast.core.job import job_schema
from holdfast.core.nearest import nearest
from holdfast.engine.diagnosis_answers import render_class
from holdfast.engine.pages import render_keys, render_page
from holdfast.rules import all_rules
from holdfast.signatures import all_signatures

Answer = dict[str, Any]


def explain(code: str) -> Answer:
    """Give the page of a rule or of a class of failure, or the schema of a job file.

    Raises:
        UsageError: There is none of that name.
    """
    if code == "job":
        schema = job_schema()
        return {"schema": 1, "verb": "explain", "about": schema, "text": render_keys(schema)}
    pages = [*_rule_pages(code), *_class_pages(code)]
    if pages:  # a rule and the failure that it prevents may have one name
        return {"schema": 1, "verb": "explain", "about": pages[0][0], "text": "\n".join(text for _, text in pages)}
    names = [*(rule.code for rule in all_rules()), *(rule.name for rule in all_rules())]
    names += [signature.name for signature in all_signatures()]
    near = nearest(code, tuple(names))
    fix = f"did you mean {near}?" if near else "name a rule, a class that `diagnose` told, or `job`"
    raise UsageError(f"nothing is called {code!r}", where="holdfast explain", fix=fix)


def _rule_pages(code: str) -> Iterator[tuple[Answer, str]]:
    for rule in all_rules():
        if code.upper() == rule.code or code.lower() == rule.name:
            yield rule.summary(), render_page(rule, partial(objections, rule))


def _class_pages(name: str) -> Iterator[tuple[Answer, str]]:
    for signature in all_signatures():
        if name.lower() == signature.name:
            about = {"class": signature.name, "title": signature.title, "retry": signature.retry}
            yield about, render_class(signature)
