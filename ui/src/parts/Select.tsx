import { ChevronsUpDown } from "lucide-react";
import { type ComponentType, type KeyboardEvent, useId, useRef, useState } from "react";
import { texts } from "@/texts";
import { changed } from "./popup";
import css from "./Select.module.css";
import type { SelectList } from "./SelectList";
import { say } from "./toasts";

export interface Choice<Value extends string = string> {
  value: Value;
  label: string;
}

export interface SelectProps<Value extends string> {
  value: Value;
  choices: readonly Choice<Value>[];
  onChange: (value: Value) => void;
  /** Whether a form is refused while the value is empty. */
  required?: boolean;
  disabled?: boolean;
  /** For a select outside of a form's field. */
  isSmall?: boolean;
  id?: string;
  "aria-label"?: string;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: boolean | undefined;
}

type List = ComponentType<Parameters<typeof SelectList>[0]>;

/** The list of choices, once it is loaded. */
let loaded: List | null = null;

async function load(): Promise<List> {
  loaded ??= (await import("./SelectList")).SelectList;
  return loaded;
}

/** One value of several: arrow keys, typing its first letters, or a click choose it. */
export function Select<Value extends string>(props: SelectProps<Value>) {
  const { value, choices, onChange, required, isSmall, disabled = false, id: given, ...named } = props;
  const own = useId();
  const id = given ?? own;
  const trigger = useRef<HTMLButtonElement>(null);
  const [List, setList] = useState<List | null>(() => loaded);
  const [isOpen, setOpen] = useState(false);
  const shown = choices.find((choice) => choice.value === value);

  function prepare() {
    load().catch(() => undefined); // opening it says so
  }

  async function open() {
    try {
      const found = await load();
      setList(() => found);
      setOpen(true);
    } catch {
      say(texts.parts.theListCouldNotBe, "problem");
    }
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key !== "ArrowDown" && event.key !== "ArrowUp") return;
    event.preventDefault();
    void open();
  }

  return (
    <>
      <button
        {...named}
        ref={trigger}
        type="button"
        role="combobox"
        aria-haspopup="listbox"
        aria-autocomplete="none"
        aria-expanded={isOpen}
        aria-controls={isOpen ? `${id}-list` : undefined}
        id={id}
        disabled={disabled}
        className={css.trigger}
        data-select
        data-small={isSmall || undefined}
        data-empty={(required && value === "") || undefined}
        onPointerEnter={prepare}
        onFocus={prepare}
        onClick={() => (isOpen ? setOpen(false) : void open())}
        onKeyDown={onKeyDown}
      >
        <span className={css.value}>{shown?.label ?? value}</span>
        <ChevronsUpDown size={14} aria-hidden="true" />
      </button>
      {List && (
        <List
          id={`${id}-list`}
          trigger={trigger}
          value={value}
          choices={choices}
          isOpen={isOpen}
          onOpen={setOpen}
          onChoose={(next) => {
            const chosen = choices.find((choice) => choice.value === next);
            if (!chosen || chosen.value === value) return;
            onChange(chosen.value);
            changed(trigger.current);
          }}
        />
      )}
    </>
  );
}

/** Choices whose words are their values. */
export function plain<Value extends string>(values: readonly Value[]): Choice<Value>[] {
  return values.map((value) => ({ value, label: value }));
}
