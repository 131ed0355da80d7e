import { Combobox, ComboboxItem, ComboboxPopover, ComboboxProvider } from "@ariakit/react/combobox";
import { useRef, useState } from "react";
import { texts } from "@/texts";
import { changed, closes, layer } from "./popup";
import css from "./Select.module.css";

/** How many suggestions are listed: more than these nobody reads. */
const MOST = 50;

interface Props {
  value: string;
  suggestions: readonly string[];
  onChange: (value: string) => void;
  required?: boolean;
  id?: string;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: boolean | undefined;
}

/** A text with suggestions that contain what was typed; any other text is allowed, too. */
export function Suggest({ value, suggestions, onChange, required, id, ...named }: Props) {
  const input = useRef<HTMLInputElement>(null);
  const [isOpen, setOpen] = useState(false);
  const [isTyped, setTyped] = useState(false);
  const word = isTyped ? value.trim().toLowerCase() : "";
  const found = suggestions.filter((one) => one !== value && one.toLowerCase().includes(word)).slice(0, MOST);
  return (
    <ComboboxProvider
      value={value}
      setValue={(next) => {
        if (next !== value) onChange(next);
      }}
      open={isOpen && found.length > 0}
      setOpen={(next) => {
        setOpen(next);
        if (!next) setTyped(false);
      }}
    >
      <Combobox
        {...named}
        ref={input}
        {...(id && { id })}
        required={required}
        spellCheck={false}
        showOnClick
        onInput={() => setTyped(true)}
        onBlur={() => {
          if (found.length === 0) setOpen(false);
        }}
      />
      <ComboboxPopover
        aria-label={texts.parts.suggestions}
        className={`${css.popup} ${css.matches}`}
        gutter={4}
        sameWidth
        fitViewport
        fixed
        portal
        portalElement={layer}
        preserveTabOrder={false}
        hideOnEscape={closes}
        unmountOnHide
      >
        {found.map((one) => (
          <ComboboxItem key={one} value={one} className={css.item} onClick={() => changed(input.current)} />
        ))}
      </ComboboxPopover>
    </ComboboxProvider>
  );
}
