import { texts } from "@/texts";
import { live } from "./live";
import { decode, encode, queryOf } from "./numbers";
import { PREFIX } from "./place";
import { Problem, problemOf } from "./problem";
import { headersFor, isSignedIn, look } from "./session";
import type { Operations } from "./types";

type Name = keyof Operations;
type Given<N extends Name> = (keyof Operations[N]["params"] extends never
  ? { params?: undefined }
  : { params: Operations[N]["params"] }) & {
  query?: Operations[N]["query"];
} & (undefined extends Operations[N]["body"] ? { body?: Operations[N]["body"] } : { body: Operations[N]["body"] }) & {
    signal?: AbortSignal;
    reason?: string;
  };

const PATIENCE_MS = 30_000;

/** Do one operation of the API. Whatever goes wrong is a `Problem`. */
export async function call<N extends Name>(name: N, given: Given<N>): Promise<Operations[N]["answer"]> {
  const response = await send(name, given);
  if (response.status === 204) return undefined as Operations[N]["answer"];
  return decode(await response.text()) as Operations[N]["answer"];
}

/** Do one operation whose answer is text. */
export async function callForText<N extends Name>(name: N, given: Given<N>): Promise<string> {
  return (await send(name, given)).text();
}

/** Do one operation whose answer is a file. */
export async function callForFile<N extends Name>(name: N, given: Given<N>): Promise<Blob> {
  return (await send(name, given)).blob();
}

async function send<N extends Name>(name: N, given: Given<N>): Promise<Response> {
  const [method, path] = name.split(" ") as [string, string];
  const headers: Record<string, string> = { accept: "application/json", ...headersFor(method) };
  if (given.reason) headers["x-reason"] = given.reason;
  if (given.body !== undefined) headers["content-type"] = "application/json";
  const patience = AbortSignal.timeout(PATIENCE_MS);
  const response = await reach(PREFIX + filled(path, given.params ?? {}) + queryOf(given.query ?? {}), {
    method,
    headers,
    body: given.body === undefined ? null : encode(given.body),
    signal: given.signal ? AbortSignal.any([given.signal, patience]) : patience,
    credentials: "same-origin",
  });
  if (response.status === 401 && isSignedIn()) void look(texts.api.yourSignInHasEnded);
  if (!response.ok) throw await problemOf(response);
  return response;
}

async function reach(address: string, request: RequestInit): Promise<Response> {
  try {
    return await fetch(address, request);
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    live.check();
    const isLate = error instanceof DOMException && error.name === "TimeoutError";
    const why = isLate ? texts.api.noAnswerWithin(PATIENCE_MS / 1000) : texts.api.theServerCannotBeReached;
    throw new Problem(0, "unreachable", why);
  }
}

function filled(path: string, params: Record<string, string>): string {
  return path.replace(/{(\w+)}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
}
