import { type FormEvent, useState } from "react";
import { useThisKey as takeKey } from "@/api/key";
import { PREFIX, UI_PATH } from "@/api/place";
import { problemOf } from "@/api/problem";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { sentence } from "@/parts/States";
import css from "./Login.module.css";

/** Who are you? A key says it. */
export function Login() {
  const [key, setKey] = useState("");
  const [remember, setRemember] = useState(true);
  const [problem, setProblem] = useState<string | null>(null);
  const [isBusy, setBusy] = useState(false);

  async function enter(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setProblem(await check(key.trim()));
    setBusy(false);
  }

  async function check(given: string): Promise<string | null> {
    try {
      const response = await fetch(`${PREFIX}/api/v1/queues`, { headers: { "x-api-key": given } });
      if (response.ok || response.status === 403) {
        takeKey(given, { remember });
        return null;
      }
      return sentence((await problemOf(response)).message);
    } catch {
      return "The server cannot be reached.";
    }
  }

  return (
    <main className={css.login}>
      <form className={css.form} onSubmit={(event) => void enter(event)}>
        <img src={`${UI_PATH}/icon.svg`} alt="" width="40" height="40" />
        <h1>Drumline</h1>
        <Field
          label="API key"
          problem={problem}
          hint={<>The server prints it at its first start, and keeps it in its data folder.</>}
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
          <input type="checkbox" checked={remember} onChange={(event) => setRemember(event.target.checked)} /> Remember
          it in this browser
        </label>
        <Button type="submit" tone="primary" busy={isBusy} disabled={!key.trim()}>
          Log in
        </Button>
      </form>
    </main>
  );
}
