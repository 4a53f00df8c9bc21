package credentials

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/fairlead-go/fairlead/cmd/fairlead/internal/filelock"
	"github.com/fairlead-go/fairlead/cmd/fairlead/owned"
)

// A Place keeps sealed values under names, for all processes that have it. It is safe for concurrent use.
type Place interface {
	// Get returns the value of a name, nil if there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// All returns what can be read, by names, and an error about the rest.
	All(ctx context.Context) (map[string][]byte, error)
	// Lock keeps others from changing a name until it is closed, or its holder has gone.
	Lock(ctx context.Context, name string) (Lock, error)
}

// A Lock changes the value of its name. Once it has ended by itself, a change is an error.
type Lock interface {
	Put(ctx context.Context, value []byte) error
	Remove(ctx context.Context) error
	io.Closer
}

// Shared returns a place in a store that replicas share, such as that of redis.Store.Credentials or
// postgres.Store.Credentials.
func Shared[L Lock](store interface {
	Get(ctx context.Context, name string) ([]byte, error)
	All(ctx context.Context) ([][]byte, error)
	Lock(ctx context.Context, name string) (L, error)
},
) Place {
	return shared{store.Get, store.All, func(ctx context.Context, name string) (Lock, error) { return store.Lock(ctx, name) }}
}

// A shared place writes the name before the value, since the store may keep a hash of it only.
type shared struct {
	get  func(ctx context.Context, name string) ([]byte, error)
	all  func(ctx context.Context) ([][]byte, error)
	lock func(ctx context.Context, name string) (Lock, error)
}

func (s shared) Get(ctx context.Context, name string) ([]byte, error) {
	value, err := s.get(ctx, name)
	if err != nil || value == nil {
		return nil, err
	}
	_, sealed, _ := bytes.Cut(value, []byte("\n")) // under another name it cannot be opened
	return sealed, nil
}

func (s shared) All(ctx context.Context) (map[string][]byte, error) {
	values, err := s.all(ctx)
	all := make(map[string][]byte)
	for _, value := range values {
		name, sealed, _ := bytes.Cut(value, []byte("\n"))
		all[string(name)] = sealed
	}
	return all, err
}

func (s shared) Lock(ctx context.Context, name string) (Lock, error) {
	l, err := s.lock(ctx, name)
	if err != nil {
		return nil, err
	}
	return named{l, name}, nil
}

type named struct {
	Lock
	name string
}

func (l named) Put(ctx context.Context, value []byte) error {
	return l.Lock.Put(ctx, append([]byte(l.name+"\n"), value...))
}

// A folder is a place with a file for each value, which its owner alone can read.
type folder string

const (
	extension = ".credential"
	keyFile   = "key"
)

func (f folder) make() error {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return err
	}
	return owned.Private(string(f))
}

func (f folder) Get(_ context.Context, name string) ([]byte, error) {
	value, err := readPrivate(filepath.Join(string(f), name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return value, err
}

func (f folder) All(context.Context) (map[string][]byte, error) {
	all := make(map[string][]byte)
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	for _, e := range entries {
		if filepath.Ext(e.Name()) != extension {
			continue
		}
		value, fault := readPrivate(filepath.Join(string(f), e.Name()))
		if fault != nil {
			err = errors.Join(err, fault)
			continue
		}
		all[e.Name()] = value
	}
	return all, err
}

func (f folder) Lock(ctx context.Context, name string) (Lock, error) {
	if err := f.make(); err != nil {
		return nil, err
	}
	held, err := filelock.Wait(ctx, filepath.Join(string(f), name+".lock"))
	if err != nil {
		return nil, err
	}
	return fileLock{held, string(f), name}, nil
}

type fileLock struct {
	io.Closer

	dir, name string
}

// Put writes a file in the place of an earlier one, which a reader sees whole.
func (l fileLock) Put(_ context.Context, value []byte) error {
	f, err := os.CreateTemp(l.dir, ".credential-*") // of mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // which is there after an error only
	_, err = f.Write(value)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), filepath.Join(l.dir, l.name))
}

func (l fileLock) Remove(context.Context) error {
	err := os.Remove(filepath.Join(l.dir, l.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ownKey reads the key of a folder, or makes it. A link puts it in its place whole, and only one of several processes.
func (f folder) ownKey() ([]byte, error) {
	name := filepath.Join(string(f), keyFile)
	key, err := readPrivate(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	fresh := make([]byte, keySize)
	random(fresh)
	temp, err := os.CreateTemp(string(f), ".key-*") // of mode 0600
	if err != nil {
		return nil, err
	}
	defer os.Remove(temp.Name())
	_, err = temp.Write(fresh)
	if err = errors.Join(err, temp.Sync(), temp.Close()); err != nil {
		return nil, err
	}
	if err := os.Link(temp.Name(), name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	return readPrivate(name)
}

// readPrivate reads a file, unless others than its owner may read or write it.
func readPrivate(name string) ([]byte, error) {
	f, err := os.Open(name) //nolint:gosec // in the store's own folder
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = owned.PrivateInfo(name, info)
	}
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, maxCredential))
}

// maxCredential is how many bytes the file of a credential may have.
const maxCredential = 1 << 20

// nameOf returns the name of a user's credential at a server, which seals it to its place.
func nameOf(user, server string) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q at %q", user, server))
	return hex.EncodeToString(sum[:16]) + extension
}
