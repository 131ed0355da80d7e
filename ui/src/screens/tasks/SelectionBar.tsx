import { useQueryClient } from "@tanstack/react-query";
import { Ban, RotateCcw, X } from "lucide-react";
import { useCallback, useState } from "react";
import { call } from "@/api/client";
import type { TaskBody } from "@/api/types";
import { Button, IconButton } from "@/parts/Button";
import { Sheet } from "@/parts/Sheet";
import { say } from "@/parts/toasts";
import { useShortcut } from "@/shell/shortcuts";
import css from "./SelectionBar.module.css";

type Act = "retry" | "cancel";

const ENDED = new Set(["FAILED", "CANCELLED", "SKIPPED"]);
const LIVE = new Set(["PENDING", "QUEUED", "PROCESSING"]);

/** What can be done with the selected tasks. The set is the one that was selected, whatever happens meanwhile. */
export function SelectionBar({ tasks, onDone }: { tasks: TaskBody[]; onDone: () => void }) {
  const [act, setAct] = useState<Act | null>(null);
  const fitting: Record<Act, TaskBody[]> = {
    retry: tasks.filter((task) => ENDED.has(task.status)),
    cancel: tasks.filter((task) => LIVE.has(task.status)),
  };
  useShortcut(
    "retry",
    useCallback(() => setAct("retry"), []),
  );
  useShortcut(
    "cancel",
    useCallback(() => setAct("cancel"), []),
  );
  return (
    <div className={css.bar} role="toolbar" aria-label="Selected tasks">
      <strong>{tasks.length.toLocaleString("en")} selected</strong>
      <Button icon={RotateCcw} disabled={fitting.retry.length === 0} onClick={() => setAct("retry")}>
        Retry {fitting.retry.length || ""}
      </Button>
      <Button icon={Ban} tone="danger" disabled={fitting.cancel.length === 0} onClick={() => setAct("cancel")}>
        Cancel {fitting.cancel.length || ""}
      </Button>
      <IconButton icon={X} label="Select nothing" onClick={onDone} />
      {act && fitting[act].length > 0 && (
        <Confirm act={act} tasks={fitting[act]} onClose={() => setAct(null)} onDone={onDone} />
      )}
    </div>
  );
}

interface ConfirmProps {
  act: Act;
  tasks: TaskBody[];
  onClose: () => void;
  onDone: () => void;
}

function Confirm({ act, tasks, onClose, onDone }: ConfirmProps) {
  const client = useQueryClient();
  const [done, setDone] = useState<number | null>(null);
  const word = act === "retry" ? "Retry" : "Cancel";

  async function go() {
    let failed = 0;
    for (const [place, task] of tasks.entries()) {
      setDone(place);
      try {
        if (act === "retry") await call("POST /api/v1/tasks/{id}/retry", { params: { id: task.id } });
        else await call("POST /api/v1/tasks/{id}/cancel", { params: { id: task.id } });
      } catch {
        failed += 1;
      }
    }
    say(
      `${word}: ${tasks.length - failed} of ${tasks.length} done${failed ? `, ${failed} had moved on` : ""}`,
      failed ? "problem" : "done",
    );
    await client.invalidateQueries({ queryKey: ["tasks"] });
    onClose();
    onDone();
  }

  return (
    <Sheet
      title={`${word} ${tasks.length} task${tasks.length === 1 ? "" : "s"}?`}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose} disabled={done !== null}>
            Leave them
          </Button>
          <Button tone={act === "cancel" ? "danger" : "primary"} busy={done !== null} onClick={() => void go()}>
            {done === null ? `${word} ${tasks.length}` : `${done} of ${tasks.length}`}
          </Button>
        </>
      }
    >
      <ul className={css.samples}>
        {tasks.slice(0, 5).map((task) => (
          <li key={task.id}>
            {task.name} <code>{task.id}</code>
          </li>
        ))}
        {tasks.length > 5 && <li>and {tasks.length - 5} more</li>}
      </ul>
    </Sheet>
  );
}
