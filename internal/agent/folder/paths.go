package folder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
)

// trash is where deleted and overwritten files go. No tool reaches into it.
const trash = ".trash"

// inside cleans a path and refuses one that leaves the folder or reaches into
// the trash. os.Root refuses the first again, whatever links there are.
func inside(name string) (string, error) {
	clean := path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if name == "" {
		clean = "."
	}
	if !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", fmt.Errorf("%s leaves the folder; give a path inside it, such as notes.txt", named(name))
	}
	if clean == trash || strings.HasPrefix(clean, trash+"/") {
		return "", fmt.Errorf("%s is in the trash, which is for the user alone", named(name))
	}
	return clean, nil
}

// file returns the cleaned path of an existing regular file.
func (j *jail) file(name string) (string, error) {
	clean, err := inside(name)
	if err != nil {
		return "", err
	}
	info, err := j.root.Lstat(clean)
	if err != nil {
		return "", plain(name, err)
	}
	if !info.Mode().IsRegular() {
		return "", fmt.Errorf("%s is no plain file; only plain files are read, moved and deleted", named(name))
	}
	return clean, nil
}

// vacant returns the cleaned path of a file that is not there yet.
func (j *jail) vacant(name string) (string, error) {
	clean, err := inside(name)
	if err != nil {
		return "", err
	}
	_, err = j.root.Lstat(clean)
	switch {
	case err == nil:
		return "", fmt.Errorf("%s exists already and nothing was changed; choose another name", named(name))
	case !errors.Is(err, fs.ErrNotExist):
		return "", plain(name, err)
	}
	return clean, nil
}

// rename moves a file to a vacant path and makes the folders on the way.
func (j *jail) rename(from, to string) error {
	if err := j.root.MkdirAll(path.Dir(to), 0o755); err != nil {
		return plain(to, err)
	}
	if err := j.root.Rename(from, to); err != nil {
		return plain(from, err)
	}
	return nil
}

// discard takes a file away and returns where it is now, "" for nowhere.
func (j *jail) discard(name string) (string, error) {
	if j.purge {
		return "", j.root.Remove(name)
	}
	for n := 1; ; n++ {
		to := path.Join(trash, name)
		if n > 1 {
			to = fmt.Sprintf("%s.%d", to, n)
		}
		_, err := j.root.Lstat(to)
		if err == nil {
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", plain(to, err)
		}
		return to, j.rename(name, to)
	}
}

// named quotes a path for an error, the end of a long one left out.
func named(name string) string {
	const most = 200
	if len(name) > most {
		name = strings.ToValidUTF8(name[:most], "") + "…"
	}
	return strconv.Quote(name)
}

// plain says what is wrong with a path in few words.
func plain(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s does not exist", named(name))
	}
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		err = p.Err
	}
	if l, ok := errors.AsType[*os.LinkError](err); ok {
		err = l.Err
	}
	return fmt.Errorf("%s: %w", named(name), err)
}
