package dial

import (
	"os"
	"path/filepath"
	"strings"
)

// variables returns those of a file of variables, one NAME=VALUE a line.
func variables(text string) map[string]string {
	found := make(map[string]string)
	for line := range strings.Lines(strings.TrimPrefix(text, byteOrderMark)) {
		line = strings.TrimSpace(line)
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		value = strings.TrimSpace(value)
		if quote := value[:min(1, len(value))]; quote == `"` || quote == "'" || quote == "`" {
			if end := strings.LastIndex(value[1:], quote); end >= 0 {
				value = value[1 : 1+end]
				if quote == `"` {
					value = strings.ReplaceAll(value, `\n`, "\n")
				}
			}
		} else if at := strings.Index(value, " #"); at >= 0 {
			value = strings.TrimSpace(value[:at])
		}
		found[strings.TrimSpace(name)] = value
	}
	return found
}

// geminiVariables returns those of the first file of variables that Gemini CLI and Qwen Code find: in the folder of the
// project and those above it, and then at home.
func geminiVariables(folder string) map[string]string {
	dir, err := os.Getwd()
	if err != nil {
		return nil
	}
	var files []string
	for {
		files = append(files, filepath.Join(dir, folder, ".env"), filepath.Join(dir, ".env"))
		if parent := filepath.Dir(dir); parent != dir {
			dir = parent
			continue
		}
		break
	}
	files = append(files, filepath.Join(homeDir(), folder, ".env"), filepath.Join(homeDir(), ".env"))
	for _, file := range files {
		if text, err := read(file); err == nil {
			return variables(string(text))
		}
	}
	return nil
}
