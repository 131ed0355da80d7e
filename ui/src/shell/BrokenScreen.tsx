import { useEffect } from "react";
import { isUnreachable } from "@/api/problem";
import { useLiveness } from "@/api/queries";
import { reloadIfServed } from "@/newer";
import { Trouble } from "@/parts/States";

/** A screen that could not be loaded or drawn. One that could not be loaded is loaded when the server is back. */
export function BrokenScreen({ error, reset }: { error: unknown; reset: () => void }) {
  const { kind } = useLiveness();
  const isMissing = isUnreachable(error);
  useEffect(() => {
    if (isMissing && kind === "live") void reloadIfServed();
  }, [isMissing, kind]);
  return <Trouble error={error} onRetry={() => (isMissing ? void reloadIfServed() : reset())} />;
}
