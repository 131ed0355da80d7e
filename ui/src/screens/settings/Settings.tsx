import { useQuery } from "@tanstack/react-query";
import { call } from "@/api/client";
import { useMe } from "@/api/me";
import { every } from "@/api/queries";
import { Mark, type Tone, word } from "@/parts/Mark";
import { Facts, Panel, ScreenHead } from "@/parts/Panel";
import { Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { Tags } from "@/parts/Tags";
import { prefer, type Theme, usePreferences, type Zone } from "@/preferences";
import { Config } from "./Config";
import { partOf, wordsOf } from "./health";
import css from "./Settings.module.css";

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
      <ScreenHead title="Settings" />
      <Panel title="Preferences">
        <div className={css.choices}>
          <label>
            Theme
            <select value={theme} onChange={(event) => prefer({ theme: event.target.value as Theme })}>
              <option value="system">System</option>
              <option value="light">Light</option>
              <option value="dark">Dark</option>
            </select>
          </label>
          <label>
            Times
            <select value={zone} onChange={(event) => prefer({ zone: event.target.value as Zone })}>
              <option value="local">In my time zone</option>
              <option value="utc">In UTC</option>
            </select>
          </label>
          <label>
            <input
              type="checkbox"
              checked={shortcuts}
              onChange={(event) => prefer({ shortcuts: event.target.checked })}
            />
            Single keys as shortcuts
          </label>
        </div>
      </Panel>
      {me && (
        <Panel title="My key">
          <Facts
            of={[
              ["Name", me.name],
              ["Tenant", me.tenant === "*" ? "all tenants" : me.tenant],
              ["Role", me.role],
              ["Rate limit", me.rate_limit ?? "none"],
              ["Permissions", <Tags key="may" of={me.permissions} />, "wide"],
            ]}
          />
        </Panel>
      )}
      <Config />
      <Panel title={health.data ? `The server is ${health.data.status.toLowerCase()}` : "The server"} flush>
        {health.data === undefined ? (
          <Unloaded of={health} rows={3} />
        ) : (
          <Table head={["Part", "State", "Details"]}>
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
