"""Settings from the Parameter Store of AWS: `ssm:/drumline/production/` is every parameter below that path.

`/drumline/production/worker/concurrency` sets `worker.concurrency`. A SecureString is decrypted; a StringList is a
list. The region, the credentials and, for tests, the endpoint are found as every program of AWS finds them: by
botocore, from the environment, a profile, or the role of the machine or pod. That search is the reason for the
dependency.
"""

from typing import Any, Final

from drumline.core.errors import Invalid, Unavailable
from drumline.core.json_errors import suggestion
from drumline.settings.leaves import LEAVES, Given

SCHEME: Final = "ssm:"
CONNECT_SECONDS: Final = 3
ANSWER_SECONDS: Final = 10
TRIES: Final = 3


class ParameterPath:
    """Every parameter below a path, as a source of settings."""

    def __init__(self, name: str) -> None:
        path = "/" + name.removeprefix(SCHEME).strip("/")
        if path == "/":
            raise Invalid(f"{name} must name a path, such as ssm:/drumline/production/", field="config")
        self._path = f"{path}/"
        self.name = f"{SCHEME}{self._path}"
        self._client: Any = None
        self._last: dict[str, tuple[int, str]] | None = None

    def stamp(self) -> object:
        """Return something that differs once a parameter has changed; asks AWS, or raises `Unavailable`."""
        self._last = self._fetch()
        return {name: version for name, (version, _) in self._last.items()}

    def read(self) -> dict[str, Given]:
        """Return what the parameters set, by path, as of the last stamp; or raise `Invalid`, or `Unavailable`."""
        found = self._last if self._last is not None else self._fetch()
        given: dict[str, Given] = {}
        for name, (_, value) in found.items():
            path = name.removeprefix(self._path).strip("/").replace("/", ".")
            if path not in LEAVES:
                hint = suggestion(path, LEAVES)
                raise Invalid(f"{self.name} sets {path}, which does not exist{hint}", field=path)
            given[path] = Given(value, f"{SCHEME}{name}", textual=True)
        return given

    def _fetch(self) -> dict[str, tuple[int, str]]:
        from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra

        try:
            pages = self._connected().get_paginator("get_parameters_by_path")
            found = [
                parameter
                for page in pages.paginate(Path=self._path, Recursive=True, WithDecryption=True)
                for parameter in page["Parameters"]
            ]
        except (BotoCoreError, ClientError) as error:
            raise Unavailable(f"{self.name} cannot be read: {error}", field="config") from error
        return {parameter["Name"]: (parameter["Version"], parameter["Value"]) for parameter in found}

    def _connected(self) -> Any:
        if self._client is None:
            from botocore.config import Config  # noqa: PLC0415
            from botocore.session import get_session  # noqa: PLC0415

            options = Config(
                connect_timeout=CONNECT_SECONDS, read_timeout=ANSWER_SECONDS, retries={"total_max_attempts": TRIES}
            )
            self._client = get_session().create_client("ssm", config=options)
        return self._client


def parameter_path(name: str) -> ParameterPath:
    """Return the parameters that `ssm:/path/` names, or raise `Invalid` if the AWS package is not installed."""
    try:
        import botocore  # noqa: F401, PLC0415 - only those who name such a path need it
    except ImportError as error:
        raise Invalid(f"reading {name} needs botocore: pip install 'drumline[aws]'", field="config") from error
    return ParameterPath(name)
