import { type FormEvent, useState } from "react";
import { call } from "@/api/client";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Sheet } from "@/parts/Sheet";

/** Sets a secret: a new one, or a known one anew. What is typed is shown to nobody. */
export function SecretSheet({ name: first, onClose }: { name: string; onClose: () => void }) {
  const [name, setName] = useState(first);
  const [value, setValue] = useState("");
  const put = useAct(() => call("PUT /api/v1/secrets/{name}", { params: { name: name.trim() }, body: { value } }), {
    done: (secret) => `${secret.name} is set, version ${secret.version}`,
    changes: [["secrets"]],
    afterwards: onClose,
  });
  function submit(event: FormEvent) {
    event.preventDefault();
    put.mutate();
  }
  return (
    <Sheet title={first ? `Set ${first} anew` : "New secret"} onClose={onClose}>
      <form onSubmit={submit} style={{ display: "grid", gap: 14 }}>
        <Field label="Name">
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
        <Field label="Value" hint="It is sealed at once; nobody can read it here again">
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
        <Button type="submit" tone="primary" busy={put.isPending} disabled={!name.trim() || !value}>
          Set
        </Button>
      </form>
    </Sheet>
  );
}
