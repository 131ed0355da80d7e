import { Terminal } from "lucide-react";
import { useState } from "react";
import { PREFIX } from "@/api/place";
import { texts } from "@/texts";
import { Button } from "./Button";
import { Copy } from "./Copy";
import css from "./CopyAs.module.css";
import { Sheet } from "./Sheet";
import type { Snippet } from "./snippets";
import { Tabs } from "./Tabs";

/** The address of this server, as programs elsewhere write it. */
export function serverUrl(): string {
  return window.location.origin + PREFIX;
}

/** A button that shows a thing as a request, to copy. */
export function CopyAs({ title, of }: { title: string; of: () => Snippet[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button icon={Terminal} onClick={() => setOpen(true)}>
        {texts.parts.copyAs}
      </Button>
      {isOpen && <CopySheet title={title} snippets={of()} onClose={() => setOpen(false)} />}
    </>
  );
}

function CopySheet({ title, snippets, onClose }: { title: string; snippets: Snippet[]; onClose: () => void }) {
  const [chosen, setChosen] = useState(snippets[0]?.id ?? "curl");
  const snippet = snippets.find(({ id }) => id === chosen) ?? snippets[0];
  return (
    <Sheet title={title} onClose={onClose}>
      {snippets.length > 1 && (
        <Tabs
          label={texts.parts.form}
          tabs={snippets}
          current={chosen}
          onChange={(id) => setChosen(id as Snippet["id"])}
        />
      )}
      {snippet && (
        <div className={css.snippet}>
          <pre tabIndex={0}>{snippet.text}</pre>
          <Copy text={snippet.text} what={snippet.label} />
        </div>
      )}
    </Sheet>
  );
}
