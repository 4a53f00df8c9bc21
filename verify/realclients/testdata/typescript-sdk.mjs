// A client of the TypeScript SDK, which makes calls one after the other and prints the results.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [calls, [command, ...args]] = process.argv.slice(2).map((text) => JSON.parse(text));
const client = new Client({ name: "client", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
for (const call of calls) {
  const patience = { timeout: 180_000 };
  console.log(JSON.stringify(await client.callTool(call, undefined, patience)));
}
await client.close();
