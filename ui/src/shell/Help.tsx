import { PREFIX } from "@/api/place";
import { Sheet } from "@/parts/Sheet";
import { prefer, usePreferences } from "@/preferences";
import { texts } from "@/texts";
import css from "./Help.module.css";
import { usePlaces } from "./places";

const KEYS: [string, string][] = [
  [texts.shell.ctrlK, texts.shell.commandMenu],
  ["/", "search"],
  ["j  k", texts.shell.nextPreviousRow],
  [texts.shell.oEnter, texts.shell.openTheRow],
  ["x  X", texts.shell.selectTheRowAllRows],
  ["a", texts.shell.allThatMatch],
  ["r", "retry"],
  ["c", "cancel"],
  ["y  Y", texts.shell.copyIdCopyLink],
  ["[  ]", texts.shell.previousNextItemOfThe],
  [".", texts.shell.pauseResumeLiveChanges],
  ["z", texts.shell.timeZone],
  ["t", "theme"],
  ["?", texts.shell.thisList],
];

export function Help({ onClose }: { onClose: () => void }) {
  const { shortcuts } = usePreferences();
  const places = usePlaces();
  return (
    <Sheet title={texts.shell.keyboard} onClose={onClose}>
      <dl className={css.keys}>
        {[
          ...KEYS,
          ...places.map((place): [string, string] => [`g ${place.key}`, texts.shell.goTo(place.label.toLowerCase())]),
        ].map(([key, meaning]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{meaning}</dd>
          </div>
        ))}
      </dl>
      <p>
        <a href={`${PREFIX}/docs/`}>{texts.shell.documentation}</a>
      </p>
      <label className={css.switch}>
        <input type="checkbox" checked={shortcuts} onChange={(event) => prefer({ shortcuts: event.target.checked })} />{" "}
        {texts.shell.useSingleKeys}
      </label>
    </Sheet>
  );
}
