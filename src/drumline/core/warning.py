"""What is doubtful about a submission that was accepted all the same."""

from msgspec import Struct

from drumline.core.errors import Invalid


class SubmissionWarning(Struct, frozen=True):
    """A doubt about a submission: `code` is stable, `field` names the input that it is about."""

    code: str
    message: str
    field: str


def unknown_type(name: str, *, field: str = "name") -> SubmissionWarning:
    """Return the warning about a name that no worker has ever published: it may be misspelt, and wait for ever."""
    return SubmissionWarning("unknown_type", f"no worker has published a task named {name}: it waits for one", field)


def unfit_payload(error: Invalid) -> SubmissionWarning:
    """Return the warning about a payload that does not fit the schema of its type."""
    return SubmissionWarning("unfit_payload", f"does not fit the task's parameters: {error.message}", error.field or "")
