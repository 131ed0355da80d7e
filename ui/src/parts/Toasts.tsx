import { CircleCheck, CircleX, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { texts } from "@/texts";
import { IconButton } from "./Button";
import css from "./Toasts.module.css";
import { currentToasts, dismiss, onToasts } from "./toasts";

export function Toasts() {
  const toasts = useSyncExternalStore(onToasts, currentToasts);
  return (
    <div className={css.toasts} role="status" aria-live="polite">
      {toasts.map((toast) => (
        <div key={toast.id} className={css.toast} data-tone={toast.tone}>
          {toast.tone === "done" ? (
            <CircleCheck size={16} aria-hidden="true" />
          ) : (
            <CircleX size={16} aria-hidden="true" />
          )}
          <span>{toast.text}</span>
          <IconButton icon={X} label={texts.parts.dismiss} onClick={() => dismiss(toast.id)} />
        </div>
      ))}
    </div>
  );
}
