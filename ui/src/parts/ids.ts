const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-/;

/** Whether a name is an id that the server made. */
export function isId(name: string): boolean {
  return ID.test(name);
}

/** A name as it is shown: the end of an id tells it from others. */
export function shortened(name: string): string {
  return isId(name) ? `…${name.slice(-12)}` : name;
}
