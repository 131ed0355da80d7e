"""A wire to the API that loses what it is told to lose."""

import httpx


class Wire(httpx.AsyncBaseTransport):
    """Carries requests to an app; `lose_answers` says how many of the next answers get lost on the way back."""

    def __init__(self, inner: httpx.AsyncBaseTransport) -> None:
        self._inner = inner
        self.lose_answers = 0

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = await self._inner.handle_async_request(request)
        if self.lose_answers:
            self.lose_answers -= 1
            raise httpx.ReadError("the connection was reset", request=request)
        return answer
