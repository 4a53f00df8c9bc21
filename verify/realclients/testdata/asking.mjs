// A client of the TypeScript SDK, version 1, whose user is asked in a form. It makes calls one after the other, answers each
// form with the next of the answers, and prints the forms and the results.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [calls, [command, ...args], answers] = process.argv.slice(2).map((text) => JSON.parse(text));
const client = new Client({ name: "client", version: "1" }, { capabilities: { elicitation: {} } });
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  console.log(JSON.stringify({ asked: params.message, schema: params.requestedSchema }));
  return answers.length > 0 ? { action: "accept", content: answers.shift() } : { action: "decline" };
});
await client.connect(new StdioClientTransport({ command, args, env: process.env }));
for (const call of calls) {
  console.log(JSON.stringify(await client.callTool(call, undefined, { timeout: 180_000 })));
}
await client.close();
