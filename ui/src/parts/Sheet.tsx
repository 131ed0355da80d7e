import { X } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { texts } from "@/texts";
import { Button, IconButton } from "./Button";
import { useModal } from "./modal";
import css from "./Sheet.module.css";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode;
}

/** A dialog over the page. Escape closes it; a form that was filled in is dropped only after a question. */
export function Sheet({ title, onClose, children, footer }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  const isFilled = useRef(false);
  const [isAsking, setAsking] = useState(false);
  useModal(ref);

  function leave() {
    if (isFilled.current && !isAsking) setAsking(true);
    else onClose();
  }

  return (
    <dialog
      ref={ref}
      className={css.sheet}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        leave();
      }}
      // Browsers let nobody keep a dialog open who presses Escape twice.
      onClose={onClose}
      onInput={(event) => {
        if ((event.target as HTMLElement).closest("form[data-form]")) isFilled.current = true;
      }}
    >
      <header className={css.head}>
        <h2>{title}</h2>
        <IconButton icon={X} label={texts.common.close} onClick={leave} />
      </header>
      <div className={css.body}>{children}</div>
      {isAsking ? (
        <footer className={css.foot} role="alert">
          <span>{texts.parts.discardWhatYouEntered}</span>
          <Button onClick={() => setAsking(false)}>{texts.parts.keepEditing}</Button>
          <Button tone="danger" onClick={onClose}>
            {texts.parts.discard}
          </Button>
        </footer>
      ) : (
        footer && <footer className={css.foot}>{footer}</footer>
      )}
    </dialog>
  );
}
