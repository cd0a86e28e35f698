package rest

import (
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDecode holds what is no answer apart from what is a wrong one: the first says nothing of its system.
func TestDecode(t *testing.T) {
	t.Parallel()
	var into struct{ On bool }
	require.NoError(t, Decode([]byte(`{"on": true}`+"\n"), &into))
	require.True(t, into.On)
	for _, short := range []string{"", " ", "{", `{"on"`, `{"on": tr`, `{"on": true`} {
		require.Equal(t, io.ErrUnexpectedEOF, Decode([]byte(short), &into), "%q", short)
	}
	for _, wrong := range []string{`<html>`, `{"on": 1}`, `{"on": true} <html>`, `{"on": true}}`, `{"on" true`} {
		err := Decode([]byte(wrong), &into)
		require.Error(t, err, "%q", wrong)
		require.NotErrorIs(t, err, io.ErrUnexpectedEOF, "%q", wrong)
	}
}
