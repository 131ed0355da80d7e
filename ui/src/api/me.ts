import { useQuery } from "@tanstack/react-query";
import { call } from "./client";
import { isAmong } from "./patterns";
import type { MeBody, Permission } from "./types";

function useAsked() {
  return useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => call("GET /api/v1/me", { signal }),
    staleTime: 60_000,
    // Every part of a page asks: one that comes later must not make the others wait again.
    retry: false,
    retryOnMount: false,
  });
}

/** Whose key it is, and what may be done with it. */
export function useMe(): MeBody | undefined {
  return useAsked().data;
}

/** Whether it is still being asked whose key it is: until then nobody knows what may be read. */
export function useIsAsking(): boolean {
  const { isPending, errorUpdateCount } = useAsked();
  return isPending && errorUpdateCount === 0;
}

/** Whether something may be done; where that cannot be found out, yes: the server has the last word anyway. */
export function useMay(permission: Permission): boolean {
  const me = useMe();
  return me === undefined || me.permissions.includes(permission);
}

/** Whether something may be done to a task of this name in this queue: keys can be made for some of them only. */
export function useMayOn(permission: Permission, { name, queue }: { name?: string; queue?: string }): boolean {
  const me = useMe();
  if (!useMay(permission)) return false;
  return (
    (name === undefined || isAmong(name, me?.names ?? [])) && (queue === undefined || isAmong(queue, me?.queues ?? []))
  );
}
