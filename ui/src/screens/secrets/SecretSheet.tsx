import { useState } from "react";
import { call } from "@/api/client";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";

/** Sets a secret: a new one, or a known one anew. What is typed is shown to nobody. */
export function SecretSheet({ name: first, onClose }: { name: string; onClose: () => void }) {
  const [name, setName] = useState(first);
  const [value, setValue] = useState("");
  const put = useAct(() => call("PUT /api/v1/secrets/{name}", { params: { name: name.trim() }, body: { value } }), {
    done: (secret) => `${secret.name} is set, version ${secret.version}`,
    changes: [["secrets"]],
    afterwards: onClose,
    inDialog: true,
  });
  return (
    <Sheet title={first ? `Replace ${first}` : "New secret"} onClose={onClose}>
      <Form error={put.error} fields={["name", "value"]} onSubmit={() => put.mutate()}>
        {(at) => (
          <>
            <Field label="Name" problem={at("name")}>
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
            <Field label="Value" hint="It is encrypted at once, and cannot be read here again" problem={at("value")}>
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
              Set
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
