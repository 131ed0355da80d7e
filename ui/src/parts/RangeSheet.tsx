import { useState } from "react";
import { usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { Button } from "./Button";
import { Field } from "./Field";
import { Form } from "./Form";
import { Moment } from "./Moment";
import { type Range, written } from "./range";
import { Sheet } from "./Sheet";
import { fromTyped, localZone, typed } from "./time";

const DAY_MS = 86_400_000;

interface Props {
  label: string;
  range: Range | null;
  onChange: (range: Range) => void;
  onClose: () => void;
}

/** The two ends of a time range, typed or taken from a calendar. */
export function RangeSheet({ label, range, onChange, onClose }: Props) {
  const { zone } = usePreferences();
  const [now] = useState(() => Date.now());
  const [start, setStart] = useState(() => typed(range ? Date.parse(range.from) : now - DAY_MS, zone));
  const [end, setEnd] = useState(() => typed(range ? Date.parse(range.until) : now, zone));
  const from = fromTyped(start, zone);
  const until = fromTyped(end, zone);
  const isBackwards = from !== null && until !== null && from >= until;
  const times = zone === "utc" ? texts.shell.utc : localZone();
  return (
    <Sheet
      title={texts.parts.labelBetween(label)}
      onClose={onClose}
      footer={
        <Button type="submit" form="range" tone="primary" disabled={isBackwards}>
          {texts.parts.apply}
        </Button>
      }
    >
      <Form
        id="range"
        error={null}
        fields={[]}
        onSubmit={() => {
          if (from && until) onChange({ from: written(from), until: written(until) });
          onClose();
        }}
      >
        {() => (
          <>
            <Field label={texts.common.from} hint={times} problem={from ? null : texts.schedule.enterADateAndTime}>
              {(props) => <Moment {...props} value={start} onChange={setStart} />}
            </Field>
            <Field
              label={texts.common.to}
              hint={times}
              problem={isBackwards ? texts.parts.mustBeLater : until ? null : texts.schedule.enterADateAndTime}
            >
              {(props) => <Moment {...props} value={end} onChange={setEnd} />}
            </Field>
          </>
        )}
      </Form>
    </Sheet>
  );
}
