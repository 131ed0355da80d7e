import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { call } from "@/api/client";
import { texts } from "@/texts";

/** From a failed task to the group of failures of its cause. A failure that was discarded has none. */
export function FailureGroupLink({ id }: { id: string }) {
  const found = useQuery({
    queryKey: ["task", id, "failure"],
    queryFn: ({ signal }) => call("GET /api/v1/failures", { query: { id }, signal }),
  });
  const failure = found.data?.items[0];
  if (!failure) return null;
  return (
    <Link to="/failures/$fingerprint" params={{ fingerprint: failure.fingerprint }}>
      {texts.task.allFailuresOfThisCause}
    </Link>
  );
}
