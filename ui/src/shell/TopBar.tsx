import { CircleQuestionMark, Clock, Command, Menu, Monitor, Moon, Sun } from "lucide-react";
import { useMe } from "@/api/me";
import { IconButton } from "@/parts/Button";
import { localZone } from "@/parts/time";
import { prefer, type Theme, usePreferences } from "@/preferences";
import { LiveIndicator } from "./LiveIndicator";
import { SearchBox } from "./SearchBox";
import css from "./TopBar.module.css";
import { UserMenu } from "./UserMenu";

const THEMES: Record<Theme, [typeof Sun, Theme, string]> = {
  system: [Monitor, "light", "Theme: system"],
  light: [Sun, "dark", "Theme: light"],
  dark: [Moon, "system", "Theme: dark"],
};

interface Props {
  onHelp: () => void;
  onPalette: () => void;
  onMenu: () => void;
  isMenuOpen: boolean;
}

export function TopBar({ onHelp, onPalette, onMenu, isMenuOpen }: Props) {
  const { theme, zone } = usePreferences();
  const me = useMe();
  const [ThemeIcon, next, label] = THEMES[theme];
  return (
    <header className={css.bar}>
      <IconButton className={css.menu ?? ""} icon={Menu} label="Menu" aria-expanded={isMenuOpen} onClick={onMenu} />
      <SearchBox />
      <div className={css.tools}>
        {me && me.tenant !== "*" && (
          <span className={css.tenant} title={`What you see is of the tenant ${me.tenant}`}>
            {me.tenant}
          </span>
        )}
        <LiveIndicator />
        <button
          type="button"
          className={css.zone}
          title="Switch the time zone (z)"
          onClick={() => prefer({ zone: zone === "utc" ? "local" : "utc" })}
        >
          <Clock size={14} aria-hidden="true" />
          <span>{zone === "utc" ? "UTC" : localZone()}</span>
        </button>
        <IconButton className={css.wide ?? ""} icon={Command} label="Command menu (Ctrl K)" onClick={onPalette} />
        <IconButton icon={ThemeIcon} label={label} onClick={() => prefer({ theme: next })} />
        <IconButton
          className={css.wide ?? ""}
          icon={CircleQuestionMark}
          label="Keyboard shortcuts (?)"
          onClick={onHelp}
        />
        <UserMenu />
      </div>
    </header>
  );
}
