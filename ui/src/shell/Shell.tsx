import { Outlet, useRouterState } from "@tanstack/react-router";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { currentKey, onKeyChange } from "@/api/key";
import { usePreferences } from "@/preferences";
import { Login } from "@/screens/Login";
import { Help } from "./Help";
import { Rail } from "./Rail";
import css from "./Shell.module.css";
import { useShortcuts } from "./shortcuts";
import { TopBar } from "./TopBar";

/** What stands around every screen. */
export function Shell() {
  const key = useSyncExternalStore(onKeyChange, currentKey);
  const { rail } = usePreferences();
  const [isHelping, setHelping] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const main = useRef<HTMLElement>(null);
  useShortcuts({ help: () => setHelping(true) });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new screen closes the menu
  useEffect(() => setMenuOpen(false), [path]);
  if (key === null) return <Login />;
  return (
    <div className={css.shell} data-rail={rail} data-menu={isMenuOpen || undefined}>
      <button type="button" className={css.skip} onClick={() => main.current?.focus()}>
        To the content
      </button>
      <Rail />
      <div className={css.stage}>
        <TopBar onHelp={() => setHelping(true)} onMenu={() => setMenuOpen(!isMenuOpen)} isMenuOpen={isMenuOpen} />
        <main ref={main} id="main" tabIndex={-1} className={css.main}>
          <Outlet />
        </main>
      </div>
      {isHelping && <Help onClose={() => setHelping(false)} />}
    </div>
  );
}
