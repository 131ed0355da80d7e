import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { texts } from "@/texts";
import css from "./Form.module.css";
import { Invalid } from "./invalid";
import { placed } from "./placing";

interface Props {
  /** What went wrong when it was sent. */
  error: unknown;
  /** What went wrong with a preview of it, while it is filled in: shown as well, but the focus stays where it is. */
  previewError?: unknown;
  /** The names, in the server's words, of the fields that are shown. */
  fields: readonly string[];
  onSubmit: () => void;
  /** For a button outside of it. */
  id?: string;
  children: (at: (field: string) => string | null) => ReactNode;
}

/** A form that keeps no problem to itself: each is beneath its field, and what belongs to no field is on top. */
export function Form({ error, previewError, fields, onSubmit, id, children }: Props) {
  const form = useRef<HTMLFormElement>(null);
  const [invalid, setInvalid] = useState<Readonly<Record<string, string>>>({});
  const { at, rest } = placed(error ?? previewError, fields);
  useEffect(() => {
    if (error || Object.keys(invalid).length > 0) show(form.current);
  }, [error, invalid]);

  function submit(event: FormEvent<HTMLFormElement>) {
    event.preventDefault();
    const wrong = inputsOf(event.currentTarget).filter((input) => !input.validity.valid);
    const open = [...event.currentTarget.querySelectorAll("[data-select][data-empty]")];
    setInvalid(
      Object.fromEntries([
        ...wrong.map((input) => [input.id, input.validationMessage]),
        ...open.map((select) => [select.id, texts.parts.chooseOne]),
      ]),
    );
    if (wrong.length + open.length === 0) onSubmit();
  }

  return (
    <form
      ref={form}
      id={id}
      className={css.form}
      noValidate
      data-form
      onSubmit={submit}
      onInput={(event) => {
        const { id: changed } = event.target as HTMLElement;
        if (changed in invalid)
          setInvalid(Object.fromEntries(Object.entries(invalid).filter(([one]) => one !== changed)));
      }}
    >
      {rest !== null && <Refusal>{rest}</Refusal>}
      <Invalid value={invalid}>{children(at)}</Invalid>
    </form>
  );
}

/** What went wrong, above what it went wrong with. */
export function Refusal({ children }: { children: ReactNode }) {
  return (
    <p role="alert" className={css.refusal}>
      {children}
    </p>
  );
}

type Input = HTMLInputElement | HTMLTextAreaElement;

function inputsOf(form: HTMLFormElement): Input[] {
  return [...form.elements].filter((one): one is Input => one.matches("input, textarea"));
}

/** Bring the first problem into view; a field with one also gets the focus. */
function show(form: HTMLFormElement | null): void {
  const first = form?.querySelector<HTMLElement>('[role="alert"], [aria-invalid="true"]');
  if (first?.matches("input, textarea, [data-select]")) first.focus();
  first?.scrollIntoView({ block: "center" });
}
