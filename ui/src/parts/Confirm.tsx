import type { ReactNode } from "react";
import { Button } from "./Button";
import { Sheet } from "./Sheet";

interface Props {
  title: string;
  act: string;
  busy: boolean;
  onAct: () => void;
  onClose: () => void;
  children: ReactNode;
}

/** Asks before something is done that cannot be taken back. */
export function Confirm({ title, act, busy, onAct, onClose, children }: Props) {
  return (
    <Sheet
      title={title}
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Leave it</Button>
          <Button tone="danger" busy={busy} onClick={onAct}>
            {act}
          </Button>
        </>
      }
    >
      <p>{children}</p>
    </Sheet>
  );
}
