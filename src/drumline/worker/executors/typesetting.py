"""The program that sets one document: `main.typ` and `data.json` of its folder become `document.pdf`.

Runs alone in a child process: Typst may read below its root only, the root is the private folder it was started in,
packages cannot be fetched, and time and memory are bounded from outside and by limits.
"""

import os
import resource
import sys
from pathlib import Path
from typing import Final

TEMPLATE: Final = "main.typ"
DATA: Final = "data.json"
DOCUMENT: Final = "document.pdf"
REFUSED: Final = 65
"""The exit code for a template that does not compile."""
MOST_MEMORY: Final = 4 * 1024**3
LARGEST_FILE: Final = 128 * 1024**2
NOWHERE: Final = "http://127.0.0.1:9"


def main() -> int:
    """Set the document in the current folder."""
    folder = Path.cwd()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
    # Typst would fetch packages that a template imports; a proxy that nobody answers on keeps it from the network.
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        os.environ[name] = os.environ[name.upper()] = NOWHERE
    os.environ.pop("no_proxy", None)
    os.environ.pop("NO_PROXY", None)

    import typst  # noqa: PLC0415 - after the environment is as it should be

    try:
        typst.compile(
            folder / TEMPLATE,
            output=folder / DOCUMENT,
            root=folder,
            package_path=folder / "packages",
            package_cache_path=folder / "packages",
        )
    except typst.TypstError as error:
        sys.stderr.write(f"{error.message}\n{error.diagnostic}\n")
        return REFUSED
    return 0


if __name__ == "__main__":
    sys.exit(main())
