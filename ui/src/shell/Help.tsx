import { PREFIX } from "@/api/place";
import { Sheet } from "@/parts/Sheet";
import { prefer, usePreferences } from "@/preferences";
import { texts } from "@/texts";
import css from "./Help.module.css";
import { usePlaces } from "./places";

type Key = [key: string, meaning: string];

/** The keys, by where they work. */
const GROUPS: [where: string, keys: Key[]][] = [
  [
    texts.shell.everywhere,
    [
      [texts.shell.ctrlK, texts.shell.commandMenu],
      ["/", "search"],
      ["Y", texts.shell.copyTheLinkOfThePage],
      [".", texts.shell.pauseResumeLiveChanges],
      ["z", texts.shell.timeZone],
      ["t", "theme"],
      ["?", texts.shell.thisList],
    ],
  ],
  [
    texts.shell.inEveryList,
    [
      ["j  k", texts.shell.nextPreviousRow],
      [texts.shell.oEnter, texts.shell.openTheRow],
      ["y", texts.shell.copyItsId],
    ],
  ],
  [
    texts.shell.inTheListOfTasks,
    [
      ["x  X", texts.shell.selectTheRowAllRows],
      ["a", texts.shell.allThatMatch],
      ["r", texts.shell.selectedTasks("retry")],
      ["c", texts.shell.selectedTasks("cancel")],
    ],
  ],
  [
    texts.shell.onThePageOfOne,
    [
      ["y", texts.shell.copyItsId],
      ["[  ]", texts.shell.previousNextItemOfThe],
      ["r", texts.shell.taskOrJob("retry")],
      ["c", texts.shell.taskOrJob("cancel")],
    ],
  ],
];

export function Help({ onClose }: { onClose: () => void }) {
  const { shortcuts } = usePreferences();
  const places = usePlaces().map((place): Key => [`g ${place.key}`, place.label]);
  return (
    <Sheet title={texts.shell.keyboard} onClose={onClose}>
      {[...GROUPS, [texts.shell.goToAPage, places] as const].map(([where, keys]) => (
        <section key={where} aria-label={where}>
          <h3 className={css.where}>{where}</h3>
          <dl className={css.keys}>
            {keys.map(([key, meaning]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
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
