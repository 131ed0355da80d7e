// Writes what the build made in its compressed forms only, so that the server never compresses anything itself and the
// package carries nothing twice: a client that takes no compression is sent what the server unpacks.
import { readdirSync, readFileSync, unlinkSync, writeFileSync } from "node:fs";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

/** Bytes above which Brotli saves enough for a second copy in the package: a tenth of a small file is nothing. */
const LARGE = 8 * 1024;
const folder = new URL("../src/drumline/_ui/assets/", import.meta.url);
for (const name of readdirSync(folder)) {
  if (!/\.(js|css|svg)$/.test(name)) continue;
  const body = readFileSync(new URL(name, folder));
  const gzipped = gzipSync(body, { level: 9 });
  writeFileSync(new URL(`${name}.gz`, folder), gzipped);
  const options = { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } };
  if (gzipped.length > LARGE) writeFileSync(new URL(`${name}.br`, folder), brotliCompressSync(body, options));
  unlinkSync(new URL(name, folder));
}
