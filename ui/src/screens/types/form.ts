/** A form from a JSON Schema: the fields that can be drawn, and the payload that their texts make. */

export interface FormField {
  name: string;
  kind: "text" | "number" | "boolean" | "choice" | "json";
  isRequired: boolean;
  hint: string;
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
    const choices = (plain.enum ?? []).map(String);
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
  if (plain[0] === "integer" || plain[0] === "number") return "number";
  return plain[0] === "boolean" ? "boolean" : "json";
}

/** Return the payload that the texts of a form make. What is left empty is left out. Numbers stay as they are typed. */
export function payloadOf(fields: FormField[], texts: Record<string, string>): string {
  const parts: string[] = [];
  for (const field of fields) {
    const text = (texts[field.name] ?? field.first).trim();
    if (text === "" && !(field.kind === "text" && field.isRequired)) continue;
    if (field.kind === "json" || field.kind === "boolean" || field.kind === "number") JSON.parse(text);
    const value = field.kind === "text" || field.kind === "choice" ? JSON.stringify(text) : text;
    parts.push(`${JSON.stringify(field.name)}: ${value}`);
  }
  return `{${parts.join(", ")}}`;
}
