"""Errors in a command line: what is wrong, where, and which name was probably meant."""

import re
from collections.abc import Sequence

import click

from holdfast.core.errors import UsageError
from holdfast.core.text.nearest import nearest

WHERE = "the command line"
INSTEAD = {
    (
        "run",
        "--dry-run",
    ): "without starting it, `holdfast check` looks for mistakes in the job, `holdfast rehearse` tries it on a tiny "
    "twin of its model, and `holdfast plan` estimates memory, time and cost"
}
"""What does what an option of other tools does, by the command and the option."""
GIVEN = re.compile(r"'(?P<value>[^']*)' is not ")
"""The beginning of click's message about a value that is none of a few."""


class CommandGroup(click.Group):
    """A group that shows its commands if none is given, and suggests the nearest one if a name is misspelt."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the group's own words; without any, show the help and leave with 2."""
        if not args and not ctx.resilient_parsing:
            click.echo(ctx.get_help(), err=True)
            ctx.exit(2)
        return super().parse_args(ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that is named, and the words behind it.

        Raises:
            UsageError: There is none of that name.
        """
        name, commands = args[0], self.list_commands(ctx)
        if name not in commands and not name.startswith("-") and not ctx.resilient_parsing:
            fix = f"`{ctx.command_path} --help` lists the commands"
            raise UsageError(f"there is no command `{name}`", where=WHERE, fix=_suggest(name, commands, fix))
        return super().resolve_command(ctx, args)


def translate_usage_error(error: click.UsageError, command: str) -> UsageError:
    """Return click's usage error as one of ours.

    Args:
        error: What click raised.
        command: The command that was being parsed: `holdfast check`. Click knows it only sometimes.
    """
    help_ = f"`{error.ctx.command_path if error.ctx else command} --help` lists the options"
    if isinstance(error, click.NoSuchOption):
        options = [name for param in error.ctx.command.params for name in param.opts] if error.ctx else []
        instead = INSTEAD.get((error.ctx.info_name or "", error.option_name)) if error.ctx else None
        fix = instead or _suggest(error.option_name, options, help_)
        return UsageError(f"there is no option `{error.option_name}`", where=WHERE, fix=fix)
    choices = _choices(error)
    value = GIVEN.match(error.message)
    fix = _suggest(value["value"], choices, help_) if value and choices else help_
    return UsageError(_as_phrase(error.format_message()), where=WHERE, fix=fix)


def _choices(error: click.UsageError) -> Sequence[str]:
    """Return the values that an option takes, if they are a few; none of other errors."""
    param = error.param if isinstance(error, click.BadParameter) else None
    return list(param.type.choices) if param is not None and isinstance(param.type, click.Choice) else []


def _suggest(name: str, known: Sequence[str], otherwise: str) -> str:
    near = nearest(name, tuple(known))
    return f"did you mean `{near}`? {otherwise}" if near else otherwise


def _as_phrase(message: str) -> str:
    """Return a message of click in the style of ours.

    >>> _as_phrase("Option '--set' requires an argument.")
    'option `--set` requires an argument'
    """
    quoted = re.sub(r"'([^']*)'", r"`\1`", message).rstrip(".")
    return quoted[:1].lower() + quoted[1:]
