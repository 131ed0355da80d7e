import { X } from "lucide-react";
import { type ReactNode, useRef } from "react";
import { IconButton } from "./Button";
import { useModal } from "./modal";
import css from "./Sheet.module.css";

interface Props {
  title: string;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode;
}

/** A dialog over the page; Escape closes it. */
export function Sheet({ title, onClose, children, footer }: Props) {
  const ref = useRef<HTMLDialogElement>(null);
  useModal(ref);
  return (
    <dialog
      ref={ref}
      className={css.sheet}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header className={css.head}>
        <h2>{title}</h2>
        <IconButton icon={X} label="Close" onClick={onClose} />
      </header>
      <div className={css.body}>{children}</div>
      {footer && <footer className={css.foot}>{footer}</footer>}
    </dialog>
  );
}
