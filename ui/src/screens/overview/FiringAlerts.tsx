import { Link } from "@tanstack/react-router";
import { BellRing } from "lucide-react";
import { Fragment } from "react";
import { useFiringAlerts } from "@/shell/AlertCount";
import { texts } from "@/texts";
import css from "./Overview.module.css";

const MOST_NAMED = 3;

/** The alerts that fire, each a link to its page; nothing while none does. */
export function FiringAlerts() {
  const firing = useFiringAlerts();
  const items = firing.data?.items ?? [];
  if (items.length === 0) return null;
  const rest = items.length - MOST_NAMED;
  return (
    <p className={css.firing} role="status">
      <BellRing size={18} aria-hidden="true" />
      <span>
        {texts.overview.firing}{" "}
        {items.slice(0, MOST_NAMED).map((alert, place) => (
          <Fragment key={alert.id}>
            {place > 0 && ", "}
            <Link to="/alerts/$id" params={{ id: alert.id }}>
              {alert.name}
            </Link>
          </Fragment>
        ))}
        {rest > 0 && (
          <>
            {" "}
            <Link to="/alerts">{texts.overview.andMore(rest)}</Link>
          </>
        )}
      </span>
    </p>
  );
}
