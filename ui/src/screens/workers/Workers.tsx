import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { LogOut } from "lucide-react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { Problem } from "@/api/problem";
import { every, ofTypes, useRefreshOn } from "@/api/queries";
import type { WorkerBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Panel, ScreenHead } from "@/parts/Panel";
import { Empty, sentence, Unloaded } from "@/parts/States";
import { Tags } from "@/parts/Tags";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import { workerName } from "@/parts/worker";
import css from "./Workers.module.css";

/** The fleet: one tile per worker, one cell per slot. */
export function Workers() {
  const workers = useQuery({
    queryKey: ["workers"],
    queryFn: ({ signal }) => call("GET /api/v1/workers", { signal }),
    refetchInterval: every(5_000),
  });
  useRefreshOn(ofTypes("drumline.worker."), [["workers"]]);
  if (workers.data === undefined) return <Unloaded of={workers} />;
  const { items } = workers.data;
  const slots = items.reduce((sum, worker) => sum + worker.capacity, 0);
  const held = items.reduce((sum, worker) => sum + worker.held, 0);
  return (
    <>
      <ScreenHead title="Workers">
        <span className={css.sum}>
          {items.length} worker{items.length === 1 ? "" : "s"}, {held} of {slots} slots in use
        </span>
      </ScreenHead>
      {items.length === 0 ? (
        <Empty title="No worker is running">
          <p>Tasks wait until one comes:</p>
          <pre tabIndex={0}>drumline worker your_module.py</pre>
        </Empty>
      ) : (
        <div className={css.fleet}>
          {items.map((worker) => (
            <Worker key={worker.id} worker={worker} />
          ))}
        </div>
      )}
    </>
  );
}

function Worker({ worker }: { worker: WorkerBody }) {
  const client = useQueryClient();
  const mayDrain = useMay("workers:control");
  const drain = useMutation({
    mutationFn: () => call("POST /api/v1/workers/{id}/drain", { params: { id: worker.id } }),
    onSuccess: () => say(`${workerName(worker)} takes no more tasks`),
    onError: (error) => say(error instanceof Problem ? sentence(error.message) : String(error), "problem"),
    onSettled: () => client.invalidateQueries({ queryKey: ["workers"] }),
  });
  const cells = Math.min(worker.capacity, 64);
  const used = Math.min(cells, Math.ceil((worker.held / Math.max(1, worker.capacity)) * cells));
  return (
    <Panel
      title={workerName(worker)}
      aside={
        worker.should_drain ? (
          <span className={css.draining}>Draining</span>
        ) : mayDrain ? (
          <Button icon={LogOut} busy={drain.isPending} onClick={() => drain.mutate()}>
            Drain
          </Button>
        ) : null
      }
    >
      <div className={css.worker}>
        <div className={css.slots} role="img" aria-label={`${worker.held} of ${worker.capacity} slots in use`}>
          {Array.from({ length: cells }, (_, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the cells are all alike
            <i key={place} data-used={place < used || undefined} />
          ))}
        </div>
        <p className={css.line}>
          <Link to="/tasks" search={{ worker: worker.id }}>
            {worker.held} running
          </Link>{" "}
          · heartbeat <Time at={worker.beat_at} as="relative" /> · since <Time at={worker.opened_at} />
        </p>
        <p className={css.line}>
          <code>{worker.id}</code>
          {worker.host && ` · ${worker.host}`} · version {worker.version}
        </p>
        <p className={css.line}>{worker.queues.length > 0 ? `Queues: ${worker.queues.join(", ")}` : "All queues"}</p>
        <Tags of={worker.types} />
      </div>
    </Panel>
  );
}
