import { CircleUserRound, LogOut } from "lucide-react";
import { useEffect, useRef, useState, useSyncExternalStore } from "react";
import { currentStanding, onStandingChange, signOut } from "@/api/session";
import { Button } from "@/parts/Button";
import { sentence } from "@/parts/States";
import { say } from "@/parts/toasts";
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
        aria-label={`Signed in as ${name}`}
        title={`Signed in as ${name}`}
        onClick={() => setOpen(!isOpen)}
      >
        <CircleUserRound size={16} aria-hidden="true" />
        <span>{name}</span>
      </button>
      {isOpen && (
        <section className={css.menu} aria-label="Signed in">
          <strong>{name}</strong>
          <p>
            {role} of {tenant === "*" ? "the whole installation" : tenant}
            {provider ? `, by ${provider}` : ", by key"}
          </p>
          <Button icon={LogOut} onClick={() => void leave(false)}>
            Sign out
          </Button>
          <Button tone="quiet" onClick={() => void leave(true)}>
            Sign out everywhere
          </Button>
        </section>
      )}
    </div>
  );
}
