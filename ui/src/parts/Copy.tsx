import { Check, Copy as CopyIcon } from "lucide-react";
import { useState } from "react";
import { texts } from "@/texts";
import { IconButton } from "./Button";
import { say } from "./toasts";

/** Puts a text on the clipboard; on plain HTTP, where browsers have none, by the old way. */
export async function copy(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const isDone = document.execCommand("copy");
    area.remove();
    return isDone;
  }
}

/** A button that copies. */
export function Copy({ text, what }: { text: string; what: string }) {
  const [isDone, setDone] = useState(false);
  async function act() {
    if (await copy(text)) {
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } else {
      say(texts.parts.couldNotCopyWhat(what), "problem");
    }
  }
  return (
    <IconButton
      icon={isDone ? Check : CopyIcon}
      label={isDone ? texts.parts.copied : texts.parts.copyWhat(what)}
      onClick={() => void act()}
    />
  );
}
