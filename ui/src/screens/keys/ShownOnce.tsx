import type { MadeKeyBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { Sheet } from "@/parts/Sheet";
import { texts } from "@/texts";
import css from "./Keys.module.css";

/** A new key, to be copied now: only its digest is kept. */
export function ShownOnce({ made, onClose }: { made: MadeKeyBody; onClose: () => void }) {
  return (
    <Sheet
      title={texts.keys.theKeyName(made.name)}
      onClose={onClose}
      footer={<Button onClick={onClose}>{texts.common.done}</Button>}
    >
      <p>{texts.keys.copyItNowItWill}</p>
      <p className={css.key}>
        <code>{made.key}</code>
        <Copy text={made.key} what="key" />
      </p>
    </Sheet>
  );
}
