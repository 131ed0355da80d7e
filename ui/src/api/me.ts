import { useQuery } from "@tanstack/react-query";
import { call } from "./client";
import type { MeBody, Permission } from "./types";

function useAsked() {
  return useQuery({
    queryKey: ["me"],
    queryFn: ({ signal }) => call("GET /api/v1/me", { signal }),
    staleTime: 60_000,
  });
}

/** Whose key it is, and what may be done with it. */
export function useMe(): MeBody | undefined {
  return useAsked().data;
}

/** Whether it is still being asked whose key it is: until then nobody knows what may be read. */
export function useIsAsking(): boolean {
  return useAsked().isPending;
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

/** Whether a text matches one of some patterns, in which `*` stands for anything; no patterns at all mean everything. */
export function isAmong(text: string, patterns: readonly string[]): boolean {
  return patterns.length === 0 || patterns.some((pattern) => matches(text, pattern));
}

function matches(text: string, pattern: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  const last = rest.pop();
  if (last === undefined) return text === pattern;
  const end = text.length - last.length;
  let place = first.length;
  if (place > end || !text.startsWith(first) || !text.endsWith(last)) return false;
  for (const part of rest) {
    const found = text.indexOf(part, place);
    if (found < 0 || found + part.length > end) return false;
    place = found + part.length;
  }
  return true;
}
