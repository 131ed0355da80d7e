import { RawJson } from "@/api/numbers";
import { invalid } from "@/api/problem";
import { texts } from "@/texts";

/** What somebody wrote as JSON, to be sent as it is written; raises what is wrong with it at a field. */
export function rawJson(text: string, field: string): RawJson {
  try {
    JSON.parse(text);
  } catch (error) {
    throw invalid({ [field]: texts.parts.isNotJson(error instanceof Error ? error.message : String(error)) });
  }
  return new RawJson(text);
}
