import type { ShardBody } from "@/api/types";

/** How many slots there are. */
export const SLOTS = 4096;
/** The shard that also keeps what is not a task; it cannot be taken away. */
export const DIRECTORY = "main";

/** A number of slots as a percentage of all. */
export function share(slots: number): string {
  const percent = (100 * slots) / SLOTS;
  return `${percent > 0 && percent < 1 ? "< 1" : Math.round(percent)} %`;
}

/** Whether nothing is left in a shard that is drained. */
export function isEmptied(shard: Pick<ShardBody, "state" | "slots" | "left" | "unfinished">): boolean {
  return shard.state === "draining" && shard.slots === 0 && shard.left === 0 && shard.unfinished === 0;
}

/** Whether asking to remove a shard makes sense: the server has the last word. */
export function canRemove(shard: Pick<ShardBody, "state" | "slots" | "left" | "unfinished" | "is_away">): boolean {
  return isEmptied(shard) && !shard.is_away;
}
