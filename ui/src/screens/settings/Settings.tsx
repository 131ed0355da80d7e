import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { useMe } from "@/api/me";
import { every } from "@/api/queries";
import { Mark, type Tone, word } from "@/parts/Mark";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { type Choice, Select } from "@/parts/Select";
import { Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Tags } from "@/parts/Tags";
import { prefer, type Theme, usePreferences, type Zone } from "@/preferences";
import { texts } from "@/texts";
import { Config } from "./Config";
import { partOf, wordsOf } from "./health";
import css from "./Settings.module.css";

const THEMES: readonly Choice<Theme>[] = [
  { value: "system", label: texts.settings.system },
  { value: "light", label: texts.settings.light },
  { value: "dark", label: texts.settings.dark },
];
const ZONES: readonly Choice<Zone>[] = [
  { value: "local", label: texts.settings.inMyTimeZone },
  { value: "utc", label: texts.settings.inUtc },
];

const TONES: Record<string, Tone> = { UP: "good", DEGRADED: "warn", DOWN: "bad" };

/** Who I am here, what I prefer, and how the server is. */
export function Settings() {
  const me = useMe();
  const { theme, zone, shortcuts } = usePreferences();
  const health = useQuery({
    queryKey: ["health"],
    queryFn: ({ signal }) => call("GET /actuator/health", { signal }),
    refetchInterval: every(10_000),
  });
  return (
    <div className={css.screen}>
      <ScreenHead title={texts.settings.settings} />
      <Panel title={texts.settings.preferences}>
        <div className={css.choices}>
          <label>
            {texts.settings.theme}
            <Select value={theme} choices={THEMES} onChange={(chosen) => prefer({ theme: chosen })} />
          </label>
          <label>
            {texts.settings.times}
            <Select value={zone} choices={ZONES} onChange={(chosen) => prefer({ zone: chosen })} />
          </label>
          <label>
            <input
              type="checkbox"
              checked={shortcuts}
              onChange={(event) => prefer({ shortcuts: event.target.checked })}
            />
            {texts.settings.singleKeys}
          </label>
        </div>
      </Panel>
      {me && (
        <Panel title={texts.settings.myKey}>
          <Facts
            of={[
              [texts.common.name, me.name],
              [texts.common.tenant, me.tenant === "*" ? texts.settings.allTenants : me.tenant],
              [texts.settings.role, me.role],
              [texts.settings.rateLimit, me.rate_limit ?? "none"],
              [texts.settings.permissions, <Tags key="may" of={me.permissions} />, "wide"],
            ]}
          />
        </Panel>
      )}
      <Config />
      <Panel
        title={
          health.data ? texts.settings.theServerIsValue(health.data.status.toLowerCase()) : texts.settings.theServer
        }
        flush
      >
        {health.data === undefined ? (
          <Unloaded of={health} rows={3} />
        ) : (
          <Table head={[texts.settings.component, texts.common.state, texts.settings.details]}>
            {Object.entries(health.data.components).map(([name, component]) => (
              <tr key={name}>
                <th scope="row">{partOf(name)}</th>
                <td>
                  <Mark tone={TONES[component.status] ?? "bad"}>{word(component.status.toLowerCase())}</Mark>
                </td>
                <td className={css.details}>{wordsOf(name, component.details)}</td>
              </tr>
            ))}
          </Table>
        )}
      </Panel>
    </div>
  );
}
