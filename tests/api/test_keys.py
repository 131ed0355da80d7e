"""Keys: made, narrowed, taken back, replaced; nobody gives more than they have."""

from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import pytest

from drumline.core.access import KeyPolicy, Permission, Role
from drumline.core.rate import Rate
from drumline.engine.engine import Engine
from tests.api.conftest import KEY, problem


async def made(http: httpx.AsyncClient, by: str = KEY, **fields: Any) -> dict[str, Any]:
    reply = await http.post("/api/v1/keys", headers={"X-API-Key": by}, json={"name": "k", **fields})
    assert reply.status_code == 201, reply.text
    body: dict[str, Any] = reply.json()
    return body


async def ask(http: httpx.AsyncClient, key: str, path: str = "/api/v1/me") -> httpx.Response:
    return await http.get(path, headers={"X-API-Key": key})


async def test_a_key_is_shown_once_and_only_its_beginning_after_that(http: httpx.AsyncClient, engine: Engine) -> None:
    new = await made(http, role="operator", rate_limit="5/1m", names=["shop.*"], queues=["mail"])

    looked = (await http.get(f"/api/v1/keys/{new['id']}")).json()
    listed = (await http.get("/api/v1/keys")).json()
    acts = (await http.get("/api/v1/audit?all=true")).text
    (kept,) = await engine.store.keys.list_keys(limit=10)

    assert new["key"].startswith(new["prefix"])
    assert {**looked, "key": new["key"]} == new
    assert listed == {"items": [looked], "next_cursor": None}
    assert (looked["role"], looked["rate_limit"], looked["names"], looked["queues"]) == (
        "operator", "5/1m", ["shop.*"], ["mail"],
    )  # fmt: skip
    assert (looked["tenant"], looked["created_by"], looked["enabled"], looked["uses"]) == ("default", "first", True, 0)
    for told in (str(looked), str(listed), acts, repr(kept)):
        assert new["key"] not in told
        assert new["key"][14:30] not in told


async def test_what_a_key_may_do_is_told_to_its_holder(http: httpx.AsyncClient) -> None:
    new = await made(http, role="viewer", scopes=["tasks:read", "queues:read"])

    me = (await ask(http, new["key"])).json()
    first = (await ask(http, KEY)).json()

    assert me == {
        "id": new["id"], "name": "k", "tenant": "default", "role": "viewer",
        "permissions": ["queues:read", "tasks:read"], "names": [], "queues": [], "rate_limit": "100/1m",
    }  # fmt: skip
    assert (first["id"], first["tenant"], first["role"], first["rate_limit"]) == ("first", "*", "admin", None)
    assert set(first["permissions"]) == set(Permission)


async def test_a_key_may_end_as_soon_and_as_late_as_the_document_says(http: httpx.AsyncClient) -> None:
    document = (await http.get("/openapi.json")).json()
    number, *_ = document["components"]["schemas"]["KeyRequest"]["properties"]["expires_in"]["anyOf"]

    await made(http, expires_in=number["exclusiveMinimum"] + 0.001)
    await made(http, expires_in=number["maximum"])
    soon = await http.post("/api/v1/keys", json={"name": "k", "expires_in": number["exclusiveMinimum"]})
    late = await http.post("/api/v1/keys", json={"name": "k", "expires_in": number["maximum"] + 1})

    problem(soon, 422, "invalid", "expires_in")
    problem(late, 422, "invalid", "expires_in")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"role": "king"}, "role"),
        ({"role": "viewer", "scopes": ["tasks:submit"]}, "scopes[0]"),
        ({"scopes": ["tasks:fly"]}, "scopes[0]"),
        ({"names": ["\x07"]}, "names[0]"),
        ({"queues": ["a b"]}, "queues[0]"),
        ({"rate_limit": "often"}, "rate_limit"),
        ({"expires_at": "2001-01-01T00:00:00Z"}, "expires_at"),
        ({"expires_in": 0}, "expires_in"),
        ({"expires_in": 5, "expires_at": "2100-01-01T00:00:00Z"}, "expires_in"),
        ({"tenant": "Nobody!"}, "tenant"),
        ({"tenant": "nobody"}, "tenant"),
        ({"surprise": 1}, "surprise"),
    ],
)
async def test_a_key_that_cannot_be_meant_is_refused_by_its_field(
    http: httpx.AsyncClient, fields: dict[str, Any], field: str
) -> None:
    problem(await http.post("/api/v1/keys", json={"name": "k", **fields}), 422, "invalid", field)

    assert (await http.get("/api/v1/keys")).json()["items"] == []


