import { Columns3 } from "lucide-react";
import { useState } from "react";
import { type Density, prefer, useHidden, usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { Button } from "./Button";
import css from "./Columns.module.css";
import { Sheet } from "./Sheet";

/** The columns of a list that are never left out. */
const KEPT = 2;
const DENSITIES: [Density, string][] = [
  ["regular", texts.parts.regular],
  ["compact", texts.parts.compact],
];

/** Lets people choose the columns of a list, and how close its rows are; this browser keeps both. */
export function Columns({
  label,
  columns,
}: {
  label: string;
  columns: readonly { name: string; isExtra?: boolean }[];
}) {
  const { hidden, density } = usePreferences();
  const [isOpen, setOpen] = useState(false);
  const left = useHidden(label, columns);
  return (
    <>
      <Button icon={Columns3} onClick={() => setOpen(true)}>
        {texts.parts.columns}
      </Button>
      {isOpen && (
        <Sheet title={texts.parts.columns} onClose={() => setOpen(false)}>
          <fieldset className={css.choice}>
            <legend>{texts.parts.shown}</legend>
            {columns.slice(KEPT).map(({ name }) => (
              <label key={name}>
                <input
                  type="checkbox"
                  checked={!left.includes(name)}
                  onChange={(event) => {
                    const others = left.filter((one) => one !== name);
                    prefer({ hidden: { ...hidden, [label]: event.target.checked ? others : [...others, name] } });
                  }}
                />
                {name}
              </label>
            ))}
          </fieldset>
          <fieldset className={css.choice}>
            <legend>{texts.parts.density}</legend>
            {DENSITIES.map(([value, word]) => (
              <label key={value}>
                <input
                  type="radio"
                  name="density"
                  checked={density === value}
                  onChange={() => prefer({ density: value })}
                />
                {word}
              </label>
            ))}
          </fieldset>
        </Sheet>
      )}
    </>
  );
}
