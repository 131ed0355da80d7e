import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";

/** The names of the tasks that live workers can run. */
export function useTypes(): string[] {
  const { data } = useQuery({
    queryKey: ["workers"],
    queryFn: ({ signal }) => call("GET /api/v1/workers", { signal }),
  });
  return [...new Set(data?.items.flatMap((worker) => worker.types) ?? [])].sort();
}
