"""The scripts of a study that run without holdfast: one for each kind of trial, and one that starts them all.

Trials are of one kind if their scripts differ in nothing but the values of settings, the constants at the top of a rendered script.
"""

import ast
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, Final

from holdfast.core.study.study import Study
from holdfast.core.study.trial import Trial
from holdfast.engine.script.python_source import render_literal
from holdfast.engine.script.render import TEMPLATES
from holdfast.engine.study.student import half_width

MAIN: Final = "main.py"
SEED: Final = "SEED"
FOLLOWING: Final = "DATA_SEED"
"""The setting that a script sets with its seed, if the job has no seed for its data."""
TRAINER_NAMES: Final = {"train_loss": "loss"}
"""Names under which the trainer logs a metric, where they are others."""
LINE: Final = 110
MOST_SEEDS: Final = 30
"""From so many seeds on, the quantile of the last of them is used: it is at most 4 % too wide."""


@dataclass(frozen=True, slots=True)
class TrialScript:
    """The rendered script of a trial.

    Attributes:
        trial: The trial.
        method: Its method, after which the script is named.
        text: The script.
    """

    trial: Trial
    method: str
    text: str


@dataclass(frozen=True, slots=True)
class ScriptParts:
    """A script as its settings and the rest.

    Attributes:
        rest: All but the values of the settings.
        settings: The values, by `NAME`, or `NAME.key` of a mapping.
    """

    rest: str
    settings: Mapping[str, Any]


def render_study_scripts(name: str, study: Study, scripts: Sequence[TrialScript]) -> dict[str, str]:
    """Return the text of each script of a study by its file name: the main one, and one for each kind of trial.

    Args:
        name: The study's name.
        study: The study.
        scripts: The script of each trial, in their order: each setting with every seed.
    """
    parts = [parse_script(each.text) for each in scripts]
    names = _name_kinds(scripts, parts)
    varied = {file: [*_varied(parts, names, file)] for file in dict.fromkeys(names)}
    seeds = [*dict.fromkeys(study.seeds)]
    runs = [
        (file, {key: part.settings[key] for key in varied[file] if not seeds or key not in (SEED, FOLLOWING)})
        for file, part in list(zip(names, parts, strict=True))[:: max(1, len(seeds))]
    ]
    files = {file: scripts[names.index(file)].text for file in varied}
    return {MAIN: _render_main(name, study, runs, seeds), **files}


def parse_script(text: str) -> ScriptParts:
    """Return the settings of a rendered script, and the rest of it.

    >>> parse_script('TRAIN = {"steps": 2}; print(TRAIN)').settings
    {'TRAIN.steps': 2}
    """
    tree = ast.parse(text)
    settings: dict[str, Any] = {}
    for node in tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if name.isupper():
                node.value = _without_values(name, node.value, settings)
            case ast.Expr(value=ast.Constant(value=str())):
                node.value = ast.Constant(None)  # the docstring, which names model and data
            case _:
                pass
    header = [line for line in text.splitlines() if line.startswith("#")]
    return ScriptParts("\n".join([*_before_code(header), ast.dump(tree)]), settings)


def _before_code(comments: Iterable[str]) -> Iterator[str]:
    """Yield the lines of the header, which names packages."""
    for line in comments:
        yield line
        if line == "# ///" or not line.startswith("# "):
            return


def _without_values(name: str, value: ast.expr, settings: dict[str, Any]) -> ast.expr:
    """Return an expression without its literal values, which are added to the settings."""
    if isinstance(value, ast.Dict) and all(isinstance(key, ast.Constant) for key in value.keys):
        keys = [str(key.value) for key in value.keys if isinstance(key, ast.Constant)]
        values = [
            _without_values(f"{name}.{key}", each, settings) for key, each in zip(keys, value.values, strict=True)
        ]
        return ast.Dict(keys=value.keys, values=values) if "." not in name else _literal(name, value, settings)
    return _literal(name, value, settings)


def _literal(name: str, value: ast.expr, settings: dict[str, Any]) -> ast.expr:
    try:
        settings[name] = ast.literal_eval(value)
    except ValueError:
        return value  # such as `float("inf")`
    return ast.Constant(None)


def _name_kinds(scripts: Sequence[TrialScript], parts: Sequence[ScriptParts]) -> list[str]:
    """Return the file name of each trial's script: `sft.py`, and `sft-2.py` for another kind of the same method."""
    names: dict[tuple[str, str], str] = {}
    for script, part in zip(scripts, parts, strict=True):
        count = sum(method == script.method for method, _ in names) + 1
        names.setdefault((script.method, part.rest), f"{script.method}{f'-{count}' if count > 1 else ''}.py")
    return [names[script.method, part.rest] for script, part in zip(scripts, parts, strict=True)]


def _varied(parts: Sequence[ScriptParts], names: Sequence[str], file: str) -> Iterator[str]:
    """Yield the settings in which the trials of one script differ."""
    alike = [part.settings for part, name in zip(parts, names, strict=True) if name == file]
    for key in alike[0]:
        if len({json.dumps(each.get(key)) for each in alike}) > 1:
            yield key


def _render_main(name: str, study: Study, runs: Sequence[tuple[str, Mapping[str, Any]]], seeds: Sequence[int]) -> str:
    """Return the script that starts the others."""
    return TEMPLATES.get_template("study.py.jinja").render(
        name=name,
        metric=study.metric.name,
        logged=TRAINER_NAMES.get(study.metric.name, study.metric.name),
        lower_is_better=study.metric.lower_is_better,
        parallel=study.parallel,
        seeds=seeds,
        trials=[(render_literal(file), _on_one_line(settings)) for file, settings in runs],
        quantiles=wrap(", ".join(f"{half_width(freedom):.3f}" for freedom in range(1, MOST_SEEDS)), LINE),
        left_out=[*_left_out(study)],
    )


def _on_one_line(settings: Mapping[str, Any]) -> str:
    pairs = (f"{render_literal(key)}: {' '.join(render_literal(value).split())}" for key, value in settings.items())
    return f"{{{', '.join(pairs)}}}"


def _left_out(study: Study) -> Iterator[str]:
    """Yield what the study has and its scripts do not do."""
    yield "the check and the rehearsal"
    if study.search:
        yield "the search: the trials are those that it has proposed so far"
    if study.prune:
        yield "early ends of trials that fall behind"
    if study.budget.trials or study.budget.hours or study.budget.usd:
        yield "the budget"
