import { BellOff, BellRing } from "lucide-react";
import { useState } from "react";
import type { AlertBody } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { useShortcut } from "@/shell/shortcuts";
import { texts } from "@/texts";
import { useAlertActs } from "./acts";

const FOR = [
  { value: "1h", label: texts.alerts.n1Hour },
  { value: "4h", label: texts.alerts.n4Hours },
  { value: "24h", label: texts.alerts.n1Day },
  { value: "7d", label: texts.alerts.n1Week },
];

/** Mutes an alert for a while, or ends that. */
export function MuteButton({ alert, isPage = false }: { alert: AlertBody; isPage?: boolean }) {
  const { change } = useAlertActs(alert);
  const [isOpen, setOpen] = useState(false);
  const [until, setUntil] = useState("1h");
  useShortcut("mute", () => {
    if (!isPage) return;
    if (alert.muted_until) change.mutate({ muted_until: null });
    else setOpen(true);
  });
  if (alert.muted_until) {
    return (
      <Button icon={BellRing} busy={change.isPending} onClick={() => change.mutate({ muted_until: null })}>
        {texts.alerts.unmute}
      </Button>
    );
  }
  return (
    <>
      <Button icon={BellOff} onClick={() => setOpen(true)}>
        {texts.alerts.mute}
      </Button>
      {isOpen && (
        <Sheet
          title={texts.alerts.muteName(alert.name)}
          onClose={() => setOpen(false)}
          footer={
            <Button type="submit" form="mute" tone="primary" busy={change.isPending}>
              {texts.alerts.mute}
            </Button>
          }
        >
          <Form
            id="mute"
            error={null}
            fields={[]}
            onSubmit={() => {
              change.mutate({ muted_until: until });
              setOpen(false);
            }}
          >
            {() => (
              <Field label={texts.alerts.muteFor} hint={texts.alerts.itIsEvaluatedMeanwhileIf}>
                {(props) => <Select {...props} value={until} choices={FOR} onChange={setUntil} />}
              </Field>
            )}
          </Form>
        </Sheet>
      )}
    </>
  );
}
