"""Secrets in an attempt: fetched right before its code runs, and blotted out of whatever leaves it."""

from functools import partial
from typing import Final

from msgspec.structs import replace

from drumline.core.errors import Conflict, DrumlineError, Fenced, Invalid, NotFound
from drumline.core.masking import CURRENT_MASK, Mask
from drumline.core.outcome import ErrorInfo, Failed, Outcome, Succeeded
from drumline.core.secret_references import fill_in_secrets
from drumline.ports.gateway import Gateway
from drumline.worker.executors.executor import ExecutorCall
from drumline.worker.failures import ExecutorFailure, failure
from drumline.worker.gateway_retry import GatewayRetry

REVEAL_SECONDS: Final = 30.0


async def fill_in_call(call: ExecutorCall, gateway: Gateway, retry: GatewayRetry) -> None:
    """Put the secrets that a task refers to into its payload; raises `ExecutorFailure` if one cannot be had.

    From here on everything that this attempt writes, says or gives back is looked through.
    """
    try:
        values = await retry.call(partial(gateway.reveal, call.task.lease), seconds=REVEAL_SECONDS)
    except DrumlineError as error:
        raise _failure(error) from error
    if values is None:
        return  # what looks like a reference came as data, in the result of a parent
    if values:
        call.mask = call.log.mask = Mask(values.values())
        CURRENT_MASK.set(call.mask)
    try:
        payload = fill_in_secrets(bytes(call.task.payload), values)
    except Invalid as error:
        raise failure("InputError", str(error), permanent=True) from error
    call.task = replace(call.task, payload=payload)


async def look_for_secrets(call: ExecutorCall, gateway: Gateway, retry: GatewayRetry) -> None:
    """Find out whether a task refers to secrets, for an executor that passes references on and is given no values."""
    try:
        values = await retry.call(partial(gateway.reveal, call.task.lease), seconds=REVEAL_SECONDS)
    except DrumlineError as error:
        raise _failure(error) from error
    call.has_secrets = values is not None


def masked_outcome(outcome: Outcome, mask: Mask) -> Outcome:
    """Return an outcome without the values of secrets."""
    match outcome:
        case Succeeded(result=result):
            return Succeeded(mask.json(result))
        case Failed(error=error):
            hidden = ErrorInfo(mask.text(error.kind), mask.text(error.message), mask.text(error.traceback))
            return replace(outcome, error=hidden)
        case _:
            return outcome


def _failure(error: DrumlineError) -> ExecutorFailure:
    if isinstance(error, NotFound) and error.field == "secret":
        return failure("SecretNotFound", error.message, permanent=True)
    kind = "LeaseLost" if isinstance(error, Fenced) else "SecretUnreadable"
    if not isinstance(error, Conflict):
        kind = "SecretsUnavailable"
    return failure(kind, f"the task's secrets could not be had: {error.message}")
