"""Write docs/job.schema.json, which editors use to check and complete a job file."""

import json
from pathlib import Path

from holdfast.core.job import job_schema

SCHEMA = Path(__file__).parent.parent / "docs" / "job.schema.json"


def render_schema() -> str:
    """Return the JSON Schema of a job file as text."""
    return json.dumps(job_schema(), indent=2) + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(render_schema(), encoding="utf-8")
