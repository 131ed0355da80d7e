import { useQuery } from "@tanstack/react-query";
import { Download } from "lucide-react";
import { call, callForFile } from "@/api/client";
import { Button } from "@/parts/Button";
import { Panel } from "@/parts/Panel";
import { Empty, Unloaded } from "@/parts/States";
import { Time } from "@/parts/Time";
import { say } from "@/parts/toasts";
import { texts } from "@/texts";
import css from "./Task.module.css";

/** The files that a task made. */
export function Artifacts({ id }: { id: string }) {
  const artifacts = useQuery({
    queryKey: ["task", id, "artifacts"],
    queryFn: ({ signal }) => call("GET /api/v1/tasks/{id}/artifacts", { params: { id }, signal }),
  });
  if (artifacts.data === undefined) return <Unloaded of={artifacts} rows={3} />;
  if (artifacts.data.items.length === 0) return <Empty title={texts.task.noArtifacts} />;
  return (
    <div className={css.after}>
      <Panel flush label={texts.task.artifacts}>
        <ul className={css.files}>
          {artifacts.data.items.map((file) => (
            <li key={file.name}>
              <strong>{file.name}</strong>
              <span>{file.content_type}</span>
              <span>{sizeOf(file.size)}</span>
              <span>
                <Time at={file.created_at} />
              </span>
              <Button icon={Download} onClick={() => void save(id, file.name)}>
                {texts.task.download}
              </Button>
            </li>
          ))}
        </ul>
      </Panel>
    </div>
  );
}

async function save(id: string, name: string): Promise<void> {
  try {
    const file = await callForFile("GET /api/v1/tasks/{id}/artifacts/{name}", { params: { id, name } });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(file);
    link.download = name.split("/").at(-1) ?? name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error), "problem");
  }
}

function sizeOf(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 ** 2) return `${(bytes / 1024).toFixed(1)} KiB`;
  return `${(bytes / 1024 ** 2).toFixed(1)} MiB`;
}
