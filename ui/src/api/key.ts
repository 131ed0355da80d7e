/** The API key of whoever looks. It comes from the start URL's fragment, which no server ever sees, or from the form. */

const NAME = "drumline.key";

let key: string | null = null;
const listeners = new Set<() => void>();

export function currentKey(): string | null {
  return key;
}

export function onKeyChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

export function useThisKey(given: string, { remember }: { remember: boolean }): void {
  key = given;
  write(remember ? given : null, given);
  for (const listener of listeners) listener();
}

export function forgetKey(): void {
  key = null;
  write(null, null);
  for (const listener of listeners) listener();
}

/** Take the key from the address, if it is there, and out of the address bar; else the one kept from before. */
export function findKey(): void {
  const given = new URLSearchParams(location.hash.slice(1)).get("key");
  if (given) {
    history.replaceState(history.state, "", location.pathname + location.search);
    key = given;
    write(given, given);
    return;
  }
  key = read(sessionStorage) ?? read(localStorage);
}

function read(storage: Storage): string | null {
  try {
    return storage.getItem(NAME);
  } catch {
    return null; // a browser that keeps nothing asks again
  }
}

function write(kept: string | null, here: string | null): void {
  put(localStorage, kept);
  put(sessionStorage, here);
}

function put(storage: Storage, value: string | null): void {
  try {
    if (value === null) storage.removeItem(NAME);
    else storage.setItem(NAME, value);
  } catch {
    // A browser that keeps nothing asks again.
  }
}
