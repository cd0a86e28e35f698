package crash_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/journal"
	"ebbtide/internal/ledger"
	"ebbtide/test/site"
)

// records reads all that the site's journal holds at this moment, whether a daemon has it open or not. While a daemon
// writes, the caller has to hold it still.
func records(t *testing.T, s *site.Site) []ledger.Record {
	t.Helper()
	whole, err := os.ReadFile(filepath.Join(s.Dir, "journal.db"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	require.NoError(t, err)
	copied := filepath.Join(t.TempDir(), "journal.db") // the daemon holds the lock of its own
	require.NoError(t, os.WriteFile(copied, whole, 0o600))
	j, err := journal.Open(copied, journal.Options{ReadOnly: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, j.Close()) }()
	outages, err := j.Outages()
	require.NoError(t, err)
	var all []ledger.Record
	for _, o := range outages {
		recs, err := j.Records(o.ID)
		require.NoError(t, err)
		all = append(all, recs...)
	}
	return all
}
