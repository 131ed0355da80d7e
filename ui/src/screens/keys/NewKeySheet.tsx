import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { MadeKeyBody, Role } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";

const ROLES: Record<Role, string> = {
  viewer: "may look at everything",
  submitter: "may submit tasks and look at them",
  worker: "may run tasks",
  operator: "may do what operating needs: cancel, retry, pause, drain, schedule",
  admin: "may do everything",
};

/** A form for a key. */
export function NewKeySheet({ onClose, onMade }: { onClose: () => void; onMade: (key: MadeKeyBody) => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("submitter");
  const [expires, setExpires] = useState("");
  const make = useMutation({
    mutationFn: () => call("POST /api/v1/keys", { body: { name, role, ...(expires ? { expires_in: expires } : {}) } }),
    onSuccess: onMade,
    onSettled: () => client.invalidateQueries({ queryKey: ["keys"] }),
  });
  return (
    <Sheet
      title="New key"
      onClose={onClose}
      footer={
        <Button type="submit" form="key" tone="primary" busy={make.isPending}>
          Create key
        </Button>
      }
    >
      <Form
        id="key"
        error={make.error}
        fields={["name", "role", "expires_in", "expires_at"]}
        onSubmit={() => make.mutate()}
      >
        {(at) => (
          <>
            <Field label="Name" hint="The program or person that uses it" problem={at("name")}>
              {(props) => <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />}
            </Field>
            <Field label="Role" hint={ROLES[role]} problem={at("role")}>
              {(props) => (
                <select {...props} value={role} onChange={(event) => setRole(event.target.value as Role)}>
                  {Object.keys(ROLES).map((one) => (
                    <option key={one}>{one}</option>
                  ))}
                </select>
              )}
            </Field>
            <Field
              label="Expires in"
              hint="Such as 90d; empty for never"
              problem={at("expires_in") ?? at("expires_at")}
            >
              {(props) => <input {...props} value={expires} onChange={(event) => setExpires(event.target.value)} />}
            </Field>
          </>
        )}
      </Form>
    </Sheet>
  );
}
