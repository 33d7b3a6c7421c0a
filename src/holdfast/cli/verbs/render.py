"""`holdfast render`."""

from pathlib import Path
from shlex import quote

import click

from holdfast.app.render.verb import render
from holdfast.cli import options
from holdfast.cli.output import echo
from holdfast.engine.study.scripts import MAIN


@click.command("render")
@click.argument("job", type=click.Path())
@options.sets
@click.option("--output", "-o", type=click.Path(), help="Write to this file; the scripts of a study, to this folder.")
def command(job: str, sets: tuple[str, ...], output: str | None) -> int:
    """Write the training script of a job, or those of a study.

    The script is plain TRL and does not need holdfast. `uv run` installs what it declares. Of a study, a main script is written, and a script for
    each kind of trial.
    """
    script = render(job, set=sets, output=output)
    if output is None:
        click.echo(script, nl=False)
    elif Path(output).is_dir():
        names = sorted(path.name for path in Path(output).glob("*.py"))
        echo(f"{output} has {', '.join(names)}; `python {quote(str(Path(output, MAIN)))}` starts the study", err=True)
    else:
        echo(f"wrote {output}", err=True)
    return 0
