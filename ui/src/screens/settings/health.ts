/** The parts of the server, and what each says of itself, in words. */
import { bytes } from "@/parts/bytes";
import { texts } from "@/texts";

const PARTS: Record<string, string> = {
  db: texts.settings.database,
  diskSpace: texts.settings.disk,
  workers: texts.common.workers,
  config: texts.settings.runtimeConfiguration,
  redis: texts.settings.redis,
  kafka: texts.settings.kafka,
  relay: texts.settings.eventRelay,
};

export function partOf(name: string): string {
  return PARTS[name] ?? spaced(name);
}

type Details = Record<string, unknown>;

const SENTENCES: Record<string, (of: Details) => string> = {
  db: (of) => texts.settings.databaseWords(text(of.database), text(of.version), text(of.schema)),
  diskSpace: (of) =>
    texts.settings.diskWords(bytes(Number(of.free)), bytes(Number(of.total)), bytes(Number(of.threshold))),
  workers: (of) => texts.settings.workerWords(text(of.open), text(of.busy), text(of.slots)),
  config: (of) => {
    const waiting = Array.isArray(of.needs_restart) ? of.needs_restart : [];
    const version = of.version === 0 ? texts.settings.nothingIsSet : texts.settings.version(text(of.version));
    const restart = waiting.length === 0 ? "" : texts.settings.afterRestart(waiting.join(", "));
    return `${version}${restart}${of.refused ? texts.settings.refused(text(of.refused)) : ""}`;
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