async def test_a_key_ends_when_it_was_meant_to(http: httpx.AsyncClient) -> None:
    late = await made(http, expires_in="1h")
    ends = datetime.now(UTC) + timedelta(seconds=1)
    soon = await made(http, expires_at=ends.isoformat(), rate_limit="unlimited")

    before = await ask(http, soon["key"])
    while (after := await ask(http, soon["key"])).status_code == 200:
        assert datetime.now(UTC) < ends + timedelta(seconds=2)

    assert (before.status_code, after.json()["detail"]) == (200, "the API key has expired")
    assert (await ask(http, late["key"])).status_code == 200


async def test_a_key_is_disabled_enabled_and_revoked_at_once_on_its_own_server(http: httpx.AsyncClient) -> None:
    new = await made(http)
    path = f"/api/v1/keys/{new['id']}"
    statuses = [(await ask(http, new["key"])).status_code]

    for act in ("disable", "enable", "revoke"):
        done = await http.post(f"{path}/{act}", json={"reason": f"to {act}"})
        assert done.status_code == 200
        statuses.append((await ask(http, new["key"])).status_code)
    again = await http.post(f"{path}/revoke")

    assert statuses == [200, 401, 200, 401]
    assert again.json()["revoked_at"] is not None
    problem(await http.post(f"{path}/enable"), 409, "conflict", "id")
    problem(await http.post("/api/v1/keys/01890a5d-ac96-774b-bcce-b302099a8057/revoke"), 404, "not_found", "id")
    problem(await http.post("/api/v1/keys/7/revoke"), 422, "invalid", "id")


async def test_a_rotated_key_opens_beside_its_successor(http: httpx.AsyncClient) -> None:
    old = await made(http, role="viewer", scopes=["tasks:read"], rate_limit="7/1m")

    reply = await http.post(f"/api/v1/keys/{old['id']}/rotate", json={"overlap": "10m"})
    new = reply.json()
    at_once = (await http.post(f"/api/v1/keys/{new['id']}/rotate", json={"overlap": 0})).json()

    assert reply.status_code == 201
    assert (new["replaces"], new["role"], new["scopes"], new["rate_limit"]) == (
        old["id"], "viewer", ["tasks:read"], "7/1m",
    )  # fmt: skip
    assert len({old["key"], new["key"], at_once["key"]}) == 3
    statuses = [(await ask(http, made_["key"])).status_code for made_ in (old, new, at_once)]
    assert statuses == [200, 401, 200]
    problem(await http.post(f"/api/v1/keys/{new['id']}/rotate"), 409, "conflict", "id")
    problem(await http.post(f"/api/v1/keys/{old['id']}/rotate", json={"overlap": "31d"}), 422, "invalid", "overlap")


async def test_nobody_gives_what_they_do_not_have(http: httpx.AsyncClient) -> None:
    await http.post("/api/v1/tenants", json={"name": "acme"})
    narrow = await made(
        http, tenant="acme", role="admin", scopes=["keys:manage", "tasks:submit", "tasks:read"], names=["shop.*"]
    )
    strong = await made(http, tenant="acme", role="admin")

    async def asked(**fields: Any) -> httpx.Response:
        body = {"name": "more", "role": "admin", "scopes": ["tasks:read"], "names": ["shop.mail"], **fields}
        return await http.post("/api/v1/keys", headers={"X-API-Key": narrow["key"]}, json=body)

    assert (await asked()).status_code == 201
    assert (await asked(names=["shop.mail.*"])).status_code == 201
    more = await asked(scopes=[])
    problem(more, 403, "forbidden", "scopes")
    assert "queues:control" in more.json()["detail"]
    problem(await asked(role="operator", scopes=[]), 403, "forbidden", "scopes")
    problem(await asked(names=[]), 403, "forbidden", "names")
    problem(await asked(names=["*"]), 403, "forbidden", "names")
    problem(await asked(names=["shop.*", "other"]), 403, "forbidden", "names")
    problem(await asked(tenant="*"), 403, "forbidden", "tenant")
    problem(await asked(tenant="default"), 403, "forbidden", "tenant")
    problem(await asked(rate_limit="unlimited"), 403, "forbidden", "rate_limit")
    problem(await asked(rate_limit="101/60s"), 403, "forbidden", "rate_limit")
    assert (await asked(rate_limit="99/60s")).status_code == 201
    by_narrow = {"X-API-Key": narrow["key"]}
    problem(await http.post(f"/api/v1/keys/{strong['id']}/rotate", headers=by_narrow), 403, "forbidden", "scopes")


