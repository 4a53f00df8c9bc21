// The official requester of the tasks extension makes a dangerous call, which becomes a task, and
// waits for what comes of it. argv: a command.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { resultFromTaskOutcome, withTasks } from "@modelcontextprotocol/ext-tasks/client";

const [command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
const waiting = new Map();
let last = 0;
createInterface(child.stdout).on("line", (line) => {
  const message = JSON.parse(line);
  waiting.get(message.id)?.(message);
});
const meta = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "tasks", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": { extensions: { "io.modelcontextprotocol/tasks": {} } },
};
const seen = [];
async function dispatch(request) {
  const id = ++last;
  const answered = new Promise((resolve) => waiting.set(id, resolve));
  child.stdin.write(JSON.stringify({ ...request, jsonrpc: "2.0", id, params: { ...request.params, _meta: { ...request.params?._meta, ...meta } } }) + "\n");
  const { result, error } = await answered;
  seen.push(`${request.method} ${result?.status ?? ""}`.trim());
  if (result?.resultType === "task") console.log(JSON.stringify({ told: result.statusMessage }));
  return error ? { kind: "error", error } : { kind: "result", result };
}
const never = () => () => {};
const { result: found } = await dispatch({ method: "server/discover", params: {} });
const session = withTasks({
  endpointId: "fairlead", taskCapabilities: { generation: "v2", capabilities: found.capabilities.extensions["io.modelcontextprotocol/tasks"] },
  dispatch, onServerRequest: never, onNotification: never, onInvalidated: never, invalidated: false,
});
const execution = await session.callTool("delete_account", { id: 7 });
const { outcome } = await execution.settle();
console.log(JSON.stringify({ told: resultFromTaskOutcome(outcome).content[0].text, seen: [...new Set(seen)] }));
child.stdin.end();
process.exit(0);
