import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { Problem } from "@/api/problem";
import type { KeyBody, MadeKeyBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Loading, sentence, Trouble } from "@/parts/States";
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
    onSettled: () => client.invalidateQueries({ queryKey: ["keys"] }),
  });
  return (
    <>
      <ScreenHead title="Keys">
        <Button icon={Plus} onClick={() => setMaking(true)}>
          New key
        </Button>
      </ScreenHead>
      {keys.isPending ? (
        <Loading />
      ) : keys.isError ? (
        <Trouble error={keys.error} onRetry={() => void keys.refetch()} />
      ) : keys.data.items.length === 0 ? (
        <Empty title="Only the first key">
          <p>The key that the server was started with may do everything. Make one for each program and person.</p>
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
                <td>{stateOf(key)}</td>
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
                      <Button onClick={() => act.mutate({ id: key.id, what: "rotate" })}>Rotate</Button>
                      <Button tone="danger" onClick={() => act.mutate({ id: key.id, what: "revoke" })}>
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
      {made && <ShownOnce made={made} onClose={() => setMade(null)} />}
    </>
  );
}

function stateOf(key: KeyBody): string {
  if (key.revoked_at) return "Revoked";
  if (key.expires_at && Date.parse(key.expires_at) < Date.now()) return "Expired";
  return key.enabled ? "Enabled" : "Disabled";
}
