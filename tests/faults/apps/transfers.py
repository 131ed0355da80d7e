"""Transfers between two tables: each is ordered, and applied, in one transaction with its task.

`python transfers.py NUMBER COUNT` orders transfers from a number on, one transaction each.
"""

import os
import sys

import psycopg

from drumline import Context, Drumline, inject

URL = os.environ["SHOP_URL"]
ACCOUNTS = 10
TABLES = """
CREATE TABLE debit (account int PRIMARY KEY, balance int NOT NULL);
CREATE TABLE credit (account int PRIMARY KEY, balance int NOT NULL);
CREATE TABLE ordered (number int NOT NULL);
CREATE TABLE applied (number int NOT NULL);
INSERT INTO debit SELECT n, 0 FROM generate_series(0, 9) AS n;
INSERT INTO credit SELECT n, 0 FROM generate_series(0, 9) AS n;
"""

app = Drumline("transfers", url="http://127.0.0.1:1")


@app.task
def transfer(number: int, *, ctx: Context[None] = inject()) -> None:
    """Move 1 from one table to the other, and complete, in one transaction. Nothing keeps it from being done twice."""
    account = number % ACCOUNTS
    with psycopg.connect(URL) as connection, ctx.settling(connection) as settling:
        connection.execute("UPDATE debit SET balance = balance - 1 WHERE account = %s", (account,))
        connection.execute("UPDATE credit SET balance = balance + 1 WHERE account = %s", (account,))
        connection.execute("INSERT INTO applied (number) VALUES (%s)", (number,))
        settling.result = number


def order(first: int, count: int) -> None:
    """Order transfers: the row and the task exist together, or neither does."""
    with psycopg.connect(URL, application_name="orders") as connection:
        for number in range(first, count):
            with connection.transaction():
                connection.execute("INSERT INTO ordered (number) VALUES (%s)", (number,))
                transfer.submit(number, tx=connection)


if __name__ == "__main__":
    order(int(sys.argv[1]), int(sys.argv[2]))
