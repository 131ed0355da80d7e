import { useState } from "react";
import { call } from "@/api/client";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";

/** Adds an empty database. Addresses hold passwords: what is typed is shown to nobody. */
export function AddShardSheet({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [storeUrl, setStoreUrl] = useState("");
  const [queueUrl, setQueueUrl] = useState("");
  const add = useAct(
    () =>
      call("POST /api/v1/shards", {
        body: { name: name.trim(), store_url: storeUrl.trim(), ...(queueUrl.trim() && { queue_url: queueUrl.trim() }) },
      }),
    {
      done: (shard) => `${shard.name} is added; move slots to it next`,
      changes: [["shards"]],
      afterwards: onClose,
      inDialog: true,
    },
  );
  return (
    <Sheet title="Add a shard" onClose={onClose}>
      <Form error={add.error} fields={["name", "store_url", "queue_url"]} onSubmit={() => add.mutate(undefined)}>
        {(at) => (
          <>
            <Field label="Name" hint="Lower-case letters, digits and -" problem={at("name")}>
              {(props) => (
                <input
                  {...props}
                  required
                  maxLength={32}
                  value={name}
                  autoComplete="off"
                  onChange={(event) => setName(event.target.value)}
                />
              )}
            </Field>
            <Field
              label="Address of its PostgreSQL"
              hint="postgresql://login:password@host:5432/database. It is encrypted at once, and cannot be read here again"
              problem={at("store_url")}
            >
              {(props) => (
                <input
                  {...props}
                  type="password"
                  required
                  value={storeUrl}
                  autoComplete="new-password"
                  onChange={(event) => setStoreUrl(event.target.value)}
                />
              )}
            </Field>
            <Field
              label="Address of its Redis"
              hint="redis://:password@host:6379/0; without one it shares the installation's"
              problem={at("queue_url")}
            >
              {(props) => (
                <input
                  {...props}
                  type="password"
                  value={queueUrl}
                  autoComplete="new-password"
                  onChange={(event) => setQueueUrl(event.target.value)}
                />
              )}
            </Field>
            <Button type="submit" tone="primary" busy={add.isPending}>
              Add
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
