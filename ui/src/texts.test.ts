import ts from "typescript";
import { describe, expect, it } from "vitest";
import { texts } from "./texts";

const files = import.meta.glob<string>("./**/*.{ts,tsx}", { query: "?raw", import: "default", eager: true });

/** Without texts for people: names of components, the language of filters, commands to copy, what Python writes. */
const LEFT_OUT =
  /(\.test\.tsx?|\/(texts|routes|search)\.tsx?|api\/(types|problem)\.ts|parts\/(snippets|frames|ansi)\.ts)$/;
/** Attributes and properties that are shown, whatever is in them. */
const SHOWN = new Set(["title", "label", "hint", "placeholder", "aria-label", "alt", "head"]);
/** Functions whose arguments are names. */
const NAMING = new Set([
  "call", "querySelector", "querySelectorAll", "matches", "closest", "includes", "startsWith", "split",
]); // biome-ignore format: one list
/** Attributes that are for the browser or for a program. */
const NAMES =
  /^(className|id|to|type|form|href|search|params|d|transform|style|key|tone|as|data-(?!label).*|role|name|rel|target|autoComplete|inputMode|status|kind)$/;
/** Keys of a keyboard, requests, addresses and styles. */
const NO_TEXT =
  /^((Arrow(Up|Down|Left|Right)|Page(Up|Down)|Home|End|Enter|Escape|Tab|Shift|Control|Meta|Alt|Delete|Backspace)$|(GET|POST|PUT|PATCH|DELETE) \/|minmax\(|.*\d(px|fr)\b|https?:)/;

/** Several words, or one with a capital letter. */
function isText(text: string): boolean {
  return /[A-Za-z]{2,}[.,:;!?…]* +\S|\S +[A-Za-z]{2,}/.test(text) || /^[A-Z][a-z]+[.…!?:]?$/.test(text);
}

function isWord(text: string): boolean {
  return /[A-Za-z]{2,}/.test(text);
}

function calledBy(node: ts.CallExpression): string {
  const called = node.expression;
  return ts.isPropertyAccessExpression(called) ? called.name.getText() : called.getText();
}

/** Whether a literal is a name in the program: a type, a key, an address, something to compare with. */
function isName(node: ts.StringLiteral): boolean {
  const { parent } = node;
  if (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent) || ts.isLiteralTypeNode(parent)) return true;
  if (ts.isCaseClause(parent) || ts.isElementAccessExpression(parent)) return true;
  if (ts.isPropertyAssignment(parent) && parent.name === node) return true;
  if (ts.isBinaryExpression(parent) && /^[!=]==?$/.test(parent.operatorToken.getText())) return true;
  if (ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.InKeyword) return true;
  if (!ts.isCallExpression(parent)) return false;
  if (calledBy(parent) === "say") return parent.arguments[0] !== node;
  return parent.expression.kind === ts.SyntaxKind.ImportKeyword || NAMING.has(calledBy(parent));
}

/** What a literal is the value of, through choices and lists. */
function owner(node: ts.Node): ts.Node {
  let at = node.parent;
  while (
    ts.isConditionalExpression(at) ||
    ts.isParenthesizedExpression(at) ||
    (ts.isJsxExpression(at) && ts.isJsxAttribute(at.parent)) ||
    ts.isArrayLiteralExpression(at) ||
    ts.isBinaryExpression(at)
  )
    at = at.parent;
  return at;
}

function isShown(at: ts.Node): boolean {
  if (ts.isJsxExpression(at)) return true;
  if (ts.isJsxAttribute(at) || ts.isPropertyAssignment(at)) return SHOWN.has(at.name.getText().replaceAll('"', ""));
  return ts.isCallExpression(at) && calledBy(at) === "say";
}

/** Whether a literal is inside of an attribute that is for the browser or for a program. */
function isInName(node: ts.Node): boolean {
  for (let at = node.parent; at && !ts.isFunctionLike(at); at = at.parent)
    if (ts.isJsxAttribute(at)) return NAMES.test(at.name.getText());
  return false;
}

/** Whether a text is for people: what is in these elements is for programs. */
function isRead(node: ts.JsxText): boolean {
  if (!ts.isJsxElement(node.parent)) return true;
  return !["code", "kbd", "pre"].includes(node.parent.openingElement.tagName.getText());
}

/** Whether a text with values in it tells what was done. */
function isToast(node: ts.TemplateExpression): boolean {
  const at = owner(node);
  if (ts.isCallExpression(at)) return calledBy(at) === "say";
  return ts.isArrowFunction(at) && ts.isPropertyAssignment(at.parent) && at.parent.name.getText() === "done";
}

function literalsOf(name: string, text: string): string[] {
  const source = ts.createSourceFile(name, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  function visit(node: ts.Node): void {
    if (ts.isJsxText(node)) {
      if (isWord(node.text) && isRead(node)) found.push(node.text.trim());
    } else if (ts.isStringLiteral(node) && !isName(node) && !NO_TEXT.test(node.text) && !isInName(node)) {
      if (isShown(owner(node)) ? isWord(node.text) : isText(node.text)) found.push(node.text);
    }
    if (ts.isTemplateExpression(node) && isToast(node)) found.push(node.getText());
    ts.forEachChild(node, visit);
  }
  visit(source);
  return found;
}

describe("texts", () => {
  it("are found wherever they stand in a source", () => {
    const source = `
      const CHOICES = [{ value: "a", label: "one" }];
      function Part() {
        useAct({ done: (limit) => \`\${limit} is set\` });
        if (kind === "Not a text") say(done ? "It is done" : "Not yet");
        return <Panel title="Facts" className="Some class"><p>Nothing yet.</p>{count} left<code>drumline run</code></Panel>;
      }`;

    expect(literalsOf("Part.tsx", source)).toEqual([
      "one",
      "`$" + "{limit} is set`",
      "It is done",
      "Not yet",
      "Facts",
      "Nothing yet.",
      "left",
    ]);
  });

  it("are all in one file", { timeout: 60_000 }, () => {
    const found = Object.entries(files)
      .filter(([name]) => !LEFT_OUT.test(name))
      .flatMap(([name, text]) => literalsOf(name, text).map((literal) => `${name}: ${literal}`));

    expect(found, "put them into texts.ts").toEqual([]);
  });

  it("are all used", () => {
    const all = Object.entries(files)
      .filter(([name]) => !name.endsWith("texts.ts"))
      .map(([, text]) => text)
      .join("\n");
    const used = new Set(all.match(/\btexts\s*\.\w+\s*\.\w+/g)?.map((one) => one.replaceAll(/\s/g, "")));
    const unused = Object.entries(texts).flatMap(([group, of]) =>
      Object.keys(of)
        .map((key) => `texts.${group}.${key}`)
        .filter((one) => !used.has(one)),
    );

    expect(unused).toEqual([]);
  });
});
