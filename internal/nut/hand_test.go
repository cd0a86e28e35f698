package nut

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"ebbtide/internal/plan"
	"ebbtide/internal/schema"
)

func TestByHandACutIsOrderedWithItsDelaysAndItsReturn(t *testing.T) {
	s := &schema.Supply{
		ID: "a", UPS: "liebert-a", Address: "10.0.0.2:3493", Username: "ebbtide",
		Password: schema.SecretRef{Credential: "upsd"}, OffDelay: 90 * time.Second,
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
