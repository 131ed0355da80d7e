"""An app whose task fails by three causes, with data of many customers in what it says."""

from drumline import Drumline

app = Drumline("causes")


class Declined(Exception):
    """The bank said no."""


class PaymentFailed(Exception):
    """A payment did not take place."""


@app.task(name="causes.pay", max_attempts=1)
def pay(cause: str, customer: str) -> None:
    """Fail."""
    if cause == "lost":
        raise LookupError(f"there is no customer {customer} any more")
    if cause == "busy":
        raise TimeoutError("the bank did not answer for " + repr(customer))
    try:
        ask_the_bank()
    except Declined as error:
        raise PaymentFailed(f"the order of {customer} was not paid") from error


def ask_the_bank() -> None:
    """Fail, deeper down."""
    raise Declined("the card was declined")
