import { CircleUserRound, LogOut } from "lucide-react";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { currentStanding, onStandingChange, signOut } from "@/api/session";
import { Button } from "@/parts/Button";
import { sentence } from "@/parts/sentence";
import { say } from "@/parts/toasts";
import { texts } from "@/texts";
import css from "./UserMenu.module.css";

/** Who is signed in, as what, and the way out. */
export function UserMenu() {
  const standing = useSyncExternalStore(onStandingChange, currentStanding);
  const [isOpen, setOpen] = useState(false);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!isOpen) return;
    const leave = (event: Event) => {
      const isEscape = event instanceof KeyboardEvent && event.key === "Escape";
      if (isEscape || (event instanceof PointerEvent && !box.current?.contains(event.target as Node))) setOpen(false);
    };
    addEventListener("pointerdown", leave);
    addEventListener("keydown", leave);
    return () => {
      removeEventListener("pointerdown", leave);
      removeEventListener("keydown", leave);
    };
  }, [isOpen]);
  if (standing.kind !== "in") return null;
  const { name, role, tenant, provider } = standing.who;

  async function leave(everywhere: boolean) {
    const problem = await signOut({ everywhere });
    if (problem !== null) say(sentence(problem), "problem");
  }

  return (
    <div className={css.user} ref={box}>
      <button
        type="button"
        className={css.name}
        aria-expanded={isOpen}
        aria-label={texts.shell.signedInAsName(name)}
        title={texts.shell.signedInAsName(name)}
        onClick={() => setOpen(!isOpen)}
      >
        <CircleUserRound size={16} aria-hidden="true" />
        <span>{name}</span>
      </button>
      {isOpen && (
        <section className={css.menu} aria-label={texts.shell.signedIn}>
          <strong>{name}</strong>
          <p>
            {texts.shell.roleOf(role, tenant === "*" ? texts.shell.theWholeInstallation : tenant)}
            {provider ? texts.shell.byProvider(provider) : texts.shell.byKey}
          </p>
          <Button icon={LogOut} onClick={() => void leave(false)}>
            {texts.shell.signOut}
          </Button>
          <Button tone="quiet" onClick={() => void leave(true)}>
            {texts.shell.signOutEverywhere}
          </Button>
        </section>
      )}
    </div>
  );
}
