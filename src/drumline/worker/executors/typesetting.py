"""The program that sets one document: `main.typ` and `data.json` of its folder become `document.pdf`.

Runs alone in a child process: Typst may read below its root only, the root is the private folder it was started in,
packages cannot be fetched, and processor time, memory and the size of the document are limited. It is called with these
limits, in seconds and bytes.
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
NOWHERE: Final = "http://127.0.0.1:9"


def main(seconds: int, memory: int, file_size: int) -> int:
    """Set the document in the current folder."""
    folder = Path.cwd()
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Each thread of the library reserves memory of its own.
    os.environ["RAYON_NUM_THREADS"] = "2"
    # Typst would fetch packages that a template imports; a proxy address without a server keeps it off the network.
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
    sys.exit(main(*map(int, sys.argv[1:])))
