import { type RefObject, useEffect } from "react";

/** Open a dialog over the page; when it is taken away, the focus goes back to where it was. */
export function useModal(ref: RefObject<HTMLDialogElement | null>): void {
  useEffect(() => {
    const dialog = ref.current;
    const before = document.activeElement;
    if (dialog && !dialog.open) dialog.showModal();
    // A dialog that is removed together with its contents does not give the focus back by itself.
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, [ref]);
}
