import { useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { every } from "@/api/queries";
import type { LimitBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Confirm } from "@/parts/Confirm";
import { CopyAs, serverUrl } from "@/parts/CopyAs";
import { limitSnippets } from "@/parts/createSnippets";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Panel } from "@/parts/Panel";
import { Sheet } from "@/parts/Sheet";
import { Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { texts } from "@/texts";
import { rateOf } from "./limitRate";
import css from "./Queues.module.css";

/** How many tasks may run at once, and how often they may start, over all workers. */
export function Limits() {
  const mayWrite = useMay("queues:control");
  const [editing, setEditing] = useState<LimitBody | "new" | null>(null);
  const limits = useQuery({
    queryKey: ["limits"],
    queryFn: ({ signal }) => call("GET /api/v1/limits", { signal }),
    refetchInterval: every(5_000),
  });
  const [removing, setRemoving] = useState<string | null>(null);
  const remove = useAct((name: string) => call("DELETE /api/v1/limits/{name}", { params: { name } }), {
    done: (_, name) => texts.common.isDeleted(name),
    changes: [["limits"]],
    afterwards: () => setRemoving(null),
    inDialog: true,
  });
  return (
    <Panel
      title={texts.queues.limits}
      aside={
        mayWrite && (
          <Button icon={Plus} onClick={() => setEditing("new")}>
            {texts.queues.newLimit}
          </Button>
        )
      }
      flush
    >
      {limits.data === undefined ? (
        <Unloaded of={limits} rows={2} />
      ) : limits.data.items.length === 0 ? (
        <p className={css.note}>{texts.queues.noLimitsTasksRunAs}</p>
      ) : (
        <Table
          head={[
            texts.queues.limit,
            texts.queues.appliesTo,
            texts.queues.maxConcurrent,
            texts.common.running,
            texts.common.rate,
            texts.queues.perKey,
            "",
          ]}
        >
          {limits.data.items.map((limit) => (
            <tr key={`${limit.tenant}/${limit.name}`}>
              <th scope="row">{limit.name}</th>
              <td>{subjectOf(limit)}</td>
              <td>{limit.max_concurrent?.toLocaleString("en") ?? texts.queues.unlimited}</td>
              <td title={sharesOf(limit)}>{limit.running.toLocaleString("en")}</td>
              <td>{limit.rate ? rateOf(limit.rate) : texts.queues.any}</td>
              <td>{limit.key ?? "–"}</td>
              <td>
                <span>
                  {mayWrite && (
                    <>
                      <Button onClick={() => setEditing(limit)}>{texts.common.change}</Button>
                      <Button tone="danger" onClick={() => setRemoving(limit.name)}>
                        {texts.common.delete}
                      </Button>
                    </>
                  )}
                  <CopyAs title={texts.common.createName(limit.name)} of={() => limitSnippets(serverUrl(), limit)} />
                </span>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {removing !== null && (
        <Confirm
          title={texts.queues.deleteTheLimitRemoving(removing)}
          act="Delete"
          busy={remove.isPending}
          error={remove.error}
          onAct={() => remove.mutate(removing)}
          onClose={() => {
            remove.reset();
            setRemoving(null);
          }}
        >
          {texts.queues.tasksItWasHoldingBack}
        </Confirm>
      )}
      {editing && <LimitSheet of={editing === "new" ? null : editing} onClose={() => setEditing(null)} />}
    </Panel>
  );
}

function subjectOf({ queue, task }: LimitBody): string {
  if (queue && task) return texts.queues.taskIn(task, queue);
  return queue ? texts.queues.theQueue(queue) : (task ?? texts.queues.everything);
}

/** What each shard runs of what it may, where there are several. */
function sharesOf({ shards }: LimitBody): string | undefined {
  if (shards.length === 0) return undefined;
  return shards
    .map((each) => {
      if (each.running === null) return texts.queues.notReached(each.shard);
      return each.max_concurrent === null
        ? `${each.shard}: ${each.running}`
        : `${each.shard}: ${texts.parts.ofAll(each.running, each.max_concurrent)}`;
    })
    .join("\n");
}

function LimitSheet({ of, onClose }: { of: LimitBody | null; onClose: () => void }) {
  const [name, setName] = useState(of?.name ?? "");
  const [fields, setFields] = useState({
    queue: of?.queue ?? "",
    task: of?.task ?? "",
    most: of?.max_concurrent?.toString() ?? "",
    rate: of?.rate ?? "",
    key: of?.key ?? "",
  });
  const put = useAct(
    () =>
      call("PUT /api/v1/limits/{name}", {
        params: { name: name.trim() },
        body: {
          queue: fields.queue.trim() || null,
          task: fields.task.trim() || null,
          max_concurrent: fields.most ? Number(fields.most) : null,
          rate: fields.rate.trim() || null,
          key: fields.key.trim() || null,
        },
      }),
    {
      done: (limit) => texts.queues.limitIsSet(limit.name),
      changes: [["limits"]],
      afterwards: onClose,
      inDialog: true,
    },
  );
  const field = (id: keyof typeof fields, label: string, hint: string, problem: string | null, type = "text") => (
    <Field label={label} hint={hint} problem={problem}>
      {(props) => (
        <input
          {...props}
          type={type}
          min={type === "number" ? 1 : undefined}
          value={fields[id]}
          onChange={(event) => setFields({ ...fields, [id]: event.target.value })}
        />
      )}
    </Field>
  );
  return (
    <Sheet title={of ? texts.queues.changeName(of.name) : texts.queues.newLimit} onClose={onClose}>
      <Form
        error={put.error}
        fields={["name", "queue", "task", "max_concurrent", "rate", "key"]}
        onSubmit={() => put.mutate()}
      >
        {(at) => (
          <>
            <Field label={texts.common.name} problem={at("name")}>
              {(props) => (
                <input
                  {...props}
                  required
                  readOnly={of !== null}
                  value={name}
                  onChange={(event) => setName(event.target.value)}
                />
              )}
            </Field>
            {field("queue", texts.common.queue, texts.queues.emptyForEveryQueue, at("queue"))}
            {field("task", texts.common.task, texts.queues.emptyForEveryTask, at("task"))}
            {field(
              "most",
              texts.queues.maxConcurrent,
              texts.queues.maximumRunningAtTheSame,
              at("max_concurrent"),
              "number",
            )}
            {field("rate", texts.common.rate, texts.queues.maximumStartsPerPeriodSuch, at("rate"))}
            {field("key", texts.queues.perKey, texts.queues.limitKeyOrAPayload, at("key"))}
            <Button type="submit" tone="primary" busy={put.isPending}>
              {texts.common.save}
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
