"""Write docs/rules/CODE.md for every rule, from the rule alone."""

from pathlib import Path

from holdfast.engine.pages import render_page
from holdfast.rules import all_rules

PAGES = Path(__file__).parent.parent / "docs" / "rules"

if __name__ == "__main__":
    PAGES.mkdir(parents=True, exist_ok=True)
    for rule in all_rules():
        (PAGES / f"{rule.code}.md").write_text(render_page(rule), encoding="utf-8")
