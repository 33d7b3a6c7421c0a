"""Files that pages and docstrings name as a source, an example or a test are in the repository."""

import re
from pathlib import Path

CITED = re.compile(r"(?<![\w/.-])(?:docs|benchmarks|tests|tools|examples|facts)/[\w./-]+\.(?:md|py|toml|jsonl|yaml|csv|svg|log)\b")


def test_cited_files_are_there() -> None:
    """A reader who follows a source finds it."""
    pages = [*Path().glob("*.md"), *Path("docs").rglob("*.md"), *Path("src/holdfast").rglob("*.py"), *Path("src/holdfast/signatures").glob("*.toml")]
    cited = {(page, name) for page in pages for name in CITED.findall(page.read_text(encoding="utf-8"))}
    assert len(cited) > 100
    assert not {(str(page), name) for page, name in cited if not Path(name).exists()}
