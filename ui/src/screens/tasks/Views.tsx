import { Link } from "@tanstack/react-router";
import { Bookmark, X } from "lucide-react";
import { type FormEvent, useState } from "react";
import { Button, IconButton } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Sheet } from "@/parts/Sheet";
import { say } from "@/parts/toasts";
import { type TaskSearch, writeSearch } from "@/search";
import { dropView, keepView, useViews } from "./kept";
import css from "./Views.module.css";

/** Searches with a name: kept, opened, dropped. */
export function Views({ search }: { search: TaskSearch }) {
  const views = useViews();
  const [isOpen, setOpen] = useState(false);
  const [name, setName] = useState("");
  const text = writeSearch(search);

  function save(event: FormEvent) {
    event.preventDefault();
    if (!name.trim()) return;
    keepView(name.trim(), search);
    say(`Saved as "${name.trim()}"`);
    setName("");
  }

  return (
    <>
      <Button icon={Bookmark} onClick={() => setOpen(true)}>
        Views
      </Button>
      {isOpen && (
        <Sheet title="Saved views" onClose={() => setOpen(false)}>
          <form className={css.save} onSubmit={save}>
            <Field label="Save this search as" hint={text ? <code>{text}</code> : "All tasks"}>
              {(props) => (
                <input {...props} value={name} maxLength={60} onChange={(event) => setName(event.target.value)} />
              )}
            </Field>
            <Button type="submit" tone="primary" disabled={!name.trim()}>
              Save
            </Button>
          </form>
          {views.length === 0 ? (
            <p className={css.none}>No saved views in this browser yet.</p>
          ) : (
            <ul className={css.views}>
              {views.map((view) => (
                <li key={view.name}>
                  <Link to="/tasks" search={view.search} onClick={() => setOpen(false)}>
                    {view.name}
                  </Link>
                  <code>{writeSearch(view.search) || "all"}</code>
                  <IconButton icon={X} label={`Delete ${view.name}`} onClick={() => dropView(view.name)} />
                </li>
              ))}
            </ul>
          )}
        </Sheet>
      )}
    </>
  );
}
