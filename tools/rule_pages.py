"""Write docs/rules/CODE.md for every rule, from the rule alone."""

from functools import partial
from pathlib import Path

from holdfast.app.explain.examples import objections
from holdfast.engine.explain.rules import render_page
from holdfast.rules import all_rules

PAGES = Path(__file__).parent.parent / "docs" / "rules"

if __name__ == "__main__":
    PAGES.mkdir(parents=True, exist_ok=True)
    for rule in all_rules():
        page = render_page(rule, partial(objections, rule))
        (PAGES / f"{rule.code}.md").write_text(page, encoding="utf-8")
