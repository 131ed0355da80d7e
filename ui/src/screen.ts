import { type AsyncRouteComponent, lazyRouteComponent } from "@tanstack/react-router";
import { Problem } from "@/api/problem";
import { texts } from "@/texts";

/** A screen that is loaded when somebody goes there. If it cannot be, the page around it stays, and says so. */
export function screen<Name extends string>(
  load: () => Promise<Record<Name, () => React.ReactNode>>,
  name: Name,
): AsyncRouteComponent<Record<string, never>> {
  // An error that the router knows as a missing module would make it load the whole page anew, even from no server.
  const gone = () => new Problem(0, "unreachable", texts.shell.thisPageCouldNotBe);
  return lazyRouteComponent(() => load().catch(() => Promise.reject(gone())), name) as AsyncRouteComponent<
    Record<string, never>
  >;
}
