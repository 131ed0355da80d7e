"""The build hook: the web interface is built into every wheel and source distribution."""

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class InterfaceHook(BuildHookInterface[Any]):
    """Builds the interface, and refuses to make a package without it."""

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
