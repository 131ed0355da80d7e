"""Results of tasks, under the names of `celery.result`."""

from drumline.compat.celery.async_result import AsyncResult
from drumline.compat.celery.eager_result import EagerResult
from drumline.compat.celery.result_base import ResultBase
from drumline.compat.celery.result_sets import GroupResult, ResultSet

__all__ = ["AsyncResult", "EagerResult", "GroupResult", "ResultBase", "ResultSet"]
