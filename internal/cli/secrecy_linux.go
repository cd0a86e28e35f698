package cli

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// keepMemorySecret lets no core dump be made of this process and no other process of its user look into it: passwords
// and keys are in its memory. Its children make no core dumps either.
func keepMemorySecret() error {
	err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	var now unix.Rlimit
	// the service's unit may forbid to set what it has set
	if had := unix.Getrlimit(unix.RLIMIT_CORE, &now); had != nil || now != (unix.Rlimit{}) {
		err = errors.Join(err, unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}))
	}
	if err != nil {
		return fmt.Errorf("cannot keep the secrets in memory out of core dumps: %w", err)
	}
	return nil
}
