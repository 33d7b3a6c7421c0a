"""Write docs/job.schema.json and docs/study.schema.json, which editors use to check and complete job and study files."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from holdfast.core.job_file.job import job_schema
from holdfast.core.study.study import study_schema

DOCS: Final = Path(__file__).parent.parent / "docs"
SCHEMA: Final = DOCS / "job.schema.json"
SCHEMAS: Final[Mapping[Path, Callable[[], dict[str, Any]]]] = {
    SCHEMA: job_schema,
    DOCS / "study.schema.json": study_schema,
}


def render_schema(make: Callable[[], dict[str, Any]] = job_schema) -> str:
    """Return the JSON Schema of a job file, or of another, as text."""
    return json.dumps(make(), indent=2) + "\n"


if __name__ == "__main__":
    for path, make in SCHEMAS.items():
        path.write_text(render_schema(make), encoding="utf-8")
