import { LogOut, Undo2 } from "lucide-react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import type { WorkerBody } from "@/api/types";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { workerName } from "@/parts/worker";
import { texts } from "@/texts";

/** Asks a worker to take no more tasks, or lets it take tasks again until it has left. */
export function DrainButton({ worker }: { worker: WorkerBody }) {
  const mayDrain = useMay("workers:control");
  const drain = useAct(
    () => call(`${worker.should_drain ? "DELETE" : "POST"} /api/v1/workers/{id}/drain`, { params: { id: worker.id } }),
    {
      done: (changed) =>
        changed.should_drain
          ? texts.workers.workerIsDraining(workerName(worker))
          : texts.workers.takesTasksAgain(workerName(worker)),
      changes: [["workers"]],
    },
  );
  if (!mayDrain || worker.closed_at) return null;
  return (
    <Button icon={worker.should_drain ? Undo2 : LogOut} busy={drain.isPending} onClick={() => drain.mutate()}>
      {worker.should_drain ? texts.workers.undoDrain : texts.workers.drain}
    </Button>
  );
}
