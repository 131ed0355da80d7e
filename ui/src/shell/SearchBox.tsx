import { useNavigate, useRouterState } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { say } from "@/parts/toasts";
import { parseSearch, type TaskSearch, WORDS, writeSearch } from "@/search";
import css from "./SearchBox.module.css";
import { onShortcut } from "./shortcuts";

const HINTS: Record<string, string> = {
  status: "pending, queued, processing, completed, failed, cancelled, skipped",
  queue: "a queue's name",
  name: "a task's name",
  tag: "one tag",
  key: "an idempotency key",
  worker: "a worker's id",
  job: "a job's id",
};

/** One box for everything: words with a colon narrow, an id opens its task. */
export function SearchBox() {
  const navigate = useNavigate();
  const location = useRouterState({ select: (state) => state.location });
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  useEffect(() => {
    setText(location.pathname.endsWith("/tasks") ? writeSearch(location.search as TaskSearch) : "");
  }, [location]);
  useEffect(() => onShortcut("search", () => input.current?.focus()), []);

  function go() {
    const { search, id, notes } = parseSearch(text);
    for (const note of notes) say(note, "problem");
    if (id) void navigate({ to: "/tasks/$id", params: { id } });
    else void navigate({ to: "/tasks", search });
    setOpen(false);
    input.current?.blur();
  }

  const last = text.split(/\s+/).at(-1) ?? "";
  const offered = WORDS.filter((word) => `${word}:`.startsWith(last) && last !== `${word}:`);
  return (
    <form
      className={css.search}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        go();
      }}
    >
      <Search size={15} aria-hidden="true" />
      <input
        ref={input}
        type="search"
        aria-label="Search tasks"
        placeholder="status:failed queue:mail name:… or an id"
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onKeyDown={(event) => {
          if (event.key === "Escape") input.current?.blur();
        }}
        spellCheck={false}
        autoComplete="off"
      />
      <kbd>/</kbd>
      {isOpen && offered.length > 0 && (
        <ul className={css.offers} aria-label="Words to narrow by">
          {offered.map((word) => (
            <li key={word}>
              <button
                type="button"
                tabIndex={-1}
                onMouseDown={(event) => {
                  event.preventDefault();
                  setText(`${text.slice(0, text.length - last.length)}${word}:`);
                }}
              >
                <code>{word}:</code> <span>{HINTS[word]}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}
