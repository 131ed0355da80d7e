import { RawJson } from "@/api/numbers";
import { invalid } from "@/api/problem";
import { rawJson } from "@/parts/json";
import { texts } from "@/texts";

type Schema = Record<string, unknown>;

/** One input of a form that is made from a JSON Schema. */
export interface SignalField {
  name: string;
  kind: "text" | "number" | "yes or no" | "choice" | "json";
  isRequired: boolean;
  hint: string;
  /** The values of a choice, as JSON. */
  choices: string[];
}

/** The inputs for the payload of a signal; null if one for JSON is all that can be said. */
export function fieldsOf(schema: Schema | null): SignalField[] | null {
  const root = resolved(schema, schema);
  if (root === null || root.type !== "object" || !isObject(root.properties)) return null;
  const required = new Set(Array.isArray(root.required) ? root.required : []);
  return Object.entries(root.properties).map(([name, property]) =>
    fieldOf(name, resolved(isObject(property) ? property : {}, schema) ?? {}, required.has(name)),
  );
}

/** What was written into a form, as the JSON that is sent; raises what is wrong, at its field. */
export function payloadOf(fields: readonly SignalField[], written: Readonly<Record<string, string>>): RawJson {
  const missing = fields.filter((field) => field.isRequired && !isGiven(field, written[field.name]));
  if (missing.length > 0)
    throw invalid(Object.fromEntries(missing.map((field) => [field.name, texts.task.isRequired])));
  const members = fields
    .filter((field) => isGiven(field, written[field.name]))
    .map((field) => `${JSON.stringify(field.name)}:${jsonOf(field, written[field.name] ?? "")}`);
  return new RawJson(`{${members.join(",")}}`);
}

function fieldOf(name: string, property: Schema, isRequired: boolean): SignalField {
  const said = [property.title, property.description].filter((text) => typeof text === "string");
  const field = { name, isRequired, hint: said.join(": "), choices: [] as string[] };
  if (Array.isArray(property.enum))
    return { ...field, kind: "choice", choices: property.enum.map((value) => JSON.stringify(value)) };
  if (property.type === "string") return { ...field, kind: "text" };
  if (property.type === "number" || property.type === "integer") return { ...field, kind: "number" };
  if (property.type === "boolean") return { ...field, kind: texts.task.yesOrNo, choices: ["true", "false"] };
  return { ...field, kind: "json", hint: field.hint || texts.common.json };
}

/** A text may be empty if it has to be there; anything else that is empty was not given. */
function isGiven(field: SignalField, text: string | undefined): boolean {
  return text !== undefined && (text !== "" || (field.kind === "text" && field.isRequired));
}

function jsonOf(field: SignalField, text: string): string {
  if (field.kind === "text") return JSON.stringify(text);
  return rawJson(text, field.name).text;
}

/** A schema without the reference that it consists of, and without the null that it may be. */
function resolved(schema: Schema | null, root: Schema | null): Schema | null {
  if (schema === null) return null;
  if (Array.isArray(schema.anyOf)) {
    const others = schema.anyOf.filter((one) => isObject(one) && one.type !== "null");
    return others.length === 1 && isObject(others[0]) ? { ...target(others[0], root), ...said(schema) } : schema;
  }
  return { ...target(schema, root), ...said(schema) };
}

function target(schema: Schema, root: Schema | null): Schema {
  if (typeof schema.$ref !== "string" || !isObject(root?.$defs)) return schema;
  const found = root.$defs[schema.$ref.replace("#/$defs/", "")];
  return isObject(found) ? found : schema;
}

function said(schema: Schema): Schema {
  return typeof schema.description === "string" ? { description: schema.description } : {};
}

function isObject(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
