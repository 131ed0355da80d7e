import { useState } from "react";
import { call } from "@/api/client";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";
import { texts } from "@/texts";

/** Sets a secret: a new one, or a known one anew. What is typed is shown to nobody. */
export function SecretSheet({ name: first, onClose }: { name: string; onClose: () => void }) {
  const [name, setName] = useState(first);
  const [value, setValue] = useState("");
  const put = useAct(() => call("PUT /api/v1/secrets/{name}", { params: { name: name.trim() }, body: { value } }), {
    done: (secret) => texts.secrets.isSet(secret.name, secret.version),
    changes: [["secrets"]],
    afterwards: onClose,
    inDialog: true,
  });
  return (
    <Sheet title={first ? texts.secrets.replaceFirst(first) : texts.secrets.newSecret} onClose={onClose}>
      <Form error={put.error} fields={["name", "value"]} onSubmit={() => put.mutate()}>
        {(at) => (
          <>
            <Field label={texts.common.name} problem={at("name")}>
              {(props) => (
                <input
                  {...props}
                  required
                  readOnly={Boolean(first)}
                  value={name}
                  autoComplete="off"
                  onChange={(event) => setName(event.target.value)}
                />
              )}
            </Field>
            <Field label={texts.common.value} hint={texts.secrets.storedEncryptedItCannotBe} problem={at("value")}>
              {(props) => (
                <input
                  {...props}
                  type="password"
                  required
                  value={value}
                  autoComplete="new-password"
                  onChange={(event) => setValue(event.target.value)}
                />
              )}
            </Field>
            <Button type="submit" tone="primary" busy={put.isPending}>
              {texts.common.save}
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
