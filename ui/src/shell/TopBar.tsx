import { CircleQuestionMark, Clock, Command, Menu, Monitor, Moon, Sun } from "lucide-react";
import { useMe } from "@/api/me";
import { environment } from "@/environment";
import { IconButton } from "@/parts/Button";
import { localZone } from "@/parts/time";
import { prefer, type Theme, usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { LiveIndicator } from "./LiveIndicator";
import { SearchBox } from "./SearchBox";
import css from "./TopBar.module.css";
import { UserMenu } from "./UserMenu";

const THEMES: Record<Theme, [typeof Sun, Theme, string]> = {
  system: [Monitor, "light", texts.shell.themeSystem],
  light: [Sun, "dark", texts.shell.themeLight],
  dark: [Moon, "system", texts.shell.themeDark],
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
    <header className={css.bar} data-environment={environment?.colour}>
      <IconButton
        className={css.menu ?? ""}
        icon={Menu}
        label={texts.shell.menu}
        aria-expanded={isMenuOpen}
        onClick={onMenu}
      />
      <SearchBox />
      <div className={css.tools}>
        {environment && (
          <span className={css.environment} title={texts.shell.environmentName(environment.name)}>
            {environment.name}
          </span>
        )}
        {me && me.tenant !== "*" && (
          <span className={css.tenant} title={texts.shell.showingTenantTenant(me.tenant)}>
            {me.tenant}
          </span>
        )}
        <LiveIndicator />
        <button
          type="button"
          className={css.zone}
          title={texts.shell.switchTheTimeZoneZ}
          onClick={() => prefer({ zone: zone === "utc" ? "local" : "utc" })}
        >
          <Clock size={14} aria-hidden="true" />
          <span>{zone === "utc" ? texts.shell.utc : localZone()}</span>
        </button>
        <IconButton
          className={css.wide ?? ""}
          icon={Command}
          label={texts.shell.commandMenuCtrlK}
          onClick={onPalette}
        />
        <IconButton icon={ThemeIcon} label={label} onClick={() => prefer({ theme: next })} />
        <IconButton
          className={css.wide ?? ""}
          icon={CircleQuestionMark}
          label={texts.shell.keyboardShortcutsOther}
          onClick={onHelp}
        />
        <UserMenu />
      </div>
    </header>
  );
}
