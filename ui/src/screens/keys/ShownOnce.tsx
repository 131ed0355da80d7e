import type { MadeKeyBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { Sheet } from "@/parts/Sheet";
import css from "./Keys.module.css";

/** A new key, to be copied now: only its digest is kept. */
export function ShownOnce({ made, onClose }: { made: MadeKeyBody; onClose: () => void }) {
  return (
    <Sheet title={`The key ${made.name}`} onClose={onClose} footer={<Button onClick={onClose}>Done</Button>}>
      <p>Copy it now: it will not be shown again.</p>
      <p className={css.key}>
        <code>{made.key}</code>
        <Copy text={made.key} what="key" />
      </p>
    </Sheet>
  );
}