async def test_a_key_for_every_tenant_is_made_by_one_only(http: httpx.AsyncClient) -> None:
    fleet = await made(http, tenant="*", role="worker")
    admin = await made(http, tenant="default", role="admin")

    assert (fleet["tenant"], (await ask(http, fleet["key"])).json()["tenant"]) == ("*", "*")
    refused = await http.post("/api/v1/keys", headers={"X-API-Key": admin["key"]}, json={"name": "x", "tenant": "*"})
    problem(refused, 403, "forbidden", "tenant")
    problem(
        await http.post("/api/v1/tenants", headers={"X-API-Key": admin["key"]}, json={"name": "x"}), 403, "forbidden"
    )


async def test_keys_are_listed_in_pages(http: httpx.AsyncClient) -> None:
    ids = [(await made(http, name=f"k{number}"))["id"] for number in range(5)]

    first = (await http.get("/api/v1/keys?limit=3")).json()
    rest = (await http.get(f"/api/v1/keys?limit=3&cursor={first['next_cursor']}")).json()

    assert [item["id"] for item in (*first["items"], *rest["items"])] == ids[::-1]
    assert rest["next_cursor"] is None
    problem(await http.get("/api/v1/keys?limit=100000"), 422, "invalid", "limit")


async def test_uses_are_counted_in_memory_and_written_together(http: httpx.AsyncClient, engine: Engine) -> None:
    new = await made(http)
    for _ in range(7):
        await ask(http, new["key"])
    before = (await http.get(f"/api/v1/keys/{new['id']}")).json()

    await engine.access.identities.flush()
    after = (await http.get(f"/api/v1/keys/{new['id']}")).json()

    assert (before["uses"], before["last_used_at"]) == (0, None)
    assert after["uses"] == 7
    assert after["last_used_at"] is not None


async def test_what_was_used_before_a_server_stops_is_written_when_it_stops(
    http: httpx.AsyncClient, engine: Engine
) -> None:
    new = await made(http)
    await ask(http, new["key"])

    await engine.access.close()

    (key,) = await engine.store.keys.list_keys(limit=1)
    assert key.uses == 1


async def test_a_narrowed_key_submits_only_what_it_is_meant_for(http: httpx.AsyncClient) -> None:
    key = (await made(http, role="submitter", names=["shop.*"], queues=["mail", "mail-*"]))["key"]
    own = {"X-API-Key": key}

    async def submitted(path: str, **body: Any) -> httpx.Response:
        return await http.post(path, headers=own, json=body)

    good = {"name": "shop.send", "queue": "mail-7"}
    assert (await submitted("/api/v1/tasks", **good)).status_code == 201
    problem(await submitted("/api/v1/tasks", name="bank.pay", queue="mail"), 403, "forbidden", "name")
    problem(await submitted("/api/v1/tasks", name="shop.send"), 403, "forbidden", "queue")
    problem(await submitted("/tasks", type="bank.pay", queue="mail"), 403, "forbidden", "name")
    time = "2100-01-01T00:00:00Z"
    problem(await submitted("/scheduleTask", task_name="bank.pay", execution_time=time), 403, "forbidden", "name")
    job = {"ok": good, "bad": {"name": "bank.pay", "queue": "mail"}}
    problem(await submitted("/api/v1/jobs", name="j", tasks=job), 403, "forbidden", "tasks.bad.name")
    shell = {"sh": {"command": "true", "queue": "mail"}}
    problem(await submitted("/api/v1/jobs", name="j", tasks=shell), 403, "forbidden", "tasks.sh.name")
    batch = await submitted("/api/v1/tasks/batch", tasks=[good, {"name": "bank.pay", "queue": "mail"}, {"name": 1}])
    first, second, third = batch.json()["tasks"]
    assert first["created"] is True
    assert (second["error"]["status"], second["error"]["field"]) == (403, "tasks[1].name")
    assert (third["error"]["status"], third["error"]["field"]) == (422, "tasks[2].name")
    listed = (await http.get("/api/v1/tasks")).json()["items"]
    assert [task["name"] for task in listed] == ["shop.send", "shop.send"]


