import { useEffect, useRef, useState } from "react";
import { layout, type Placed, type Shape } from "./layout";
import type { Asked } from "./layout-worker";

/** A small graph is laid out sooner than a worker starts. */
const AT_ONCE = 40;

/** Where the boxes of a graph are, laid out in a worker; the places of the graph before until it has answered. */
export function useLayout(shape: Shape): Placed | null {
  const [placed, setPlaced] = useState<Placed | null>(null);
  const worker = useRef<Worker | null>(null);
  const asked = useRef(0);
  const text = `${shape.ids.join("\n")}\u0000${shape.edges.map((edge) => `${edge.from}\n${edge.to}`).join("\u0000")}`;
  useEffect(() => () => worker.current?.terminate(), []);
  // biome-ignore lint/correctness/useExhaustiveDependencies: places depend on the shape alone, states change all the time
  useEffect(() => {
    const number = ++asked.current;
    if (shape.ids.length <= AT_ONCE || typeof Worker === "undefined") {
      setPlaced(layout(shape));
      return;
    }
    worker.current?.terminate(); // what it is at is not wanted any more
    worker.current = new Worker(new URL("./layout-worker.ts", import.meta.url), { type: "module" });
    worker.current.onmessage = ({ data }: MessageEvent<{ number: number; placed: Placed }>) => {
      if (data.number === asked.current) setPlaced(data.placed);
    };
    worker.current.onerror = () => setPlaced(layout(shape)); // not allowed here: the page waits
    worker.current.postMessage({ number, shape } satisfies Asked);
  }, [text]);
  return placed;
}
