package flush_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kernel is Debian's, unpacked: it is downloaded once and kept in the user's cache.
type kernel struct {
	image   string   // vmlinux, which starts faster than the packed one
	modules []string // in the order in which they are loaded
}

// modules are what the guest needs: its devices, the caches, a file system.
var modules = []string{"virtio_pci", "virtio_blk", "virtio_net", "ext4", "bcache", "dm_cache", "dm_cache_smq", "dm_writecache"}

// newKernel gives the kernel. Where it can't be had the test is skipped, and fails in CI.
func newKernel(t *testing.T) kernel {
	t.Helper()
	name, err := kernelPackage(t.Context())
	if err == nil {
		var k kernel
		if k, err = unpack(t.Context(), name); err == nil {
			return k
		}
	}
	if os.Getenv("CI") != "" {
		t.Fatal(err)
	}
	t.Skip(err)
	return kernel{}
}

// kernelPackage names the package that linux-image-amd64 stands for.
func kernelPackage(ctx context.Context) (string, error) {
	out, err := output(ctx, "", "apt-cache", "depends", "linux-image-amd64")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(out) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: "); ok {
			return name, nil
		}
	}
	return "", errors.New("linux-image-amd64 depends on nothing: run apt-get update")
}

func unpack(ctx context.Context, name string) (kernel, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return kernel{}, err
	}
	dir := filepath.Join(cache, "ebbtide-flush", name)
	if _, err := os.Stat(filepath.Join(dir, "vmlinux")); err != nil {
		if err := download(ctx, dir, name); err != nil {
			return kernel{}, fmt.Errorf("cannot get the kernel %s: %w", name, err)
		}
	}
	k := kernel{image: filepath.Join(dir, "vmlinux")}
	version := strings.TrimPrefix(name, "linux-image-")
	for _, m := range modules {
		out, err := output(ctx, "", "/usr/sbin/modprobe", "-d", filepath.Join(dir, "root"), "-S", version, "--show-depends", m)
		if err != nil {
			return kernel{}, err
		}
		for line := range strings.Lines(out) {
			if f := strings.Fields(line); len(f) > 1 && f[0] == "insmod" && !slices.Contains(k.modules, f[1]) {
				k.modules = append(k.modules, f[1])
			}
		}
	}
	return k, nil
}

// download fetches and unpacks the package beside its place, and moves it there whole.
func download(ctx context.Context, dir, name string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(filepath.Dir(dir), "unpack")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	if _, err := output(ctx, work, "apt-get", "download", name); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(work, "*.deb"))
	if err != nil || len(debs) != 1 {
		return fmt.Errorf("apt-get has left %v, %w", debs, err)
	}
	root := filepath.Join(work, "root")
	if _, err := output(ctx, work, "dpkg", "-x", debs[0], root); err != nil {
		return err
	}
	version := strings.TrimPrefix(name, "linux-image-")
	if _, err := output(ctx, work, "/usr/sbin/depmod", "-b", root, version); err != nil {
		return err
	}
	if err := extract(ctx, filepath.Join(root, "boot", "vmlinuz-"+version), filepath.Join(work, "vmlinux")); err != nil {
		return err
	}
	if err := os.Remove(debs[0]); err != nil {
		return err
	}
	return os.Rename(work, dir)
}

// extract takes the kernel out of its self-extracting image: under emulation it takes ten seconds to do so itself.
func extract(ctx context.Context, packed, to string) error {
	image, err := os.ReadFile(packed)
	if err != nil {
		return err
	}
	at := bytes.Index(image, []byte("\xfd7zXZ\x00"))
	if at < 0 {
		return fmt.Errorf("%s is not packed by xz", packed)
	}
	cmd := exec.CommandContext(ctx, "xz", "-dc", "--single-stream")
	cmd.Stdin = bytes.NewReader(image[at:])
	plain, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cannot unpack %s: %w", packed, err)
	}
	return os.WriteFile(to, plain, 0o644)
}

// output runs a program in a folder and gives what it printed.
func output(ctx context.Context, dir, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", program, strings.Join(args, " "), err, strings.TrimSpace(errs.String()))
	}
	return string(out), nil
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return b
}
