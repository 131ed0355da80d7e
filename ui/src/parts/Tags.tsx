import css from "./Tags.module.css";

/** Words that things are found by; on one line, they are cut where it ends. */
export function Tags({ of, isLine = false }: { of: readonly string[]; isLine?: boolean }) {
  return (
    <span className={css.tags} data-line={isLine || undefined} title={isLine ? of.join(", ") : undefined}>
      {of.map((tag) => (
        <span key={tag} className={css.tag}>
          {tag}
        </span>
      ))}
    </span>
  );
}
