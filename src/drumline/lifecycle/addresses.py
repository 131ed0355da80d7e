"""Where a server is reached from its own machine."""

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to


def near(host: str) -> str:
    """Return the address at which this machine reaches a server that listens on `host`."""
    return ANY_ADDRESS.get(host, host)


def url_of(host: str, port: int) -> str:
    """Return the URL at which this machine reaches a server."""
    address = near(host)
    return f"http://[{address}]:{port}" if ":" in address else f"http://{address}:{port}"
