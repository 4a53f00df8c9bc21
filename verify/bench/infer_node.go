package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/fairlead-go/fairlead/bench/article"
)

// nodeProgram does what the port does, on the runtime of the original. It reads the
// word lists and the tool, and writes what one tool costs, in nanoseconds of CPU
// time, and what it found.
const nodeProgram = `
const {lists, name, description} = JSON.parse(require("fs").readFileSync(0, "utf8"));
const segments = s => s.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().split(/[_-]/);
const hit = (list, texts) => list.some(word =>
  texts.some(text => new RegExp("\\b" + word + "\\b", "i").test(text) || segments(text).includes(word)));
function infer(name, description) {
  const texts = [description.toLowerCase(), name];
  const found = {readOnly: hit(lists.readOnly, texts), destructive: hit(lists.destructive, texts), idempotent: false};
  found.idempotent = !found.destructive && hit(lists.idempotent, texts);
  found.complexity = hit(lists.complex, texts) ? "complex" : description.length > 100 ? "medium" : "simple";
  return found;
}
let least = Infinity, found;
for (let round = 0; round < 40; round++) {
  const begun = process.cpuUsage();
  for (let i = 0; i < 500; i++) found = infer(name, description);
  const spent = process.cpuUsage(begun);
  least = Math.min(least, (spent.user + spent.system) * 1000 / 500);
}
console.log(JSON.stringify({nanoseconds: least, found}));
`

// inferNode is the program of the port on the runtime of the original, beside infer.
// It is for people: there is no goal, and what goes wrong with it is said and fails
// nothing.
func inferNode(p pace) (row, error) {
	r := row{Name: "infer/node", Ratio: map[string]float64{}, PeerAllocs: map[string]float64{}, Met: true, Goal: "none"}
	least, err := onNode()
	if err != nil {
		r.Goal += ": " + err.Error()
		return r, nil
	}
	n, err := calibrate(inferInvoices, p.batch)
	if err != nil {
		return r, err
	}
	ours := time.Duration(1 << 62)
	for range p.rounds {
		spent, err := cpu(inferInvoices, n)
		if err != nil {
			return r, err
		}
		ours = min(ours, spent/time.Duration(n))
	}
	r.Ratio["node"] = round2(least / float64(ours))
	r.Cost = ours.String()
	r.Goal += fmt.Sprintf(": node takes %v", time.Duration(least))
	return r, nil
}

// onNode is the least time, in nanoseconds, that the program on Node takes for a tool.
func onNode() (float64, error) {
	exe, err := exec.LookPath("node")
	if err != nil {
		return 0, errors.New("there is no node on the PATH")
	}
	in, err := json.Marshal(map[string]any{"lists": article.Lists(), "name": invoice.Name, "description": invoice.Description})
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe, "-e", nodeProgram)
	cmd.Stdin = bytes.NewReader(in)
	out, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("node: %w", err)
	}
	var answer struct {
		Nanoseconds float64       `json:"nanoseconds"`
		Found       article.Hints `json:"found"`
	}
	if err := json.Unmarshal(out, &answer); err != nil {
		return 0, fmt.Errorf("node: %w", err)
	}
	if want := article.Infer(invoice.Name, invoice.Description); answer.Found != want {
		return 0, fmt.Errorf("node: it found %+v, not %+v", answer.Found, want)
	}
	return answer.Nanoseconds, nil
}
