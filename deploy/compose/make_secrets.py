"""Make the secrets of a composed system once: random, each in a volume that only those see who need it.

    drumline/  api-key, secret-key,              postgres/  password
               store-url, queue-url              redis/     redis.conf
    grafana/   password

With compose.shards.yaml, for a further shard such as pg2; its addresses are seen by the step that adds it alone:

    shards/    pg2: its addresses                postgres-pg2/  password
                                                 redis-pg2/     redis.conf

What is there already stays as it is, so that the database goes on knowing its password.
"""

import secrets
import sys
from pathlib import Path

from drumline.core.api_key import SECRET_BYTES, make_key
from drumline.stores.sealing import new_key_text


def make_secrets(root: Path) -> list[str]:
    """Write what is missing, and return what was written."""
    database = _kept(root / "postgres" / "password") or _random()
    queue = (_kept(root / "redis" / "redis.conf") or "").removeprefix("requirepass ") or _random()
    wanted = {
        "postgres/password": database,
        "redis/redis.conf": f"requirepass {queue}",
        "grafana/password": _random(),
        "drumline/api-key": make_key("compose", secrets.token_bytes(SECRET_BYTES)),
        "drumline/secret-key": new_key_text(),
        "drumline/store-url": f"postgresql://drumline:{database}@postgres:5432/drumline",
        "drumline/queue-url": f"redis://:{queue}@redis:6379/0",
    }
    for folder in sorted(root.glob("postgres-*")):
        wanted |= _of_shard(root, folder.name.removeprefix("postgres-"))
    written = [name for name, text in wanted.items() if _write_once(root / name, text)]
    return sorted(written)


def _of_shard(root: Path, name: str) -> dict[str, str]:
    """Return the secrets of a further shard."""
    database = _kept(root / f"postgres-{name}" / "password") or _random()
    queue = (_kept(root / f"redis-{name}" / "redis.conf") or "").removeprefix("requirepass ") or _random()
    store_url = f"postgresql://drumline:{database}@postgres-{name}:5432/drumline"
    return {
        f"postgres-{name}/password": database,
        f"redis-{name}/redis.conf": f"requirepass {queue}",
        f"shards/{name}": f"{store_url}\nredis://:{queue}@redis-{name}:6379/0",
    }


def _write_once(path: Path, text: str) -> bool:
    if path.exists():
        return False
    # Each service runs as a user of its own, so the files are for all who see the volume. Renamed into place: a file
    # is there as a whole or not at all.
    aside = path.with_suffix(".new")
    aside.write_text(f"{text}\n", encoding="utf-8")
    aside.chmod(0o444)
    aside.replace(path)
    return True


def _kept(path: Path) -> str | None:
    return path.read_text(encoding="utf-8").strip() if path.exists() else None


def _random() -> str:
    return secrets.token_urlsafe(24)


if __name__ == "__main__":
    print("made:", ", ".join(make_secrets(Path(sys.argv[1]))) or "nothing, everything is there")
