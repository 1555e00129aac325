// Checks the types of the pages: tsc reads a copy of the scripts, beside types of the API that
// are generated from the OpenAPI document of the server, and of the vendored files.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const run = (program, ...args) => execFileSync(`node_modules/.bin/${program}`, args, { cwd: here, stdio: ["ignore", "pipe", "inherit"] });

rmSync(`${here}build/static`, { recursive: true, force: true });
mkdirSync(`${here}build/static`, { recursive: true });
cpSync(`${here}../../pkg/ui/static/js`, `${here}build/static/js`, { recursive: true });
cpSync(`${here}vendor-types`, `${here}build/static/vendor`, { recursive: true });
run("openapi-typescript", "../../pkg/api/openapi/openapi.json", "-o", "build/static/js/types.d.ts");
try {
  run("tsc", "-p", ".");
} catch (err) {
  process.stdout.write(String(err.stdout).replaceAll("build/static/", "pkg/ui/static/"));
  process.exit(1);
}
console.log("types: no errors");
