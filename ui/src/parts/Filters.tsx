import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { type TaskSearch, WORDS } from "@/search";
import { texts } from "@/texts";
import css from "./Filters.module.css";

interface Props {
  to: "/tasks" | "/logs";
  search: TaskSearch;
  /** Whether they are in a box that has borders of its own, without tabs that choose the status. */
  isInside?: boolean;
}

/** What a list is narrowed by, each with a way out. */
export function Filters({ to, search, isInside = false }: Props) {
  const words = [...WORDS, "filter" as const].filter((word) => (isInside || word !== "status") && search[word]);
  if (words.length === 0) return null;
  return (
    <ul className={css.filters} data-inside={isInside || undefined} aria-label={texts.common.filters}>
      {words.map((word) => {
        const { [word]: value, ...rest } = search;
        return (
          <li key={word}>
            <span>
              {word === "filter" ? "" : `${word}: `}
              <strong>{value}</strong>
            </span>
            <Link to={to} search={rest} aria-label={texts.tasks.removeFilterWord(word)} title={texts.common.remove}>
              <X size={13} aria-hidden="true" />
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
