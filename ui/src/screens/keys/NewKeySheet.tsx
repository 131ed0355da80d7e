import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { Problem } from "@/api/problem";
import type { MadeKeyBody, Role } from "@/api/types";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Sheet } from "@/parts/Sheet";
import { sentence } from "@/parts/States";
import css from "./Keys.module.css";

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
  const problem = make.error instanceof Problem ? make.error : null;
  const at = (...fields: string[]) =>
    problem && fields.includes(problem.field ?? "") ? sentence(problem.message) : null;
  return (
    <Sheet
      title="New key"
      onClose={onClose}
      footer={
        <Button tone="primary" busy={make.isPending} disabled={!name.trim()} onClick={() => make.mutate()}>
          Make it
        </Button>
      }
    >
      <Field label="Name" hint="What people call it: the program or person that has it" problem={at("name")}>
        {(props) => <input {...props} value={name} onChange={(event) => setName(event.target.value)} />}
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
      <Field label="Expires in" hint="Such as 90d; empty for never" problem={at("expires_in", "expires_at")}>
        {(props) => <input {...props} value={expires} onChange={(event) => setExpires(event.target.value)} />}
      </Field>
      {problem && !at("name", "role", "expires_in", "expires_at") && (
        <p role="alert" className={css.problem}>
          {sentence(problem.message)}
        </p>
      )}
    </Sheet>
  );
}
