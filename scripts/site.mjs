// Opens the documentation as readers do, from a file server and in headless Chromium, and tells what does not hold:
// node scripts/site.mjs FOLDER
// Of all pages it reads the data: each link leads to a page. Articles, modules and types are opened: each has its title and
// content, and nothing on it fails to load. Chromium and the server end with the script.
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";

const folder = process.argv[2];
const faults = [];
const data = join(folder, "data");

// What the pages say.

const file = url => join(data, url + ".json");
const pages = readdirSync(data, { recursive: true })
  .filter(path => path.endsWith(".json") && path.startsWith("documentation"))
  .map(path => ({ url: "/" + path.slice(0, -5), page: JSON.parse(readFileSync(join(data, path))) }));
for (const { url, page } of pages) {
  if (!page.metadata?.title) faults.push(`${url}: has no title`);
  if (!existsSync(join(folder, url, "index.html"))) faults.push(`${url}: a file server has no index.html for it`);
  for (const reference of Object.values(page.references ?? {})) {
    const target = reference.url?.split("#")[0];
    if (target?.startsWith("/") && !existsSync(file(target))) faults.push(`${url}: no page ${reference.url}`);
    for (const variant of reference.type === "image" ? reference.variants : []) {
      if (!existsSync(join(folder, variant.url))) faults.push(`${url}: no image ${variant.url}`);
    }
  }
}
const opened = pages.filter(({ page }) => page.kind === "article" && page.metadata.role !== "collectionGroup"
  || ["module", "struct", "enum", "class", "protocol"].includes(page.metadata.symbolKind));
if (opened.length < 100) faults.push(`found ${opened.length} pages to open; expected all articles, modules and types`);

// A file server, that knows nothing of the pages.

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json", ".svg": "image/svg+xml" };
const server = createServer((request, response) => {
  let path = join(folder, normalize(decodeURIComponent(new URL(request.url, "http://site").pathname)));
  if (existsSync(path) && statSync(path).isDirectory()) path = join(path, "index.html");
  if (!existsSync(path)) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": types[extname(path)] ?? "application/octet-stream" }).end(readFileSync(path));
});
await new Promise(done => server.listen(0, "127.0.0.1", done));
const origin = `http://127.0.0.1:${server.address().port}`;

// Chromium, by the Chrome DevTools Protocol over a pair of pipes.

const profile = mkdtempSync(join(tmpdir(), "site-"));
const browser = spawn("chromium", ["--headless", "--no-sandbox", "--disable-gpu", "--no-proxy-server",
  `--user-data-dir=${profile}`, "--remote-debugging-pipe"],
  { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"], env: { ...process.env, HOME: profile } });
let isOver = false;
const limit = setTimeout(() => { faults.push("chromium took more than ten minutes"); end(); }, 600_000);
browser.on("error", error => { faults.push(`chromium did not start: ${error.message}`); end(); });
browser.on("exit", () => { if (!isOver) faults.push("chromium ended early"); end(); });

let number = 0, rest = "";
const answers = new Map(), tabs = new Map();
browser.stdio[4].setEncoding("utf8").on("data", text => {
  const messages = (rest + text).split("\0");
  rest = messages.pop();
  for (const message of messages.map(text => JSON.parse(text))) {
    answers.get(message.id)?.(message.result ?? {});
    answers.delete(message.id);
    const here = tabs.get(message.sessionId);
    if (message.method === "Network.responseReceived" && message.params.response.status >= 400) {
      faults.push(`${here}: ${message.params.response.status} for ${message.params.response.url.replace(origin, "")}`);
    }
    if (message.method === "Runtime.exceptionThrown") {
      faults.push(`${here}: ${message.params.exceptionDetails.exception?.description ?? "a script failed"}`);
    }
  }
});
const ask = (method, params = {}, sessionId) => new Promise(done => {
  answers.set(++number, done);
  browser.stdio[3].write(JSON.stringify({ id: number, method, params, sessionId }) + "\0");
});

// Waits for the page that belongs to this address: the title of the document is written last.
const wait = (title, limit) => `new Promise(done => {
  const began = Date.now();
  const look = () => {
    const main = document.querySelector("main");
    const heading = main?.querySelector("h1")?.textContent.replace(/[\\s\\u200b]+/g, "") ?? "";
    const words = main?.innerText.trim().length ?? 0;
    if (heading === ${JSON.stringify(title.replace(/\s+/g, ""))} && words > heading.length + 20) done("");
    else if (Date.now() - began > ${limit}) done("its heading is \\"" + heading + "\\", and it has " + words + " characters");
    else setTimeout(look, 10);
  };
  look();
})`;

async function visit(queue) {
  const { targetId } = await ask("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await ask("Target.attachToTarget", { targetId, flatten: true });
  for (const domain of ["Page", "Network", "Runtime"]) await ask(`${domain}.enable`, {}, sessionId);
  for (let next = queue.shift(); next; next = queue.shift()) {
    tabs.set(sessionId, next.url);
    await ask("Page.navigate", { url: origin + next.url + "/" }, sessionId);
    const evaluation = { expression: wait(next.page.metadata.title, 20_000), awaitPromise: true };
    const { result } = await ask("Runtime.evaluate", evaluation, sessionId);
    if (result?.value !== "") faults.push(`${next.url}: ${result?.value ?? "was not shown"}`);
  }
}

function end() {
  if (isOver) return;
  isOver = true;
  clearTimeout(limit);
  browser.kill("SIGKILL");
  server.close();
  server.closeAllConnections();
  setTimeout(() => {
    rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
    for (const fault of faults.slice(0, 20)) console.error(`site: ${fault}`);
    if (faults.length > 20) console.error(`site: and ${faults.length - 20} more`);
    if (faults.length === 0 && process.env.VERBOSE) console.log(`site: ${pages.length} pages, ${opened.length} opened`);
    process.exit(faults.length === 0 ? 0 : 1);
  }, 300);
}

const queue = [...opened];
await Promise.all([visit(queue), visit(queue), visit(queue)]);
end();
