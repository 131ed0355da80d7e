"""Completion in bash of values with spaces and other signs, which click inserts as they are."""

from typing import ClassVar

from click.shell_completion import BashComplete, add_completion_class

_SOURCE = """\
%(complete_func)s() {
    local IFS=$'\\n' response completion type value
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD %(complete_var)s=bash_complete $1)
    COMPREPLY=()
    while IFS=',' read -r type value; do
        case $type in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("$(printf '%%q' "$value")") ;;
        esac
    done <<< "$response"
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class QuotingBashComplete(BashComplete):
    """Completes in bash, with values quoted."""

    source_template: ClassVar[str] = _SOURCE


def register() -> None:
    """Let click use it for bash."""
    add_completion_class(QuotingBashComplete)
