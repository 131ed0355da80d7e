/** What opens over a page or over a dialog. */

/** Where it is put: an open dialog is above everything that is not inside of it. */
export function layer(element: HTMLElement): HTMLElement {
  return element.closest("dialog") ?? document.body;
}

/** Tell the form around a part that its value has changed, as inputs do by themselves. */
export function changed(element: HTMLElement | null): void {
  element?.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Let Escape close what is open, and not the dialog beneath it as well. */
export function closes(event: { preventDefault: () => void }): boolean {
  event.preventDefault();
  return true;
}
