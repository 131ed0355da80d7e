"""A plugin of pytest with which mutmut 3.8 runs on pytest 9.2, which has no private `_nodeid` of items any more."""

import pytest

if not hasattr(pytest.Item, "_nodeid"):
    pytest.Item._nodeid = property(lambda item: item.nodeid)  # type: ignore[attr-defined] # noqa: SLF001
