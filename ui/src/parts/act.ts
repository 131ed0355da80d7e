import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { Problem } from "@/api/problem";
import { sentence } from "./sentence";
import { say } from "./toasts";

/** Do something on the server, say how it went, and look again at what it may have changed. */
export function useAct<Input, Answer>(
  act: (input: Input) => Promise<Answer>,
  {
    done,
    changes,
    afterwards,
    inDialog = false,
  }: {
    done?: (answer: Answer, input: Input) => string;
    changes: QueryKey[];
    afterwards?: (answer: Answer) => void;
    /** Whether a dialog shows what goes wrong: it would cover a message at the edge of the page. */
    inDialog?: boolean;
  },
) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (answer, input) => {
      if (done) say(done(answer, input));
      afterwards?.(answer);
    },
    onError: (error) => {
      if (!inDialog) say(problemText(error), "problem");
    },
    onSettled: () => Promise.all(changes.map((key) => client.invalidateQueries({ queryKey: key }))),
  });
}

export function problemText(error: unknown): string {
  if (!(error instanceof Problem)) return String(error);
  const isNamed = !error.field || error.message.startsWith(error.field);
  return sentence(isNamed ? error.message : `${error.field}: ${error.message}`);
}
