"""Explaining rules, classes of failure, and the keys of job files and study files."""

from collections.abc import Iterator
from functools import partial
from typing import Final

from holdfast.app.explain.examples import objections
from holdfast.core.check.finding import Rule
from holdfast.core.diagnose.diagnosis import Signature
from holdfast.core.errors import UsageError
from holdfast.core.job.methods import Method
from holdfast.core.job_file.job import all_keys, job_schema
from holdfast.core.study.study import study_schema
from holdfast.core.text.nearest import nearest
from holdfast.engine.explain import unreadable
from holdfast.engine.explain.arguments import argument_json, argument_keys, find_argument, render_argument
from holdfast.engine.explain.classes import render_class
from holdfast.engine.explain.index import render_area, render_index
from holdfast.engine.explain.job_keys import STUDY_FILE, render_keys
from holdfast.engine.explain.rules import render_short_page
from holdfast.engine.explain.scenarios import SCENARIO_PAGES, render_scenarios, scenarios_json
from holdfast.engine.explain.topics import TOPICS
from holdfast.results import Json
from holdfast.results.explain import ExplainResult
from holdfast.rules import AREAS, all_rules
from holdfast.signatures import all_signatures

JOB: Final = "job"
STUDY: Final = "study"
METHOD: Final = "method"


def explain(code: str | None = None) -> ExplainResult:
    """Explain a rule, an area of rules, a class of failure, or the keys of a job file or a study file.

    >>> import holdfast
    >>> holdfast.explain("ARG101")["about"]["name"]
    'renamed-argument'

    Args:
        code: A rule's code or name (`ARG101`, `renamed-argument`), an area (`ARG`), a class of failure that `diagnose`
            names, a topic (`memory`, `plan`), `for` or a scenario (`for:production`), `job`, `study`, or a key or a method of a job file (`dataset.rows`, `job.peft`, `sft`). None lists
            all rules and classes.

    Raises:
        UsageError: Nothing has that name.
    """
    about, text = _index() if code is None else _find(code)
    return ExplainResult(verb="explain", about=about, text=text)


def names() -> list[str]:
    """Return every name that can be explained: areas, rules, classes of failure, and keys of a job file."""
    rules = all_rules()
    return [
        *AREAS,
        unreadable.CODE,
        *(rule.code for rule in rules),
        *(rule.name for rule in rules),
        *(each.name for each in all_signatures()),
        *TOPICS,
        *SCENARIO_PAGES,
        *Method,
        JOB,
        STUDY,
        *all_keys(),
        *argument_keys(),
    ]


def _index() -> tuple[Json, str]:
    rules, signatures = all_rules(), all_signatures()
    about = {"rules": [rule.as_json() for rule in rules], "classes": [_class_json(each) for each in signatures]}
    return about, render_index(AREAS, rules, signatures)


def _find(code: str) -> tuple[Json, str]:
    """Return the entry with a name, as JSON and as text; a rule and the failure that it prevents may share one.

    Raises:
        UsageError: Nothing has.
    """
    name = code.lower().removeprefix("job.")
    name = METHOD if name in tuple(Method) else name
    if name.upper() in AREAS and code != JOB:  # `JOB` is an area, `job` the job file
        return _area(name.upper())
    found = _named_pages(name) or _topic(name) or _keys(name)
    if found is None:
        raise UsageError(f"nothing is called {code!r}", where="holdfast explain", fix=_suggestion(code))
    return found


def _named_pages(name: str) -> tuple[Json, str] | None:
    """Return the pages of the rules and of the classes of failure with a name, as one; None if there are none."""
    pages = [*_pages(name)]
    return (pages[0][0], "\n".join(text for _, text in pages)) if pages else None


def _pages(name: str) -> Iterator[tuple[Json, str]]:
    yield from (_rule_page(rule) for rule in all_rules() if name in (rule.code.lower(), rule.name))
    if name in (unreadable.CODE.lower(), unreadable.NAME):
        yield dict(unreadable.ABOUT), unreadable.PAGE
    yield from ((_class_json(each), render_class(each)) for each in all_signatures() if name == each.name)


def _keys(name: str) -> tuple[Json, str] | None:
    """Return the keys of a study file or a job file; of a job file, also one key, or an argument that it passes on."""
    if name == STUDY:
        schema = study_schema()
        return schema, render_keys(schema, file=STUDY, about=STUDY_FILE)
    if name == JOB or name in all_keys():
        schema = job_schema()
        return schema, render_keys(schema, "" if name == JOB else name)
    if taken := find_argument(name):
        return argument_json(name, taken), render_argument(name, taken)
    return None


def _topic(name: str) -> tuple[Json, str] | None:
    if name in SCENARIO_PAGES:
        return scenarios_json(name), render_scenarios(name)
    text = TOPICS[name]() if name in TOPICS else ""
    return ({"topic": name, "text": text}, text) if text else None


def _area(area: str) -> tuple[Json, str]:
    rules = [rule for rule in all_rules() if rule.code.startswith(area)]
    about = {"area": area, "title": AREAS[area], "rules": [rule.as_json() for rule in rules]}
    return about, render_area(area, AREAS[area], rules)


def _rule_page(rule: Rule) -> tuple[Json, str]:
    about = {**rule.as_json(), "why": rule.why, "source": rule.source}
    return about, render_short_page(rule, partial(objections, rule))


def _class_json(signature: Signature) -> Json:
    return {
        "class": signature.name,
        "title": signature.title,
        "phase": signature.phase,
        "retry": signature.retry,
        "prevented_by": list(signature.prevented_by),
    }


def _suggestion(code: str) -> str:
    """Return the nearest name, or the place where the names are listed. No number of a rule is meant for another one."""
    if len(begun := [name for name in names() if name.startswith(code.upper())]) > 1:
        return f"did you mean one of {', '.join(f'`{name}`' for name in begun)}?"
    area = code[:3].upper()
    is_code = area in AREAS and code[3:].isdigit()
    if is_code:
        return f"`holdfast explain {area}` lists the rules of this area"
    known = {name.lower(): name for name in names()}
    near = nearest(code.lower(), tuple(known))
    listed = "`holdfast explain --all` lists the names"
    return f"did you mean `{known[near]}`? {listed}" if near else listed
