package demo_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/adapter"
	"ebbtide/internal/adapter/ssh"
	"ebbtide/internal/adapter/vsphere"
	"ebbtide/internal/demo"
	"ebbtide/internal/engine"
)

func families() []adapter.Family { return []adapter.Family{vsphere.Family(), ssh.Family()} }

type story struct {
	t     *testing.T
	began time.Time
}

func (s *story) Says(text string) { s.t.Logf("%5.1fs  %s", time.Since(s.began).Seconds(), text) }
func (s *story) Recorded(records []engine.Record) {
	for _, r := range records {
		verb := ""
		if r.Verb != nil {
			verb = r.Verb.String()
		}
		s.t.Logf("%5.1fs  %3d %s %s %s%s%s %s %s", time.Since(s.began).Seconds(), r.Seq, r.Kind, verb, r.Node, r.Stage, r.Goal, r.Outcome, r.Reason)
	}
}
func (s *story) Power(bool, bool, float64, float64) {}

func TestPlain(t *testing.T) {
	res, err := demo.Run(t.Context(), demo.Options{Families: families(), View: &story{t, time.Now()}})
	require.NoError(t, err)
	b, _ := json.Marshal(res)
	fmt.Println(string(b))
}
