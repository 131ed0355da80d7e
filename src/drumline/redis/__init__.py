"""Redis as the queue, the read model and the limiter: hints, copies and counts only, never the truth.

Start with `keys.py` (every key, on one page), then `lua/pop.lua` (how the best due hint is found). `line.py` is the
only file that talks to the server; nothing that goes wrong there reaches a caller.
"""

from drumline.redis.limiter import RedisLimiter
from drumline.redis.queue import RedisQueue
from drumline.redis.read_model import RedisReadModel

__all__ = ["RedisLimiter", "RedisQueue", "RedisReadModel"]
