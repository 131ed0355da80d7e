/** The shards that an answer says it misses; a list that was read page by page says so in each of them. */
export function missingIn(data: unknown): string[] {
  if (typeof data !== "object" || data === null) return [];
  const { incomplete, pages } = data as { incomplete?: string[]; pages?: unknown[] };
  return [...(incomplete ?? []), ...(Array.isArray(pages) ? pages.flatMap(missingIn) : [])];
}
