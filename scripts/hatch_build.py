"""The build hook: the web interface and the documentation are built into every wheel and source distribution."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class InterfaceHook(BuildHookInterface[Any]):
    """Builds the interface and the documentation, and refuses to make a package without them."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling calls it so
        """Run before the files are gathered."""
        if version == "editable":
            return
        root = Path(self.root)
        page = root / "src" / "drumline" / "_ui" / "index.html"
        if (root / "ui" / "package.json").exists():
            subprocess.run([str(root / "scripts" / "build-ui")], check=True)  # noqa: S603 - our own script
        if not page.exists():
            message = "the web interface has not been built: npm is needed to make a package"
            raise RuntimeError(message)
        site = root / "src" / "drumline" / "_docs" / "index.html.gz"
        # A source distribution carries the built site; a working tree may have changed since it was built.
        if (root / "mkdocs.yml").exists() and ((root / ".git").exists() or not site.exists()):
            subprocess.run([str(root / "scripts" / "build-docs"), "--required"], check=True)  # noqa: S603 - likewise
        if not site.exists():
            message = "the documentation has not been built: make docs"
            raise RuntimeError(message)
