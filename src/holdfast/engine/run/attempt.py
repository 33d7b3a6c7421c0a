"""The attempt's one file: the runtime, then the script as it was given, then the call that starts it."""

import re

from holdfast.core.environment.script_header import find_header
from holdfast.engine.script.python_source import spells

# Readers of such blocks know nothing of Python: one that starts a line would count, in a string too.
BLOCK = re.compile(r"^(?=# /// )", re.MULTILINE)

TITLE = "# Made by holdfast. `python attempt.py` runs it anywhere; the script as it was given stands at the end.\n"
CALL = """
if __name__ == "__main__":
    run_script(SCRIPT_NAME, SCRIPT, sys.argv[1:])
elif __name__ == "__mp_main__":  # a spawned child of the script looks for the script's names here
    execute(SCRIPT_NAME, SCRIPT, globals())
"""


def render_attempt(script: str, script_name: str, runtime: str) -> str:
    """Return the source of `attempt.py`.

    Args:
        script: The training script.
        script_name: Its name in tracebacks.
        runtime: The text of `payload/runtime.py`.
    """
    header = find_header(script)
    return (
        (f"{header}\n" if header else "")
        + TITLE
        + runtime
        + f"\n\nSCRIPT_NAME = {script_name!r}\n"
        + f"SCRIPT = (\n{render_text(script)}\n)\n"
        + CALL
    )


def render_text(text: str) -> str:
    """Return Python literals, one under the other, that make up a text; readable ones wherever that is possible.

    >>> print(render_text("print('trained')"))
    r'''print('trained')'''
    """
    return "\n".join(_literal(part) for part in BLOCK.split(text) if part) or "''"


def _literal(text: str) -> str:
    for quotes in ("'''", '"""'):
        if quotes not in text and spells(literal := f"r{quotes}{text}{quotes}", text):
            return literal
    return repr(text)
