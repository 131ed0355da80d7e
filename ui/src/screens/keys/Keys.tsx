import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { Problem } from "@/api/problem";
import type { KeyBody, MadeKeyBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { Mark } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, sentence, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import css from "./Keys.module.css";
import { NewKeySheet } from "./NewKeySheet";
import { ShownOnce } from "./ShownOnce";

type Act = "disable" | "enable" | "revoke" | "rotate";
const OPERATIONS = {
  disable: "POST /api/v1/keys/{id}/disable",
  enable: "POST /api/v1/keys/{id}/enable",
  revoke: "POST /api/v1/keys/{id}/revoke",
  rotate: "POST /api/v1/keys/{id}/rotate",
} as const;

/** API keys: who has one, what it may do, when it was last used. */
export function Keys() {
  const client = useQueryClient();
  const [isMaking, setMaking] = useState(false);
  const [made, setMade] = useState<MadeKeyBody | null>(null);
  const [asked, setAsked] = useState<{ key: KeyBody; what: "revoke" | "rotate" } | null>(null);
  const mayManage = useMay("keys:manage");
  const keys = useQuery({
    queryKey: ["keys"],
    queryFn: ({ signal }) => call("GET /api/v1/keys", { query: { limit: 100 }, signal }),
  });
  const act = useMutation({
    mutationFn: ({ id, what }: { id: string; what: Act }) => call(OPERATIONS[what], { params: { id } }),
    onSuccess: (key, { what }) => {
      if (what === "rotate" && "key" in key) setMade(key as MadeKeyBody);
      else say(`${key.name}: ${what}d`);
    },
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => {
      setAsked(null);
      return client.invalidateQueries({ queryKey: ["keys"] });
    },
  });
  return (
    <>
      <ScreenHead title="Keys">
        {mayManage && (
          <Button icon={Plus} onClick={() => setMaking(true)}>
            New key
          </Button>
        )}
      </ScreenHead>
      {keys.data === undefined ? (
        <Unloaded of={keys} />
      ) : keys.data.items.length === 0 ? (
        <Empty title="Only the first key">
          <p>The key that the server was started with may do everything. Create one for each program and person.</p>
        </Empty>
      ) : (
        <Panel flush label="Keys">
          <Table head={["Name", "Key", "Role", "Tenant", "State", "Last used", "Uses", ""]}>
            {keys.data.items.map((key) => (
              <tr key={key.id}>
                <th scope="row">{key.name}</th>
                <td>
                  <code>{key.prefix}…</code>
                </td>
                <td title={key.scopes.join(", ")}>{key.role}</td>
                <td>{key.tenant}</td>
                <td>
                  <State of={key} />
                </td>
                <td>
                  <Time at={key.last_used_at} as="relative" />
                </td>
                <td>{key.uses.toLocaleString("en")}</td>
                <td>
                  {!key.revoked_at && (
                    <span className={css.acts}>
                      <Button onClick={() => act.mutate({ id: key.id, what: key.enabled ? "disable" : "enable" })}>
                        {key.enabled ? "Disable" : "Enable"}
                      </Button>
                      <Button onClick={() => setAsked({ key, what: "rotate" })}>Rotate</Button>
                      <Button tone="danger" onClick={() => setAsked({ key, what: "revoke" })}>
                        Revoke
                      </Button>
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      {isMaking && (
        <NewKeySheet
          onClose={() => setMaking(false)}
          onMade={(key) => {
            setMaking(false);
            setMade(key);
          }}
        />
      )}
      {asked && (
        <Confirm
          title={`${asked.what === "revoke" ? "Revoke" : "Rotate"} ${asked.key.name}?`}
          act={asked.what === "revoke" ? "Revoke" : "Rotate"}
          busy={act.isPending}
          onAct={() => act.mutate({ id: asked.key.id, what: asked.what })}
          onClose={() => setAsked(null)}
        >
          {asked.what === "revoke"
            ? "Requests with it are refused from now on. This cannot be undone."
            : "A new key takes its place and is shown once. The old one stops working."}
        </Confirm>
      )}
      {made && <ShownOnce made={made} onClose={() => setMade(null)} />}
    </>
  );
}

function State({ of: key }: { of: KeyBody }) {
  if (key.revoked_at) return <Mark tone="bad">Revoked</Mark>;
  if (key.expires_at && Date.parse(key.expires_at) < Date.now()) return <Mark tone="warn">Expired</Mark>;
  return key.enabled ? <Mark tone="good">Enabled</Mark> : <Mark tone="warn">Disabled</Mark>;
}
