#!/usr/bin/env node
// Runs the program fairlead, from the package that npm has installed for this platform.
"use strict";
const { spawn } = require("node:child_process");
const { constants } = require("node:os");
const { isatty } = require("node:tty");

const name = `@fairlead/fairlead-${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`${name}/bin/fairlead${process.platform === "win32" ? ".exe" : ""}`);
} catch {
  console.error(
    `fairlead: the package ${name} is not installed. There are packages for Linux, macOS and Windows on x64 and arm64; ` +
      "if this is one of them, install @fairlead/fairlead again, without --omit=optional",
  );
  process.exit(2);
}

const child = spawn(program, process.argv.slice(2), { stdio: "inherit" });
// A terminal signals each process that is in it, and a second interrupt would end the program at once.
const terminal = [0, 1, 2].some((fd) => isatty(fd));
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) {
  process.on(signal, () => {
    if (!terminal || signal === "SIGTERM") child.kill(signal);
  });
}
child.on("error", (err) => {
  console.error(`fairlead: ${err.message}; is ${program} a file that may be executed?`);
  process.exit(2);
});
child.on("exit", (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
