import { useQuery } from "@tanstack/react-query";
import { call } from "./client";
import type { MeBody, Permission } from "./types";

/** Whose key it is, and what may be done with it. */
export function useMe(): MeBody | undefined {
  return useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => call("GET /api/v1/me", { signal }),
    staleTime: 60_000,
  }).data;
}

/** Whether something may be done; until that is known, yes: the server has the last word anyway. */
export function useMay(permission: Permission): boolean {
  const me = useMe();
  return me === undefined || me.permissions.includes(permission);
}
