"""Explaining the rules and the job file."""

from functools import partial
from typing import Any

from holdfast.app.examples import objections
from holdfast.core.errors import UsageError
from holdfast.core.job import job_schema
from holdfast.engine.pages import render_keys, render_page
from holdfast.rules import all_rules

Answer = dict[str, Any]


def explain(code: str) -> Answer:
    """Give a rule's page, or the schema of a job file.

    Raises:
        UsageError: There is no such rule.
    """
    if code == "job":
        schema = job_schema()
        return {"schema": 1, "verb": "explain", "about": schema, "text": render_keys(schema)}
    for rule in all_rules():
        if code.upper() == rule.code or code.lower() == rule.name:
            page = render_page(rule, partial(objections, rule))
            return {"schema": 1, "verb": "explain", "about": rule.summary(), "text": page}
    known = ", ".join(rule.code for rule in all_rules())
    raise UsageError(f"no rule is called {code!r}", where="holdfast explain", fix=f"use one of {known}, or `job`")
