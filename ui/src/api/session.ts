import { texts } from "@/texts";
import { PREFIX } from "./place";
import { Problem, problemOf } from "./problem";
import type { ProviderBody, SignedInBody, SignInBody } from "./types";

/**
 * Who is signed in. The browser keeps it in a cookie that no script can read; the server tells what it says. A key is
 * sent once, and kept nowhere.
 */
export type Standing =
  | { kind: "asking" }
  | { kind: "in"; who: SignedInBody }
  | { kind: "out"; providers: readonly ProviderBody[]; problem: string | null };

const PATH = `${PREFIX}/api/v1/sign-in`;
const OLD_KEY = "drumline.key";
const ATTENTION_MS = 60_000;

let standing: Standing = { kind: "asking" };
let lastTouch = Date.now();
const listeners = new Set<() => void>();

export function currentStanding(): Standing {
  return standing;
}

export function isSignedIn(): boolean {
  return standing.kind === "in";
}

/** Whoever is signed in: another sign-in is somebody else, for all that was begun before. */
export function currentUser(): string | null {
  return standing.kind === "in" ? `${standing.who.user},${standing.who.ends_at}` : null;
}

export function onStandingChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** What a request must carry, besides the cookie that the browser sends by itself. */
export function headersFor(method: string): Record<string, string> {
  const headers: Record<string, string> = {};
  if (method !== "GET" && standing.kind === "in") headers["x-csrf-token"] = standing.who.token;
  // Only somebody who is there stays signed in: a page that refreshes itself does not count.
  if (Date.now() - lastTouch > ATTENTION_MS) headers["x-unattended"] = "1";
  return headers;
}

/** Take the key of the start URL out of the address bar, and sign in with it; else see who is signed in. */
export async function begin(): Promise<void> {
  for (const kind of ["pointerdown", "keydown", "wheel", "touchstart"]) {
    addEventListener(kind, () => (lastTouch = Date.now()), { passive: true, capture: true });
  }
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given) history.replaceState(history.state, "", location.pathname + location.search);
  const key = given ?? formerKey();
  if (key === null) {
    await look();
    return;
  }
  const problem = await signIn(key, { remember: true });
  if (problem !== null) await look(problem);
}

/** See who is signed in, and how one could be. */
export async function look(problem: string | null = null): Promise<void> {
  try {
    const response = await fetch(PATH, { cache: "no-store", headers: headersFor("GET") });
    if (!response.ok) throw await problemOf(response);
    const { signed_in, providers } = (await response.json()) as SignInBody;
    become(signed_in ? { kind: "in", who: signed_in } : { kind: "out", providers, problem });
  } catch (error) {
    // Whoever was signed in may still be: a server that is away says nothing about that.
    if (standing.kind === "in" && !(error instanceof Problem)) return;
    become({ kind: "out", providers: [], problem: problem ?? words(error) });
  }
}

/** Sign in with a key; returns what is wrong with it, or nothing. */
export async function signIn(key: string, { remember }: { remember: boolean }): Promise<string | null> {
  try {
    const response = await fetch(PATH, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ key, remember }),
    });
    if (!response.ok) throw await problemOf(response);
    become({ kind: "in", who: (await response.json()) as SignedInBody });
    return null;
  } catch (error) {
    return words(error);
  }
}

/** Sign out here or everywhere, and at the provider if that is how one came in; returns what went wrong, or nothing. */
export async function signOut({ everywhere }: { everywhere: boolean }): Promise<string | null> {
  try {
    const response = await fetch(`${PREFIX}/api/v1/sign-out`, {
      method: "POST",
      headers: { "content-type": "application/json", ...headersFor("POST") },
      body: JSON.stringify({ everywhere }),
    });
    if (response.status !== 401 && !response.ok) throw await problemOf(response);
    const url = response.ok ? ((await response.json()) as { url: string | null }).url : null;
    if (url) location.assign(url);
    else await look();
    return null;
  } catch (error) {
    return words(error);
  }
}

/** Where a provider is set out for, to come back to this very page. */
export function wayTo(provider: ProviderBody, page: string): string {
  return `${PREFIX}${provider.path}?${new URLSearchParams({ next: page })}`;
}

function become(now: Standing): void {
  standing = now;
  for (const listener of listeners) listener();
}

/** The key that an earlier version kept in this browser; it is not kept any longer. */
function formerKey(): string | null {
  try {
    const kept = sessionStorage.getItem(OLD_KEY) ?? localStorage.getItem(OLD_KEY);
    sessionStorage.removeItem(OLD_KEY);
    localStorage.removeItem(OLD_KEY);
    return kept;
  } catch {
    return null; // a browser that keeps nothing has kept no key
  }
}

function words(error: unknown): string {
  return error instanceof Problem ? error.message : texts.api.theServerCannotBeReached;
}
