"""`holdfast mcp`."""

import os
import secrets

import click

from holdfast.adapters.environment.extras import install_command
from holdfast.cli.output import echo
from holdfast.core.errors import UsageError

TOKEN = "HOLDFAST_MCP_TOKEN"  # noqa: S105 - the variable's name


@click.command("mcp")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False),
    default=".",
    help="Folder at which relative paths start. Default: the current folder.",
)
@click.option("--allow-push", is_flag=True, help="Let runs push to the Hub without asking.")
@click.option(
    "--allow-usd",
    type=click.FloatRange(min=0),
    default=0.0,
    help="Let runs that may cost at most this, all together, start without asking.",
)
@click.option("--http", is_flag=True, help="Serve HTTP on 127.0.0.1 instead of standard input and output.")
@click.option("--port", type=click.IntRange(1, 65535), default=8765, help="Port for --http. Default: 8765.")
def command(folder: str, allow_push: bool, allow_usd: float, http: bool, port: int) -> int:
    """Serve the commands to agents, over the Model Context Protocol.

    With `--http`, clients send the token that is printed, or the one in `$HOLDFAST_MCP_TOKEN`.
    """
    try:
        from holdfast.mcp import http as web
        from holdfast.mcp import serving
    except ModuleNotFoundError as error:
        what = f"the MCP server needs a package that is not installed: {error.name}"
        raise UsageError(what, where="holdfast mcp", fix=install_command("mcp")) from error
    server = serving.make_server(folder, allow_push=allow_push, allow_usd=allow_usd)
    if not http:
        serving.serve_standard_streams(server)
        return 0
    chosen = os.environ.get(TOKEN)
    token = chosen or secrets.token_urlsafe(24)
    with web.listen(port) as listening:
        echo(f"serving at http://{web.HOST}:{port}/mcp", err=True)
        if not chosen:
            click.echo(f"token: {token}", err=True)  # the only way to learn it; `echo` would take it for a leak
        serving.serve_socket(server, listening, token)
    return 0
