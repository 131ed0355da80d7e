"""Every key in Redis, on one page.

Nothing here is needed to find the truth: `FLUSHALL` costs some speed for some seconds. `<prefix>` is `drumline:`
unless set otherwise, and every key and channel begins with it: `~drumline:* &drumline:*` is what a user of Redis needs
to be allowed. All keys of the queue of a shard carry one hash tag, so that on Redis Cluster they lie on one node and a
script may touch several of them: `{queue}` in the directory, which is the shard `main`, and `{queue:<shard>}` in
another, such as `{queue:pg2}`. So shards may share a Redis, and on a cluster they spread over its nodes by their names.
A lane's key is the lane prefix with the lane behind it.

The queue (`queue.py`, `lua/`), as the directory names its keys and channels:

| key | type | what |
|---|---|---|
| `<prefix>{queue}:lane:<tenant> <queue> <priority> <name>` | zset | the hints of a lane: task id → due time in ms |
| `<prefix>{queue}:due` | zset | tenants with lanes whose head is due: tenant → number of its last turn |
| `<prefix>{queue}:due:<tenant>` | zset | those lanes: lane → score of the head, best first |
| `<prefix>{queue}:waiting` | zset | lanes whose head is not due yet: lane → due time of the head |
| `<prefix>{queue}:more` | zset | lanes of which the store has more: lane → due time up to which everything is here |
| `<prefix>{queue}:paused` | set | paused queues, as `<tenant> <queue>` |
| `<prefix>{queue}:generation` | string | a random word, written after a refill; without it nothing is popped |
| `<prefix>{queue}:skew` | string | `<ms that the store's clock is ahead of this server's> <when that was seen>` |
| `<prefix>{queue}:ability:<digest>` | hash | what a kind of session can run; expires |
| `<prefix>{queue}:ability:<digest>:lanes` | hash | which of the lanes it met such a session can run; expires |
| `<prefix>{queue}:idle` | zset | sessions that wait: `<process> <session> <key of its lanes>` → since when, in ms |
| `<prefix>{queue}:claim:<session>` | string | the nonce of the claim with which a session waits; expires |
| `<prefix>{queue}:wake` | channel | one message per push: `<sender> <queue>=<count> <queue>=<count> …` |
| `<prefix>{queue}:wake:<process>` | channel | a task handed over: `<session> <due time in ms> <task> <lane>` |
| `<prefix>{queue}:lease:<process>` | channel | a task leased to a session that waited: `<session> <task as JSON>` |

The read model (`read_model.py`, `task_calls.py`, `job_calls.py`), for people and programs that want to look without
asking the store. Ids are unique over all shards, so their keys name none:

| key | type | what |
|---|---|---|
| `<prefix>task:<task id>` | hash | taskId, taskName, command, retries, timeout, status, startTime, endTime; of a task \
of a job also jobId and taskKey |
| `<prefix>task:<task id>:status` | string | its status alone, such as PROCESSING |
| `<prefix>order:{<key of these>}` | string | of a job, or a task tried again: which notes would come too late; \
expires |
| `<prefix>task:<task id>:log` | list | the last pieces of the log |
| `<prefix>job:<job id>` | hash | jobId, jobName, userId, createdAt, retryPolicy (JSON), schedule (JSON: id and \
fireTime, or null), status |
| `<prefix>dag:<job id>` | hash | the keys of its tasks: key → JSON list of the keys that it needs |
| `<prefix>dag:<job id>:ids` | hash | the ids of its tasks: key → task id, as in `task:` and `dlq:` |
| `<prefix>dlq:<job id>` | list | its tasks that failed for good; a task without a job has a list of its own |
| `<prefix>board:doubt` | string | there while changes were left out: live statuses may be old, ask the store; expires |
| `<prefix>board:keeper` | string | there while a scheduler has renewed the keys of waiting tasks lately; expires |
| `<prefix>board:probe` | string | written to see whether writing is allowed; expires. So are `<prefix>{queue}:probe` \
and `<prefix>rate:{probe}` |

The three keys of `board:` are those of the directory; another shard has `board:<shard>:doubt` and so on, since each
shard doubts and renews what is its own.

The limiter (`limiter.py`, `lua/take.lua`), in the Redis of the directory only:

| key | type | what |
|---|---|---|
| `<prefix>rate:{<key id>}` | list | when an API key was given its turns, in ms, oldest first; expires |
"""

from functools import lru_cache
from hashlib import sha256
from typing import Final

