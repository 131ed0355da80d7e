import { useQuery } from "@tanstack/react-query";
import { CircleHelp } from "lucide-react";
import { call } from "@/api/client";
import { every } from "@/api/queries";
import { sentence } from "@/parts/sentence";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./Why.module.css";

/** Why a task that waits is waiting. */
export function Why({ id }: { id: string }) {
  const why = useQuery({
    queryKey: ["task", id, "why"],
    queryFn: ({ signal }) => call("GET /api/v1/tasks/{id}/why", { params: { id }, signal }),
    refetchInterval: every(3_000),
  });
  if (!why.data) return null;
  return (
    <section className={css.why} aria-label={texts.task.whyIsItWaiting}>
      <CircleHelp size={18} aria-hidden="true" />
      <ul>
        {why.data.reasons.map((reason) => (
          <li key={reason.cause}>
            {sentence(reason.text)}{" "}
            {reason.until && (
              <span className={css.until}>
                <Time at={reason.until} /> (<Time at={reason.until} as="relative" />)
              </span>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
