import type { ReactNode } from "react";
import { texts } from "@/texts";
import { problemText } from "./act";
import { Button } from "./Button";
import { Refusal } from "./Form";
import { Sheet } from "./Sheet";

interface Props {
  title: string;
  act: string;
  busy: boolean;
  /** Why it could not be done. */
  error?: unknown;
  onAct: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** Asks before something is done that cannot be taken back. */
export function Confirm({ title, act, busy, error, onAct, onClose, children }: Props) {
  return (
    <Sheet
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button tone="danger" busy={busy} onClick={onAct}>
            {act}
          </Button>
        </>
      }
    >
      {error != null && <Refusal>{problemText(error)}</Refusal>}
      <p>{children}</p>
    </Sheet>
  );
}
