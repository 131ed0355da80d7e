import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { call } from "@/api/client";
import { Button } from "@/parts/Button";
import { Copy } from "@/parts/Copy";
import { Field } from "@/parts/Field";
import { Form } from "@/parts/Form";
import { type Choice, Select } from "@/parts/Select";
import { Sheet } from "@/parts/Sheet";
import { texts } from "@/texts";
import css from "./Notifications.module.css";

const CHANNELS: readonly Choice<"webhook" | "email">[] = [
  { value: "webhook", label: texts.notifications.webhook },
  { value: "email", label: texts.notifications.email },
];

/** A form for a subscription. The secret that signs a webhook is shown once. */
export function NewSubscriptionSheet({ onClose }: { onClose: () => void }) {
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [channel, setChannel] = useState<"webhook" | "email">("webhook");
  const [target, setTarget] = useState("");
  const [events, setEvents] = useState("drumline.task.failed");
  const make = useMutation({
    mutationFn: () =>
      call("POST /api/v1/subscriptions", {
        body: { name, [channel]: target, events: events.split(/[\s,]+/).filter(Boolean) },
      }),
    onSettled: () => client.invalidateQueries({ queryKey: ["subscriptions"] }),
  });
  if (make.data) {
    return (
      <Sheet
        title={texts.notifications.nameIsSubscribed(make.data.name)}
        onClose={onClose}
        footer={<Button onClick={onClose}>{texts.common.done}</Button>}
      >
        {make.data.secret ? (
          <>
            <p>{texts.notifications.theSigningSecretCopyIt}</p>
            <p className={css.secret}>
              <code>{make.data.secret}</code>
              <Copy text={make.data.secret} what="secret" />
            </p>
          </>
        ) : (
          <p>{texts.notifications.mailsGoTo(make.data.email ?? "")}</p>
        )}
      </Sheet>
    );
  }
  return (
    <Sheet
      title={texts.notifications.newSubscription}
      onClose={onClose}
      footer={
        <Button type="submit" form="subscription" tone="primary" busy={make.isPending}>
          {texts.notifications.subscribe}
        </Button>
      }
    >
      <Form id="subscription" error={make.error} fields={["name", channel, "events"]} onSubmit={() => make.mutate()}>
        {(at) => (
          <>
            <Field label={texts.common.name} problem={at("name")}>
              {(props) => <input {...props} required value={name} onChange={(event) => setName(event.target.value)} />}
            </Field>
            <Field label={texts.notifications.channel}>
              {(props) => <Select {...props} value={channel} choices={CHANNELS} onChange={setChannel} />}
            </Field>
            <Field
              label={channel === "webhook" ? texts.notifications.url : texts.notifications.emailAddress}
              problem={at(channel)}
            >
              {(props) => (
                <input
                  {...props}
                  required
                  type={channel === "webhook" ? "url" : "email"}
                  placeholder={channel === "webhook" ? "https://…" : texts.notifications.opsExampleCom}
                  value={target}
                  onChange={(event) => setTarget(event.target.value)}
                />
              )}
            </Field>
            <Field
              label={texts.notifications.events}
              problem={at("events")}
              hint={texts.notifications.typesSeparatedBySpacesDrumline}
            >
              {(props) => (
                <input
                  {...props}
                  required
                  value={events}
                  spellCheck={false}
                  onChange={(event) => setEvents(event.target.value)}
                />
              )}
            </Field>
          </>
        )}
      </Form>
    </Sheet>
  );
}
