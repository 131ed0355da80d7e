import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { useIsAsking, useMay } from "@/api/me";
import { every } from "@/api/queries";
import { keysByTenant, type Load, loadByTenant, NONE } from "./load";

/** The load of a tenant; null while it is not known, or where not all queues are. */
export function useLoads(): (tenant: string) => Load | null {
  const mayRead = useMay("queues:read");
  const isAsking = useIsAsking();
  const queues = useQuery({
    enabled: mayRead && !isAsking,
    queryKey: ["queues", "tenants"],
    queryFn: ({ signal }) => call("GET /api/v1/queues", { signal }),
    refetchInterval: every(5_000),
  });
  const loads = queues.data && !queues.data.next_cursor ? loadByTenant(queues.data.items) : null;
  return (tenant) => loads && (loads.get(tenant) ?? NONE);
}

/** How many keys of a tenant can be used; null while that is not known, or for those who may not know. */
export function useKeyCounts(): (tenant: string) => number | null {
  const mayManage = useMay("keys:manage");
  const isAsking = useIsAsking();
  const keys = useQuery({
    enabled: mayManage && !isAsking,
    queryKey: ["keys", "tenants"],
    queryFn: ({ signal }) => call("GET /api/v1/keys", { query: { limit: 100 }, signal }),
  });
  const counts = keys.data && !keys.data.next_cursor ? keysByTenant(keys.data.items) : null;
  return (tenant) => counts && (counts.get(tenant) ?? 0);
}