async def test_a_key_that_ends_makes_none_that_outlives_it(http: httpx.AsyncClient) -> None:
    ends = await made(http, role="admin", expires_in="60s")
    hour = (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    child = await made(http, ends["key"], role="viewer")
    grandchild = await made(http, (await made(http, ends["key"], role="admin"))["key"], role="viewer")
    sooner = await made(http, ends["key"], role="viewer", expires_in="5s")
    later = [
        await http.post("/api/v1/keys", headers={"X-API-Key": ends["key"]}, json={"name": "later", **asked})
        for asked in ({"expires_in": "1h"}, {"expires_at": hour}, {"expires_in": 61})
    ]
    own = await http.post(f"/api/v1/keys/{ends['id']}/rotate", headers={"X-API-Key": ends["key"]})
    lasting = await made(http, role="viewer")
    replaced = await http.post(f"/api/v1/keys/{lasting['id']}/rotate", headers={"X-API-Key": ends["key"]})

    assert child["expires_at"] == grandchild["expires_at"] == ends["expires_at"]
    assert sooner["expires_at"] < ends["expires_at"]
    assert [reply.status_code for reply in later] == [403] * 3
    assert [reply.json()["field"] for reply in later] == ["expires_in", "expires_at", "expires_in"]
    assert own.json()["expires_at"] <= ends["expires_at"]
    assert replaced.json()["expires_at"] <= ends["expires_at"]


async def test_a_key_with_a_rate_of_its_own_gives_no_wider_one(http: httpx.AsyncClient) -> None:
    slow = await made(http, tenant="*", role="admin", rate_limit="50/60s")

    async def asked(**fields: Any) -> httpx.Response:
        return await http.post("/api/v1/keys", headers={"X-API-Key": slow["key"]}, json={"name": "k", **fields})

    assert (await asked(role="viewer")).json()["rate_limit"] == "50/1m"
    assert (await asked(role="worker")).json()["rate_limit"] == "50/1m"
    assert (await asked(role="viewer", rate_limit="49/60s")).json()["rate_limit"] == "49/60s"
    problem(await asked(role="viewer", rate_limit="51/60s"), 403, "forbidden", "rate_limit")
    problem(await asked(role="viewer", rate_limit="3000/3600s"), 403, "forbidden", "rate_limit")
    problem(await asked(role="worker", rate_limit="unlimited"), 403, "forbidden", "rate_limit")


async def test_making_many_keys_gives_a_tenant_no_more_turns(http: httpx.AsyncClient, engine: Engine) -> None:
    usual = Rate(5, 3600.0)
    engine.access.use_policy(KeyPolicy(rates=dict.fromkeys(Role, usual), tenant_keys=2))
    for tenant in ("acme", "beta"):
        await http.post("/api/v1/tenants", json={"name": tenant})
    admins = [(await made(http, tenant="acme", role="admin", rate_limit="100/60s"))["key"] for _ in range(2)]
    own = [(await made(http, admins[number % 2], role="viewer"))["key"] for number in range(4)]
    given = [(await made(http, tenant="acme", role="viewer"))["key"] for _ in range(3)]
    neighbour = (await made(http, (await made(http, tenant="beta", role="admin"))["key"], role="viewer"))["key"]

    statuses = [(await ask(http, key)).status_code for _ in range(5) for key in own]
    of_the_installation = [(await ask(http, key)).status_code for _ in range(5) for key in given]

    assert statuses.count(200) == 10
    assert statuses.count(429) == 10
    assert set(of_the_installation) == {200}
    assert (await ask(http, neighbour)).status_code == 200


@pytest.mark.parametrize("act", ["revoke", "disable", "enable", "rotate"])
async def test_a_narrowed_admin_changes_only_keys_within_its_own_authority(http: httpx.AsyncClient, act: str) -> None:
    scopes = ["keys:manage", "tasks:read", "tasks:submit"]
    narrow = await made(http, role="admin", scopes=scopes, names=["shop.*"], queues=["mail"])
    by = {"X-API-Key": narrow["key"]}
    wider = [
        await made(http, role="admin"),
        await made(http, role="admin", scopes=scopes),
        await made(http, role="admin", scopes=["tasks:read"], names=["shop.*"]),
        await made(http, role="admin", scopes=["tasks:read"], names=["*"], queues=["mail"]),
        await made(http, role="operator", scopes=["queues:control"], names=["shop.a"], queues=["mail"]),
    ]
    within = await made(http, role="admin", scopes=["tasks:read"], names=["shop.mail"], queues=["mail"])

    for key in wider:
        assert (await http.post(f"/api/v1/keys/{key['id']}/{act}", headers=by)).status_code == 403
        assert (await ask(http, key["key"])).status_code == 200
    assert (await http.post(f"/api/v1/keys/{within['id']}/{act}", headers=by)).status_code in {200, 201}


async def test_keys_for_every_tenant_that_such_a_key_made_share_a_rate_too(
    http: httpx.AsyncClient, engine: Engine
) -> None:
    engine.access.use_policy(KeyPolicy(rates=dict.fromkeys(Role, Rate(5, 3600.0)), tenant_keys=2))
    admin = (await made(http, tenant="*", role="admin", rate_limit="unlimited"))["key"]
    own = [(await made(http, admin, tenant="*", role="viewer"))["key"] for _ in range(4)]
    given = [(await made(http, admin, tenant="default", role="viewer"))["key"] for _ in range(4)]

    shared = [(await ask(http, key)).status_code for _ in range(5) for key in own]
    apart = [(await ask(http, key)).status_code for _ in range(5) for key in given]

    assert (shared.count(200), apart.count(200)) == (10, 20)