from drumline.core.ids import JobId, TaskId
from drumline.core.shard_map import DIRECTORY
from drumline.core.task import Lane

DEFAULT_PREFIX: Final = "drumline:"
FAMILIES: Final = ("{queue}:", "{queue:", "task:", "order:", "job:", "dag:", "dlq:", "board:", "rate:")
"""What follows the prefix: every key begins with one of these."""
MOST_LANES: Final = 10_000


class QueueKeys:
    """The keys of the queue of a shard under a prefix."""

    def __init__(self, prefix: str = DEFAULT_PREFIX, shard: str = DIRECTORY) -> None:
        tagged = f"{prefix}{{{queue_tag(shard)}}}:"
        self.due = tagged + "due"
        self.waiting = tagged + "waiting"
        self.more = tagged + "more"
        self.paused = tagged + "paused"
        self.generation = tagged + "generation"
        self.skew = tagged + "skew"
        self.lanes = tagged + "lane:"
        self.idle = tagged + "idle"
        self.wake = tagged + "wake"
        self.claims = tagged + "claim:"
        self.probe = tagged + "probe"
        self.leases = tagged + "lease:"
        self._abilities = tagged + "ability:"

    def ability(self, fields: tuple[str, ...]) -> str:
        """Return the key of what a kind of session can run; the same for every session of that kind."""
        return self._abilities + sha256("\0".join(fields).encode()).hexdigest()[:32]

    def verdicts(self, ability: str) -> str:
        """Return the key of the lanes that an ability has met."""
        return ability + ":lanes"


class ReadModelKeys:
    """The keys of the read model of a shard under a prefix."""

    def __init__(self, prefix: str = DEFAULT_PREFIX, shard: str = DIRECTORY) -> None:
        self._prefix = prefix
        board = prefix + ("board:" if shard == DIRECTORY else f"board:{shard}:")
        self.doubt = board + "doubt"
        self.keeper = board + "keeper"
        self.probe = board + "probe"
        self._order = prefix + "order:"

    def task(self, task: TaskId) -> str:
        """Return the key of a task's hash; its status and log have `:status` and `:log` behind it."""
        return f"{self._prefix}task:{task}"

    def order(self, key: str) -> str:
        """Return the key of what is known of the order of notes under another key; both lie on one node.

        A prefix with a hash tag of its own, such as `{app}:`, puts everything on one node anyway.
        """
        return self._order + (key if "{" in key else f"{{{key}}}")

    def job(self, job: JobId) -> str:
        """Return the key of a job's hash."""
        return f"{self._prefix}job:{job}"

    def letters(self, owner: JobId | TaskId) -> str:
        """Return the key of the list of a job's dead letters; a task without a job has a list of its own."""
        return f"{self._prefix}dlq:{owner}"

    def dag(self, job: JobId) -> str:
        """Return the key of the hash that says which task of a job needs which."""
        return f"{self._prefix}dag:{job}"

    def ids(self, job: JobId) -> str:
        """Return the key of the hash that says which id each task of a job has."""
        return f"{self._prefix}dag:{job}:ids"


class LimiterKeys:
    """The keys of the limiter under a prefix."""

    def __init__(self, prefix: str = DEFAULT_PREFIX) -> None:
        self._prefix = prefix

    def rate(self, key: str) -> str:
        """Return the key of an API key's turns."""
        return f"{self._prefix}rate:{{{key}}}"


def queue_tag(shard: str) -> str:
    """Return the hash tag of a shard's queue. It never changes: processes of two releases share a queue."""
    return "queue" if shard == DIRECTORY else f"queue:{shard}"


@lru_cache(MOST_LANES)
def lane_text(lane: Lane) -> str:
    """Return a lane as it is written in Redis. Only its name may contain spaces."""
    return f"{word(lane.tenant)} {word(lane.queue)} {lane.priority} {lane.name}"


@lru_cache(MOST_LANES)
def parse_lane(text: str) -> Lane:
    """Return the lane behind its text."""
    tenant, queue, priority, name = text.split(" ", 3)
    return Lane(_unword(tenant), _unword(queue), name, int(priority))


def word(text: str) -> str:
    """Return a tenant or queue as one word."""
    return text.replace("%", "%25").replace(" ", "%20")


def _unword(text: str) -> str:
    return text.replace("%20", " ").replace("%25", "%")


def paused_text(tenant: str, queue: str) -> str:
    """Return a paused queue as it is written in Redis: as its lanes begin."""
    return f"{word(tenant)} {word(queue)}"
