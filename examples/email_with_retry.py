"""A mail that arrives even if the mail server is busy at first.

    DRUMLINE_SMTP_HOST=127.0.0.1 DRUMLINE_SMTP_PORT=1025 DRUMLINE_SMTP_TLS=none drumline dev
    python email_with_retry.py ada@example.org

A mail server that answers 4xx, or not at all, is tried again after 1, 2, 4 … seconds; a 5xx is final. The key makes
sure that running this program twice sends one mail.
"""

import sys
import time

from drumline import Backoff, Drumline, Status, TaskFailed, TaskHandle

app = Drumline("mail")
ENDED = {Status.COMPLETED, Status.FAILED, Status.CANCELLED}


def welcome(address: str) -> TaskHandle[dict[str, object]]:
    """Submit the mail: from here on it is Drumline's business."""
    mail = {
        "to": address,
        "subject": "Welcome to the line",
        "text": "Practice starts on Monday.",
        "html": "<p>Practice starts on <b>Monday</b>.</p>",
    }
    return app.submit_task(
        "send-email", mail, retries=5, backoff=Backoff.exponential(1, cap=30), key=f"welcome {address}"
    )


def watch(task: TaskHandle[dict[str, object]]) -> None:
    """Print each turn that the task takes."""
    seen = None
    while seen is None or seen[0] not in ENDED:
        info = task.info()
        if (info.status, info.attempt) != seen:
            seen = (info.status, info.attempt)
            print(f"{info.status}, attempt {info.attempt}")
        time.sleep(0.05)


if __name__ == "__main__":
    task = welcome(sys.argv[1] if len(sys.argv) > 1 else "ada@example.org")
    watch(task)
    try:
        print("sent as", task.result()["message_id"])
    except TaskFailed as error:
        sys.exit(f"not sent: {error.remote_message}")
