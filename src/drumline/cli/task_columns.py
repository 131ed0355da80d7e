"""The columns of a list of tasks."""

from drumline.cli.describing import first_line, shown_status
from drumline.cli.tables import Column

COLUMNS = (
    Column("ID", "id", rank=9),
    Column("STATUS", shown_status, rank=9),
    Column("NAME", "name", rank=8, least=8),
    Column("QUEUE", "queue", rank=4, least=8),
    Column("PRIORITY", "priority", rank=1),
    Column("ATTEMPT", lambda task: f"{task['attempt']}/{task['retries'] + 1}", rank=3),
    Column("CREATED_AT", "created_at", rank=6, is_time=True),
    Column("DUE_AT", "due_at", rank=2, is_time=True),
    Column("ERROR", lambda task: first_line(task["error"]), rank=7, least=16, is_news=True),
)
