"""Print what is installed beside this interpreter as a CycloneDX document, the same for the same packages."""

import json
import sys
from importlib.metadata import Distribution, distributions
from typing import Any


def bill() -> dict[str, Any]:
    """Return the document: every distribution with its version, licence and package URL."""
    found = sorted(distributions(), key=lambda one: one.name.lower())
    own = next((one for one in found if one.name == "drumline"), None)
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": _component(own, kind="application")} if own else {},
        "components": [_component(one) for one in found if one is not own],
    }


def _component(one: Distribution, *, kind: str = "library") -> dict[str, Any]:
    name = one.name.lower().replace("_", "-")
    url = f"pkg:pypi/{name}@{one.version}"
    component = {"type": kind, "bom-ref": url, "name": name, "version": one.version, "purl": url}
    licence = one.metadata.json.get("license_expression")
    return component | ({"licenses": [{"expression": licence}]} if licence else {})


if __name__ == "__main__":
    json.dump(bill(), sys.stdout, indent=1)
    sys.stdout.write("\n")
