import { Ban, FastForward, RotateCcw, X } from "lucide-react";
import { useCallback, useState } from "react";
import type { BulkBody, TaskBody } from "@/api/types";
import { Button, IconButton } from "@/parts/Button";
import { useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";
import { type Act, BulkSheet, type Chosen } from "./BulkSheet";
import css from "./SelectionBar.module.css";

const FITTING: Record<Act, ReadonlySet<string>> = {
  retry: new Set(["FAILED", "CANCELLED", "SKIPPED"]),
  cancel: new Set(["PENDING", "QUEUED", "PROCESSING"]),
  reschedule: new Set(["PENDING", "QUEUED"]),
};

interface Props {
  /** The selected rows, or nothing if all that match are meant. */
  tasks: TaskBody[] | null;
  chosen: Chosen;
  /** How many match, in words. */
  matching: string;
  onAll: () => void;
  onNone: () => void;
  onBegun: (bulk: BulkBody) => void;
}

/** What can be done with the selected tasks. The set is the one that was selected, whatever happens meanwhile. */
export function SelectionBar({ tasks, chosen, matching, onAll, onNone, onBegun }: Props) {
  const [act, setAct] = useState<Act | null>(null);
  const fitting = (which: Act) => tasks?.filter((task) => FITTING[which].has(task.status)) ?? null;
  const button = (which: Act, word: string, icon: typeof Ban) => {
    const found = fitting(which);
    return (
      <Button
        icon={icon}
        tone={which === "cancel" ? "danger" : "plain"}
        disabled={found?.length === 0}
        onClick={() => setAct(which)}
      >
        {word} {found ? found.length || "" : texts.tasks.all}
      </Button>
    );
  };
  useShortcut(
    "retry",
    useCallback(() => setAct("retry"), []),
  );
  useShortcut(
    "cancel",
    useCallback(() => setAct("cancel"), []),
  );
  const found = act && fitting(act);
  return (
    <div className={css.bar} role="toolbar" aria-label={texts.tasks.selectedTasks}>
      <strong>
        {tasks
          ? texts.tasks.tasksSelected(tasks.length.toLocaleString("en"))
          : texts.tasks.allMatchingThatMatch(matching)}
      </strong>
      {button("retry", texts.common.retry, RotateCcw)}
      {button("reschedule", texts.common.runNow, FastForward)}
      {button("cancel", texts.common.cancel, Ban)}
      {tasks && (
        <Button tone="quiet" onClick={onAll}>
          {texts.tasks.selectAllThatMatch(matching)}
        </Button>
      )}
      <IconButton icon={X} label={texts.tasks.clearSelection} onClick={onNone} />
      {act && (found === null || found.length > 0) && (
        <BulkSheet
          act={act}
          chosen={found ? { ids: found.map((task) => task.id) } : chosen}
          onClose={() => setAct(null)}
          onBegun={(bulk) => {
            setAct(null);
            onBegun(bulk);
          }}
        />
      )}
    </div>
  );
}
