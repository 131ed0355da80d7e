/** The parts of the server, and what each says of itself, in words. */

const PARTS: Record<string, string> = {
  db: "Database",
  diskSpace: "Disk",
  workers: "Workers",
  config: "Runtime configuration",
  redis: "Redis",
  kafka: "Kafka",
  relay: "Event relay",
};

export function partOf(name: string): string {
  return PARTS[name] ?? spaced(name);
}

type Details = Record<string, unknown>;

const SENTENCES: Record<string, (of: Details) => string> = {
  db: (of) => `${of.database} ${of.version}, schema ${of.schema}`,
  diskSpace: (of) => `${bytes(of.free)} of ${bytes(of.total)} free; down below ${bytes(of.threshold)}`,
  workers: (of) => `${of.open} at work, ${of.busy} of ${of.slots} slots in use`,
  config: (of) => {
    const waiting = Array.isArray(of.needs_restart) ? of.needs_restart : [];
    const version = of.version === 0 ? "Nothing is set" : `Version ${of.version}`;
    const restart = waiting.length === 0 ? "" : `; holds after a restart: ${waiting.join(", ")}`;
    return `${version}${restart}${of.refused ? `; refused: ${text(of.refused)}` : ""}`;
  },
};

/** What a part says of itself: as a sentence where it is known, else as names and values; what is empty is left out. */
export function wordsOf(name: string, details: unknown): string {
  if (typeof details !== "object" || details === null) return "";
  const of = details as Details;
  const sentence = SENTENCES[name]?.(of);
  if (sentence !== undefined && !sentence.includes("undefined")) return sentence;
  return Object.entries(of)
    .filter(([, value]) => value !== null && value !== "" && !(Array.isArray(value) && value.length === 0))
    .map(([key, value]) => `${spaced(key).toLowerCase()} ${text(value)}`)
    .join(", ");
}

function text(value: unknown): string {
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function spaced(name: string): string {
  const words = name.replaceAll("_", " ").replace(/([a-z])([A-Z])/g, "$1 $2");
  return words.charAt(0).toUpperCase() + words.slice(1).toLowerCase();
}

function bytes(value: unknown): string {
  const count = Number(value);
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${(count / 2 ** (10 * power)).toFixed(power > 2 ? 1 : 0)} ${units[power]}`;
}
