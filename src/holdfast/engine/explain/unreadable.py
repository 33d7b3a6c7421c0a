"""The page of SYN001: what `check` says of a target that it cannot read, and no rule of its own."""

from typing import Final

CODE: Final = "SYN001"
NAME: Final = "unreadable-target"
PAGE: Final = f"""# {CODE} {NAME}

A file that cannot be read.

Severity: error · Checks: scripts, notebooks, command lines, job files · Fix: none

## What it does
Reports a script that is not valid Python, a notebook that is not valid JSON, and a job file that is not valid YAML or breaks its schema. A file that is
named alone and is not there, or a job file that is named alone, is an error of usage instead: exit code 2.

## Why is this bad
What cannot be read can be neither checked nor run.

## Example
```python
trainer.train(
# line 1: '(' was never closed
```

## Use instead
```python
trainer.train()
```

## References
The grammar of Python; `holdfast explain job` for the keys of a job file.
"""
ABOUT: Final = {
    "code": CODE,
    "name": NAME,
    "severity": "error",
    "summary": "A file that cannot be read.",
    "fixable": False,
}
