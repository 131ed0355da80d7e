import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Pencil, Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import type { QuotasBody, TenantBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { tenantSnippets } from "@/parts/createSnippets";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { HowTo } from "@/parts/HowTo";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Sheet } from "@/parts/Sheet";
import { Empty, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { RecentChanges } from "@/screens/audit/RecentChanges";
import { texts } from "@/texts";
import type { Load } from "./load";
import css from "./Tenants.module.css";
import { useKeyCounts, useLoads } from "./useLoads";

const PAGE = 100;
const COMMANDS = `drumline tenants create acme --queued 100000 --weight 2
drumline keys create deploy --tenant acme --role operator
drumline tenants list`;
type Quota = keyof QuotasBody;
const QUOTAS: Record<Quota, [label: string, hint: string]> = {
  queued: [texts.tenants.waitingTasks, texts.tenants.tasksThatMayWaitTo],
  payload_bytes: [texts.tenants.payloadBytes, texts.tenants.bytesOfJsonInThe],
  schedules: [texts.common.schedules, texts.tenants.schedulesThatItMayHave],
  weight: [texts.tenants.weight, texts.tenants.itsShareOfTheWorkers],
};
const NAMES = Object.keys(QUOTAS) as Quota[];
/** Quotas that are shown by themselves, and not beside what is used of them. */
const OTHERS = NAMES.filter((name) => name !== "queued");

const ACTS = ["tenant.create", "tenant.change"];

/** Those who share this installation, and how much each may have. */
export function Tenants() {
  const mayManage = useMay("tenants:manage");
  const [open, setOpen] = useState<TenantBody | "new" | null>(null);
  const tenants = useInfiniteQuery({
    queryKey: ["tenants"],
    initialPageParam: undefined as string | undefined,
    queryFn: ({ pageParam, signal }) =>
      call("GET /api/v1/tenants", { query: { limit: PAGE, cursor: pageParam }, signal }),
    getNextPageParam: (page) => page.next_cursor ?? undefined,
  });
  const items = tenants.data?.pages.flatMap((page) => page.items) ?? [];
  const loadOf = useLoads();
  const keysOf = useKeyCounts();
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.tenants.tenants}>
        {mayManage && (
          <Button icon={Plus} tone="primary" onClick={() => setOpen("new")}>
            {texts.tenants.newTenant}
          </Button>
        )}
      </ScreenHead>
      {tenants.data === undefined ? (
        <Unloaded of={tenants} />
      ) : items.length === 0 ? (
        <Empty title={texts.tenants.noTenantsYet}>
          <p>{texts.tenants.everythingBelongsToTheTenant}</p>
        </Empty>
      ) : (
        <Panel label={texts.tenants.tenants} flush>
          <Table
            head={[
              texts.common.name,
              texts.tenants.waiting,
              texts.common.running,
              texts.tenants.oldestDue,
              texts.common.queues,
              texts.common.keys,
              ...OTHERS.map((name) => QUOTAS[name][0]),
              texts.common.created,
              "",
            ]}
          >
            {items.map((tenant) => (
              <Row
                key={tenant.name}
                tenant={tenant}
                load={loadOf(tenant.name)}
                keys={keysOf(tenant.name)}
                onEdit={mayManage ? () => setOpen(tenant) : null}
              />
            ))}
          </Table>
        </Panel>
      )}
      {tenants.data !== undefined && (
        <p className={css.note}>
          <TextWith text={texts.tenants.howTheyShare} values={{ keys: <Link to="/keys">{texts.common.keys}</Link> }} />
        </p>
      )}
      {mayManage && tenants.data !== undefined && (
        <div className={css.pair}>
          <HowTo title={texts.tenants.howTo} words={texts.tenants.howToWords} code={COMMANDS} />
          <RecentChanges of="tenants" acts={ACTS} />
        </div>
      )}
      {tenants.hasNextPage && (
        <Button busy={tenants.isFetchingNextPage} onClick={() => void tenants.fetchNextPage()}>
          {texts.tenants.showMore}
        </Button>
      )}
      {open && <TenantSheet of={open === "new" ? null : open} onClose={() => setOpen(null)} />}
    </div>
  );
}

