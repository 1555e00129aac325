// Writes api.d.ts, the types of the API, and types/, the types of the client: node generate.mjs.
// With --check, reports whether they are up to date. The tools are those of test/ui.
import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url)), tools = join(here, "../../test/ui/node_modules/.bin");
const check = process.argv[2] === "--check";
const run = (tool, ...args) => execFileSync(join(tools, tool), args, { cwd: here, stdio: ["ignore", check ? "pipe" : "inherit", "inherit"], encoding: "utf8" });
const read = (dir) => Object.fromEntries(readdirSync(dir).sort().map((name) => [name, readFileSync(join(dir, name), "utf8")]));

const dir = mkdtempSync(join(tmpdir(), "k8s-cli-types-"));
try {
  run("openapi-typescript", "../../pkg/api/openapi/openapi.json", "--empty-objects-unknown", "-o", join(dir, "api.d.ts"));
  if (check && readFileSync(join(dir, "api.d.ts"), "utf8") !== readFileSync(join(here, "api.d.ts"), "utf8")) {
    throw new Error("api.d.ts is out of date: run make typescript");
  }
  if (!check) execFileSync("cp", [join(dir, "api.d.ts"), here]);
  run("tsc", "-p", ".", "--outDir", join(dir, "types"));
  writeFileSync(join(dir, "types/api.d.ts"), 'export * from "../api.js";\n'); // the types of the client import ./api.js, as the sources do
  if (check && JSON.stringify(read(join(dir, "types"))) !== JSON.stringify(read(join(here, "types")))) {
    throw new Error("types/ is out of date: run make typescript");
  }
  if (!check) {
    rmSync(join(here, "types"), { recursive: true, force: true });
    execFileSync("cp", ["-r", join(dir, "types"), here]);
  }
  // A program that has installed the package, with each way in which TypeScript finds packages.
  const program = join(dir, "program");
  mkdirSync(join(program, "node_modules"), { recursive: true });
  symlinkSync(here, join(program, "node_modules/k8s-cli-client"));
  writeFileSync(join(program, "package.json"), '{"type": "module"}\n');
  copyFileSync(join(here, "test/consumer.ts"), join(program, "consumer.ts"));
  const compile = (module, resolution, ...libraries) => run("tsc", "--noEmit", "--strict", "--target", "es2022", "--module", module, "--moduleResolution", resolution, ...libraries, join(program, "consumer.ts"));
  const dom = ["--lib", "es2023,dom,dom.iterable,dom.asynciterable"], node = ["--lib", "es2023", "--types", "node", "--typeRoots", join(tools, "../@types")];
  for (const [module, resolution] of [["preserve", "bundler"], ["node16", "node16"], ["es2022", "node10"]]) compile(module, resolution, ...dom);
  compile("node16", "node16", ...node); // a program for Node without the types of browsers
} catch (err) {
  console.error(err.stdout || err.message);
  process.exitCode = 1;
} finally {
  rmSync(dir, { recursive: true, force: true });
}
