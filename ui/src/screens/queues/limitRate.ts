import { texts } from "@/texts";

/** "20/1s" as "20 per second", "100/60s" as "100 per 60 s". */
export function rateOf(rate: string): string {
  const [count, span] = rate.split("/");
  return texts.queues.per(
    count ?? "",
    span === "1s" ? texts.queues.second : (span?.replace(/(\d)([a-z])/, "$1 $2") ?? ""),
  );
}
