import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { Problem } from "@/api/problem";
import type { KeyBody, MadeKeyBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { keySnippets } from "@/parts/createSnippets";
import { HowTo } from "@/parts/HowTo";
import { Mark } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { sentence } from "@/parts/sentence";
import { type Sortable, useSorted } from "@/parts/sorting";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import { RecentChanges } from "@/screens/audit/RecentChanges";
import { texts } from "@/texts";
import css from "./Keys.module.css";
import { NewKeySheet } from "./NewKeySheet";
import { ROLES } from "./roles";
import { ShownOnce } from "./ShownOnce";

type Act = "disable" | "enable" | "revoke" | "rotate";
const OPERATIONS = {
  disable: "POST /api/v1/keys/{id}/disable",
  enable: "POST /api/v1/keys/{id}/enable",
  revoke: "POST /api/v1/keys/{id}/revoke",
  rotate: "POST /api/v1/keys/{id}/rotate",
} as const;

const ACTS = ["key.create", "key.disable", "key.enable", "key.rotate", "key.revoke"];

const COLUMNS: Sortable<KeyBody>[] = [
  { name: texts.common.name, by: (key) => key.name },
  { name: texts.keys.role, by: (key) => key.role },
  { name: texts.common.tenant, by: (key) => key.tenant },
  { name: texts.keys.lastUsed, by: (key) => key.last_used_at },
  { name: texts.keys.uses, by: (key) => key.uses },
];
const NONE: KeyBody[] = [];

function idOf(key: KeyBody): string {
  return key.id;
}

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
  const { shown, ...sorting } = useSorted(keys.data?.items ?? NONE, COLUMNS, idOf);
  const act = useMutation({
    mutationFn: ({ id, what }: { id: string; what: Act }) => call(OPERATIONS[what], { params: { id } }),
    onSuccess: (key, { what }) => {
      if (what === "rotate" && "key" in key) setMade(key as MadeKeyBody);
      else say(texts.keys.done[what](key.name));
    },
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => {
      setAsked(null);
      return client.invalidateQueries({ queryKey: ["keys"] });
    },
  });
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.common.keys}>
        {mayManage && (
          <Button icon={Plus} tone="primary" onClick={() => setMaking(true)}>
            {texts.keys.newKey}
          </Button>
        )}
      </ScreenHead>
      {keys.data === undefined ? (
        <Unloaded of={keys} />
      ) : keys.data.items.length === 0 ? (
        <Empty title={texts.keys.noOtherKeysYet}>
          <p>{texts.keys.theFirstKeyHasFull}</p>
        </Empty>
      ) : (
        <Panel flush label={texts.common.keys}>
          <Table
            sorting={{ columns: COLUMNS, ...sorting }}
            head={[
              texts.common.name,
              texts.keys.key,
              texts.keys.role,
              texts.common.tenant,
              texts.common.state,
              texts.keys.lastUsed,
              texts.keys.uses,
              "",
            ]}
          >
            {shown.map((key) => (
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
                  <span className={css.acts}>
                    {!key.revoked_at && (
                      <>
                        <Button onClick={() => act.mutate({ id: key.id, what: key.enabled ? "disable" : "enable" })}>
                          {key.enabled ? texts.keys.disable : texts.keys.enable}
                        </Button>
                        <Button onClick={() => setAsked({ key, what: "rotate" })}>{texts.keys.rotate}</Button>
                        <Button tone="danger" onClick={() => setAsked({ key, what: "revoke" })}>
                          {texts.keys.revoke}
                        </Button>
                      </>
                    )}
                    <CopyAs title={texts.common.createName(key.name)} of={() => keySnippets(serverUrl(), key)} />
                  </span>
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      <div className={css.pair}>
        <Panel flush title={texts.keys.roles}>
          <Table head={[texts.keys.role, texts.keys.permissions]}>
            {Object.entries(ROLES).map(([role, may]) => (
              <tr key={role}>
                <th scope="row">{role}</th>
                <td className={css.may}>{may}</td>
              </tr>
            ))}
          </Table>
        </Panel>
        <HowTo title={texts.keys.howToUse} words={texts.keys.howToUseWords} code={useOf(serverUrl())} />
      </div>
      <RecentChanges of="keys" acts={ACTS} />
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
          title={`${asked.what === "revoke" ? texts.keys.revoke : texts.keys.rotate} ${asked.key.name}?`}
          act={asked.what === "revoke" ? texts.keys.revoke : texts.keys.rotate}
          busy={act.isPending}
          onAct={() => act.mutate({ id: asked.key.id, what: asked.what })}
          onClose={() => setAsked(null)}
        >
          {asked.what === "revoke" ? texts.keys.requestsWithThisKeyWill : texts.keys.aNewKeyReplacesIt}
        </Confirm>
      )}
      {made && <ShownOnce made={made} onClose={() => setMade(null)} />}
    </div>
  );
}

function useOf(url: string): string {
  return `export DRUMLINE_URL=${url}
export DRUMLINE_API_KEY=…
drumline status

curl ${url}/api/v1/tasks -H "X-API-Key: $DRUMLINE_API_KEY"`;
}

function State({ of: key }: { of: KeyBody }) {
  if (key.revoked_at) return <Mark tone="bad">{texts.keys.revoked}</Mark>;
  if (key.expires_at && Date.parse(key.expires_at) < Date.now()) return <Mark tone="warn">{texts.keys.expired}</Mark>;
  return key.enabled ? <Mark tone="good">{texts.keys.enabled}</Mark> : <Mark tone="warn">{texts.keys.disabled}</Mark>;
}
