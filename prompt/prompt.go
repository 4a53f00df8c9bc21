// Package prompt tells a model which tools it has, how dangerous each is, and what
// the chain in front of them really does: the system prompt that goes with a chain.
//
// Safety never rests on the prompt; the chain refuses what it refuses whatever a
// model does. The prompt keeps the model from asking twice, from calling what will
// be refused, and from claiming what it did not do. So every sentence about the
// chain is written from its [middleware.Description]: what nothing enforces is not
// claimed, and where nothing asks the user, asking becomes the model's own duty.
//
// The parts stand in one order: identity, safety (tools, rules, examples), routing,
// formatting, platform. Who the model is frames all; the rules come before the
// host's texts, which speak of tools and may so rely on the classes, and a part
// that changes from channel to channel comes last, so that the beginning stays the
// same for a provider's prompt cache.
//
// What servers wrote stands in quotes inside a fenced block, escaped and cut to
// 200 bytes for each tool; names are those that the model calls the tools by, made
// of letters, digits, underscores and hyphens alone.
package prompt

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/fairlead-go/fairlead/annotation"
	"github.com/fairlead-go/fairlead/middleware"
)

// Options are the host's own words and what the chain enforces. The texts go into
// the prompt as they are, without the blanks around them; an empty one leaves its
// part out. The zero value is ready.
type Options struct {
	// Identity says who the model is and for whom it works. It comes first.
	Identity string
	// Routing says which tool or agent is for what.
	Routing string
	// Formatting says how answers look.
	Formatting string
	// Platform says what holds where the answer is shown. It comes last.
	Platform string
	// Enforced is what the assembled chain keeps. The zero value claims nothing, and
	// makes it the model's duty to ask before it changes what cannot be restored.
	Enforced middleware.Description
	// Name returns what the model calls a tool by, such as its Name where one server's
	// tools keep theirs. One that is no name of a tool is not used. Nil means
	// Tool.ModelName.
	Name func(tool *middleware.Tool) string
	// MaxBytes is how long the whole text should be at most. What is too long loses
	// the descriptions of reads first, then reads, then the descriptions of writes,
	// then writes, each with a count of what is missing; all else stays, so with many
	// dangerous tools or long texts of the host it may be longer. 0 means 32 KiB.
	MaxBytes int
}

// A Prompt writes system prompts for one host and one chain. It never changes and
// is safe for concurrent use.
type Prompt struct{ opts Options }

// New returns a prompt. It panics where MaxBytes is negative.
func New(opts Options) Prompt {
	if opts.MaxBytes < 0 {
		panic(fmt.Sprintf("prompt: Options.MaxBytes is %d; it must not be negative", opts.MaxBytes))
	}
	opts.MaxBytes = cmp.Or(opts.MaxBytes, 32<<10)
	for _, text := range []*string{&opts.Identity, &opts.Routing, &opts.Formatting, &opts.Platform} {
		*text = strings.TrimSpace(*text)
	}
	return Prompt{opts}
}

// A Text is a finished system prompt. The zero value is an empty one.
type Text struct{ text, version string }

// String returns the text, which ends in a newline.
func (t Text) String() string { return t.text }

// Version returns twelve hexadecimal digits that change whenever the text does.
func (t Text) Version() string { return t.version }

// For returns the prompt for these tools. It depends on nothing but them and the
// options, and not on the order of the tools; it only reads them. A tool without a
// name is left out, and of several with one name the most dangerous stands.
func (p Prompt) For(tools []*middleware.Tool) Text {
	sections := byClass(tools, p.opts.Name)
	text := p.write(sections)
	// Mildest first; what asks or is refused stays.
	reads, writes := &sections[annotation.Safe], &sections[annotation.Moderate]
	for _, cut := range []func(excess int){reads.strip, reads.drop, writes.strip, writes.drop} {
		if len(text) <= p.opts.MaxBytes {
			break
		}
		cut(len(text) - p.opts.MaxBytes)
		text = p.write(sections)
	}
	sum := sha256.Sum256([]byte(text))
	return Text{text, hex.EncodeToString(sum[:6])}
}

func (p Prompt) write(s *sections) string {
	var parts []string
	part := func(heading, text string) {
		if text != "" {
			parts = append(parts, heading+text)
		}
	}
	part("", p.opts.Identity)
	part("## Available tools\n\n", s.list(p.opts.Enforced))
	if s.count() > 0 {
		part("## Safety rules\n\n", s.rules(p.opts.Enforced))
		part("## Examples\n\n", s.examples(p.opts.Enforced))
	}
	part("## Routing\n\n", p.opts.Routing)
	part("## Formatting\n\n", p.opts.Formatting)
	part("## Platform\n\n", p.opts.Platform)
	return strings.Join(parts, "\n\n") + "\n"
}
