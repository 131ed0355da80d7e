import { type QueryKey, useMutation, useQueryClient } from "@tanstack/react-query";
import { Problem } from "@/api/problem";
import { sentence } from "./States";
import { say } from "./toasts";

/** Do something on the server, say how it went, and look again at what it may have changed. */
export function useAct<Input, Answer>(
  act: (input: Input) => Promise<Answer>,
  {
    done,
    changes,
    afterwards,
  }: { done?: (answer: Answer, input: Input) => string; changes: QueryKey[]; afterwards?: (answer: Answer) => void },
) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: act,
    onSuccess: (answer, input) => {
      if (done) say(done(answer, input));
      afterwards?.(answer);
    },
    onError: (error) => say(problemText(error), "problem"),
    onSettled: () => Promise.all(changes.map((key) => client.invalidateQueries({ queryKey: key }))),
  });
}

export function problemText(error: unknown): string {
  if (!(error instanceof Problem)) return String(error);
  const isNamed = !error.field || error.message.startsWith(error.field);
  return sentence(isNamed ? error.message : `${error.field}: ${error.message}`);
}

/** What is wrong with one field of a form, to be said beneath it. */
export function problemWith(error: unknown, field: string): string | null {
  if (!(error instanceof Problem) || error.field !== field) return null;
  return sentence(error.message.replace(new RegExp(`^${field}: `), ""));
}
