// Ends with 0 if this Node.js satisfies `engines` of package.json: ranges such as "^20.19.0 || >=24.0.0".
import { readFileSync } from "node:fs";

const { engines } = JSON.parse(readFileSync(new URL("package.json", import.meta.url), "utf8"));
const parse = (text) => text.split(".").map(Number);
const [major, minor, patch] = parse(process.versions.node);
const fits = engines.node.split("||").some((range) => {
  const [, kind, version] = /^(\^|>=)(\d+\.\d+\.\d+)$/.exec(range.trim());
  const [wantedMajor, wantedMinor, wantedPatch] = parse(version);
  if (major !== wantedMajor) return kind === ">=" && major > wantedMajor;
  return minor > wantedMinor || (minor === wantedMinor && patch >= wantedPatch);
});
process.exit(fits ? 0 : 1);
