import { useQuery } from "@tanstack/react-query";
import { useNavigate, useRouterState } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import { call } from "@/api/client";
import { useMedia } from "@/parts/media";
import { say } from "@/parts/toasts";
import { parseSearch, STATUSES, type TaskSearch, WORDS, writeSearch } from "@/search";
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
  ended: "ended within the last 15m, 2h, 7d",
  since: "submitted within the last 15m, 2h, 7d",
};

/** One box for everything: words with a colon narrow, an id opens its task. */
export function SearchBox() {
  const navigate = useNavigate();
  const location = useRouterState({ select: (state) => state.location });
  const input = useRef<HTMLInputElement>(null);
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [chosen, setChosen] = useState(-1);
  useEffect(() => {
    setText(location.pathname.endsWith("/tasks") ? writeSearch(location.search as TaskSearch) : "");
  }, [location]);
  useEffect(() => onShortcut("search", () => input.current?.focus()), []);

  const last = text.split(/\s+/).at(-1) ?? "";
  const offered = useOffers(last, isOpen);
  const isNarrow = useMedia("(max-width: 760px)");

  function take(offer: Offer) {
    const start = text.slice(0, text.length - last.length);
    setText(`${start}${offer.text}${offer.text.endsWith(":") ? "" : " "}`);
    setChosen(-1);
  }

  function onKeyDown(event: KeyboardEvent) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    const offer = offered[chosen];
    if (event.key === "Escape") input.current?.blur();
    else if (step && isOpen && offered.length > 0) {
      event.preventDefault();
      setChosen((chosen + step + offered.length) % offered.length);
    } else if (event.key === "Enter" && isOpen && offer) {
      event.preventDefault();
      take(offer);
    }
  }

  function go() {
    const { search, id, notes } = parseSearch(text);
    for (const note of notes) say(note, "problem");
    if (id) void navigate({ to: "/tasks/$id", params: { id } });
    else void navigate({ to: "/tasks", search });
    setOpen(false);
    input.current?.blur();
  }

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
        placeholder={isNarrow ? "Search tasks" : "status:failed queue:mail name:… or an id"}
        value={text}
        onChange={(event) => {
          setText(event.target.value);
          setChosen(-1);
          setOpen(true);
        }}
        onFocus={() => setOpen(true)}
        onBlur={() => setTimeout(() => setOpen(false), 150)}
        onKeyDown={onKeyDown}
        spellCheck={false}
        autoComplete="off"
      />
      <kbd>/</kbd>
      {isOpen && offered.length > 0 && (
        <ul className={css.offers} aria-label="To narrow by">
          {offered.map((offer, place) => (
            <li key={offer.text}>
              <button
                type="button"
                tabIndex={-1}
                data-current={place === chosen || undefined}
                onMouseDown={(event) => {
                  event.preventDefault();
                  take(offer);
                }}
              >
                <code>{offer.text}</code> <span>{offer.hint}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </form>
  );
}

interface Offer {
  text: string;
  hint: string;
}

const MOST_OFFERS = 9;

/** What may be meant by what somebody has begun to type: words, and after a colon their values. */
function useOffers(last: string, isOpen: boolean): Offer[] {
  const options = { enabled: isOpen, staleTime: 30_000, retry: false };
  const queues = useQuery({ queryKey: ["queues"], queryFn: () => call("GET /api/v1/queues", {}), ...options }).data;
  const types = useQuery({ queryKey: ["types"], queryFn: () => call("GET /api/v1/types", {}), ...options }).data;
  const [word, value] = last.includes(":") ? (last.split(":", 2) as [string, string]) : [last, null];
  if (value === null) {
    return WORDS.filter((one) => one.startsWith(word)).map((one) => ({ text: `${one}:`, hint: HINTS[one] ?? "" }));
  }
  const values: Record<string, string[]> = {
    status: STATUSES,
    queue: queues?.items.map((queue) => queue.name) ?? [],
    name: types?.items.map((type) => type.name) ?? [],
  };
  return (values[word] ?? [])
    .filter((one) => one.startsWith(value) && one !== value)
    .slice(0, MOST_OFFERS)
    .map((one) => ({ text: `${word}:${one}`, hint: "" }));
}
