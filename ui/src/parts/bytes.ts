const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** A number of bytes in a unit that suits it. */
export function bytes(count: number): string {
  const power = Math.min(UNITS.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${(count / 2 ** (10 * power)).toFixed(power > 2 ? 1 : 0)} ${UNITS[power]}`;
}
