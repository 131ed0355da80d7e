import { Outlet, useRouterState } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useEffect, useLayoutEffect, useRef, useState, useSyncExternalStore } from "react";
import { useIsAsking } from "@/api/me";
import { currentStanding, onStandingChange } from "@/api/session";
import { Loading } from "@/parts/States";
import { usePreferences } from "@/preferences";
import { Login } from "@/screens/Login";
import { texts } from "@/texts";
import { Help } from "./Help";
import { Outage } from "./Outage";
import { PLACES } from "./places";
import { Rail } from "./Rail";
import css from "./Shell.module.css";
import { useShortcuts } from "./shortcuts";
import { TopBar } from "./TopBar";

const Palette = lazy(() => import("./Palette").then((found) => ({ default: found.Palette })));

/** What stands around every screen. */
export function Shell() {
  const standing = useSyncExternalStore(onStandingChange, currentStanding);
  const { rail } = usePreferences();
  const [isHelping, setHelping] = useState(false);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const path = useRouterState({ select: (state) => state.location.pathname });
  const main = useRef<HTMLElement>(null);
  const help = useCallback(() => setHelping(true), []);
  const palette = useCallback(() => setPaletteOpen(true), []);
  useShortcuts({ help, palette });
  // biome-ignore lint/correctness/useExhaustiveDependencies: a new screen closes the menu
  useEffect(() => setMenuOpen(false), [path]);
  // Until a screen has loaded and tells its own name, the window has the name of the place.
  useLayoutEffect(() => {
    document.title = `${PLACES.find((place) => path.includes(place.to))?.label ?? texts.shell.signIn} · Drumline`;
  }, [path]);
  if (standing.kind === "asking") return null;
  if (standing.kind === "out") return <Login providers={standing.providers} reason={standing.problem} />;
  return (
    <div className={css.shell} data-rail={rail} data-menu={isMenuOpen || undefined}>
      <button type="button" className={css.skip} onClick={() => main.current?.focus()}>
        {texts.shell.skipToContent}
      </button>
      <Rail />
      <div className={css.stage}>
        <TopBar onHelp={help} onPalette={palette} onMenu={() => setMenuOpen(!isMenuOpen)} isMenuOpen={isMenuOpen} />
        <Outage />
        <main ref={main} id="main" tabIndex={-1} className={css.main}>
          <Screen />
        </main>
      </div>
      {isPaletteOpen && (
        <Suspense>
          <Palette onClose={() => setPaletteOpen(false)} onHelp={help} />
        </Suspense>
      )}
      {isHelping && <Help onClose={() => setHelping(false)} />}
    </div>
  );
}

/** The screen; not before it is known what the key may read, so that nothing is asked for that would be refused. */
function Screen() {
  return useIsAsking() ? <Loading /> : <Outlet />;
}
