"""A private Parameter Store: the server of moto, which answers as AWS does."""

import logging
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from botocore.session import get_session
from moto.server import ThreadedMotoServer

REGION = "eu-central-1"


class Parameters:
    """Parameters below a path of the test's own."""

    def __init__(self, endpoint: str, path: str) -> None:
        self.endpoint = endpoint
        self.path = path
        self._client: Any = get_session().create_client("ssm")

    @property
    def config(self) -> str:
        """What to name as the configuration."""
        return f"ssm:{self.path}"

    def put(self, values: Mapping[str, str], *, type: str = "String") -> None:
        """Set parameters, by the end of their names."""
        for name, value in values.items():
            self._client.put_parameter(Name=f"{self.path}{name}", Value=value, Type=type, Overwrite=True)

    def drop(self, *names: str) -> None:
        """Take parameters away."""
        self._client.delete_parameters(Names=[f"{self.path}{name}" for name in names])


@pytest.fixture(scope="session")
def parameter_server() -> Iterator[str]:
    """The address of a store that the tests of this run share."""
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def parameters(parameter_server: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Parameters:
    """A path of the test's own; this process and those that it starts find the store by their environment."""
    for name, value in {
        "AWS_ENDPOINT_URL_SSM": parameter_server,
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": "/nonexistent",
        "AWS_SHARED_CREDENTIALS_FILE": "/nonexistent",
    }.items():
        monkeypatch.setenv(name, value)
    return Parameters(parameter_server, f"/drumline/{request.node.name.replace('[', '-').replace(']', '')}/")
