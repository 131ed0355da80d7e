import css from "./CodeBlock.module.css";
import { Copy } from "./Copy";

/** Lines to run, with a button that copies them. */
export function CodeBlock({ code, what }: { code: string; what: string }) {
  return (
    <div className={css.block}>
      <pre tabIndex={0}>{code}</pre>
      <Copy text={code} what={what} />
    </div>
  );
}
