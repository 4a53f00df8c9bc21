package replaytest_test

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-go/fairlead/fairleadtest/replaytest"
	"github.com/google/go-cmp/cmp"
)

func TestWarnings(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 2<<20)
	for i, x := 0, uint32(1); i < len(noise); i++ {
		x = x*1664525 + 1013904223
		noise[i] = byte(x >> 24)
	}
	random := "qP7vX2mK9sL4tR8wZ1nB6cD3"
	picture := base64.StdEncoding.EncodeToString(append([]byte("\x89PNG\x0D\x0A\x1A\x0A"), noise...))
	long := strings.Repeat("word ", 1<<18)
	file, _, warnings := record(t, notes(), "", [][2]string{
		{"say", `{"text":"see ` + random + `"}`},
		{"say", `{"text":"0c6a3b44-7d6e-4f0e-9b5e-0d3c5f0f3a11 TestSafetyOfAll27Combinations"}`},
		{"say", `{"text":"` + picture + `"}`},
		{"say", `{"text":"` + long + `"}`},
	}...)
	const suspect = ` may hold a secret: 24 random characters that begin with "qP7v"; look at them before you share the file`
	want := []string{
		"calls/0/arguments" + suspect, "calls/0/result" + suspect,
		"calls/3/arguments is not recorded: 1310731 bytes are more than 1048576",
	}
	slices.Sort(warnings)
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Error(diff)
	}
	session := replay(t, file, "", replaytest.Rules{})
	for range 2 {
		text(t, session, "say", `{"text":"see `+random+`"}`)
	}
	text(t, session, "say", `{"text":"0c6a3b44-7d6e-4f0e-9b5e-0d3c5f0f3a11 TestSafetyOfAll27Combinations"}`)
	if got := text(t, session, "say", `{"text":"`+picture+`"}`); got != picture {
		t.Errorf("the picture is %.80q", got)
	}
	if got := text(t, session, "say", `{}`); !strings.Contains(got, "calls/3 of say has no answer in the recording: its arguments are not recorded: 1310731 bytes") {
		t.Errorf("the long one is %.200q", got)
	}
}
