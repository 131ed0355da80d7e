import { useState } from "react";
import { call } from "@/api/client";
import { useAct } from "@/parts/act";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { Sheet } from "@/parts/Sheet";
import { texts } from "@/texts";

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
      done: (shard) => texts.shards.isAdded(shard.name),
      changes: [["shards"]],
      afterwards: onClose,
      inDialog: true,
    },
  );
  return (
    <Sheet title={texts.shards.addAShard} onClose={onClose}>
      <Form error={add.error} fields={["name", "store_url", "queue_url"]} onSubmit={() => add.mutate(undefined)}>
        {(at) => (
          <>
            <Field label={texts.common.name} hint={texts.shards.lowerCaseLettersDigitsAnd} problem={at("name")}>
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
              label={texts.shards.addressOfItsPostgresql}
              hint={texts.shards.postgresqlLoginPasswordHost5432}
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
              label={texts.shards.addressOfItsRedis}
              hint={texts.shards.redisPasswordHost63790}
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
              {texts.shards.add}
            </Button>
          </>
        )}
      </Form>
    </Sheet>
  );
}
