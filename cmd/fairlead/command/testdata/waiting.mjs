// The official TypeScript client, of a user who is not asked by forms, makes a dangerous call
// and makes it again once somebody has decided. argv: url or none, whether progress resets
// its timer, then a command.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [shows, resets, ...target] = process.argv.slice(2);
const client = new Client({ name: "typescript", version: "1" }, { capabilities: shows === "url" ? { elicitation: { url: {} } } : {} });
let opened = "";
if (shows === "url") {
  client.setRequestHandler(ElicitRequestSchema, async (request) => {
    opened = request.params.url;
    return { action: "accept" };
  });
}
await client.connect(new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env }));
let progress = 0;
async function call() {
  const began = Date.now();
  const options = { onprogress: () => progress++, timeout: 8000, resetTimeoutOnProgress: resets === "true" };
  try {
    const result = await client.callTool({ name: "delete_account", arguments: { id: 7 } }, undefined, options);
    return { told: result.content[0].text, seconds: Math.round((Date.now() - began) / 1000) };
  } catch (e) {
    return { told: String(e), seconds: Math.round((Date.now() - began) / 1000) };
  }
}
const first = await call();
console.log(JSON.stringify({ ...first, progress, opened }));
await new Promise((decided) => process.stdin.once("data", decided));
console.log(JSON.stringify(await call()));
await client.close();
process.exit(0);
