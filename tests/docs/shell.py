"""Turns the shell blocks of a page into one script that does what a reader would: in one folder, one after the other.

Commands that run until they are stopped go to the background, as a reader would give them a terminal of their own, and
are awaited until they answer. Every command that is left out has a reason.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from tests.docs.pages import Block

NOT_RUN = {
    "make test": "it is what runs this page",
    "make docs": "it builds this page; tests/docs/test_site.py looks at the result",
    "git clone": "needs the network",
    "python -m venv": "the tests have an environment",
    "pip install": "asks a package index; scripts/try-wheel installs the wheel",
    "pipx": "asks a package index; scripts/try-wheel installs the wheel",
    "uvx": "asks a package index; scripts/try-wheel installs the wheel",
    "docker": "needs Docker; tests/deploy checks the image and the compose file",
    "kubectl": "needs a cluster; tests/deploy checks the manifests",
    "helm": "needs a cluster; tests/deploy renders the chart",
    "minikube": "needs a cluster; tests/deploy checks the manifests",
    "deploy/kustomize": "needs a cluster; tests/deploy checks the manifests",
    "gh": "needs a published image",
}
"""Commands that no test runs, by how they begin, and why."""
SERVERS = ("dev", "api", "scheduler", "worker", "notifier", "demo")
ENDLESS = (
    r"drumline events(?!.*(\s-n\s|\s--count))",
    r"curl -N",
    r"drumline logs .*(-f|--follow)",
    r"drumline docs(?!.*--text)",
)

PREAMBLE = """\
set -eu
servers=
curl() { # an error of the server is one; a process that was just started is waited for
    refused=0
    until command curl --fail-with-body --silent --show-error "$@"; do
        failed=$?
        refused=$((refused + 1))
        [ "$failed" = 7 ] && [ "$refused" -lt 120 ] || return "$failed"
        sleep 0.5
    done
}
export -f curl
stop() {
    for pid in $servers; do kill "$pid" 2>/dev/null || true; done
    for pid in $servers; do wait "$pid" 2>/dev/null || true; done
    servers=
}
trap stop EXIT
ready() {
    tries=0
    until command curl --silent --fail --output /dev/null "http://127.0.0.1:$PAGE_PORT/readyz"; do
        tries=$((tries + 1))
        kill -0 "$1" 2>/dev/null && [ "$tries" -lt 600 ] || { cat server.log >&2; exit 1; }
        sleep 0.1
    done
}
started() { # bash forgets a signal that comes to its child before that has become the program
    tries=0
    while [ "$(cat "/proc/$1/comm" 2>/dev/null)" = bash ] && [ "$tries" -lt 100 ]; do
        tries=$((tries + 1))
        sleep 0.02
    done
}
briefly() {
    status=0
    timeout --kill-after=5 3 bash -c "$1" || status=$?
    case $status in 0 | 124 | 137) ;; *) exit 1 ;; esac
}
"""


@dataclass(frozen=True)
class Command:
    """One command of a block, however many lines it has."""

    text: str
    line: int

    @property
    def words(self) -> list[str]:
        """The command without comments and the variables before it."""
        words = shlex.split(self.text, comments=True)
        while words and re.fullmatch(r"\w+=.*", words[0], re.DOTALL):
            words.pop(0)
        return words

    @property
    def reason(self) -> str | None:
        """Why it is not run, if it is not."""
        said = " ".join(self.words)
        return next(
            (why for start, why in NOT_RUN.items() if said == start or said.startswith((f"{start} ", f"{start}/"))),
            None,
        )

    @property
    def server(self) -> str | None:
        """What runs until it is stopped, if this does."""
        words = self.words
        if words[:2] == ["make", "run"]:
            return "dev"
        is_ours = bool(words) and words[0].rpartition("/")[2] == "drumline" and len(words) > 1
        return words[1] if is_ours and words[1] in SERVERS and "--help" not in words else None


def commands_of(block: Block) -> list[Command]:
    """Return the commands of a block."""
    return list(_split(block.code, block.line))


def _split(code: str, line: int) -> Iterator[Command]:
    gathered: list[str] = []
    for number, text in enumerate(code.splitlines(), line + 1):
        gathered.append(text)
        whole = "\n".join(gathered)
        if _is_complete(whole):
            if whole.strip() and not whole.lstrip().startswith("#"):
                yield Command(whole, number - len(gathered) + 1)
            gathered.clear()
    assert not gathered, f"line {line}: {gathered[0]} does not end"


def _is_complete(text: str) -> bool:
    here = re.search(r"<<-?\s*'?(\w+)'?", text)
    if here:
        return text.splitlines()[-1] == here[1] and "\n" in text
    if text.rstrip().endswith("\\"):
        return False
    try:
        shlex.split(text, comments=True)
    except ValueError:
        return False
    return True


def script_of(blocks: list[Block]) -> str:
    """Return the script that runs a page; a reader who is not told to start a server has one running."""
    commands = [command for block in blocks if is_run(block) for command in commands_of(block)]
    is_told = any(command.server in {"dev", "api"} for command in commands)
    parts = [PREAMBLE, *([] if is_told else _start("drumline dev", "dev"))]
    for block in blocks:
        parts += _prepared(block)
        if "file" in block.notes:
            name = shlex.quote(block.notes["file"])
            parts.append(f"mkdir -p \"$(dirname {name})\"; cat > {name} <<'END OF FILE'\n{block.code}END OF FILE")
        elif is_run(block):
            parts += _run(block)
    return "\n".join(parts) + "\n"


def is_run(block: Block) -> bool:
    """Tell whether a block's commands are run."""
    return block.language in {"sh", "bash"} and "not run" not in block.notes and "file" not in block.notes


def _prepared(block: Block) -> list[str]:
    return [f"echo '::{block.place} (prepare)' >&2", block.notes["prepare"]] if "prepare" in block.notes else []


def _run(block: Block) -> list[str]:
    parts = ["exec 3>&1 >block.out"] if "prints" in block.notes else []
    commands = [command for command in commands_of(block) if command.reason is None]
    for command in commands:
        parts.append(f"echo {shlex.quote(f'::{block.place}: {command.text}')} >&2")
        if command.server is not None:
            parts += _start(command.text, command.server)
        elif any(re.search(pattern, command.text) for pattern in ENDLESS):
            parts.append(f"briefly {shlex.quote(command.text)}")
        elif "exits" in block.notes and command is commands[-1]:
            parts.append(f"status=0; {{ {command.text}\n}} || status=$?; [ $status = {block.notes['exits']} ]")
        else:
            parts.append(command.text)
    if "prints" in block.notes:
        parts.append(f"exec >&3; cat block.out; grep --fixed-strings -e {shlex.quote(block.notes['prints'])} block.out")
    return parts


def _start(text: str, server: str) -> list[str]:
    """Return the lines that start a server in the background; one that has the port takes the other's place."""
    bare = re.sub(r"\s+#\s.*$", "", text)
    bare = re.sub(r"^make run(?: ARGS=(?:\"([^\"]*)\"|(\S+)))?$", r"drumline dev \1\2", bare)
    begin = ["stop"] if server == "dev" else []
    end = ["ready $!"] if server in {"dev", "api"} else []
    return [*begin, f"{bare} </dev/null >>server.log 2>&1 3>&- &", 'servers="$! $servers"', "started $!", *end]