interface RowProps {
  tenant: TenantBody;
  load: Load | null;
  keys: number | null;
  onEdit: (() => void) | null;
}

function Row({ tenant, load, keys, onEdit }: RowProps) {
  const most = tenant.quotas.queued;
  return (
    <tr>
      <th scope="row">{tenant.name}</th>
      <td>{load === null ? amountOf("queued", most) : texts.tenants.waitingOf(load.waiting, most ?? null)}</td>
      <td>{load?.running.toLocaleString("en") ?? "–"}</td>
      <td>
        <Time at={load?.oldest} as="relative" />
      </td>
      <td>{load === null ? "–" : texts.tenants.queuesOf(load.queues, load.paused)}</td>
      <td>{keys?.toLocaleString("en") ?? "–"}</td>
      {OTHERS.map((name) => (
        <td key={name}>{amountOf(name, tenant.quotas[name])}</td>
      ))}
      <td>
        <Time at={tenant.created_at} />
      </td>
      <td>
        <span>
          {onEdit && (
            <Button icon={Pencil} onClick={onEdit}>
              {texts.common.edit}
            </Button>
          )}
          <CopyAs
            title={texts.common.createName(tenant.name)}
            of={() => tenantSnippets(serverUrl(), { name: tenant.name, quotas: { ...tenant.quotas } })}
          />
        </span>
      </td>
    </tr>
  );
}

function amountOf(name: Quota, amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return name === "weight" ? "1" : texts.tenants.unlimited;
  return amount.toLocaleString("en");
}

function TenantSheet({ of, onClose }: { of: TenantBody | null; onClose: () => void }) {
  const [name, setName] = useState(of?.name ?? "");
  const [written, setWritten] = useState<Record<Quota, string>>(
    () => Object.fromEntries(NAMES.map((quota) => [quota, textOf(of?.quotas[quota])])) as Record<Quota, string>,
  );
  const save = useAct(
    () => {
      const quotas = Object.fromEntries(NAMES.map((quota) => [quota, numberOf(written[quota])]));
      return of
        ? call("PATCH /api/v1/tenants/{name}", { params: { name: of.name }, body: quotas })
        : call("POST /api/v1/tenants", { body: { name, quotas } });
    },
    {
      done: () => (of ? texts.tenants.isChanged(of.name) : texts.tenants.isCreated(name)),
      changes: [["tenants"]],
      afterwards: onClose,
      inDialog: true,
    },
  );
  const fields = ["name", ...NAMES, ...NAMES.map((quota) => `quotas.${quota}`)];
  return (
    <Sheet
      title={of ? texts.tenants.quotasOfName(of.name) : texts.tenants.newTenant}
      onClose={onClose}
      footer={
        <Button type="submit" form="tenant" tone="primary" busy={save.isPending}>
          {of ? texts.common.save : texts.tenants.createTenant}
        </Button>
      }
    >
      <Form id="tenant" error={save.error} fields={fields} onSubmit={() => save.mutate()}>
        {(at) => (
          <>
            {!of && (
              <Field label={texts.common.name} hint={texts.tenants.lowerCaseLettersDigitsAnd} problem={at("name")}>
                {(props) => (
                  <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />
                )}
              </Field>
            )}
            {NAMES.map((quota) => (
              <Field
                key={quota}
                label={QUOTAS[quota][0]}
                hint={texts.tenants.emptyFor(QUOTAS[quota][1], quota === "weight" ? "1" : texts.tenants.noLimit)}
                problem={at(quota) ?? at(`quotas.${quota}`)}
              >
                {(props) => (
                  <input
                    {...props}
                    type="number"
                    min={quota === "weight" ? 1 : 0}
                    value={written[quota]}
                    onChange={(event) => setWritten({ ...written, [quota]: event.target.value })}
                  />
                )}
              </Field>
            ))}
          </>
        )}
      </Form>
    </Sheet>
  );
}

function textOf(amount: number | null | undefined): string {
  return amount === null || amount === undefined ? "" : String(amount);
}

function numberOf(text: string): number | null {
  return text.trim() ? Number(text) : null;
}
