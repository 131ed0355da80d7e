import { invalid } from "@/api/problem";
import { texts } from "@/texts";

/** A form from a JSON Schema: the fields that can be drawn, and the payload that their texts make. */

export interface FormField {
  name: string;
  kind: "text" | "number" | "integer" | "boolean" | "choice" | "json";
  isRequired: boolean;
  hint: string;
  /** The values to choose from, as JSON. */
  choices: string[];
  first: string;
}

interface Schema {
  type?: string | string[];
  properties?: Record<string, Schema>;
  required?: string[];
  enum?: unknown[];
  anyOf?: Schema[];
  $ref?: string;
  $defs?: Record<string, Schema>;
  default?: unknown;
  description?: string;
  title?: string;
}

/** Return the fields of a payload's schema; none if it is no object with named properties. */
export function fieldsOf(schema: Record<string, unknown> | null): FormField[] {
  const whole = schema as Schema | null;
  const root = resolved(whole ?? {}, whole);
  return Object.entries(root.properties ?? {}).map(([name, property]) => {
    const plain = resolved(property, whole);
    const choices = (plain.enum ?? []).map((value) => JSON.stringify(value));
    const kind = kindOf(plain);
    return {
      name,
      kind,
      choices,
      isRequired: root.required?.includes(name) ?? false,
      hint: plain.description ?? "",
      first: plain.default === undefined ? "" : kind === "text" ? String(plain.default) : JSON.stringify(plain.default),
    };
  });
}

/** A payload to begin with: the fields that have to be there, with values of their kinds. */
export function sampleOf(schema: Record<string, unknown> | null): Record<string, unknown> {
  const values = { text: "", number: 0, integer: 0, boolean: false, json: null };
  return Object.fromEntries(
    fieldsOf(schema)
      .filter(({ isRequired }) => isRequired)
      .map(({ name, kind, choices }) => [name, kind === "choice" ? JSON.parse(choices[0] ?? "null") : values[kind]]),
  );
}

function resolved(schema: Schema, root: Schema | null): Schema {
  if (!schema.$ref) return schema;
  const name = schema.$ref.split("/").at(-1) ?? "";
  return root?.$defs?.[name] ?? {};
}

function kindOf(schema: Schema): FormField["kind"] {
  if (schema.enum) return "choice";
  const types = schema.anyOf ? schema.anyOf.map((one) => one.type) : [schema.type];
  const plain = types.flat().filter((type) => type !== "null");
  if (plain.length !== 1) return "json";
  if (plain[0] === "string") return "text";
  if (plain[0] === "integer" || plain[0] === "number") return plain[0];
  return plain[0] === "boolean" ? "boolean" : "json";
}

/**
 * Return the payload that the texts of a form make; raises what is wrong with each field, named as the server names it.
 * What is left empty is left out, and a text is sent as it was typed. Numbers stay as they are typed.
 */
export function payloadOf(fields: FormField[], texts: Record<string, string>): string {
  const parts: string[] = [];
  const faults: Record<string, string> = {};
  for (const field of fields) {
    const text = texts[field.name] ?? field.first;
    const fault = faultOf(field, text);
    if (fault !== null) faults[nameOf(field)] = fault;
    else if (!isEmpty(field, text)) parts.push(`${JSON.stringify(field.name)}: ${jsonOf(field, text)}`);
  }
  if (Object.keys(faults).length > 0) throw invalid(faults);
  return `{${parts.join(", ")}}`;
}

/** Return what a form has so far as JSON to go on with, also where something is still wrong with it. */
export function written(fields: FormField[], texts: Record<string, string>): string {
  const good = fields.filter((field) => faultOf(field, texts[field.name] ?? field.first) === null);
  return payloadOf(good, texts);
}

/** The name of a field in the words of the server. */
export function nameOf(field: FormField): string {
  return `payload.${field.name}`;
}

function isEmpty(field: FormField, text: string): boolean {
  return (field.kind === "text" ? text : text.trim()) === "";
}

function jsonOf(field: FormField, text: string): string {
  return field.kind === "text" ? JSON.stringify(text) : text.trim();
}

function faultOf(field: FormField, text: string): string | null {
  if (isEmpty(field, text)) return field.isRequired ? texts.types.isRequired : null;
  if (field.kind === "text" || field.kind === "choice" || field.kind === "boolean") return null;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (field.kind === "json") return texts.parts.isNotJson(error instanceof Error ? error.message : String(error));
  }
  if (field.kind === "json") return null;
  if (typeof value !== "number") return texts.types.mustBeANumberSuch;
  return field.kind === "integer" && !Number.isInteger(value) ? texts.types.mustBeAWholeNumber : null;
}
