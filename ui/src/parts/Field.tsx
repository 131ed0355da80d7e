import { type ReactNode, useContext, useId } from "react";
import css from "./Field.module.css";
import { Invalid } from "./invalid";

interface Props {
  label: string;
  hint?: ReactNode;
  problem?: string | null | undefined;
  children: (props: {
    id: string;
    "aria-describedby": string | undefined;
    "aria-invalid": boolean | undefined;
  }) => ReactNode;
}

/** A labelled input, with what is wrong with it beneath it. */
export function Field({ label, hint, problem, children }: Props) {
  const id = useId();
  const notes = `${id}-notes`;
  const wrong = useContext(Invalid)[id] ?? problem;
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        "aria-describedby": hint || wrong ? notes : undefined,
        "aria-invalid": wrong ? true : undefined,
      })}
      {(hint || wrong) && (
        <p id={notes} className={wrong ? css.problem : css.hint}>
          {wrong ?? hint}
        </p>
      )}
    </div>
  );
}
