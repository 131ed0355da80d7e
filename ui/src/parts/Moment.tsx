import { Popover, PopoverDisclosure, PopoverProvider } from "@ariakit/react/popover";
import { CalendarDays } from "lucide-react";
import { useRef, useState } from "react";
import { usePreferences } from "@/preferences";
import { texts } from "@/texts";
import { isDay } from "./days";
import css from "./Moment.module.css";
import { Month } from "./Month";
import { changed, closes, layer } from "./popup";
import { fromTyped, typed } from "./time";

interface Props {
  /** What was typed, such as "2026-11-18 14:02", in the zone that times are shown in. */
  value: string;
  onChange: (value: string) => void;
  id?: string;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: boolean | undefined;
}

/** A day and a time: typed, or the day taken from a calendar. */
export function Moment({ value, onChange, ...named }: Props) {
  const { zone } = usePreferences();
  const input = useRef<HTMLInputElement>(null);
  const popup = useRef<HTMLDivElement>(null);
  const [isOpen, setOpen] = useState(false);
  const now = typed(Date.now(), zone);
  const day = isDay(value.slice(0, 10)) ? value.slice(0, 10) : now.slice(0, 10);

  return (
    <span className={css.moment}>
      <input
        {...named}
        ref={(element) => {
          input.current = element;
          element?.setCustomValidity(fromTyped(value, zone) ? "" : texts.parts.enterATime(now));
        }}
        value={value}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => onChange(event.target.value)}
      />
      <PopoverProvider open={isOpen} setOpen={setOpen} placement="bottom-end">
        <PopoverDisclosure className={css.open} aria-label={texts.parts.chooseADay}>
          <CalendarDays size={16} aria-hidden="true" />
        </PopoverDisclosure>
        <Popover
          ref={popup}
          className={css.popup}
          aria-label={texts.parts.calendar}
          gutter={6}
          fitViewport
          fixed
          portal
          portalElement={layer}
          preserveTabOrder={false}
          hideOnEscape={closes}
          unmountOnHide
          autoFocusOnShow={() => {
            popup.current?.querySelector<HTMLElement>('[data-day][tabindex="0"]')?.focus();
            return false;
          }}
        >
          <Month
            day={day}
            today={now.slice(0, 10)}
            onDay={(chosen) => {
              onChange(`${chosen} ${value.slice(11) || "00:00"}`);
              setOpen(false);
              changed(input.current);
            }}
          />
        </Popover>
      </PopoverProvider>
    </span>
  );
}
