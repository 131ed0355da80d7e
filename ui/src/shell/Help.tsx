import { Sheet } from "@/parts/Sheet";
import { prefer, usePreferences } from "@/preferences";
import css from "./Help.module.css";
import { usePlaces } from "./places";

const KEYS: [string, string][] = [
  ["Ctrl K", "command menu"],
  ["/", "search"],
  ["j  k", "next, previous row"],
  ["o  Enter", "open the row"],
  ["x  X", "select the row, all rows up to it"],
  ["a", "all that match"],
  ["r", "retry"],
  ["c", "cancel"],
  ["y  Y", "copy id, copy link"],
  [".", "pause, resume live changes"],
  ["z", "time zone"],
  ["t", "theme"],
  ["?", "this list"],
];

export function Help({ onClose }: { onClose: () => void }) {
  const { shortcuts } = usePreferences();
  const places = usePlaces();
  return (
    <Sheet title="Keyboard" onClose={onClose}>
      <dl className={css.keys}>
        {[
          ...KEYS,
          ...places.map((place): [string, string] => [`g ${place.key}`, `go to ${place.label.toLowerCase()}`]),
        ].map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <label className={css.switch}>
        <input type="checkbox" checked={shortcuts} onChange={(event) => prefer({ shortcuts: event.target.checked })} />{" "}
        Use single keys as shortcuts
      </label>
    </Sheet>
  );
}
