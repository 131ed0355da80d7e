import css from "./Tags.module.css";

export function Tags({ of }: { of: readonly string[] }) {
  return (
    <span className={css.tags}>
      {of.map((tag) => (
        <span key={tag} className={css.tag}>
          {tag}
        </span>
      ))}
    </span>
  );
}
