"""The dataset viewer: splits, sizes, columns and rows, worked out of the repository's own files.

Source: https://huggingface.co/docs/dataset-viewer (addresses, fields, `X-Revision`, `X-Error-Code`), and what `get_exported_parquet_files` and
`get_exported_dataset_infos` of datasets 5.2.0 read. The real one is another host; clients hard-code it, so a client that is to come here needs an address of
its own for it: `hub.viewer`.

Not covered: /search, /filter, /statistics, /croissant; datasets so large that the answer is partial.
"""

import io
import json
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from tests.helpers.hub.exchange import HubError, MovedError, Reply, no_page
from tests.helpers.hub.repositories import Commit, Repository, Signed
from tests.helpers.hub.world import Visit

Kept = TypeVar("Kept")
Layout = dict[str, dict[str, list[str]]]  # paths of data files by configuration and split
CONVERTED = "refs/convert/parquet"
PAGE, FIRST = 100, 100
WITHOUT = (
    "The dataset does not exist, or is not accessible without authentication (private or gated). Please check the spelling of the dataset name or "
    "retry with authentication."
)
WITH = (
    "The dataset does not exist, or is not accessible with the current credentials (private or gated). Please check the spelling of the dataset name "
    "or retry with other authentication credentials."
)
NOT_READY = "The server is busier than usual and the response is not ready yet. Please retry later."


def answer(visit: Visit) -> Reply:
    """Return what the viewer says of a dataset."""
    found = ANSWERS.get(visit.request.path)
    if found is None:
        raise no_page()
    if not visit.request.get("dataset"):
        raise HubError(422, "Parameter 'dataset' is required", "MissingRequiredParameter")
    repo = _find(visit)
    told = found(visit, repo)
    headers = {"Content-Type": "application/json", "X-Revision": repo.head.oid}
    return Reply(body=json.dumps(told, default=str).encode(), headers=headers)


def _find(visit: Visit) -> Repository:
    try:
        repo = visit.world.find("dataset", visit.request.get("dataset"), visit.token)
        visit.world.accounts.check_reads(visit.token, repo, "")
    except (HubError, MovedError) as refusal:
        if visit.token is None:
            raise HubError(401, WITHOUT, "ExternalUnauthenticatedError") from refusal
        raise HubError(404, WITH, "ExternalAuthenticatedError") from refusal
    return repo


def is_valid(visit: Visit, repo: Repository) -> dict[str, Any]:
    """GET /is-valid: what there is to be had."""
    try:
        good = bool(_layout(visit, repo))
    except HubError:
        good = False
    return dict.fromkeys(("preview", "viewer", "search", "filter", "statistics"), good)


def splits(visit: Visit, repo: Repository) -> dict[str, Any]:
    """GET /splits."""
    found = [_named(repo, config, split) for config, splits in _chosen(visit, repo).items() for split in splits]
    return {"splits": found, "pending": [], "failed": []}


def size(visit: Visit, repo: Repository) -> dict[str, Any]:
    """GET /size: rows and bytes of splits, configurations and the whole; of one configuration `size` has `config` and no `dataset`."""
    found = [
        _named(repo, config, split) | _measure(visit, repo, config, split)
        for config, splits in _chosen(visit, repo).items()
        for split in splits
    ]
    configs = [
        {"dataset": repo.name, "config": config} | _sum([one for one in found if one["config"] == config])
        for config in _chosen(visit, repo)
    ]
    whole = {"config": configs[0]} if visit.request.get("config") else {"dataset": {"dataset": repo.name} | _sum(found)}
    told = whole | ({} if "config" in whole else {"configs": configs}) | {"splits": found}
    return {"size": told, "pending": [], "failed": [], "partial": False}


def _measure(visit: Visit, repo: Repository, config: str, split: str) -> dict[str, Any]:
    table = _table(visit, repo, config, split)
    originals = sum(len(repo.head.files[path].content) for path in _layout(visit, repo)[config][split])
    return {
        "num_bytes_original_files": originals,
        "num_bytes_parquet_files": len(_converted(visit, repo).files[f"{config}/{split}/0000.parquet"].content),
        "num_bytes_memory": table.nbytes,
        "num_rows": table.num_rows,
        "num_columns": table.num_columns,
        "estimated_num_rows": None,
    }


def _sum(found: list[dict[str, Any]]) -> dict[str, Any]:
    added = ("num_bytes_original_files", "num_bytes_parquet_files", "num_bytes_memory", "num_rows")
    return {key: sum(one[key] for one in found) for key in added} | {"estimated_num_rows": None}


def parquet(visit: Visit, repo: Repository) -> dict[str, Any]:
    """GET /parquet: where the rows stand as Parquet, on a branch of the dataset itself."""
    files = _converted(visit, repo).files
    place = f"{visit.world.page_of(repo)}/resolve/{CONVERTED.replace('/', '%2F')}"
    told = [
        _named(repo, *path.split("/")[:2])
        | {"url": f"{place}/{path}", "filename": path.rpartition("/")[2], "size": len(file.content)}
        for path, file in files.items()
        if path.split("/")[0] in _chosen(visit, repo)
    ]
    return {"parquet_files": told, "pending": [], "failed": [], "partial": False}


def info(visit: Visit, repo: Repository) -> dict[str, Any]:
    """GET /info: columns and splits by configuration; of one configuration without its name."""
    told = {config: _info(visit, repo, config) for config in _chosen(visit, repo)}
    wanted = visit.request.get("config")
    ends = {"pending": [], "failed": [], "partial": False}
    return {"dataset_info": told[wanted] if wanted else told} | ends


