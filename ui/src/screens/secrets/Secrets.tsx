import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import type { SecretInfo } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { SecretSheet } from "./SecretSheet";

/** Secrets by name. Values go in, and never come out. */
export function Secrets() {
  const mayWrite = useMay("secrets:write");
  const [setting, setSetting] = useState<string | null>(null);
  const [deleting, setDeleting] = useState<SecretInfo | null>(null);
  const secrets = useQuery({
    queryKey: ["secrets"],
    queryFn: ({ signal }) => call("GET /api/v1/secrets", { query: { limit: 500 }, signal }),
  });
  return (
    <>
      <ScreenHead title="Secrets">
        {mayWrite && (
          <Button icon={Plus} onClick={() => setSetting("")}>
            New secret
          </Button>
        )}
      </ScreenHead>
      {secrets.data === undefined ? (
        <Unloaded of={secrets} />
      ) : secrets.data.items.length === 0 ? (
        <Empty title="No secrets yet">
          <p>Passwords and tokens that tasks need are stored encrypted, and given to workers when a task runs.</p>
        </Empty>
      ) : (
        <Panel flush label="Secrets">
          <Table head={["Name", "Tenant", "Version", "Set", "First set", ""]}>
            {secrets.data.items.map((secret) => (
              <tr key={`${secret.tenant}/${secret.name}`}>
                <th scope="row">{secret.name}</th>
                <td>{secret.tenant}</td>
                <td>{secret.version}</td>
                <td>
                  <Time at={secret.updated_at} as="relative" />
                </td>
                <td>
                  <Time at={secret.created_at} />
                </td>
                <td>
                  {mayWrite && (
                    <span>
                      <Button onClick={() => setSetting(secret.name)}>Replace</Button>
                      <Button tone="danger" onClick={() => setDeleting(secret)}>
                        Delete
                      </Button>
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      {setting !== null && <SecretSheet name={setting} onClose={() => setSetting(null)} />}
      {deleting && <DeleteSheet secret={deleting} onClose={() => setDeleting(null)} />}
    </>
  );
}

function DeleteSheet({ secret, onClose }: { secret: SecretInfo; onClose: () => void }) {
  const remove = useAct(() => call("DELETE /api/v1/secrets/{name}", { params: { name: secret.name } }), {
    done: () => `${secret.name} is deleted`,
    changes: [["secrets"]],
    afterwards: onClose,
    inDialog: true,
  });
  return (
    <Confirm
      title={`Delete ${secret.name}?`}
      act="Delete"
      busy={remove.isPending}
      error={remove.error}
      onAct={() => remove.mutate()}
      onClose={onClose}
    >
      Tasks that ask for it from now on will fail.
    </Confirm>
  );
}
