package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Baseline marks the findings as known that an earlier report has, as JSON wrote it.
// It returns how many of that report are no longer there.
func (r *Report) Baseline(path string) (gone int, err error) {
	text, err := os.ReadFile(filepath.Clean(path))
	if err != nil {
		return 0, err
	}
	var before struct {
		Version  int `json:"version"`
		Findings []struct {
			Fingerprint string `json:"fingerprint"`
		} `json:"findings"`
	}
	switch err := json.Unmarshal(text, &before); {
	case err != nil:
		return 0, fmt.Errorf("%s is no report: %w", path, err)
	case before.Version != Version:
		return 0, fmt.Errorf("%s is no report that this program reads; write one with: fairlead inspect --json", path)
	case before.Findings == nil:
		return 0, fmt.Errorf("%s: %w", path, errors.New(`it has no "findings"; write one with: fairlead inspect --json`))
	}
	known := make(map[string]bool, len(before.Findings))
	for _, f := range before.Findings {
		if f.Fingerprint == "" {
			return 0, fmt.Errorf("%s: a finding has no fingerprint; write the file again with: fairlead inspect --json", path)
		}
		known[f.Fingerprint] = true
	}
	gone = len(known)
	seen := make(map[string]bool)
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Known = known[f.Fingerprint]; f.Known && !seen[f.Fingerprint] {
			seen[f.Fingerprint] = true
			gone--
		}
	}
	return gone, nil
}
