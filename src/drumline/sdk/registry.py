"""The task definitions of an app, by name."""

from collections.abc import Iterator

from drumline.core.errors import NotFound
from drumline.core.session import TaskType
from drumline.sdk.definition import TaskDefinition


class Registry:
    """The functions of an app by task name."""

    def __init__(self) -> None:
        self._definitions: dict[str, TaskDefinition] = {}

    def add(self, definition: TaskDefinition) -> None:
        """Register a definition; a name has one function, which a reload of its module may replace."""
        known = self._definitions.get(definition.name)
        if known is not None and _place(known) != _place(definition):
            owner = ".".join(_place(known))
            raise ValueError(f"the task name {definition.name!r} is taken by {owner}; give one of them another name=")
        self._definitions[definition.name] = definition

    def get(self, name: str) -> TaskDefinition:
        """Return the definition of a name, or raise `NotFound`."""
        definition = self._definitions.get(name)
        if definition is None:
            raise NotFound(f"there is no task named {name!r} here", field="name")
        return definition

    def published(self) -> tuple[TaskType, ...]:
        """Return every task as a worker publishes it; raises `TypeError` for annotations that make no sense."""
        return tuple(definition.published() for definition in self)

    @property
    def names(self) -> tuple[str, ...]:
        """The registered names."""
        return tuple(self._definitions)

    def __contains__(self, name: str) -> bool:
        return name in self._definitions

    def __iter__(self) -> Iterator[TaskDefinition]:
        return iter(tuple(self._definitions.values()))

    def __len__(self) -> int:
        return len(self._definitions)


def _place(definition: TaskDefinition) -> tuple[str, str]:
    return definition.function.__module__, definition.function.__qualname__
