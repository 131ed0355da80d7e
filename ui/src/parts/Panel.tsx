import { type ReactNode, useEffect, useId } from "react";
import { Crumbs } from "./Crumbs";
import css from "./Panel.module.css";

interface Props {
  title?: ReactNode;
  aside?: ReactNode;
  children: ReactNode;
  flush?: boolean;
  label?: string | undefined;
}

/** A sheet of content with a heading, which is its name also where it is a link. */
export function Panel({ title, aside, children, flush = false, label }: Props) {
  const id = useId();
  const name = label ?? (typeof title === "string" ? title : undefined);
  return (
    <section className={css.panel} aria-label={name} aria-labelledby={name === undefined && title ? id : undefined}>
      {(title || aside) && (
        <header className={css.head}>
          <h2 id={id}>{title}</h2>
          {aside && <div className={css.aside}>{aside}</div>}
        </header>
      )}
      <div className={flush ? css.flush : css.body}>{children}</div>
    </section>
  );
}

/** A name and its value; a wide one has a line of its own. */
export type Fact = [name: string, value: ReactNode, width?: "wide"];

/** Names and values, side by side. */
export function Facts({ of }: { of: Fact[] }) {
  return (
    <dl className={css.facts}>
      {of.map(([name, value, width]) => (
        <div key={name} data-width={width}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

interface ScreenHeadProps {
  title: ReactNode;
  name?: string;
  /** What it is called among the breadcrumbs; its name unless given. */
  crumb?: string;
  /** Links to what it belongs to, if that is more than its list. */
  path?: readonly ReactNode[] | undefined;
  children?: ReactNode;
}

/** The head of a screen: what it is, and what can be done. Its name is also the window's. */
export function ScreenHead({ title, name, crumb, path, children }: ScreenHeadProps) {
  const words = name ?? (typeof title === "string" ? title : "");
  useEffect(() => {
    if (words) document.title = `${words} · Drumline`;
  }, [words]);
  return (
    <header className={css.screenHead}>
      <Crumbs name={crumb ?? words} path={path} />
      <h1>{title}</h1>
      {children && <div className={css.aside}>{children}</div>}
    </header>
  );
}
