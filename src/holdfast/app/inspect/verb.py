"""The verb `inspect`: what a dataset is, which methods can train on it, what is wrong with its rows, and what fixes it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from msgspec import structs

from holdfast.adapters.foreign_files import expanded, is_there
from holdfast.adapters.rows.names import BadDataError
from holdfast.adapters.targets import read_target
from holdfast.adapters.targets.overrides import apply_overrides, parse_set
from holdfast.app.arguments import Overrides, PathName, Texts, as_overrides, as_path, as_texts
from holdfast.app.inspect.images import scan_images, with_images
from holdfast.app.inspect.prepared import describe_prepared
from holdfast.app.inspect.rewarding import reward_samples
from holdfast.app.inspect.rows import DataPreview, RowSource
from holdfast.app.inspect.saving import Saved, save_rows
from holdfast.app.inspect.tokenizing import tokenize
from holdfast.catalog.builtin import BUILTIN
from holdfast.catalog.hub.repositories import may_be_repository
from holdfast.core.check.finding import Finding, MissingFactError, Skip
from holdfast.core.errors import SourceError, UsageError
from holdfast.core.job.document import Document, Edit, Set
from holdfast.core.job.methods import Method
from holdfast.core.job.target_kind import TargetKind, target_kind
from holdfast.core.job_file.job import parse_job
from holdfast.core.rows.scan import Scan, Tokens, UnreadablePart
from holdfast.core.rows.shape import Readiness, Shape
from holdfast.core.text.nearest import suggest_one
from holdfast.core.text.places import Place
from holdfast.engine.check.rule_runner import MissingFact, run_rules
from holdfast.engine.inspect.inspection import Inspection, inspect_result, judge_methods, usual_method
from holdfast.results.inspect import InspectResult
from holdfast.rules import rules_of_rows

FACTS: Final = frozenset({"scan", "tokens", "rewarded"})
"""What is known of a dataset only by reading its rows."""


COMPLETE: Final = {"method": Method.SFT.value, "model": {"path": "model"}}
"""What a job file must have, and a request about a dataset need not."""
TYPED: Final = Place("the command line")


def inspect(  # noqa: PLR0913 - a verb has as many arguments as its command has options
    data: PathName,
    *,
    split: str | None = None,
    eval_split: str | None = None,
    config: str | None = None,
    method: str | None = None,
    model: str | None = None,
    rewards: Texts = (),
    set: Overrides = (),  # noqa: A002 - the option's name
    rows: int = 100_000,
    save: PathName | None = None,
    jsonl: bool = False,
    offline: bool = False,
) -> InspectResult:
    """Inspect a dataset: its format, its rows, the methods it fits.

    >>> import holdfast
    >>> answer = holdfast.inspect("examples/mistakes/chat.jsonl", method="sft")
    >>> answer["verdict"], [problem["code"] for problem in answer["problems"]]
    ('pass', ['DAT211', 'DAT214', 'DAT219'])

    Args:
        data: A file, a folder, the id of a Hub dataset, or a job file, whose dataset and settings apply.
        split: The split, or a slice or sum of splits.
        eval_split: The split to evaluate on.
        config: The configuration of a Hub dataset.
        method: The method to train with.
        model: The model whose tokenizer and chat template to apply.
        rewards: Reward functions to call on sample rows, `FILE:FUNCTION`.
        set: Overrides of a job file's keys: a mapping, or `KEY=VALUE`.
        rows: The largest number of rows to tokenize.
        save: A folder to keep the rows of a job file in, as its training would prepare them. They are inspected there. If nothing that
            they depend on has changed, those that are there are kept.
        jsonl: Keep them as JSON Lines instead of Parquet.
        offline: Don't contact the Hub.

    Raises:
        UsageError: There is no such dataset or method, or the dataset cannot be read.
    """
    settings = {
        "dataset.split": split,
        "dataset.eval_split": eval_split,
        "dataset.config": config,
        "method": method,
        "model": {"path": model} if model else None,
    }
    edits = [Set(key, value) for key, value in settings.items() if value is not None]
    document, saved = _request(as_path(data), edits, as_overrides(set), save, jsonl=jsonl, offline=offline)
    _want_model(document)
    source = RowSource(document, offline=offline)
    result = inspect_result(look_at(document, source, rewards=as_texts(rewards), limit=rows))
    prepared = describe_prepared(source.path)
    return structs.replace(result, prepared=structs.replace(prepared, saved=saved) if prepared else None)


def _request(
    data: str, edits: Sequence[Edit], sets: Sequence[str], save: PathName | None, *, jsonl: bool, offline: bool
) -> tuple[Document, Saved | None]:
    """Return the request as a Document: of rows that are prepared first, if they are to be kept; and what became of those.

    Raises:
        UsageError: An option has no place in it, or the rows cannot be prepared.
        ExceptionGroup: It is a job file that breaks its schema, or an override does.
    """
    if save is None:
        if jsonl:
            raise UsageError("--jsonl is for rows that are kept", where="--jsonl", fix="name a folder: `--save FOLDER`")
        return read_request(data, edits, sets), None
    chosen = [each for each in edits if isinstance(each, Set) and each.key.startswith("dataset.")]
    chooses = (f"{each.key}={json.dumps(each.value)}" for each in chosen)  # a text of YAML too
    document, saved = save_rows(data, (*sets, *chooses), Path(as_path(save)), jsonl=jsonl, offline=offline)
    return document.with_values([each for each in edits if each not in chosen], TYPED), saved


def _read_method(document: Document) -> Method | None:
    """Return the method that the dataset is for, where one is named.

    Raises:
        UsageError: There is no such method.
    """
    named = document.get("method", None)
    if isinstance(named, str) and named not in set(Method):
        raise UsageError(f"no method is called {named!r}", where="method", fix=suggest_one(named, list(Method)))
    return Method(named) if isinstance(named, str) else None


def _want_model(document: Document) -> None:
    """Look whether a model that is named as a folder is there.

    Raises:
        UsageError: It is not.
    """
    path = document.get("model.path", None)
    if isinstance(path, str) and not path.startswith(BUILTIN) and not is_there(expanded(path)):
        if may_be_repository(path) and not path.startswith((".", "/", "~")):
            return  # of the Hub, which was not contacted yet
        raise UsageError(f"no such model folder: {path}", where="model", fix="name a folder, or a model of the Hub")


def read_request(data: str, edits: Sequence[Edit], sets: Sequence[str]) -> Document:
    """Return the request as a Document: a job file's, or one with the options alone.

    Raises:
        UsageError: An option has no place in it.
        ExceptionGroup: It is a job file that breaks its schema, or an override does.
    """
    if target_kind(data) is TargetKind.JOB and Path(data).is_file():
        return read_target(data, tuple(sets)).document.with_values(edits, TYPED)
    document = Document(path=data, kind="data", values={"dataset": {"path": data, "split": "train"}})
    document = document.with_values(edits, TYPED)
    overrides = [*map(parse_set, sets)]
    if others := [each for each in overrides if each.edit.key != "method"]:  # which is judged by itself
        _require_keys(apply_overrides(replace(document, values={**COMPLETE, **document.values}, kind="job"), others))
    return apply_overrides(document, overrides)


def _require_keys(document: Document) -> None:
    """Check that the overrides of a dataset's request are keys of a job file, with values of its types.

    Raises:
        ExceptionGroup: Some are not.
    """
    parse_job(document)


def look_at(document: Document, source: RowSource, *, rewards: Sequence[str], limit: int) -> Inspection:
    """Return the inspection of a dataset."""
    method = _read_method(document)
    try:
        sight = source.look()
    except BadDataError as error:
        return _unreadable(document, source, method, error)
    meant = method or usual_method(sight.shape)
    found = replace(_scanned(document, source, sight, meant, limit), method=method)
    facts: dict[str, object | MissingFact] = {"scan": found.scan}
    if counted := _counted_method(found, meant):
        found, tokens = _with_tokens(found, source, sight, counted, limit)
        facts |= {"tokens": tokens} if found.methods[counted].ready else {}
    if rewards:
        rewarded = reward_samples(document, sight.samples, rewards)
        found, facts["rewarded"] = replace(found, rewarded=rewarded), rewarded
    return _judged(found, document, facts)


def _scanned(
    document: Document, source: RowSource, sight: DataPreview, method: Method | None, limit: int
) -> Inspection:
    """Return the inspection of a dataset's rows and images, and of the methods that they fit."""
    images = scan_images(source, sight, limit, tokens_for=document)
    scan = with_images(source.scan(sight, method), images)
    return Inspection(
        path=source.path,
        split=source.split,
        shape=sight.shape,
        methods=judge_methods(sight.columns, sight.shape, sight.samples, sight.settings, scan),
        scan=scan,
        images=images,
        rewritten_by=str(document.get("dataset.map", None) or ""),
    )


