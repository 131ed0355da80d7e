import { type FormEvent, useState } from "react";
import { UI_PATH } from "@/api/place";
import { signIn, wayTo } from "@/api/session";
import type { ProviderBody } from "@/api/types";
import { environment } from "@/environment";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { sentence } from "@/parts/sentence";
import { texts } from "@/texts";
import css from "./Login.module.css";

interface Props {
  providers: readonly ProviderBody[];
  /** Why nobody is signed in any more, if there is more to say than that. */
  reason: string | null;
}

/** Who are you? A provider says it, or a key. */
export function Login({ providers, reason }: Props) {
  const [key, setKey] = useState("");
  const [remember, setRemember] = useState(true);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);

  async function enter(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setProblem(await signIn(key.trim(), { remember }));
    setBusy(false);
  }

  return (
    <main className={css.login}>
      <form className={css.form} onSubmit={(event) => void enter(event)}>
        <img src={`${UI_PATH}/icon.svg`} alt="" width="40" height="40" />
        <h1>{texts.pages.drumline}</h1>
        {environment && <p className={css.or}>{environment.name}</p>}
        {reason && (
          <p className={css.reason} role="alert">
            {sentence(reason)}
          </p>
        )}
        {providers.map((provider) => (
          <a key={provider.name} className={css.provider} href={wayTo(provider, page())}>
            {texts.pages.signInWith(provider.label)}
          </a>
        ))}
        {providers.length > 0 && <p className={css.or}>{texts.pages.or}</p>}
        <Field
          label={texts.pages.apiKey}
          problem={problem === null ? null : sentence(problem)}
          hint={texts.pages.printedWhenTheServerFirst}
        >
          {(props) => (
            <input
              {...props}
              type="password"
              autoComplete="current-password"
              required
              value={key}
              onChange={(event) => setKey(event.target.value)}
            />
          )}
        </Field>
        <label className={css.remember}>
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} />{" "}
          {texts.pages.staySignedIn}
        </label>
        <Button type="submit" tone="primary" busy={isBusy} disabled={!key.trim()}>
          {texts.pages.signIn}
        </Button>
      </form>
    </main>
  );
}

/** The page that was asked for, to come back to. */
function page(): string {
  return location.pathname.slice(UI_PATH.length) + location.search || "/";
}
