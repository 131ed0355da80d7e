import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import type { SecretInfo } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { HowTo } from "@/parts/HowTo";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { RecentChanges } from "@/screens/audit/RecentChanges";
import css from "@/screens/keys/Keys.module.css";
import { texts } from "@/texts";
import { SecretSheet } from "./SecretSheet";

const ACTS = ["secret.set", "secret.delete", "secret_key.rotate"];

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
    <div className={css.screen}>
      <ScreenHead title={texts.secrets.secrets}>
        {mayWrite && (
          <Button icon={Plus} tone="primary" onClick={() => setSetting("")}>
            {texts.secrets.newSecret}
          </Button>
        )}
      </ScreenHead>
      {secrets.data === undefined ? (
        <Unloaded of={secrets} />
      ) : secrets.data.items.length === 0 ? (
        <Empty title={texts.secrets.noSecretsYet}>
          <p>{texts.secrets.passwordsAndTokensForTasks}</p>
        </Empty>
      ) : (
        <Panel flush label={texts.secrets.secrets}>
          <Table
            head={[
              texts.common.name,
              texts.common.tenant,
              texts.secrets.version,
              texts.secrets.updated,
              texts.secrets.created,
              "",
            ]}
          >
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
                      <Button onClick={() => setSetting(secret.name)}>{texts.secrets.replace}</Button>
                      <Button tone="danger" onClick={() => setDeleting(secret)}>
                        {texts.common.delete}
                      </Button>
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      <div className={css.pair}>
        <HowTo
          title={texts.secrets.howToUse}
          words={texts.secrets.howToUseWords}
          code={useOf(secrets.data?.items[0]?.name)}
        />
        <RecentChanges of="secrets" acts={ACTS} />
      </div>
      {setting !== null && <SecretSheet name={setting} onClose={() => setSetting(null)} />}
      {deleting && <DeleteSheet secret={deleting} onClose={() => setDeleting(null)} />}
    </div>
  );
}

function useOf(name = "stripe"): string {
  return `drumline submit http --payload '{
  "url": "https://api.example.com/charges",
  "headers": {"Authorization": {"$secret": "${name}", "format": "Bearer {}"}}
}'`;
}

function DeleteSheet({ secret, onClose }: { secret: SecretInfo; onClose: () => void }) {
  const remove = useAct(() => call("DELETE /api/v1/secrets/{name}", { params: { name: secret.name } }), {
    done: () => texts.common.isDeleted(secret.name),
    changes: [["secrets"]],
    afterwards: onClose,
    inDialog: true,
  });
  return (
    <Confirm
      title={texts.common.deleteName(secret.name)}
      act="Delete"
      busy={remove.isPending}
      error={remove.error}
      onAct={() => remove.mutate()}
      onClose={onClose}
    >
      {texts.secrets.tasksThatUseItWill}
    </Confirm>
  );
}