def _info(visit: Visit, repo: Repository, config: str) -> dict[str, Any]:
    measured = {split: _measure(visit, repo, config, split) for split in _layout(visit, repo)[config]}
    first = _table(visit, repo, config, next(iter(measured)))
    name = repo.name.rpartition("/")[2]
    return {
        "builder_name": "parquet",
        "dataset_name": name,
        "config_name": config,
        "version": {"version_str": "0.0.0", "major": 0, "minor": 0, "patch": 0},
        "features": _reader().features(first.schema),
        "splits": {
            split: {
                "name": split,
                "num_bytes": one["num_bytes_memory"],
                "num_examples": one["num_rows"],
                "dataset_name": name,
            }
            for split, one in measured.items()
        },
        "download_size": sum(one["num_bytes_original_files"] for one in measured.values()),
        "dataset_size": sum(one["num_bytes_memory"] for one in measured.values()),
    }


def first_rows(visit: Visit, repo: Repository) -> dict[str, Any]:
    """GET /first-rows."""
    config, split = _asked(visit)
    told = _rows(visit, repo, 0, FIRST)
    return _named(repo, config, split) | told | {"truncated": _table(visit, repo, config, split).num_rows > FIRST}


def rows(visit: Visit, repo: Repository) -> dict[str, Any]:
    """GET /rows: at most 100 of them, from anywhere."""
    asked = visit.request
    config, split = _asked(visit)
    length = int(asked.get("length", str(PAGE)))
    if length > PAGE:
        raise HubError(422, f"Parameter 'length' must not be greater than {PAGE}", "InvalidParameter")
    total = _table(visit, repo, config, split).num_rows
    told = _rows(visit, repo, int(asked.get("offset", "0")), length)
    return told | {"num_rows_total": total, "num_rows_per_page": PAGE, "partial": False}


def _rows(visit: Visit, repo: Repository, start: int, length: int) -> dict[str, Any]:
    table = _table(visit, repo, *_asked(visit))
    found = table.slice(start, length).to_pylist()
    columns = enumerate(_reader().features(table.schema).items())
    return {
        "features": [{"feature_idx": n, "name": name, "type": kind} for n, (name, kind) in columns],
        "rows": [{"row_idx": start + n, "row": row, "truncated_cells": []} for n, row in enumerate(found)],
    }


def _asked(visit: Visit) -> tuple[str, str]:
    config, split = visit.request.get("config"), visit.request.get("split")
    if not config or not split:
        raise HubError(
            422, f"Parameter '{'config' if not config else 'split'}' is required", "MissingRequiredParameter"
        )
    return config, split


def _named(repo: Repository, config: str, split: str) -> dict[str, Any]:
    return {"dataset": repo.name, "config": config, "split": split}


def _chosen(visit: Visit, repo: Repository) -> Layout:
    found, wanted = _layout(visit, repo), visit.request.get("config")
    if wanted and wanted not in found:
        raise HubError(404, f"The config '{wanted}' does not exist for the dataset.", "ConfigNotFoundError")
    return {wanted: found[wanted]} if wanted else found


def _layout(visit: Visit, repo: Repository) -> Layout:
    if not repo.viewer:
        raise HubError(500, NOT_READY, "ResponseNotReady")
    lay_out: Callable[[Commit], Layout] = _reader().lay_out
    return _kept(visit, ("layout", repo.head.oid), partial(lay_out, repo.head))


def _table(visit: Visit, repo: Repository, config: str, split: str) -> Any:
    found = _layout(visit, repo)
    if config not in found:
        raise HubError(404, f"The config '{config}' does not exist for the dataset.", "ConfigNotFoundError")
    if split not in found[config]:
        raise HubError(
            404, f"The split '{split}' does not exist for the config '{config}' of the dataset.", "SplitNotFoundError"
        )
    reading = partial(_reader().read, repo.head, found[config][split])
    return _kept(visit, ("table", repo.head.oid, config, split), reading)


def _converted(visit: Visit, repo: Repository) -> Commit:
    """Return the commit that has the rows as Parquet, which is made when it is first asked for."""
    return _kept(visit, ("converted", repo.head.oid), partial(_convert, visit, repo))


def _convert(visit: Visit, repo: Repository) -> Commit:
    import pyarrow.parquet

    made = {}
    for config, found in _layout(visit, repo).items():
        for split in found:
            sink = io.BytesIO()
            pyarrow.parquet.write_table(_table(visit, repo, config, split), sink)
            path = f"{config}/{split}/0000.parquet"
            made[path] = repo.file(path, sink.getvalue(), None)
    signed = Signed("Update parquet files", author="parquet-converter", made_s=repo.head.made_s)
    repo.hidden[CONVERTED] = repo.extend(None, made, (), signed, None)
    return repo.hidden[CONVERTED]


def _reader() -> Any:
    from tests.helpers.hub import tables

    return tables


def _kept(visit: Visit, key: tuple[str, ...], make: Callable[[], Kept]) -> Kept:
    kept = visit.world.shown
    if key not in kept:
        kept[key] = make()
    found: Kept = kept[key]
    return found


ANSWERS: dict[str, Callable[[Visit, Repository], dict[str, Any]]] = {
    "/is-valid": is_valid,
    "/splits": splits,
    "/size": size,
    "/parquet": parquet,
    "/info": info,
    "/first-rows": first_rows,
    "/rows": rows,
}
