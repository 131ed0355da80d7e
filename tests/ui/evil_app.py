"""Tasks that say, everywhere they can, what a page must never run."""

import time

from drumline import Context, Drumline, Permanent, inject

EVIL = "<img src=x onerror=alert(1)>\"'`${7*7}<script>alert(2)</script>"

app = Drumline("evil")


@app.task(name="evil.fail")
def fail() -> None:
    raise Permanent(EVIL)


@app.task(name="evil.make")
def make(*, ctx: Context[None] = inject()) -> dict[str, str]:
    ctx.log.warning(EVIL)
    ctx.put_artifact(EVIL.replace("/", ""), EVIL, "text/html")
    return {EVIL: EVIL}


@app.task(name="evil.go_on")
def go_on(*, ctx: Context[None] = inject()) -> None:
    ctx.progress(1, 2, EVIL)
    while not ctx.is_cancelled:
        time.sleep(0.05)
