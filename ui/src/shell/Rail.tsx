import { Link } from "@tanstack/react-router";
import { PanelLeftClose, PanelLeftOpen } from "lucide-react";
import { UI_PATH } from "@/api/place";
import { IconButton } from "@/parts/Button";
import { prefer, usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { AlertCount } from "./AlertCount";
import { FailureCount } from "./FailureCount";
import { PausedCount } from "./PausedCount";
import { GROUPS, usePlaces } from "./places";
import css from "./Rail.module.css";

export function Rail() {
  const { rail } = usePreferences();
  const isNarrow = rail === "narrow";
  const places = usePlaces();
  return (
    <nav className={css.rail} aria-label={texts.shell.screens} data-narrow={isNarrow || undefined}>
      <div className={css.brand}>
        <img src={`${UI_PATH}/icon.svg`} alt="" width="24" height="24" />
        <span>{texts.shell.drumline}</span>
      </div>
      <div className={css.groups}>
        {GROUPS.map((group) => {
          const own = places.filter((place) => place.group === group);
          if (own.length === 0) return null;
          return (
            <section key={group} aria-label={group}>
              <p aria-hidden="true">{group}</p>
              <ul>
                {own.map((place) => (
                  <li key={place.to}>
                    <Link
                      to={place.to}
                      title={isNarrow ? place.label : undefined}
                      activeProps={{ "aria-current": "page" }}
                    >
                      <place.icon size={16} aria-hidden="true" />
                      <span>{place.label}</span>
                    </Link>
                    {place.to === "/failures" && <FailureCount />}
                    {place.to === "/alerts" && <AlertCount />}
                    {place.to === "/queues" && <PausedCount />}
                  </li>
                ))}
              </ul>
            </section>
          );
        })}
      </div>
      <IconButton
        className={css.fold ?? ""}
        icon={isNarrow ? PanelLeftOpen : PanelLeftClose}
        label={isNarrow ? texts.shell.expandMenu : texts.shell.collapseMenu}
        onClick={() => prefer({ rail: isNarrow ? "wide" : "narrow" })}
      />
    </nav>
  );
}
