import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Bookmark, Users, X } from "lucide-react";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import type { ViewBody, ViewPage } from "@/api/types";
import { prefer, usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { Button, IconButton } from "./Button";
import { Field } from "./Field";
import { Form } from "./Form";
import css from "./SavedViews.module.css";
import { Sheet } from "./Sheet";
import { Unloaded } from "./States";
import { say } from "./toasts";

interface SavedViewsProps {
  page: ViewPage;
  /** The filter of the list as it is now, as text. */
  filter: string;
  /** The name under which the columns of the list are kept, and their names. */
  label?: string;
  columns?: readonly { name: string; isExtra?: boolean }[];
  /** Other things of the address that belong to the view: a list without columns keeps them in their place. */
  settings?: Readonly<Record<string, string>>;
  onOpen: (filter: string, settings: Record<string, string>) => void;
}

/** Filters with a name that the server keeps: one's own and shared ones, with their columns. */
export function SavedViews({ page, filter, label, columns, settings, onOpen }: SavedViewsProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button icon={Bookmark} onClick={() => setOpen(true)}>
        {texts.parts.views}
      </Button>
      {isOpen && (
        <ViewsSheet
          page={page}
          filter={filter}
          {...(label ? { label } : {})}
          {...(columns ? { columns } : {})}
          {...(settings ? { settings } : {})}
          onOpen={(text, kept) => {
            setOpen(false);
            onOpen(text, kept);
          }}
          onClose={() => setOpen(false)}
        />
      )}
    </>
  );
}

/** The settings that a view was saved with. */
function settingsOf(view: ViewBody, names: readonly string[]): Record<string, string> {
  const kept = view.columns.map((column) => column.split(":") as [string, string | undefined]);
  return Object.fromEntries(kept.flatMap(([name, value]) => (value && names.includes(name) ? [[name, value]] : [])));
}

function ViewsSheet({
  page,
  filter,
  label,
  columns,
  settings,
  onOpen,
  onClose,
}: SavedViewsProps & { onClose: () => void }) {
  const client = useQueryClient();
  const mayShare = useMay("tasks:control");
  const { hidden } = usePreferences();
  const [name, setName] = useState("");
  const [isShared, setShared] = useState(false);
  const key = ["views", page];
  const views = useQuery({
    queryKey: key,
    queryFn: ({ signal }) => call("GET /api/v1/views", { query: { page }, signal }),
  });
  const left = label ? hidden[label] : undefined;
  const shown = settings
    ? Object.entries(settings).map(([name, value]) => `${name}:${value}`)
    : left && columns
      ? columns.map((one) => one.name).filter((one) => !left.includes(one))
      : [];
  const save = useMutation({
    mutationFn: () =>
      call("PUT /api/v1/views/{page}/{name}", {
        params: { page, name: name.trim() },
        body: { columns: shown, is_shared: isShared, ...(filter ? { filter } : {}) },
      }),
    onSuccess: (view) => {
      say(texts.parts.savedAsName(view.name));
      setName("");
    },
    onSettled: () => client.invalidateQueries({ queryKey: key }),
  });
  const drop = useMutation({
    mutationFn: (view: ViewBody) =>
      call("DELETE /api/v1/views/{page}/{name}", {
        params: { page, name: view.name },
        query: view.is_own ? {} : { owner: view.owner },
      }),
    onError: (error) => say(error.message, "problem"),
    onSettled: () => client.invalidateQueries({ queryKey: key }),
  });

  function open(view: ViewBody) {
    if (label && columns) {
      const { [label]: _before, ...others } = hidden;
      const kept = columns.map((one) => one.name).filter((one) => !view.columns.includes(one));
      prefer({ hidden: view.columns.length === 0 ? others : { ...others, [label]: kept } });
    }
    onOpen(view.filter, settings ? settingsOf(view, Object.keys(settings)) : {});
  }

  return (
    <Sheet title={texts.parts.savedViews} onClose={onClose}>
      <Form error={save.error} fields={["name", "filter"]} onSubmit={() => name.trim() && save.mutate()}>
        {(at) => (
          <>
            <div className={css.save}>
              <Field
                label={texts.parts.saveThisSearchAs}
                hint={filter ? <code>{filter}</code> : texts.parts.everything}
                problem={at("name") ?? at("filter")}
              >
                {(props) => (
                  <input {...props} value={name} maxLength={100} onChange={(event) => setName(event.target.value)} />
                )}
              </Field>
              <Button type="submit" tone="primary" busy={save.isPending} disabled={!name.trim()}>
                {texts.common.save}
              </Button>
            </div>
            {mayShare && (
              <label className={css.share}>
                <input type="checkbox" checked={isShared} onChange={(event) => setShared(event.target.checked)} />
                {texts.parts.shareWithEveryone}
              </label>
            )}
          </>
        )}
      </Form>
      {views.data === undefined ? (
        <Unloaded of={views} rows={3} />
      ) : views.data.items.length === 0 ? (
        <p className={css.none}>{texts.parts.noSavedViewsYet}</p>
      ) : (
        <ul className={css.views} aria-label={texts.parts.savedViews}>
          {views.data.items.map((view) => (
            <li key={`${view.owner}/${view.name}`}>
              <button type="button" className={css.open} onClick={() => open(view)}>
                {view.name}
              </button>
              <code title={view.filter}>{view.filter || texts.parts.everythingWord}</code>
              <span className={css.owner}>
                {view.is_shared && <Users size={13} aria-label={texts.parts.shared} />} {view.is_own ? "" : view.owner}
              </span>
              {(view.is_own || mayShare) && (
                <IconButton icon={X} label={texts.parts.deleteName(view.name)} onClick={() => drop.mutate(view)} />
              )}
            </li>
          ))}
        </ul>
      )}
    </Sheet>
  );
}
