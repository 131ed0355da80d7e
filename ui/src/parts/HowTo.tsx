import { Copy } from "./Copy";
import css from "./HowTo.module.css";
import { Panel } from "./Panel";

/** How something is used: a sentence, and lines to copy. */
export function HowTo({ title, words, code }: { title: string; words: string; code: string }) {
  return (
    <Panel title={title} aside={<Copy text={code} what={title} />}>
      <div className={css.how}>
        <p>{words}</p>
        <pre tabIndex={0}>{code}</pre>
      </div>
    </Panel>
  );
}
