import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import type { MadeKeyBody, Role } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { plain, Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { texts } from "@/texts";
import { ROLES } from "./roles";

const ROLE_CHOICES = plain(Object.keys(ROLES) as Role[]);

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
      title={texts.keys.newKey}
      onClose={onClose}
      footer={
        <Button type="submit" form="key" tone="primary" busy={make.isPending}>
          {texts.keys.createKey}
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
            <Field label={texts.common.name} hint={texts.keys.theProgramOrPersonThat} problem={at("name")}>
              {(props) => <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />}
            </Field>
            <Field label={texts.keys.role} hint={ROLES[role]} problem={at("role")}>
              {(props) => <Select {...props} value={role} choices={ROLE_CHOICES} onChange={setRole} />}
            </Field>
            <Field
              label={texts.keys.expiresIn}
              hint={texts.keys.forExample90dEmptyFor}
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
