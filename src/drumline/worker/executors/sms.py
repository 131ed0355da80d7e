"""Text messages: `send-sms`."""

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Self

from msgspec import Meta, Struct, field

from drumline.core.content_encoding import text_of
from drumline.core.errors import Invalid
from drumline.core.names import PHONE, SENDER
from drumline.core.session import TaskType
from drumline.outbound.bodies import read_body
from drumline.outbound.guard import AddressGuard, AddressRefused
from drumline.outbound.late_client import LateClient
from drumline.outbound.sms import Sms, SmsFailed, SmsGateway, SmsRequest, message_id_of, request_of
from drumline.worker.executors.executor import ExecutorCall, published
from drumline.worker.failures import failure, refusal

if TYPE_CHECKING:
    import httpx

NAME: Final = "send-sms"
DOC: Final = """Send a text message to a phone, through the gateway that the worker's settings name.

408, 425, 429, 5xx, network errors and a gateway that is throttling are retried; other refusals are permanent failures.
"""
MOST_ANSWER: Final = 64 * 1024

Phone = Annotated[str, Meta(pattern=PHONE, max_length=16)]
Sender = Annotated[str, Meta(pattern=SENDER, max_length=16)]
Text = Annotated[str, Meta(min_length=1, max_length=1600)]
Word = Annotated[str, Meta(min_length=1, max_length=255)]


class SmsPayload(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a `send-sms` task is given. Numbers are written as `+` and digits, with the country's."""

    to: Phone
    text: Text
    sender: Sender | None = field(default=None, name="from")
    account: Word | None = None
    token: Word | None = None


class SmsExecutor:
    """Posts messages to a gateway. It reaches the public Internet, and what the operator allowed besides."""

    def __init__(self, settings: SmsGateway, guard: AddressGuard) -> None:
        self._settings = settings
        self._guard = guard
        self._client = LateClient(partial(_new_client, guard))
        self.type: TaskType = published(NAME, SmsPayload, doc=DOC)

    async def execute(self, call: ExecutorCall) -> Any:
        """Send the message."""
        sms = self._sms(call)
        request = request_of(sms, self._settings)
        try:
            self._guard.check_url(request.url, field="sms.url")
            status, text = await self._post(request)
            return {"message_id": message_id_of(self._settings, status, text), "provider": self._settings.provider}
        except SmsFailed as error:
            raise failure(error.kind, str(error), permanent=error.permanent) from error
        except (Invalid, AddressRefused) as error:
            raise failure("Invalid", f"sms.url: {error}", permanent=True) from error
        except TimeoutError as error:
            raise failure("timeout", f"the gateway did not answer in {self._settings.timeout:g} s") from error

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._client.close()

    def _sms(self, call: ExecutorCall) -> Sms:
        payload, settings = call.payload_as(SmsPayload), self._settings
        if (payload.account is None) != (payload.token is None):
            raise refusal(Invalid("must be given together with account", field="payload.token"))
        sender = payload.sender or settings.sender
        if not sender:
            raise refusal(Invalid("must be given: the settings name no sender", field="payload.from"))
        return Sms(
            to=payload.to,
            text=payload.text,
            sender=sender,
            account=payload.account or settings.account,
            token=payload.token or settings.token,
            reference=call.task.lease.task,
        )

    async def _post(self, request: SmsRequest) -> tuple[int, str]:
        """Return the status and the text of the answer; a redirect is an answer, and not followed."""
        client = await self._client.open()
        import httpx  # noqa: PLC0415 - imported with the client

        try:
            async with (
                asyncio.timeout(self._settings.timeout),
                client.stream("POST", request.url, headers=dict(request.headers), content=request.body) as reply,
            ):
                body = await read_body(reply, most=MOST_ANSWER, most_raw=MOST_ANSWER)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise SmsFailed(type(error).__name__, f"the gateway cannot be reached: {error}", permanent=False) from error
        return reply.status_code, text_of(body.data, reply.headers.get("content-type", ""))


def _new_client(guard: AddressGuard) -> "httpx.AsyncClient":
    from drumline.outbound.client import guarded_client  # noqa: PLC0415

    return guarded_client(guard)
