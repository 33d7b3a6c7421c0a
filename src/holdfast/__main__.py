"""The command `holdfast`, which is also `python -m holdfast`."""

import sys

from holdfast.core.exit_codes import INTERRUPTED


def main() -> None:
    """Run one command and leave with its exit code."""
    try:
        from holdfast.cli.main import main as command  # in here, so that Ctrl-C during the import shows no traceback
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    command()


if __name__ == "__main__":
    main()
