"""Sets resource limits and drops privileges, then executes another program.

Run as `python -I -S confined.py LIMITS USER GROUP PROGRAM ARGUMENT…`, LIMITS as `name=number,…` of `resource.RLIMIT_…`,
USER and GROUP as numbers or `-`. It imports nothing of Drumline, and is gone when the program runs: the process, its
group and its pipes are the program's own. Doing this between fork and exec instead is not safe where threads run.
"""

import os
import resource
import sys


def main(words: list[str]) -> None:
    """Give up rights, and become the program."""
    limits, user, group, *argv = words
    for limit in filter(None, limits.split(",")):
        name, _, number = limit.partition("=")
        kind = getattr(resource, name)
        _, hard = resource.getrlimit(kind)
        most = int(number) if hard == resource.RLIM_INFINITY else min(int(number), hard)
        resource.setrlimit(kind, (most, most))
    if user != "-":
        os.setgroups([])
        os.setgid(int(group))
        os.setuid(int(user))
    os.execv(argv[0], argv)  # noqa: S606 - it is what this is for


if __name__ == "__main__":
    main(sys.argv[1:])
