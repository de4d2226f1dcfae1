"""Sends one request: with credentials, within a time, again where that cannot do harm."""

from __future__ import annotations

import json
from random import Random
from typing import Any, Callable, Dict, Mapping
from urllib.parse import quote, urlencode, urlsplit

from .access import Access
from .backoff import Backoff
from .errors import ApiError, Unauthenticated, Unavailable, from_answer
from .kinds import Kind
from .servertime import ServerTime
from .transport import Answer, Stream, Transport

TRIES = 3
JSON = "application/json"
#: The longest part of an error that is read from a stream, bytes.
_ERROR_BYTES = 65536

Json = Dict[str, Any]


class Call:
    """One request: what it is in HTTP and in the words of a Role.

    Parameters
    ----------
    method, path
        Of HTTP.
    verb, resource
        Of a Role.
    query
        Parameters of the URL; empty ones are left out.
    body, content
        What to send, as JSON, and its media type.
    again
        Whether it may be sent twice.
    """

    def __init__(
        self,
        method: str,
        path: str,
        verb: str,
        resource: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content: str = JSON,
        again: bool = True,
    ) -> None:
        given = {name: value for name, value in (query or {}).items() if value}
        self.method = method
        self.target = path + ("?" + urlencode(given) if given else "")
        self.verb = verb
        self.resource = resource
        self.again = again
        self.content = content
        self.body: bytes | None = None
        if body is not None:
            self.body = json.dumps(body, separators=(",", ":"), allow_nan=False).encode()


class Sender:
    """Calls in, objects out; thread-safe. The parameters are those of `calls.Api`."""

    def __init__(
        self,
        access: Access,
        timeout: float,
        clock: Callable[[], float],
        sleep: Callable[[float], None],
        wall: Callable[[], float],
        rng: Random,
    ) -> None:
        self.access = access
        self.timeout = timeout
        self.clock = clock
        self.time = ServerTime(clock, wall)
        self._sleep = sleep
        self._rng = rng
        self._transport = Transport(access, clock)

    def close(self) -> None:
        """Close the connections that are kept."""
        self._transport.close()

    def path(self, kind: Kind, name: str = "") -> str:
        """Return the path of all objects of a kind, or of one."""
        namespace = quote(self.access.namespace, safe="")
        path = f"{self.prefix()}{kind.root}/namespaces/{namespace}/{kind.plural}"
        return f"{path}/{quote(name, safe='')}" if name else path

    def prefix(self) -> str:
        """Return the part of the server's address that is before every path."""
        return urlsplit(self.access.server).path.rstrip("/")

    def send(self, call: Call, *, tries: int = TRIES) -> Json:
        """Send a call until it is answered, and return the object of the answer.

        Raises
        ------
        ApiError
            It was refused, or there was no answer in `tries` tries or two time-outs.
        """
        backoff = Backoff(self._rng, self.clock)
        ends = self.clock() + 2.0 * self.timeout
        while True:
            tries -= 1
            try:
                return self._parsed(call, self._answer(call))
            except Unavailable as error:
                error.verb, error.resource = call.verb, call.resource
                error.maybe_done = error.maybe_done and call.method != "GET"
                wait = max(backoff.failure(), error.retry_after or 0.0)
                harmless = call.again or not error.maybe_done
                if tries <= 0 or not harmless or self.clock() + wait > ends:
                    raise
            self._sleep(wait)

    def open(self, call: Call, silence: float | None) -> Stream:
        """Send a GET once and return the answer as a stream; errors as above.

        Parameters
        ----------
        call
            What to send.
        silence
            Seconds without a byte after which the stream counts as dead; None: never.
        """
        for last in (False, True):
            sent = self.clock()
            try:
                stream = self._transport.stream(
                    call.target, self._headers(call), timeout=self.timeout, silence=silence
                )
            except Unavailable as error:
                error.verb, error.resource = call.verb, call.resource
                raise
            self.time.learn(stream.headers.get("date"), sent)
            if 200 <= stream.status < 300:
                return stream
            answer = Answer(stream.status, stream.headers, _error_body(stream))
            if last or answer.status != 401:
                raise self._error(call, answer)
            self._renew()
        raise AssertionError("unreachable")  # pragma: no cover

    def _answer(self, call: Call) -> Answer:
        """Return the answer to a call; one that was refused as unknown goes again, once."""
        for last in (False, True):
            headers = self._headers(call)
            sent = self.clock()
            answer = self._transport.request(
                call.method,
                call.target,
                call.body,
                headers,
                timeout=self.timeout,
                again=call.again,
            )
            self.time.learn(answer.headers.get("date"), sent)
            if last or answer.status != 401:
                break
            self._renew()
        if not 200 <= answer.status < 300:
            raise self._error(call, answer)
        return answer

    def _headers(self, call: Call) -> dict[str, str]:
        headers = {"Accept": JSON, "User-Agent": "jupyter-elastic"}
        if call.body is not None:
            headers["Content-Type"] = call.content
        headers.update(self._trusted(self.access.headers))
        return headers

    def _renew(self) -> None:
        self._trusted(self.access.reload)
        # A client certificate belongs to the connection, not to the request.
        self._transport.forget()

    def _trusted(self, ask: Callable[[], Any]) -> Any:
        """Ask for credentials; whatever goes wrong there must not end in an anonymous request."""
        try:
            return ask()
        except ApiError:
            raise
        except Exception as error:
            raise Unauthenticated(str(error)) from error

    def _error(self, call: Call, answer: Answer) -> ApiError:
        return from_answer(
            answer.status, answer.headers, answer.body, verb=call.verb, resource=call.resource
        )

    def _parsed(self, call: Call, answer: Answer) -> Json:
        try:
            value = json.loads(answer.body.decode("utf-8"))
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise Unavailable("The answer is not a JSON object.", maybe_done=True)
        return value


def _error_body(stream: Stream) -> bytes:
    body = b""
    try:
        while len(body) < _ERROR_BYTES:
            data = stream.read()
            if not data:
                break
            body += data
    except Unavailable:
        pass
    finally:
        stream.close()
    return body
