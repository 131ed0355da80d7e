import { Link, useNavigate, useRouter, useRouterState } from "@tanstack/react-router";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { type ReactNode, useCallback } from "react";
import { PLACES } from "@/shell/places";
import { copyId, useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";
import css from "./Crumbs.module.css";
import { neighboursOf } from "./neighbours";

/** The list that the page of a single thing belongs to, and which one it is. */
function usePlace() {
  const [place, id] = useRouterState({
    select: (state) => {
      const [kind = "", one = ""] = state.location.pathname.split("/").filter(Boolean).slice(-2);
      return [`/${kind}`, one] as const;
    },
    structuralSharing: true,
  });
  return { place, id, home: id ? PLACES.find((one) => one.to === place) : undefined };
}

/** In place of a thing that does not exist: the way to the list of those that do. */
export function BackToList() {
  // A part that is tested by itself has no pages to go back to.
  return useRouter({ warn: false }) ? <LinkToList /> : null;
}

function LinkToList() {
  const { home } = usePlace();
  return home ? <Link to={home.to}>{texts.parts.backTo(home.label)}</Link> : null;
}

interface CrumbsProps {
  /** What the thing is called. */
  name: string;
  /** Links to what it belongs to, from the list on; to the list alone unless given. */
  path?: readonly ReactNode[] | undefined;
}

/** On the page of a single thing: the way back to what it belongs to, and to those before and after it in the list. */
export function Crumbs({ name, path }: CrumbsProps) {
  const { place, id, home } = usePlace();
  const navigate = useNavigate();
  const near = home && id ? neighboursOf(place, decodeURIComponent(id)) : null;
  const go = useCallback(
    (to: string | null | undefined) => to && void navigate({ to: `${place}/${encodeURIComponent(to)}` }),
    [navigate, place],
  );
  useShortcut(
    "previous",
    useCallback(() => go(near?.before), [go, near?.before]),
  );
  useShortcut(
    "next",
    useCallback(() => go(near?.after), [go, near?.after]),
  );
  useShortcut(
    "copyPageId",
    useCallback(() => {
      if (home && id) void copyId(decodeURIComponent(id));
    }, [home, id]),
  );
  if (!home || !id) return null;
  return (
    <nav className={css.crumbs} aria-label={texts.parts.breadcrumb}>
      <ol>
        {(
          path ?? [
            <Link key="list" to={home.to}>
              {home.label}
            </Link>,
          ]
        ).map((link, place) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a link is its place
          <li key={place}>{link}</li>
        ))}
        {path && (
          <li aria-current="page" title={name}>
            {name}
          </li>
        )}
      </ol>
      {near && near.count > 1 && (
        <span className={css.near}>
          <Link to={home.to} title={texts.parts.backTo(home.label)}>
            {texts.parts.ofAll(near.number, near.count)}
          </Link>
          <button
            type="button"
            aria-label={texts.parts.previous}
            title={texts.parts.previousOther}
            disabled={!near.before}
            onClick={() => go(near.before)}
          >
            <ChevronLeft size={15} aria-hidden="true" />
          </button>
          <button
            type="button"
            aria-label={texts.common.next}
            title={texts.parts.next}
            disabled={!near.after}
            onClick={() => go(near.after)}
          >
            <ChevronRight size={15} aria-hidden="true" />
          </button>
        </span>
      )}
    </nav>
  );
}
