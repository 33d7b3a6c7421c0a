"""Answers requests for traces.

    python tracing/__main__.py REQUESTS ANSWERS

REQUESTS is a file with the JSON of a `TraceRequest` a line. ANSWERS gets that of a `TraceAnswer` for each, when all are there.
"""

import importlib
import importlib.util
import logging
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).absolute().parent
PACKAGE = "holdfast_tracing"
"""The name that this package is imported under, which no script uses."""
NEEDED = ("torch", "transformers")


def main(requests: Path, answers: Path) -> None:
    """Trace each step that is requested."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.filterwarnings("ignore")
    logging.disable(logging.ERROR)
    begin_package()
    forms = importlib.import_module(f"{PACKAGE}.request")
    parsed = [forms.read_request(line) for line in requests.read_text(encoding="utf-8").splitlines()]
    lacking = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if lacking:
        results = [forms.TraceAnswer(problem=f"{' and '.join(lacking)} are not installed")] * len(parsed)
    else:
        results = answer_requests(forms, parsed)
    partial = answers.with_suffix(".partial")
    partial.write_text("\n".join(each.written() for each in results), encoding="utf-8")
    partial.replace(answers)


def answer_requests(forms: ModuleType, parsed: Sequence[Any]) -> list[Any]:
    """Return the answer to each request; where the installed libraries cannot be imported, the answers say so."""
    try:
        answering = importlib.import_module(f"{PACKAGE}.answering")
    except ImportError as error:
        return [forms.TraceAnswer(problem=f"the installed libraries cannot be imported: {error}")] * len(parsed)
    versions = answering.installed_versions()
    return [replace(answering.answer_request(each), versions=versions) for each in parsed]


def begin_package() -> None:
    """Import this package, under a name of its own."""
    spec = importlib.util.spec_from_file_location(PACKAGE, HERE / "__init__.py", submodule_search_locations=[str(HERE)])
    if spec is None or spec.loader is None:
        raise ImportError(f"there is no {HERE}")
    module = importlib.util.module_from_spec(spec)
    sys.modules[PACKAGE] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
