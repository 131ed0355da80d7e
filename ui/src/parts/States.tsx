import { CloudOff, FileQuestion, KeyRound, Lock, ServerCrash } from "lucide-react";
import type { ReactNode } from "react";
import { Problem } from "@/api/problem";
import { texts } from "@/texts";
import { Button } from "./Button";
import { Copy } from "./Copy";
import { BackToList } from "./Crumbs";
import css from "./States.module.css";
import { sentence } from "./sentence";

/** Grey bars where content will be. */
export function Loading({ rows = 6 }: { rows?: number }) {
  return (
    <div className={css.loading} role="status" aria-label={texts.parts.loading}>
      {Array.from({ length: rows }, (_, number) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the bars are all alike
        <span key={number} style={{ width: `${92 - ((number * 37) % 45)}%` }} />
      ))}
    </div>
  );
}

/** Nothing here yet: what to do about it. */
export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={css.state}>
      <h2>{title}</h2>
      {children && <div className={css.words}>{children}</div>}
    </div>
  );
}

/** What went wrong, in words that say what to do. */
export function Trouble({ error, onRetry }: { error: unknown; onRetry?: (() => void) | undefined }) {
  const problem = error instanceof Problem ? error : new Problem(-1, "internal", String(error));
  const [Icon, title] = lookOf(problem);
  return (
    <div className={css.state} role="alert">
      <Icon size={28} aria-hidden="true" />
      <h2>{title}</h2>
      <div className={css.words}>
        <p>{sentence(problem.message)}</p>
        {problem.requestId && problem.status >= 500 && (
          <p className={css.request}>
            {texts.parts.request} <code>{problem.requestId}</code>{" "}
            <Copy text={problem.requestId} what={texts.parts.requestId} />
          </p>
        )}
        {[404, 422].includes(problem.status) && <BackToList />}
      </div>
      {onRetry && mayHelp(problem) && <Button onClick={onRetry}>{texts.parts.tryAgain}</Button>}
    </div>
  );
}

/** Whether the same request may be answered otherwise: not where it is the request that is wrong. */
export function mayHelp({ status }: Problem): boolean {
  return status < 400 || status >= 500 || [401, 408, 409, 429].includes(status);
}

/** What stands in place of something that was never read: that it is being read, or why it cannot be. */
export function Unloaded({ of: query, rows = 6 }: { of: Reading; rows?: number }) {
  if (!query.error) return <Loading rows={rows} />;
  return <Trouble error={query.error} onRetry={() => void query.refetch()} />;
}

/** Something that is read from the server. */
interface Reading {
  error: Error | null;
  refetch: () => Promise<unknown>;
}

function lookOf(problem: Problem): [typeof CloudOff, string] {
  if (problem.code === "unreachable") return [CloudOff, texts.parts.serverUnreachable];
  if (problem.status === 401) return [KeyRound, texts.parts.signInRequired];
  if (problem.status === 403) return [Lock, texts.parts.permissionDenied];
  if (problem.status === 404) return [FileQuestion, texts.parts.notFound];
  return [ServerCrash, problem.status >= 500 ? texts.parts.serverError : texts.parts.requestFailed];
}
