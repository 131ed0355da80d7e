import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { useMay } from "@/api/me";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Panel } from "@/parts/Panel";
import { Sheet } from "@/parts/Sheet";
import { Unloaded } from "@/parts/States";
import { Table } from "@/parts/Table";
import { TextWith } from "@/parts/TextWith";
import { Time } from "@/parts/Time";
import { texts } from "@/texts";
import css from "./Settings.module.css";

/** Settings that the whole fleet goes by, and that can be changed while it runs. */
export function Config() {
  const mayRead = useMay("config:read");
  const mayWrite = useMay("config:write");
  const [isOpen, setOpen] = useState(false);
  const config = useQuery({
    queryKey: ["config"],
    queryFn: ({ signal }) => call("GET /api/v1/config", { signal }),
    enabled: mayRead,
  });
  if (!mayRead) return null;
  const found = config.data;
  const settings = Object.entries(found?.settings ?? {}).sort();
  return (
    <Panel
      title={texts.settings.runtimeConfiguration}
      aside={mayWrite && found && <Button onClick={() => setOpen(true)}>{texts.common.change}</Button>}
      flush
    >
      {config.data === undefined ? (
        <Unloaded of={config} rows={2} />
      ) : settings.length === 0 ? (
        <p className={css.note}>{texts.settings.noRuntimeSettingsEachProcess}</p>
      ) : (
        <Table head={[texts.settings.setting, texts.common.value]}>
          {settings.map(([key, value]) => (
            <tr key={key}>
              <th scope="row">
                <code>{key}</code>
              </th>
              <td>
                <code>{JSON.stringify(value)}</code>
              </td>
            </tr>
          ))}
        </Table>
      )}
      {found && found.version > 0 && (
        <p className={css.note}>
          <TextWith
            text={texts.settings.versionBy(found.version, found.changed_by ?? texts.settings.somebody)}
            values={{ time: <Time at={found.changed_at} /> }}
          />
          {found.reason && `: ${found.reason}`}
        </p>
      )}
      {isOpen && found && <ConfigSheet version={found.version} onClose={() => setOpen(false)} />}
    </Panel>
  );
}

function ConfigSheet({ version, onClose }: { version: number; onClose: () => void }) {
  const [key, setKey] = useState("");
  const [value, setValue] = useState("");
  const [reason, setReason] = useState("");
  const change = useAct(
    () =>
      call("PATCH /api/v1/config", {
        body: {
          version,
          ...(value.trim() ? { set: { [key.trim()]: parsed(value) } } : { unset: [key.trim()] }),
          ...(reason ? { reason } : {}),
        },
      }),
    {
      done: (now) => texts.settings.versionIsActive(now.version),
      changes: [["config"]],
      afterwards: onClose,
      inDialog: true,
    },
  );
  const setting = [`set.${key.trim()}`, key.trim(), "set", "unset"];
  return (
    <Sheet title={texts.settings.editConfiguration} onClose={onClose}>
      <Form error={change.error} fields={[...setting, "reason"]} onSubmit={() => change.mutate()}>
        {(at) => (
          <>
            <Field
              label={texts.settings.setting}
              hint={texts.settings.suchAsWorkerConcurrencyOr}
              problem={setting.map(at).find(Boolean)}
            >
              {(props) => <input {...props} required value={key} onChange={(event) => setKey(event.target.value)} />}
            </Field>
            <Field label={texts.common.value} hint={texts.settings.jsonOrTextEmptyRemoves}>
              {(props) => <input {...props} value={value} onChange={(event) => setValue(event.target.value)} />}
            </Field>
            <Field label={texts.common.reason} hint={texts.common.forTheAuditLog} problem={at("reason")}>
              {(props) => (
                <input {...props} value={reason} maxLength={500} onChange={(event) => setReason(event.target.value)} />
              )}
            </Field>
            <Button type="submit" tone="primary" busy={change.isPending}>
              {key.trim() && !value.trim() ? texts.common.remove : texts.common.save}
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text.trim();
  }
}
