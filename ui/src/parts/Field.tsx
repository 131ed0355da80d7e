import { type ReactNode, useId } from "react";
import css from "./Field.module.css";

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
  return (
    <div className={css.field}>
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        "aria-describedby": hint || problem ? notes : undefined,
        "aria-invalid": problem ? true : undefined,
      })}
      {(hint || problem) && (
        <p id={notes} className={problem ? css.problem : css.hint}>
          {problem ?? hint}
        </p>
      )}
    </div>
  );
}
