package nut

import (
	"bufio"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// counted counts what is written.
type counted struct {
	scripted
	writes int
	asked  strings.Builder
}

func (c *counted) Write(b []byte) (int, error) {
	c.writes++
	return c.asked.Write(b)
}

// TestSeveralTakeOneRoundTrip has all questions sent before the first answer is read, in one write.
func TestSeveralTakeOneRoundTrip(t *testing.T) {
	t.Parallel()
	var wanted []Wanted
	var answers strings.Builder
	for i := range together {
		ups := fmt.Sprint("ups", i)
		wanted = append(wanted, Wanted{ups, []string{varStatus, varCharge}})
		fmt.Fprintf(&answers, "VAR %s ups.status \"OL\"\nVAR %s battery.charge \"%d\"\n", ups, ups, i)
	}
	conn := &counted{}
	conn.answer = strings.NewReader(answers.String())
	c := &Client{address: "counted", timeout: time.Minute, turn: make(chan struct{}, 1), conn: conn, in: bufio.NewReaderSize(conn, maxLine)}
	found, err := c.GetSeveral(t.Context(), wanted...)
	require.NoError(t, err)
	require.Equal(t, 1, conn.writes)
	require.Equal(t, 2*together, strings.Count(conn.asked.String(), "\n"))
	for i, f := range found {
		require.Equal(t, Found{Vars: []Var{{varStatus, "OL"}, {varCharge, fmt.Sprint(i)}}}, f)
	}
}