def _counted_method(found: Inspection, meant: Method | None) -> Method | None:
    """Return the method whose tokens can be counted: the one that is meant, else the first with a mapping; None if none can be."""
    method = meant or next((each for each, ready in found.methods.items() if _maps_rows(ready)), None)
    if method is None:
        return None
    readiness = found.methods[method]
    return method if readiness.ready or _maps_rows(readiness) else None


def _maps_rows(readiness: Readiness) -> bool:
    """True if a mapping goes over the rows as they are read here, and not over a list within one of them."""
    return readiness.mapping is not None and not readiness.field


def look_at_local(document: Document, *, limit: int, numbers: Sequence[int] = ()) -> Inspection:
    """Return the inspection of a local dataset, without the Hub.

    Args:
        document: The request.
        limit: Rows that are tokenized at most.
        numbers: The number of each row in the data that the rows were taken from; empty if that is this data.

    Raises:
        UsageError: There is no such dataset.
        SourceError: Its rows, or what else it names, cannot be read.
    """
    return look_at(document, RowSource(document, offline=True, numbers=numbers), rewards=(), limit=limit)


def _unreadable(document: Document, source: RowSource, method: Method | None, error: BadDataError) -> Inspection:
    """Return the inspection of data whose beginning cannot be read."""
    broken = UnreadablePart(error.spot.path, error.what, error.spot.line)
    scan = Scan(rows=0, broken=(broken,))
    methods = judge_methods({}, Shape(), ())
    found = Inspection(path=source.path, split=source.split, shape=Shape(), methods=methods, scan=scan, method=method)
    return _judged(found, document, {"scan": scan})


