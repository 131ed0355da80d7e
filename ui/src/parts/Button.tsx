import type { LucideIcon } from "lucide-react";
import type { ButtonHTMLAttributes } from "react";
import css from "./Button.module.css";

interface Props extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon?: LucideIcon;
  tone?: "plain" | "primary" | "danger" | "quiet";
  busy?: boolean;
}

/** A button with a word on it. */
export function Button({ icon: Icon, tone = "plain", busy = false, children, className, ...rest }: Props) {
  return (
    <button
      type="button"
      className={`${css.button} ${className ?? ""}`}
      data-tone={tone}
      aria-busy={busy || undefined}
      {...rest}
      disabled={rest.disabled || busy}
    >
      {Icon && <Icon size={14} aria-hidden="true" />}
      {children}
    </button>
  );
}

interface IconProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  icon: LucideIcon;
  label: string;
}

/** A button with a sign on it; its word is for those who do not see it. */
export function IconButton({ icon: Icon, label, className, ...rest }: IconProps) {
  return (
    <button type="button" className={`${css.icon} ${className ?? ""}`} aria-label={label} title={label} {...rest}>
      <Icon size={16} aria-hidden="true" />
    </button>
  );
}
