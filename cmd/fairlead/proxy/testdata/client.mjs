// The official TypeScript client in front of the proxy: a listing, a safe call, and a
// dangerous one that its user answers as argv says. argv: answer, then an URL or a command.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [answer, ...target] = process.argv.slice(2);
const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: {} } });
let asked = 0;
client.setRequestHandler(ElicitRequestSchema, async () => {
  asked++;
  if (answer === "silence") await new Promise((done) => setTimeout(done, 5000));
  return { action: "accept", content: { decision: answer === "allow" ? "allow" : "deny" } };
});
const transport = target[0].startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(target[0]))
  : new StdioClientTransport({ command: target[0], args: target.slice(1), env: process.env });
await client.connect(transport);
const tools = (await client.listTools()).tools.map((t) => t.name);
const read = await client.callTool({ name: "list_things", arguments: {} });
const deleted = await client.callTool({ name: "delete_thing", arguments: { id: "a" } });
console.log(JSON.stringify({ tools, read: read.content[0].text, deleted: deleted.content[0].text, isError: !!deleted.isError, asked }));
await client.close();
process.exit(0);
