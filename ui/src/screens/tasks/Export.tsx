import { useMutation } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { useState } from "react";
import { callForFile } from "@/api/client";
import type { ExportFormat } from "@/api/types";
import { Button } from "@/parts/Button";
import { Sheet } from "@/parts/Sheet";
import { TextWith } from "@/parts/TextWith";
import { say } from "@/parts/toasts";
import { type TaskSearch, writeSearch } from "@/search";
import { texts } from "@/texts";
import { queryFor } from "./data";

/** Tasks of one export from the interface: more go by the command line, which needs no memory for them. */
const MOST = 10_000;

/** Writes the listed tasks into a file. */
export function Export({ search }: { search: TaskSearch }) {
  const [isOpen, setOpen] = useState(false);
  const write = useMutation({
    mutationFn: async (format: ExportFormat) => {
      const file = await callForFile("GET /api/v1/tasks/export", {
        query: { ...queryFor(search), format, limit: MOST },
      });
      const link = document.createElement("a");
      link.href = URL.createObjectURL(file);
      link.download = `tasks.${format}`;
      link.click();
      URL.revokeObjectURL(link.href);
    },
    onSuccess: () => setOpen(false),
    onError: (error) => say(error.message, "problem"),
  });
  const text = writeSearch(search);
  return (
    <>
      <Button icon={Download} onClick={() => setOpen(true)}>
        {texts.tasks.export}
      </Button>
      {isOpen && (
        <Sheet
          title={texts.tasks.exportTasks}
          onClose={() => setOpen(false)}
          footer={
            <>
              <Button onClick={() => write.mutate("jsonl")} busy={write.isPending}>
                {texts.tasks.jsonLines}
              </Button>
              <Button tone="primary" onClick={() => write.mutate("csv")} busy={write.isPending}>
                {texts.tasks.csv}
              </Button>
            </>
          }
        >
          <p>
            <TextWith
              text={text ? texts.tasks.exportMatching(MOST) : texts.tasks.exportAll(MOST)}
              values={{ terms: <code>{text}</code>, command: <code>drumline tasks export</code> }}
            />
          </p>
        </Sheet>
      )}
    </>
  );
}
