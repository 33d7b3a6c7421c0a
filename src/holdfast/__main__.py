"""The command `holdfast`, which is also `python -m holdfast`."""

import sys


def main() -> None:
    """Run one command and leave with its exit code."""
    try:
        from holdfast.cli.main import main as command  # in here, so that Ctrl-C during the import shows no traceback

        command()
    except KeyboardInterrupt:
        from holdfast.core.exit_codes import INTERRUPTED  # likewise

        sys.exit(INTERRUPTED)


if __name__ == "__main__":
    main()
