import { Problem } from "@/api/problem";
import { problemText } from "./act";
import { sentence } from "./sentence";

/** The problems of a form: each beside the field it is about, and what no field shows for the top of the form. */
export interface Placed {
  at: (field: string) => string | null;
  rest: string | null;
}

/**
 * Place the problems of a request among the fields that a form shows. A problem with a part of a field, such as
 * `payload.items[0]`, belongs to the nearest field that is shown; one that has none is not left out but part of the rest.
 */
export function placed(error: unknown, fields: readonly string[]): Placed {
  const found = new Map<string, string>();
  const rest: string[] = [];
  for (const one of faultsOf(error)) {
    const field = nearest(one.field, fields);
    if (field === null) rest.push(problemText(one));
    else if (!found.has(field)) found.set(field, textFor(one, field));
  }
  return { at: (field) => found.get(field) ?? null, rest: rest.length > 0 ? rest.join(" ") : null };
}

function faultsOf(error: unknown): Problem[] {
  if (error === null || error === undefined) return [];
  if (!(error instanceof Problem)) return [new Problem(-1, "internal", String(error))];
  const faults = Object.entries(error.faults);
  if (faults.length === 0) return [error];
  return faults.map(([field, message]) => new Problem(error.status, error.code, message, field));
}

const LAST_STEP = /(\.[^.[\]]*|\[[^\]]*\]?)$/;

function nearest(path: string | null, fields: readonly string[]): string | null {
  for (let left = path ?? ""; left; ) {
    if (fields.includes(left)) return left;
    const shorter = left.replace(LAST_STEP, "");
    if (shorter === left) return null;
    left = shorter;
  }
  return null;
}

/** The message beneath a field: which part of it is meant is said, its own name is not. */
function textFor(problem: Problem, field: string): string {
  const path = problem.field ?? field;
  const part = path.slice(field.length).replace(/^\./, "");
  const message = problem.message.startsWith(`${path}: `) ? problem.message.slice(path.length + 2) : problem.message;
  return sentence(part && !message.includes(part) ? `${part}: ${message}` : message);
}
