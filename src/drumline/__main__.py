"""The `drumline` command, and `python -m drumline`."""

import sys


def main() -> None:
    """Run a command, or say in one line what to install for it."""
    try:
        from drumline.cli.main import main as run  # noqa: PLC0415 - what it needs may be missing
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "drumline":
            raise
        sys.exit(f"Error: the command line needs the package {error.name}: pip install drumline")
    run()


if __name__ == "__main__":
    main()
