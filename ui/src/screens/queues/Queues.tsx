import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Pause, Play } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay, useMe } from "@/api/me";
import { isAmong } from "@/api/patterns";
import { Problem } from "@/api/problem";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import type { QueueBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Mark } from "@/parts/Mark";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Sheet } from "@/parts/Sheet";
import { Empty, sentence, Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import { Limits } from "./Limits";
import css from "./Queues.module.css";

export function Queues() {
  const queues = useQuery({
    queryKey: ["queues"],
    queryFn: ({ signal }) => call("GET /api/v1/queues", { signal }),
    refetchInterval: every(5_000),
  });
  useRefreshOn(ofTypes("drumline.task.", "drumline.queue."), [["queues"]], 2_000);
  const [pausing, setPausing] = useState<QueueBody | null>(null);
  const resume = useResume();
  const me = useMe();
  const mayAct = useMay("queues:control");
  return (
    <>
      <ScreenHead title="Queues" />
      {queues.data === undefined ? (
        <Unloaded of={queues} />
      ) : queues.data.items.length === 0 ? (
        <Empty title="No queues yet">
          <p>A queue is there as long as something waits in it, runs, or it is paused.</p>
        </Empty>
      ) : (
        <Panel flush label="Queues">
          <Table head={["Queue", "Queued", "Pending", "Processing", "Oldest due", "State", "Over time", ""]}>
            {queues.data.items.map((queue) => (
              <tr key={`${queue.tenant}/${queue.name}`}>
                <th scope="row">
                  <Link to="/tasks" search={{ queue: queue.name }}>
                    {queue.name}
                  </Link>
                </th>
                <Count queue={queue.name} status="queued" of={queue.queued} />
                <Count queue={queue.name} status="pending" of={queue.pending} />
                <Count queue={queue.name} status="processing" of={queue.processing} />
                <td>
                  <Time at={queue.oldest_due_at} as="relative" />
                  {queue.unserved > 0 && (
                    <Mark tone="warn">{queue.unserved.toLocaleString("en")} without a worker for their type</Mark>
                  )}
                </td>
                <td className={css.state}>
                  {queue.is_paused ? (
                    <Mark tone="warn">Paused{queue.reason && `: ${queue.reason}`}</Mark>
                  ) : (
                    <Mark tone="good">Open</Mark>
                  )}
                </td>
                <td>
                  <Link to="/overview" search={{ queue: queue.name }}>
                    Charts
                  </Link>
                </td>
                <td>
                  {!mayAct || !isAmong(queue.name, me?.queues ?? []) ? null : queue.is_paused ? (
                    <Button icon={Play} busy={resume.isPending} onClick={() => resume.mutate(queue.name)}>
                      Resume
                    </Button>
                  ) : (
                    <Button icon={Pause} onClick={() => setPausing(queue)}>
                      Pause
                    </Button>
                  )}
                </td>
              </tr>
            ))}
          </Table>
        </Panel>
      )}
      <div className={css.limits}>
        <Limits />
      </div>
      {pausing && <PauseSheet queue={pausing} onClose={() => setPausing(null)} />}
    </>
  );
}

function Count({ queue, status, of }: { queue: string; status: string; of: number }) {
  return (
    <td data-label={status}>
      {of > 0 ? (
        <Link to="/tasks" search={{ queue, status }}>
          {of.toLocaleString("en")}
        </Link>
      ) : (
        "0"
      )}
    </td>
  );
}

function useResume() {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => call("POST /api/v1/queues/{name}/resume", { params: { name } }),
    onSuccess: (queue) => say(`${queue.name} is resumed`),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => client.invalidateQueries({ queryKey: ["queues"] }),
  });
}

function PauseSheet({ queue, onClose }: { queue: QueueBody; onClose: () => void }) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const pause = useMutation({
    mutationFn: () =>
      call("POST /api/v1/queues/{name}/pause", { params: { name: queue.name }, body: reason ? { reason } : undefined }),
    onSuccess: () => {
      say(`${queue.name} is paused`);
      onClose();
    },
    onSettled: () => client.invalidateQueries({ queryKey: ["queues"] }),
  });
  return (
    <Sheet
      title={`Pause ${queue.name}?`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" form="pause" tone="primary" busy={pause.isPending}>
            Pause
          </Button>
        </>
      }
    >
      <p>No more of its tasks are handed out; running ones go on.</p>
      <Form id="pause" error={pause.error} fields={["reason"]} onSubmit={() => pause.mutate()}>
        {(at) => (
          <Field label="Reason" hint="Shown beside the queue, and kept in the audit log" problem={at("reason")}>
            {(props) => (
              <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
            )}
          </Field>
        )}
      </Form>
    </Sheet>
  );
}
