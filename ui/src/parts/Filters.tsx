import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { type TaskSearch, WORDS } from "@/search";
import { texts } from "@/texts";
import css from "./Filters.module.css";

interface Props {
  to: "/tasks" | "/logs" | "/jobs" | "/failures";
  search: Readonly<Record<string, string>>;
  /** The fields that narrow it, besides the terms. */
  of?: readonly string[];
  /** Whether they are in a box that has borders of its own, without tabs that choose the status. */
  isInside?: boolean;
  /** Whether no list is in the box below them. */
  isAlone?: boolean;
}

/** What a list is narrowed by, each with a way out. */
export function Filters({ to, search, of = WORDS, isInside = false, isAlone = false }: Props) {
  const words = [...of, "filter"].filter((word) => (isInside || word !== "status") && search[word]);
  if (words.length === 0) return null;
  return (
    <ul
      className={css.filters}
      data-inside={isInside || undefined}
      data-alone={isAlone || undefined}
      aria-label={texts.common.filters}
    >
      {words.map((word) => {
        const { [word]: value, ...rest } = search;
        return (
          <li key={word}>
            <span>
              {word === "filter" ? "" : `${word}: `}
              <strong>{value}</strong>
            </span>
            <Link
              to={to}
              search={rest as TaskSearch}
              aria-label={texts.tasks.removeFilterWord(word)}
              title={texts.common.remove}
            >
              <X size={13} aria-hidden="true" />
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