def _with_tokens(
    inspection: Inspection, source: RowSource, sight: DataPreview, method: Method, limit: int
) -> tuple[Inspection, Tokens | MissingFact]:
    """Return the inspection with what the model's tokenizer makes of the rows, or with the reason why that is not known."""
    request = source.document
    if inspection.method is None:
        request = request.with_values([Set("method", method.value)], Place("its columns"))
    if request.get("model", None) is None:
        return inspection, MissingFact("no model is named")
    if inspection.rewritten_by:
        because = f"`{inspection.rewritten_by}` rewrites the rows first, and is not run here"
        return replace(inspection, no_tokens_because=because), MissingFact(because)
    mapping = None if inspection.methods[method].ready else inspection.methods[method].mapping
    try:
        tokens, masked = tokenize(request, source, sight, inspection.scan, limit, mapping=mapping)
    except (SourceError, MissingFactError) as error:
        because = error.what if isinstance(error, SourceError) else error.because
        return replace(inspection, no_tokens_because=because), MissingFact(because)
    return replace(inspection, tokens=tokens, masked=masked, mapped=method if mapping else None), tokens


def _judged(inspection: Inspection, document: Document, facts: Mapping[str, object | MissingFact]) -> Inspection:
    """Return the inspection with the findings of the rules about rows."""
    rules = [rule for rule in rules_of_rows() if rule.needs & FACTS & facts.keys()]
    results = list(run_rules(rules, document, facts))
    return replace(
        inspection,
        findings=tuple(result for result in results if isinstance(result, Finding)),
        skips=tuple(result for result in results if isinstance(result, Skip)),
    )
