"""Commands about people who are signed in at browsers."""

from typing import Annotated

import typer

from drumline.cli.options import Key, Reason, Url, Yes
from drumline.cli.output import confirm, say

app = typer.Typer(help="Sign people out of the web interface.", no_args_is_help=True, rich_markup_mode=None)

User = Annotated[
    str,
    typer.Argument(
        help="Who: key:ID, PROVIDER:SUBJECT as the audit log has it, or * for everybody.",
        metavar="USER",
        show_default=False,
    ),
]


@app.callback()
def sign_ins() -> None:
    """Sign people out of the web interface."""


@app.command()
def revoke(user: User, reason: Reason = None, yes: Yes = False, url: Url = None, api_key: Key = None) -> None:
    """Sign somebody out at every browser. They can sign in again, unless their key or account is gone, too."""
    from drumline.cli.client import connect

    confirm(f"Sign {'everybody' if user == '*' else user} out at every browser?", yes=yes)
    connect(url, api_key, reason=reason).post("/sign-ins/revoke", {"user": user})
    say("signed out; every server goes by it within two seconds")
