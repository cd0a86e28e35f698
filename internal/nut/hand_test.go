package nut

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
	"ebbtide/internal/runbook"
)

func TestByHandACutIsOrderedWithItsDelaysAndItsReturn(t *testing.T) {
	s := &runbook.SupplyDecl{
		ID: "a", UPS: "liebert-a", Address: "10.0.0.2:3493", Username: "ebbtide",
		Password: runbook.SecretRef{Credential: "upsd"}, OffDelay: 90 * time.Second,
	}
	var typed []string
	for _, in := range ByHand(s).Do[plan.Cut] {
		if in.Type != "" {
			typed = append(typed, in.Type)
		}
	}
	require.Equal(t, []string{
		"upsrw -s ups.delay.shutdown=90 -u ebbtide liebert-a@10.0.0.2:3493",
		"upscmd -u ebbtide liebert-a@10.0.0.2:3493 shutdown.return",
	}, typed)
}
