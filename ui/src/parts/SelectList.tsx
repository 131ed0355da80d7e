import { SelectItem, SelectPopover, useSelectStore } from "@ariakit/react/select";
import { Check } from "lucide-react";
import { type RefObject, useLayoutEffect, useState } from "react";
import { closes, layer } from "./popup";
import type { Choice } from "./Select";
import css from "./Select.module.css";

interface Props {
  id: string;
  trigger: RefObject<HTMLButtonElement | null>;
  value: string;
  choices: readonly Choice[];
  isOpen: boolean;
  onOpen: (isOpen: boolean) => void;
  onChoose: (value: string) => void;
}

/** The list of a select. It is loaded when a select is first used: no page needs it to be shown. */
export function SelectList({ id, trigger, value, choices, isOpen, onOpen, onChoose }: Props) {
  const [isAnchored, setAnchored] = useState(false);
  const store = useSelectStore({ value, setValue: onChoose, open: isOpen && isAnchored, setOpen: onOpen });
  useLayoutEffect(() => {
    store.setDisclosureElement(trigger.current);
    store.setAnchorElement(trigger.current);
    setAnchored(true);
  }, [store, trigger]);
  return (
    <SelectPopover
      id={id}
      store={store}
      aria-labelledby={trigger.current?.id}
      className={css.popup}
      gutter={4}
      sameWidth
      fitViewport
      fixed
      portal
      portalElement={() => layer(trigger.current ?? document.body)}
      preserveTabOrder={false}
      hideOnEscape={closes}
      unmountOnHide
      onKeyDown={(event) => {
        // The next element is the one after the trigger, wherever the list is in the document.
        if (event.key === "Tab") trigger.current?.focus();
      }}
    >
      {choices.map((choice) => (
        <SelectItem key={choice.value} value={choice.value} className={css.item}>
          <Check size={14} aria-hidden="true" />
          {choice.label || "\u00a0"}
        </SelectItem>
      ))}
    </SelectPopover>
  );
}
