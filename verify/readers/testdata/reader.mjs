// Reads messages as a client of the TypeScript SDK does: each line of the input is one. For each it writes a line: what
// JSON.parse returns, and the parts that a client of the SDK shows, each in the form that readers_test.go compares.
import { deserializeMessage } from "@modelcontextprotocol/sdk/shared/stdio.js";
import { CallToolResultSchema, ListToolsResultSchema } from "@modelcontextprotocol/sdk/types.js";

// A text in code units, where one that is half of a pair is U+FFFD, as it is in all that is written in UTF-8.
const text = (s) => {
	let out = '"';
	for (const c of s.toWellFormed()) out += c.codePointAt(0).toString(16) + " ";
	return out + '"';
};

// A number by its bits, since a client has no more of it.
const bits = new DataView(new ArrayBuffer(8));
const number = (n) => (bits.setFloat64(0, n), bits.getBigUint64(0).toString(16));

// The SDK drops members of this name from objects that it checks, so they are not compared where it is asked what it shows.
const dropped = new Set();

function form(v) {
	if (v === null || v === undefined) return "null";
	if (typeof v === "string") return text(v);
	if (typeof v === "number") return number(v);
	if (typeof v === "boolean") return String(v);
	if (Array.isArray(v)) return "[" + v.map(form).join(",") + "]";
	return "{" + Object.entries(v).filter(([name]) => !dropped.has(name)).map(([name, value]) => text(name) + ":" + form(value)).sort().join(",") + "}";
}

const hints = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

function shown(result) {
	const list = ListToolsResultSchema.safeParse(result);
	if (list.success && "tools" in result)
		return form(list.data.tools.map((t) => [t.name, t.title ?? "", t.description ?? "", t.inputSchema, t.outputSchema ?? null, hints.map((hint) => t.annotations?.[hint] ?? null)]));
	const res = CallToolResultSchema.safeParse(result);
	if (res.success && "content" in result)
		return form([res.data.content.map((c) => (c.type === "text" ? c.text : c.type)), res.data.structuredContent ?? null, res.data.isError ?? false]);
	return "";
}

let rest = Buffer.alloc(0); // as the SDK's own buffer, which returns no line
process.stdin.on("data", (chunk) => {
	rest = Buffer.concat([rest, chunk]);
	for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
		const line = rest.toString("utf8", 0, end);
		rest = rest.subarray(end + 1);
		const answer = { tree: "", shown: "", error: "" };
		try {
			const message = deserializeMessage(line);
			answer.tree = form(JSON.parse(line)); // the SDK leaves out what it does not know
			dropped.add("__proto__");
			if (message.result) answer.shown = shown(message.result);
		} catch (err) {
			answer.error = String(err).slice(0, 200);
		} finally {
			dropped.clear();
		}
		process.stdout.write(JSON.stringify(answer) + "\n");
	}
});
