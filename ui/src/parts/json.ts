import { RawJson } from "@/api/numbers";
import { invalid } from "@/api/problem";

/** What somebody wrote as JSON, to be sent as it is written; raises what is wrong with it at a field. */
export function rawJson(text: string, field: string): RawJson {
  try {
    JSON.parse(text);
  } catch (error) {
    throw invalid({ [field]: `is not JSON: ${error instanceof Error ? error.message : error}` });
  }
  return new RawJson(text);
}
