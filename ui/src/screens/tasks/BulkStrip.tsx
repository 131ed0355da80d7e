import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useEffect } from "react";
import { call } from "@/api/client";
import { IconButton } from "@/parts/Button";
import { texts } from "@/texts";
import css from "./SelectionBar.module.css";

/** How an operation goes that was asked for here. */
export function BulkStrip({ id, onClose }: { id: string; onClose: () => void }) {
  const client = useQueryClient();
  const bulk = useQuery({
    queryKey: ["bulk", id],
    queryFn: ({ signal }) => call("GET /api/v1/bulk/{id}", { params: { id }, signal }),
    refetchInterval: (query) => (query.state.data?.state === "running" ? 700 : false),
  }).data;
  const isOver = bulk !== undefined && bulk.state !== "running";
  useEffect(() => {
    if (isOver) void client.invalidateQueries({ queryKey: ["tasks"] });
  }, [isOver, client]);
  if (!bulk) return null;
  const passed = bulk.skipped + bulk.failed;
  return (
    <div className={css.bar} role="status">
      <span>
        {texts.tasks.bulkDone(bulk.act, bulk.done, bulk.total)}
        {passed > 0 && texts.tasks.passedSkipped(passed.toLocaleString("en"))}
        {isOver ? "." : " …"}
      </span>
      <Link to="/bulk/$id" params={{ id }}>
        {texts.tasks.details}
      </Link>
      <IconButton icon={X} label={texts.tasks.hide} onClick={onClose} />
    </div>
  );
}
